"""FineWeb's rules: documents made of lists, short lines, repeated lines, or lines that do not end as sentences do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pipeline.documents import Document
from stages.quality import fineweb2
from stages.quality.gopher_repetition import repeats
from stages.quality.rule_stage import Rule, RuleStage
from stages.text.punctuation import ENDS_OF_LINES, TERMINAL
from stages.text.words import UNITS

SIGNALS = ("lines", "line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio")
"""Lines that are not blank; the share of them that ends as a sentence does, and of short ones; the share of characters in
lines seen before; line breaks per word."""


@dataclass(frozen=True, kw_only=True)
class FineWeb(RuleStage):
    """Drop documents whose lines look like lists, menus or boilerplate.

    The rules of FineWeb (arXiv:2406.17557). With ``variant = "datatrove"`` and ``words = "spacy"`` verdict and rule are those
    of datatrove 0.10.1 for every text. Blank lines do not count. The first rule that a document breaks is named. As
    published, there is no special meaning in a threshold of 0. With unicode words, a line that ends with a letter of Thai
    or Lao, which write no mark there, counts as one that ends a sentence.
    """

    name: ClassVar[str] = "fineweb"
    published: ClassVar[str] = "FineWeb, arXiv:2406.17557; datatrove 0.10.1; FineWeb-2"
    rule_parameters: ClassVar[tuple[str, ...]] = (
        "line_punct_thr",
        "line_punct_exclude_zero",
        "short_line_thr",
        "char_duplicates_ratio",
        "new_line_ratio",
    )
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "datatrove": {
            "line_punct_thr": 0.12,
            "short_line_thr": 0.67,
            "char_duplicates_ratio": 0.01,
            "new_line_ratio": 0.3,
        },
        "fineweb2": {"short_line_thr": 999.0, "char_duplicates_ratio": 0.1},
    }

    shares: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "line_punct_thr": (-1.0,), "short_line_thr": (999.0,), "char_duplicates_ratio": (),
    }  # fmt: skip
    least: ClassVar[Mapping[str, float]] = {"short_line_length": 0, "new_line_ratio": 0}

    line_punct_thr: float | None = None
    """A smaller share of lines ends with one of `stop_chars`: dropped (line_punct_ratio). By default 0.12; with variant
    fineweb2, by language."""
    line_punct_exclude_zero: bool = False
    """Keep documents of which no line ends so."""
    stop_chars: tuple[str, ...] = ()
    """What ends a sentence; empty: the marks of all scripts that end one, quotation marks not among them."""
    short_line_thr: float | None = None
    """A larger share of lines is short: dropped (short_line_ratio). By default 0.67; off (999) with variant fineweb2."""
    short_line_length: int = 30
    """Lines of at most so many characters are short."""
    char_duplicates_ratio: float | None = None
    """A larger share of characters lies in lines that have stood before: dropped (char_dup_ratio). By default 0.01, the value
    of the code that made the corpus, where the paper says 0.1; 0.1 with variant fineweb2."""
    new_line_ratio: float | None = None
    """More line breaks per word: dropped (list_ratio). By default 0.3; with variant fineweb2, by language."""

    @property
    def signal_names(self) -> tuple[str, ...]:
        return (*SIGNALS, "language") if self.variant == "fineweb2" else SIGNALS

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (
            Rule("empty", "lines", "below", "", 1.0),
            Rule(
                "line_punct_ratio",
                "line_punct_ratio",
                "below",
                "line_punct_thr",
                *self._limit("line_punct_thr"),
            ),
            Rule("short_line_ratio", "short_line_ratio", "above", "short_line_thr", *self._limit("short_line_thr")),
            Rule(
                "char_dup_ratio",
                "char_dup_ratio",
                "above",
                "char_duplicates_ratio",
                *self._limit("char_duplicates_ratio"),
            ),
            Rule("list_ratio", "list_ratio", "above", "new_line_ratio", *self._limit("new_line_ratio")),
        )

    def _limit(self, parameter: str) -> tuple[float, bool, str]:
        """Return threshold, whether 0 is spared, and the column of FineWeb-2's table."""
        value = getattr(self, parameter)
        spares = parameter == "line_punct_thr" and self.line_punct_exclude_zero
        return (math.nan, spares, parameter) if value is None else (float(value), spares, "")

    def measure(self, document: Document) -> tuple[float, ...]:
        measured = self._lines(document)
        return (*measured, fineweb2.row_of(document)) if self.variant == "fineweb2" else measured

    def _lines(self, document: Document) -> tuple[float, ...]:
        text = document.text
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        if not lines:
            return (0.0, *[math.nan] * 4)
        limit = self.short_line_length
        breaks = text.count("\n")
        return (
            len(lines),
            self._ended(lines) / len(lines),
            sum([len(line) <= limit for line in lines]) / len(lines),
            repeats(lines)[1] / (len(text) - breaks),
            breaks / max(1, len(document.view(UNITS[self.words or "unicode"]))),
        )

    def _ended(self, lines: list[str]) -> int:
        """Return how many of `lines`, none of them empty, end with a mark that ends a sentence."""
        if self.stop_chars:
            return sum([line.endswith(self.stop_chars) for line in lines])
        ends = ENDS_OF_LINES if self.words == "unicode" else TERMINAL
        return sum([line[-1] in ends for line in lines])
