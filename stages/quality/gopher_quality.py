"""Gopher's quality rules: length, symbols, bullets, ellipses, letters and stop words of a document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality import fineweb2
from stages.quality.fineweb2 import ENGLISH_STOP_WORDS
from stages.quality.rule_stage import Rule, RuleStage, Side, off_at
from stages.text import kernels
from stages.text.words import UNITS, whitespace_words

SIGNALS = (
    "words",
    "tokens",
    "avg_word_length",
    "hashes",
    "ellipses",
    "bullet_lines",
    "ellipsis_lines",
    "alpha_words",
    "stop_words",
    "unspaced",
)
"""Words that are no symbols, all words, mean (dolma: median) characters of the first, symbols per word, shares of lines, share
of words with a letter, stop words, share of words in scripts written without spaces."""

RULES: tuple[tuple[str, str, Side, str], ...] = (
    ("gopher_short_doc", "words", "below", "min_doc_words"),
    ("gopher_long_doc", "words", "above", "max_doc_words"),
    ("empty", "tokens", "below", ""),
    ("gopher_below_avg_threshold", "avg_word_length", "below", "min_avg_word_length"),
    ("gopher_above_avg_threshold", "avg_word_length", "above", "max_avg_word_length"),
    ("gopher_too_many_hashes", "hashes", "above", "max_symbol_word_ratio"),
    ("gopher_too_many_ellipsis", "ellipses", "above", "max_symbol_word_ratio"),
    ("gopher_too_many_bullets", "bullet_lines", "above", "max_bullet_lines_ratio"),
    ("gopher_too_many_end_ellipsis", "ellipsis_lines", "above", "max_ellipsis_lines_ratio"),
    ("gopher_below_alpha_threshold", "alpha_words", "below", "max_non_alpha_words_ratio"),
    ("gopher_enough_stop_words", "stop_words", "below", "min_stop_words"),
)
"""(rule, signal, side, parameter) in the order of datatrove."""

_GOPHER = {
    "min_avg_word_length": 3.0,
    "max_avg_word_length": 10.0,
    "max_non_alpha_words_ratio": 0.8,
    "stop_words": ENGLISH_STOP_WORDS,
}
_OF_ALPHABETS = ("min_avg_word_length", "max_avg_word_length", "min_stop_words")
"""Rules that say nothing of scripts written without spaces, unless the language has thresholds of its own."""

_NAN = math.nan

_STOP_WORDS = SIGNALS.index("stop_words")


@dataclass(frozen=True, kw_only=True)
class GopherQuality(RuleStage):
    """Drop documents that are too short or long, full of symbols, bullets or ellipses, or not prose.

    The rules of Gopher (arXiv:2112.11446, table A1). With ``variant = "datatrove"`` and ``words = "spacy"`` verdict and rule
    are those of datatrove 0.10.1 for every text. The first rule that a document breaks is named. A threshold of 0
    switches its rule off. With unicode words, rules on the length of words and on stop words are not asked of texts
    that are mostly in scripts written without spaces; variant fineweb2 has values for those.
    """

    name: ClassVar[str] = "gopher_quality"
    published: ClassVar[str] = "Gopher, arXiv:2112.11446; datatrove 0.10.1; Dolma 1.5; DCLM; FineWeb-2"
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "datatrove": _GOPHER,
        "dolma": {**_GOPHER, "words": "whitespace"},
        "dclm": _GOPHER,
        "fineweb2": {},
    }
    rule_parameters: ClassVar[tuple[str, ...]] = tuple(dict.fromkeys(rule[3] for rule in RULES if rule[3]))

    shares: ClassVar[Mapping[str, tuple[float, ...]]] = dict.fromkeys(
        ("max_bullet_lines_ratio", "max_ellipsis_lines_ratio", "max_non_alpha_words_ratio"), ()
    )
    least: ClassVar[Mapping[str, float]] = dict.fromkeys(
        (
            "min_doc_words",
            "max_doc_words",
            "min_avg_word_length",
            "max_avg_word_length",
            "max_symbol_word_ratio",
            "min_stop_words",
        ),
        0,
    )

    min_doc_words: int = 50
    """Fewer words that are no symbols: dropped (gopher_short_doc)."""
    max_doc_words: int = 100_000
    """More words that are no symbols: dropped (gopher_long_doc)."""
    min_avg_word_length: float | None = None
    """Words that are no symbols have on average fewer characters: dropped (gopher_below_avg_threshold). By default 3; with
    variant fineweb2, by language. Dolma takes the median."""
    max_avg_word_length: float | None = None
    """Words that are no symbols have on average more characters: dropped (gopher_above_avg_threshold). By default 10; with
    variant fineweb2, by language."""
    max_symbol_word_ratio: float = 0.1
    """More hashes, or more ellipses, per word: dropped (gopher_too_many_hashes, gopher_too_many_ellipsis). Dolma and DCLM take
    both together, Dolma as the share of words that hold one; their rule is gopher_too_many_hashes."""
    max_bullet_lines_ratio: float = 0.9
    """A larger share of lines begins with a bullet or hyphen: dropped (gopher_too_many_bullets)."""
    max_ellipsis_lines_ratio: float = 0.3
    """A larger share of lines ends with an ellipsis: dropped (gopher_too_many_end_ellipsis)."""
    max_non_alpha_words_ratio: float | None = None
    """A smaller share of words holds a letter: dropped (gopher_below_alpha_threshold). The published name misleads: it is the
    least share of words with a letter. By default 0.8; with variant fineweb2, by language."""
    min_stop_words: int = 2
    """Fewer different stop words occur, as they are written: dropped (gopher_enough_stop_words). Dolma and DCLM count every
    occurrence, DCLM in lower case."""
    stop_words: tuple[str, ...] | None = None
    """The stop words. By default Gopher's eight English ones; with variant fineweb2, those of the language."""

    @property
    def signal_names(self) -> tuple[str, ...]:
        return (*SIGNALS, "language") if self.variant == "fineweb2" else SIGNALS

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(self._rule(*rule) for rule in RULES)

    def _rule(self, name: str, signal: str, side: Side, parameter: str) -> Rule:
        value = getattr(self, parameter) if parameter else 1.0
        by_language = self.variant == "fineweb2"
        column = parameter if by_language and value is None else ""
        unless = "unspaced" if parameter in _OF_ALPHABETS and not by_language else ""
        return Rule(name, signal, side, parameter, _NAN if column else off_at(value, 0), column=column, unless=unless)

    def check(self) -> None:
        super().check()
        if self.max_doc_words and self.max_doc_words < self.min_doc_words:
            raise StageFault("max_doc_words", f"{self.max_doc_words} is below min_doc_words = {self.min_doc_words}")
        if self.max_avg_word_length and self.max_avg_word_length < (self.min_avg_word_length or 0):
            raise StageFault("max_avg_word_length", f"below min_avg_word_length = {self.min_avg_word_length}")
        if self.stop_words is not None and self.min_stop_words > len(set(self.stop_words)):
            raise StageFault("min_stop_words", f"only {len(set(self.stop_words))} stop words are given")

    def measure(self, document: Document) -> tuple[float, ...]:
        if self.variant == "dolma":
            return self._dolma(document)
        if self.variant == "dclm":
            return self._dclm(document)
        if self.variant == "datatrove":
            return self._datatrove(document, self._stop_words)
        row = fineweb2.row_of(document)
        given = self.stop_words is not None
        of_language = () if row != row else fineweb2.table().stop_words[int(row)]
        measured = list(self._datatrove(document, self._stop_words if given else of_language))
        if not given and row != row:
            measured[_STOP_WORDS] = _NAN
        elif not given and fineweb2.table().labels[int(row)] == "kor_Hang":
            measured[_STOP_WORDS] = endings(document.text, of_language)
        return (*measured, row)

    def _datatrove(self, document: Document, stop_words: tuple[str, ...]) -> tuple[float, ...]:
        text = document.text
        words = document.view(UNITS[self.words or "unicode"])
        tokens = len(words)
        if not tokens:
            return (0.0, 0.0, *[_NAN] * 6, 0.0, 0.0)
        plain, characters, alphabetic, unspaced = kernels.count_words(words.numbers, words.length, words.flags)
        ellipses = text.count("...") + text.count("…")
        lines = document.view(str.splitlines)
        bullets = 0
        if "-" in text or "•" in text:
            bullets = sum([line.lstrip().startswith(("•", "-")) for line in lines])
        return (
            plain,
            tokens,
            characters / plain if plain else _NAN,
            text.count("#") / tokens,
            ellipses / tokens,
            bullets / len(lines),
            sum([line.rstrip().endswith(("...", "…")) for line in lines]) / len(lines) if ellipses else 0.0,
            alphabetic / tokens,
            words.distinct(stop_words),
            unspaced / plain if plain else 0.0,
        )

    def _dolma(self, document: Document) -> tuple[float, ...]:
        """Measure as Dolma's tagger gopher_v1 does: the median of lengths, symbols as a share of words, bare lines."""
        text = document.text
        words = document.view(UNITS[self.words or "whitespace"])
        tokens = len(words)
        if not tokens:
            return (0.0, 0.0, *[_NAN] * 6, 0.0, 0.0)
        _, _, alphabetic, unspaced = kernels.count_words(words.numbers, words.length, words.flags)
        lines = text.split("\n")
        symbols = 0
        if "#" in text or "…" in text:
            symbols = sum(["#" in word or "…" in word for word in words.texts])
        return (
            tokens,
            tokens,
            float(np.median(words.length[words.numbers])),
            symbols / tokens,
            _NAN,
            sum([line.startswith(("*", "-")) for line in lines]) / len(lines),
            sum([line.endswith("…") for line in lines]) / len(lines),
            alphabetic / tokens,
            self._occurrences(words.texts),
            unspaced / tokens,
        )

    def _dclm(self, document: Document) -> tuple[float, ...]:
        """Measure as DCLM's filters do: `words` of letters and digits for the length, runs between spaces for the rest."""
        text = document.text
        counted = document.view(UNITS[self.words or "unicode"])
        spaced = document.view(whitespace_words)
        tokens = len(spaced)
        if not tokens:
            return (0.0, 0.0, *[_NAN] * 6, 0.0, 0.0)
        plain, _, _, unspaced = kernels.count_words(counted.numbers, counted.length, counted.flags)
        _, _, alphabetic, _ = kernels.count_words(spaced.numbers, spaced.length, spaced.flags)
        lines = [stripped for line in text.split("\n") if (stripped := line.strip())]
        symbols = sum(text.count(symbol) for symbol in ("#", "...", ". . .", "…"))
        return (
            sum([word[0].isalnum() for word in counted.texts]),
            tokens,
            float(np.mean(spaced.length[spaced.numbers])),
            symbols / tokens,
            _NAN,
            sum([line.startswith(("●", "•", "*", "-")) for line in lines]) / max(1, len(lines)),
            sum([line.endswith(("...", ". . .", "…")) for line in lines]) / max(1, len(lines)),
            alphabetic / tokens,
            self._occurrences(list(map(str.lower, spaced.texts))),
            unspaced / plain if plain else 0.0,
        )

    def _occurrences(self, words: list[str]) -> int:
        return sum(map(frozenset(self._stop_words).__contains__, words))

    @cached_property
    def _stop_words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.stop_words or ()))


def endings(text: str, wanted: tuple[str, ...]) -> int:
    """Return how many of the strings `wanted` end a word of `text`: stop words of Korean are particles of other words."""
    return len(set(_ending(wanted).findall(text)))


@lru_cache(maxsize=8)
def _ending(wanted: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(wanted, key=len, reverse=True)))})(?!\\w)")
