"""Gopher's quality rules: length, symbols, bullets, ellipses, letters and stop words of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from stages.text import kernels
from stages.text.words import UNITS, Unit

ENGLISH_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")


@dataclass(frozen=True, kw_only=True)
class GopherQuality(DocumentStage):
    """Drop documents that are too short or long, full of symbols, bullets or ellipses, or not prose.

    The rules of Gopher (arXiv:2112.11446, table A1) as datatrove 0.10.1 measures them: verdict and rule are
    the same for every text. The first rule that a document breaks is named. A threshold of 0 switches its
    rule off.
    """

    name: ClassVar[str] = "gopher_quality"
    published: ClassVar[str] = "Gopher, arXiv:2112.11446; datatrove 0.10.1"
    preload: ClassVar[tuple[str, ...]] = ("stages.text.spacy_ready",)

    min_doc_words: int = 50
    """Fewer words that are no symbols: dropped (gopher_short_doc)."""
    max_doc_words: int = 100_000
    """More words that are no symbols: dropped (gopher_long_doc)."""
    min_avg_word_length: float = 3
    """Words that are no symbols have on average fewer characters: dropped (gopher_below_avg_threshold)."""
    max_avg_word_length: float = 10
    """Words that are no symbols have on average more characters: dropped (gopher_above_avg_threshold)."""
    max_symbol_word_ratio: float = 0.1
    """More hashes, or more ellipses, per word: dropped (gopher_too_many_hashes, gopher_too_many_ellipsis)."""
    max_bullet_lines_ratio: float = 0.9
    """A larger share of lines begins with a bullet or hyphen: dropped (gopher_too_many_bullets)."""
    max_ellipsis_lines_ratio: float = 0.3
    """A larger share of lines ends with an ellipsis: dropped (gopher_too_many_end_ellipsis)."""
    max_non_alpha_words_ratio: float = 0.8
    """A smaller share of words holds a letter: dropped (gopher_below_alpha_threshold). The published name misleads:
    it is the least share of words with a letter."""
    min_stop_words: int = 2
    """Fewer different stop words occur, as they are written: dropped (gopher_enough_stop_words)."""
    stop_words: tuple[str, ...] = ENGLISH_STOP_WORDS
    """The stop words. Languages other than English want their own."""
    words: Unit = "spacy"
    """What a word is: spacy (published), whitespace, or characters for scripts written without spaces."""
    signals: bool = False
    """Also write what was measured of kept documents, as columns gopher_quality.<signal>."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        names = ["words", "avg_word_length", "hashes", "ellipses", "bullet_lines", "ellipsis_lines", "alpha_words"]
        names.append("stop_words")
        return tuple(pa.field(f"{self.name}.{name}", pa.float64()) for name in names) if self.signals else ()

    def check(self) -> None:
        if self.max_doc_words and self.max_doc_words < self.min_doc_words:
            raise StageFault("max_doc_words", f"{self.max_doc_words} is below min_doc_words = {self.min_doc_words}")
        if self.max_avg_word_length and self.max_avg_word_length < self.min_avg_word_length:
            raise StageFault("max_avg_word_length", f"below min_avg_word_length = {self.min_avg_word_length}")
        if self.min_stop_words > len(set(self.stop_words)):
            raise StageFault("min_stop_words", f"only {len(set(self.stop_words))} stop words are given")

    def judge(self, document: Document) -> Verdict:
        text = document.text
        words = document.view(UNITS[self.words])
        known = words.vocabulary
        total = len(words)
        plain, characters, alphabetic = kernels.count_words(words.numbers, known.length.array, known.flags.array)

        if self.min_doc_words and plain < self.min_doc_words:
            return Drop("gopher_short_doc", plain, self.min_doc_words)
        if self.max_doc_words and plain > self.max_doc_words:
            return Drop("gopher_long_doc", plain, self.max_doc_words)
        if not total:
            return Drop("empty", 0, 1)

        length = characters / plain if plain else None
        if length is not None and self.min_avg_word_length and length < self.min_avg_word_length:
            return Drop("gopher_below_avg_threshold", length, self.min_avg_word_length)
        if length is not None and self.max_avg_word_length and length > self.max_avg_word_length:
            return Drop("gopher_above_avg_threshold", length, self.max_avg_word_length)

        hashes = text.count("#") / total
        ellipses = (text.count("...") + text.count("…")) / total
        if self.max_symbol_word_ratio and hashes > self.max_symbol_word_ratio:
            return Drop("gopher_too_many_hashes", hashes, self.max_symbol_word_ratio)
        if self.max_symbol_word_ratio and ellipses > self.max_symbol_word_ratio:
            return Drop("gopher_too_many_ellipsis", ellipses, self.max_symbol_word_ratio)

        lines = document.view(str.splitlines)
        bullets = _bullet_lines(text, lines) / len(lines)
        endings = sum(line.rstrip().endswith(("...", "…")) for line in lines) / len(lines) if ellipses else 0.0
        if self.max_bullet_lines_ratio and bullets > self.max_bullet_lines_ratio:
            return Drop("gopher_too_many_bullets", bullets, self.max_bullet_lines_ratio)
        if self.max_ellipsis_lines_ratio and endings > self.max_ellipsis_lines_ratio:
            return Drop("gopher_too_many_end_ellipsis", endings, self.max_ellipsis_lines_ratio)

        alpha = alphabetic / total
        if self.max_non_alpha_words_ratio and alpha < self.max_non_alpha_words_ratio:
            return Drop("gopher_below_alpha_threshold", alpha, self.max_non_alpha_words_ratio)

        stop_words = self._stop_words(words.numbers, known.number)
        if self.min_stop_words and stop_words < self.min_stop_words:
            return Drop("gopher_enough_stop_words", stop_words, self.min_stop_words)
        if not self.signals:
            return None
        measured = (plain, length, hashes, ellipses, bullets, endings, alpha, stop_words)
        return Keep(columns={field.name: value for field, value in zip(self.adds, measured, strict=True)})

    def _stop_words(self, numbers: np.ndarray, known: dict[str, int]) -> int:
        """Return how many different stop words are among the words `numbers`."""
        wanted = [known[word] for word in set(self.stop_words) if word in known]
        return int(kernels.count_distinct(numbers, np.array(wanted, np.int32))) if wanted else 0


def _bullet_lines(text: str, lines: list[str]) -> int:
    if "-" not in text and "•" not in text:
        return 0
    return sum(line.lstrip().startswith(("•", "-")) for line in lines)
