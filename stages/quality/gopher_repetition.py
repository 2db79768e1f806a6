"""Gopher's repetition rules: paragraphs, lines and n-grams that come again and again within a document."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality import fineweb2
from stages.quality.fineweb2 import DUP, TOP
from stages.quality.rule_stage import Rule, RuleStage, off_at
from stages.text import kernels
from stages.text.ngrams import DCLM, DOLMA, counted_shares, ngram_characters
from stages.text.words import UNITS, Words

_PARAGRAPHS = re.compile(r"\n{2,}")
_LINES = re.compile(r"\n+")

PARTS = ("dup_para_frac", "dup_para_char_frac", "dup_line_frac", "dup_line_char_frac")
"""Rules, signals and parameters of paragraphs and lines, in datatrove's order."""

_OF_FEW_LETTERS = ("top_3_gram", "top_4_gram", "duplicated_5_n_grams", "duplicated_6_n_grams")
"""Rules that are stricter than published where a word is a letter or a syllable: the most frequent three or four of these are
two words, and five or six that come again are not yet five. Not asked, by default, where most words are such."""

Limits = tuple[tuple[int, float], ...]
"""Pairs of a size of n-gram and a share of characters, judged in this order."""

_GOPHER = {
    "dup_para_frac": 0.3,
    "dup_para_char_frac": 0.2,
    "dup_line_frac": 0.3,
    "dup_line_char_frac": 0.2,
    "top_n_grams": TOP,
    "dup_n_grams": DUP,
}


