"""FineWeb's rules: documents made of lists, short lines, repeated lines, or lines that do not end as sentences do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pipeline.documents import Document
from stages.quality.gopher_repetition import repeats
from stages.quality.rule_stage import Rule, RuleStage
from stages.text.punctuation import TERMINAL
from stages.text.words import UNITS, Unit


@dataclass(frozen=True, kw_only=True)
class FineWeb(RuleStage):
    """Drop documents whose lines look like lists, menus or boilerplate.

    The rules of FineWeb (arXiv:2406.17557) as datatrove 0.10.1 measures them: verdict and rule are the same for
    every text. Blank lines do not count. The first rule that a document breaks is named. As published, there is
    no special meaning in a threshold of 0.
    """

    name: ClassVar[str] = "fineweb"
    published: ClassVar[str] = "FineWeb, arXiv:2406.17557; datatrove 0.10.1"
    preload: ClassVar[tuple[str, ...]] = ("stages.text.spacy_ready",)

    line_punct_thr: float = 0.12
    """A smaller share of lines ends with one of `stop_chars`: dropped (line_punct_ratio)."""
    line_punct_exclude_zero: bool = False
    """Keep documents of which no line ends so."""
    stop_chars: tuple[str, ...] = ()
    """What ends a sentence; empty: the marks of all scripts that end one, quotation marks not among them."""
    short_line_thr: float = 0.67
    """A larger share of lines is short: dropped (short_line_ratio)."""
    short_line_length: int = 30
    """Lines of at most so many characters are short."""
    char_duplicates_ratio: float = 0.01
    """A larger share of characters lies in lines that have stood before: dropped (char_dup_ratio). The paper says
    0.1; this is the value of the code that made the corpus."""
    new_line_ratio: float = 0.3
    """More line breaks per word: dropped (list_ratio)."""
    words: Unit = "spacy"
    """What a word is: spacy (published), whitespace, or characters for scripts written without spaces."""
    rule_parameters: ClassVar[tuple[str, ...]] = (
        "line_punct_thr",
        "line_punct_exclude_zero",
        "short_line_thr",
        "char_duplicates_ratio",
        "new_line_ratio",
    )

    @property
    def signal_names(self) -> tuple[str, ...]:
        return ("lines", "line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio")

    @property
    def rules(self) -> tuple[Rule, ...]:
        spare = self.line_punct_exclude_zero
        return (
            Rule("empty", "lines", "below", "", 1.0),
            Rule("line_punct_ratio", "line_punct_ratio", "below", "line_punct_thr", self.line_punct_thr, spare),
            Rule("short_line_ratio", "short_line_ratio", "above", "short_line_thr", self.short_line_thr),
            Rule("char_dup_ratio", "char_dup_ratio", "above", "char_duplicates_ratio", self.char_duplicates_ratio),
            Rule("list_ratio", "list_ratio", "above", "new_line_ratio", self.new_line_ratio),
        )

    def measure(self, document: Document) -> tuple[float, ...]:
        text = document.text
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        if not lines:
            return (0.0, *[float("nan")] * 4)
        limit = self.short_line_length
        breaks = text.count("\n")
        return (
            len(lines),
            self._ended(lines) / len(lines),
            sum([len(line) <= limit for line in lines]) / len(lines),
            repeats(lines)[1] / (len(text) - breaks),
            breaks / len(document.view(UNITS[self.words])),
        )

    def _ended(self, lines: list[str]) -> int:
        """Return how many of `lines`, none of them empty, end with a mark that ends a sentence."""
        if self.stop_chars:
            return sum([line.endswith(self.stop_chars) for line in lines])
        return sum([line[-1] in TERMINAL for line in lines])
