"""Gopher's repetition rules: paragraphs, lines and n-grams that come again and again within a document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from stages.text import kernels
from stages.text.words import UNITS, Unit, Words

_PARAGRAPHS = re.compile(r"\n{2,}")
_LINES = re.compile(r"\n+")


Limits = tuple[tuple[int, float], ...]
"""Pairs of a size of n-gram and a share of characters, judged in this order."""


@dataclass(frozen=True, kw_only=True)
class GopherRepetition(DocumentStage):
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
    signals: bool = False
    """Also write what was measured of kept documents, as columns gopher_repetition.<rule>."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        if not self.signals:
            return ()
        rules = ["dup_para_frac", "dup_para_char_frac", "dup_line_frac", "dup_line_char_frac"]
        rules += [f"top_{n}_gram" for n, _ in self.top_n_grams]
        rules += [f"duplicated_{n}_n_grams" for n, _ in self.dup_n_grams]
        return tuple(pa.field(f"{self.name}.{rule}", pa.float64()) for rule in rules)

    def check(self) -> None:
        for key in ("top_n_grams", "dup_n_grams"):
            sizes = [n for n, _ in getattr(self, key)]
            if not all(1 <= n <= 1000 for n in sizes):
                raise StageFault(key, f"sizes {sizes}: an n-gram has from 1 to 1000 words")
            if len(set(sizes)) < len(sizes):
                raise StageFault(key, f"sizes {sizes}: each size can be given once")

    def judge(self, document: Document) -> Verdict:
        text = document.text
        if not text:
            return Drop("empty", 0, 1)
        measured: dict[str, float] = {}
        for rule, value, threshold in self._measure(text, document):
            if value > threshold:
                return Drop(rule, value, threshold)
            measured[f"{self.name}.{rule}"] = value
        return Keep(columns=measured) if self.signals else None

    def _measure(self, text: str, document: Document) -> Iterator[tuple[str, float, float]]:
        """Yield (rule, value, threshold) in the published order; a rule switched off has an infinite threshold."""
        length = len(text)
        off = float("inf")
        parts = _PARAGRAPHS.split(text.strip()) if "\n\n" in text else [text.strip()]
        repeated, characters = repeats(parts)
        yield "dup_para_frac", repeated / len(parts), self.dup_para_frac or off
        yield "dup_para_char_frac", characters / length, self.dup_para_char_frac or off
        lines = _LINES.split(text)
        repeated, characters = repeats(lines)
        yield "dup_line_frac", repeated / len(lines), self.dup_line_frac or off
        yield "dup_line_char_frac", characters / length, self.dup_line_char_frac or off
        words: Words = document.view(UNITS[self.words])
        for n, limit in self.top_n_grams:
            yield f"top_{n}_gram", top_characters(words, n) / length, limit
        for n, limit in self.dup_n_grams:
            yield f"duplicated_{n}_n_grams", repeated_characters(words, n) / length, limit


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