@dataclass(frozen=True, kw_only=True)
class GopherRepetition(RuleStage):
    """Drop documents that repeat themselves.

    The rules of Gopher (arXiv:2112.11446, table A1). With ``variant = "datatrove"`` and ``words = "spacy"`` verdict and rule
    are those of datatrove 0.10.1 for every text. Shares of characters are of all characters of the document, white space
    included; Dolma and DCLM take those of words and of lines, and count all copies. The first rule that a document
    breaks is named. A threshold of 0 for paragraphs or lines switches its rule off; leaving a size of n-gram out
    switches that size off.
    """

    name: ClassVar[str] = "gopher_repetition"
    published: ClassVar[str] = "Gopher, arXiv:2112.11446; datatrove 0.10.1; Dolma 1.5; DCLM; FineWeb-2"
    rule_parameters: ClassVar[tuple[str, ...]] = (*PARTS, "top_n_grams", "dup_n_grams")
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "datatrove": _GOPHER,
        "dolma": {
            **_GOPHER,
            "dup_para_frac": 0.0,
            "dup_para_char_frac": 0.0,
            "dup_line_char_frac": 0.3,
            "words": "whitespace",
        },
        "dclm": _GOPHER,
        "fineweb2": {"dup_para_frac": 0.0, "dup_para_char_frac": 0.0, "dup_line_char_frac": 0.0},
    }

    shares: ClassVar[Mapping[str, tuple[float, ...]]] = dict.fromkeys(
        ("dup_para_frac", "dup_para_char_frac", "dup_line_frac", "dup_line_char_frac"), ()
    )

    dup_para_frac: float | None = None
    """A larger share of paragraphs has been seen before in the document: dropped (dup_para_frac). By default 0.3; off with
    variants dolma and fineweb2."""
    dup_para_char_frac: float | None = None
    """A larger share of characters lies in such paragraphs: dropped (dup_para_char_frac). By default 0.2; off with variants
    dolma and fineweb2."""
    dup_line_frac: float | None = None
    """A larger share of lines has been seen before in the document: dropped (dup_line_frac). By default 0.3; with variant
    fineweb2, by language."""
    dup_line_char_frac: float | None = None
    """A larger share of characters lies in such lines: dropped (dup_line_char_frac). By default 0.2; with variant dolma 0.3;
    off with fineweb2."""
    top_n_grams: Limits | None = None
    """Pairs [n, share]: the most frequent n-gram makes up more of the characters: dropped (top_<n>_gram). By default
    [2, 0.20], [3, 0.18], [4, 0.16], with unicode words only the first for scripts without spaces; with variant fineweb2, by
    language."""
    dup_n_grams: Limits | None = None
    """Pairs [n, share]: more of the characters lie in n-grams seen before: dropped (duplicated_<n>_n_grams). By default
    [5, 0.15], [6, 0.14], [7, 0.13], [8, 0.12], [9, 0.11], [10, 0.10], with unicode words from 7 on for scripts without spaces;
    with variant fineweb2, by language."""

    @property
    def signal_names(self) -> tuple[str, ...]:
        names = ("characters", *PARTS, *(name for name, _, _ in self._ngrams()))
        names += ("unspaced",) if self._knows_scripts else ()
        return (*names, "language") if self.variant == "fineweb2" else names

    @property
    def _knows_scripts(self) -> bool:
        """Whether the words tell which of them are letters and syllables of scripts written without spaces."""
        return (self.words or "unicode") == "unicode"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """In the order of datatrove; DCLM asks for shares of lines first, which changes no verdict but the rule it names."""
        rules = [Rule("empty", "characters", "below", "", 1.0)]
        for name in PARTS:
            value = getattr(self, name)
            column = name if value is None else ""
            rules.append(Rule(name, name, "above", name, math.nan if column else off_at(value, 0), column=column))
        for name, key, limit in self._ngrams():
            value = getattr(self, key)
            column = name if value is None else ""
            short = name in _OF_FEW_LETTERS and self._knows_scripts and value == _GOPHER[key]
            unless = "unspaced" if short else ""
            limit = math.nan if column else limit
            rules.append(Rule(name, name, "above", key, limit, column=column, unless=unless))
        return tuple(rules)

    def _ngrams(self) -> list[tuple[str, str, float]]:
        """Return (rule and signal, parameter, limit) of each size of n-gram."""
        top = [(f"top_{n}_gram", "top_n_grams", limit) for n, limit in self._top]
        return top + [(f"duplicated_{n}_n_grams", "dup_n_grams", limit) for n, limit in self._dup]

    @property
    def _top(self) -> Limits:
        return TOP if self.top_n_grams is None else self.top_n_grams

    @property
    def _dup(self) -> Limits:
        return DUP if self.dup_n_grams is None else self.dup_n_grams

    def check(self) -> None:
        super().check()
        for key, limits in (("top_n_grams", self._top), ("dup_n_grams", self._dup)):
            sizes = [n for n, _ in limits]
            if not all(1 <= n <= 1000 for n in sizes):
                raise StageFault(key, f"sizes {sizes}: an n-gram has from 1 to 1000 words")
            if len(set(sizes)) < len(sizes):
                raise StageFault(key, f"sizes {sizes}: each size can be given once")
            if beyond := [share for _, share in limits if not 0 <= share <= 1]:
                raise StageFault(key, f"must be shares from 0 to 1; got {beyond[0]:g}")

    def measure(self, document: Document) -> tuple[float, ...]:
        words = document.view(UNITS[self.words or "unicode"])
        if self.variant == "dolma":
            measured = self._dolma(document.text, words)
        elif self.variant == "dclm":
            measured = self._dclm(document.text, words)
        else:
            measured = self._datatrove(document.text, words)
        if self._knows_scripts:
            plain, _, _, unspaced = kernels.count_words(words.numbers, words.length, words.flags)
            measured = (*measured, unspaced / plain if plain else 0.0)
        return (*measured, fineweb2.row_of(document)) if self.variant == "fineweb2" else measured

    def _datatrove(self, text: str, words: Words) -> tuple[float, ...]:
        length = len(text)
        if not length:
            return (0.0, *[0.0] * (len(PARTS) + len(self._top) + len(self._dup)))
        parts = _PARAGRAPHS.split(text.strip()) if "\n\n" in text else [text.strip()]
        paragraphs, paragraph_characters = repeats(parts)
        lines = _LINES.split(text)
        repeated, line_characters = repeats(lines)
        by_number = (words.length, words.hash, words.power, words.at, words.code)
        return (
            length,
            paragraphs / len(parts),
            paragraph_characters / length,
            repeated / len(lines),
            line_characters / length,
            *(ngram_characters(words.numbers, *by_number, *self._sizes) / length).tolist(),
        )

    def _dolma(self, text: str, words: Words) -> tuple[float, ...]:
        """Measure as Dolma's tagger gopher_v1 does: all copies of lines, shares of the characters of words."""
        length = int(words.length[words.numbers].sum())
        lines, characters, number, _ = all_copies(text.split("\n"))
        shares = counted_shares(words.numbers, words.length, *self._sizes, DOLMA)
        return (len(text), 0.0, 0.0, lines / number, characters / max(1, length), *shares.tolist())

    def _dclm(self, text: str, words: Words) -> tuple[float, ...]:
        """Measure as DCLM's repetition_filter does: all copies of parts that are not blank, n-grams of letters and digits."""
        kept = [word[0].isalnum() for word in words.texts]
        shares = counted_shares(words.numbers[np.array(kept, bool)], words.length, *self._sizes, DCLM)
        found = []
        for separator in ("\n\n", "\n"):
            parts, characters, number, total = all_copies([p for part in text.split(separator) if (p := part.strip())])
            found += [0.0, 0.0] if number < 2 else [parts / number, characters / total]
        return (len(text.strip()), *found, *shares.tolist())

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """int64: the sizes of n-gram that the two kinds of rule ask for."""
        return np.array([n for n, _ in self._top], np.int64), np.array([n for n, _ in self._dup], np.int64)


def repeats(parts: Sequence[str]) -> tuple[int, int]:
    """Return how many of `parts` have stood before among them, and the characters in those."""
    seen = set(parts)
    if len(seen) == len(parts):
        return 0, 0
    return len(parts) - len(seen), sum(map(len, parts)) - sum(map(len, seen))


def all_copies(parts: Sequence[str]) -> tuple[int, int, int, int]:
    """Return how many of `parts` occur more than once, the first included, and their characters; of all, the same."""
    counts = Counter(parts)
    again = [(part, count) for part, count in counts.items() if count > 1]
    characters = sum(len(part) * count for part, count in again)
    return sum(count for _, count in again), characters, len(parts), sum(map(len, parts))
