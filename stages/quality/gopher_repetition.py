"""Gopher's repetition rules: paragraphs, lines and n-grams that come again and again within a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality.rule_stage import Rule, RuleStage, off_at
from stages.text import kernels
from stages.text.words import UNITS, Unit, Words

_PARAGRAPHS = re.compile(r"\n{2,}")
_LINES = re.compile(r"\n+")

PARTS = ("dup_para_frac", "dup_para_char_frac", "dup_line_frac", "dup_line_char_frac")
"""Rules, signals and parameters of paragraphs and lines."""

Limits = tuple[tuple[int, float], ...]
"""Pairs of a size of n-gram and a share of characters, judged in this order."""


@dataclass(frozen=True, kw_only=True)
class GopherRepetition(RuleStage):
    """Drop documents that repeat themselves.

    The rules of Gopher (arXiv:2112.11446, table A1) as datatrove 0.10.1 measures them: verdict and rule are the
    same for every text. Shares of characters are of all characters of the document, white space included. The
    first rule that a document breaks is named. A threshold of 0 for paragraphs or lines switches its rule off;
    leaving a size of n-gram out switches that size off.
    """

    name: ClassVar[str] = "gopher_repetition"
    published: ClassVar[str] = "Gopher, arXiv:2112.11446; datatrove 0.10.1"
    preload: ClassVar[tuple[str, ...]] = ("stages.text.spacy_ready",)

    dup_para_frac: float = 0.3
    """A larger share of paragraphs has been seen before in the document: dropped (dup_para_frac)."""
    dup_para_char_frac: float = 0.2
    """A larger share of characters lies in such paragraphs: dropped (dup_para_char_frac)."""
    dup_line_frac: float = 0.3
    """A larger share of lines has been seen before in the document: dropped (dup_line_frac)."""
    dup_line_char_frac: float = 0.2
    """A larger share of characters lies in such lines: dropped (dup_line_char_frac)."""
    top_n_grams: Limits = ((2, 0.20), (3, 0.18), (4, 0.16))
    """Pairs [n, share]: the most frequent n-gram makes up more of the characters: dropped (top_<n>_gram)."""
    dup_n_grams: Limits = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))
    """Pairs [n, share]: more of the characters lie in n-grams seen before: dropped (duplicated_<n>_n_grams)."""
    words: Unit = "spacy"
    """What a word is: spacy (published), whitespace, or characters for scripts written without spaces."""
    rule_parameters: ClassVar[tuple[str, ...]] = (*PARTS, "top_n_grams", "dup_n_grams")

    @property
    def signal_names(self) -> tuple[str, ...]:
        return ("characters", *PARTS, *(name for name, _, _ in self._ngrams()))

    @property
    def rules(self) -> tuple[Rule, ...]:
        empty = Rule("empty", "characters", "below", "", 1.0)
        parts = [Rule(name, name, "above", name, off_at(getattr(self, name), 0)) for name in PARTS]
        return (empty, *parts, *(Rule(name, name, "above", key, limit) for name, key, limit in self._ngrams()))

    def _ngrams(self) -> list[tuple[str, str, float]]:
        """Return (rule and signal, parameter, limit) of each size of n-gram."""
        top = [(f"top_{n}_gram", "top_n_grams", limit) for n, limit in self.top_n_grams]
        return top + [(f"duplicated_{n}_n_grams", "dup_n_grams", limit) for n, limit in self.dup_n_grams]

    def check(self) -> None:
        for key in ("top_n_grams", "dup_n_grams"):
            sizes = [n for n, _ in getattr(self, key)]
            if not all(1 <= n <= 1000 for n in sizes):
                raise StageFault(key, f"sizes {sizes}: an n-gram has from 1 to 1000 words")
            if len(set(sizes)) < len(sizes):
                raise StageFault(key, f"sizes {sizes}: each size can be given once")

    def measure(self, document: Document) -> tuple[float, ...]:
        text = document.text
        length = len(text)
        if not length:
            return (0.0, *[0.0] * (len(self.signal_names) - 1))
        parts = _PARAGRAPHS.split(text.strip()) if "\n\n" in text else [text.strip()]
        paragraphs, paragraph_characters = repeats(parts)
        lines = _LINES.split(text)
        repeated, line_characters = repeats(lines)
        words: Words = document.view(UNITS[self.words])
        return (
            length,
            paragraphs / len(parts),
            paragraph_characters / length,
            repeated / len(lines),
            line_characters / length,
            *(top_characters(words, n) / length for n, _ in self.top_n_grams),
            *(repeated_characters(words, n) / length for n, _ in self.dup_n_grams),
        )


def repeats(parts: Sequence[str]) -> tuple[int, int]:
    """Return how many of `parts` have stood before among them, and the characters in those."""
    seen = set(parts)
    if len(seen) == len(parts):
        return 0, 0
    return len(parts) - len(seen), sum(map(len, parts)) - sum(map(len, seen))


def top_characters(words: Words, n: int) -> int:
    """Return the characters that the most frequent n-gram of `words` takes up, joined by spaces; of equals the first."""
    characters, count, _ = kernels.top_ngram(words.numbers, words.vocabulary.length.array, n)
    return characters * count


def repeated_characters(words: Words, n: int) -> int:
    """Return the characters in n-grams of `words` seen before, from left to right and jumping over each one found."""
    known = words.vocabulary
    return kernels.repeated_characters(
        words.numbers,
        n,
        known.length.array,
        known.hash.array,
        known.power.array,
        known.at.array,
        known.code.array,
    )
