"""Gopher's quality rules: length, symbols, bullets, ellipses, letters and stop words of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality.rule_stage import Rule, RuleStage, Side, off_at
from stages.text import kernels
from stages.text.words import UNITS, Unit

ENGLISH_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")

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
)
"""Words that are no symbols, all words, mean characters of the first, occurrences per word, shares of lines, share of words
with a letter, different stop words."""

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
"""(rule, signal, side, parameter) in the published order."""


@dataclass(frozen=True, kw_only=True)
class GopherQuality(RuleStage):
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
    rule_parameters: ClassVar[tuple[str, ...]] = (
        "min_doc_words",
        "max_doc_words",
        "min_avg_word_length",
        "max_avg_word_length",
        "max_symbol_word_ratio",
        "max_bullet_lines_ratio",
        "max_ellipsis_lines_ratio",
        "max_non_alpha_words_ratio",
        "min_stop_words",
    )

    @property
    def signal_names(self) -> tuple[str, ...]:
        return SIGNALS

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(
            Rule(name, signal, side, parameter, off_at(getattr(self, parameter), 0) if parameter else 1.0)
            for name, signal, side, parameter in RULES
        )

    def check(self) -> None:
        if self.max_doc_words and self.max_doc_words < self.min_doc_words:
            raise StageFault("max_doc_words", f"{self.max_doc_words} is below min_doc_words = {self.min_doc_words}")
        if self.max_avg_word_length and self.max_avg_word_length < self.min_avg_word_length:
            raise StageFault("max_avg_word_length", f"below min_avg_word_length = {self.min_avg_word_length}")
        if self.min_stop_words > len(set(self.stop_words)):
            raise StageFault("min_stop_words", f"only {len(set(self.stop_words))} stop words are given")

    def measure(self, document: Document) -> tuple[float, ...]:
        text = document.text
        words = document.view(UNITS[self.words])
        known = words.vocabulary
        tokens = len(words)
        plain, characters, alphabetic = kernels.count_words(words.numbers, known.length.array, known.flags.array)
        if not tokens:
            return (0.0, 0.0, *[float("nan")] * 6, 0.0)
        ellipses = text.count("...") + text.count("…")
        lines = document.view(str.splitlines)
        return (
            plain,
            tokens,
            characters / plain if plain else float("nan"),
            text.count("#") / tokens,
            ellipses / tokens,
            _bullet_lines(text, lines) / len(lines),
            sum([line.rstrip().endswith(("...", "…")) for line in lines]) / len(lines) if ellipses else 0.0,
            alphabetic / tokens,
            self._stop_words(words.numbers, known.number),
        )

    def _stop_words(self, numbers: np.ndarray, known: dict[str, int]) -> int:
        """Return how many different stop words are among the words `numbers`."""
        wanted = [known[word] for word in set(self.stop_words) if word in known]
        return int(kernels.count_distinct(numbers, np.array(wanted, np.int32))) if wanted else 0


def _bullet_lines(text: str, lines: list[str]) -> int:
    if "-" not in text and "•" not in text:
        return 0
    return sum(line.lstrip().startswith(("•", "-")) for line in lines)
