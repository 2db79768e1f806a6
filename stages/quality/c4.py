"""C4's rules: which lines of a page are prose, and whether enough of them are."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.documents import Document
from pipeline.stage import Drop, Span, StageFault, Verdict
from stages.quality.rule_stage import Rule, RuleStage, off_at
from stages.text.words import count_sentences, split_sentences

_CITATION = re.compile(r"\[\d*]|\[edit]|\[citation needed]")
_ENDINGS = (".", "?", "!", '"', "'")
_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")


@dataclass(frozen=True, kw_only=True)
class C4(RuleStage):
    """Keep the lines that are sentences, and the documents with enough of them.

    The rules of C4 (JMLR 21(140)) as datatrove 0.10.1 applies them: verdict, rule and the text left are the same
    for every text. Lines lose the white space around them. A brace or "lorem ipsum" in a line that an earlier
    rule has taken out does not count. Each line taken out of a document that stays is a span in the ledger.
    FineWeb ran these rules with ``filter_no_terminal_punct = false``.
    """

    name: ClassVar[str] = "c4"
    published: ClassVar[str] = "C4, JMLR 21(140), arXiv:1910.10683; datatrove 0.10.1"
    preload: ClassVar[tuple[str, ...]] = ("stages.text.spacy_ready",)

    split_paragraph: bool = True
    """Judge lines; false: judge sentences, and join those kept by spaces."""
    remove_citations: bool = True
    """Cut [12], [edit] and [citation needed] out of lines."""
    filter_no_terminal_punct: bool = True
    """Take out lines that do not end with . ? ! or a straight quotation mark, or that end with three dots."""
    min_num_sentences: int = 5
    """Fewer sentences in the lines left: the document is dropped (too_few_sentences). -1: off."""
    min_words_per_line: int = 3
    """Take out lines of fewer words, counted between white space, citations included. -1: off."""
    max_word_length: int = 1000
    """Take out lines with a longer word. -1: off."""
    filter_lorem_ipsum: bool = True
    """Drop documents with "lorem ipsum" in a line left so far."""
    filter_javascript: bool = True
    """Take out lines that mention javascript."""
    filter_curly_bracket: bool = True
    """Drop documents with { in a line left so far."""
    filter_policy: bool = True
    """Take out lines that speak of terms of use, privacy policy or cookies."""
    edits: ClassVar[bool] = True
    rule_parameters: ClassVar[tuple[str, ...]] = ("min_num_sentences", "filter_lorem_ipsum", "filter_curly_bracket")

    @property
    def signal_names(self) -> tuple[str, ...]:
        return ("sentences", "lines_kept", "lorem_ipsum_line", "curly_bracket_line")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The first two are asked line by line: that of the earlier line names the verdict."""
        given_away = [
            Rule(
                name,
                f"{name}_line",
                "above",
                f"filter_{name}",
                0.0 if getattr(self, f"filter_{name}") else float("nan"),
            )
            for name in ("lorem_ipsum", "curly_bracket")
        ]
        few = Rule("too_few_sentences", "sentences", "below", "min_num_sentences", off_at(self.min_num_sentences, -1))
        return (*given_away, few)

    def _first(self, broken: np.ndarray, values: np.ndarray) -> np.ndarray:
        broken = broken.copy()
        broken[:, 0] &= ~(broken[:, 1] & (values[:, 1] < values[:, 0]))
        return super()._first(broken, values)

    def broken(self, values: Sequence[float]) -> tuple[Rule, float, float] | None:
        found = super().broken(values)
        if found is not None and found[0].name == "lorem_ipsum" and self.filter_curly_bracket and values[3] < values[2]:
            return self.rules[1], values[3], 0.0
        return found

    def without_rules(self) -> RuleStage:
        off = {"min_num_sentences": -1, "filter_lorem_ipsum": False, "filter_curly_bracket": False}
        return dataclasses.replace(self, **off)  # type: ignore[arg-type]

    def check(self) -> None:
        if self.max_word_length < -1 or self.max_word_length == 0:
            raise StageFault("max_word_length", "give the longest word allowed, or -1 for no limit")

    def measure(self, document: Document) -> tuple[float, ...]:
        return self._read(document)[0]

    def judge(self, document: Document) -> Verdict:
        values, kept, spans = self._read(document)
        if self.mode == "annotate":
            return self.keep(values)
        if (broken := self.broken(values)) is not None:
            rule, value, threshold = broken
            at = rule.signal.endswith("_line")
            return Drop(rule.name, value, threshold, self._split(document)[int(value) - 1][:200] if at else "", values)
        left = ("\n" if self.split_paragraph else " ").join(kept).strip()
        return self.keep(values, None if left == document.text else left, spans)

    def _split(self, document: Document) -> list[str]:
        return document.view(str.splitlines if self.split_paragraph else split_sentences)

    def _read(self, document: Document) -> tuple[tuple[float, ...], list[str], list[Span]]:
        """Return the signals, the lines left and the spans taken out."""
        lines = self._split(document)
        kept: list[str] = []
        spans: list[Span] = []
        sentences = 0
        given_away = [float("nan"), float("nan")]
        for number, (whole, line, span) in enumerate(self._lines(lines), 1):
            if span is None:
                span = self._content(line, whole, number, given_away)
            if span is not None:
                if span.text:
                    spans.append(span)
                continue
            sentences += count_sentences(line) if self.split_paragraph else 1
            kept.append(line)
        return (sentences, len(kept) / len(lines) if lines else 0.0, *given_away), kept, spans

    def _lines(self, lines: list[str]) -> Iterator[tuple[str, str, Span | None]]:
        """Yield each line as it was and as it is left, and the span where its form takes it out."""
        for whole in lines:
            line = whole = whole.strip()
            words = line.split()
            if self.max_word_length != -1 and len(line) > self.max_word_length:
                longest = max(map(len, words))
                if longest > self.max_word_length:
                    yield whole, line, Span("too_long_word", whole, longest, self.max_word_length)
                    continue
            if self.remove_citations and "[" in line:
                line = _CITATION.sub("", line)
            if self.filter_no_terminal_punct and (not line.endswith(_ENDINGS) or line.endswith("...")):
                yield whole, line, Span("no_terminal_punc", whole)
                continue
            if len(words) < self.min_words_per_line:
                yield whole, line, Span("too_few_words", whole, len(words), self.min_words_per_line)
                continue
            yield whole, line, None

    def _content(self, line: str, whole: str, number: int, given_away: list[float]) -> Span | None:
        """Return the span where what `line` says takes it out; write its number where it gives the document away."""
        lower = line.lower()
        if "lorem ipsum" in lower and given_away[0] != given_away[0]:
            given_away[0] = number
        if self.filter_javascript and "javascript" in lower:
            return Span("javascript", whole)
        if "{" in line and given_away[1] != given_away[1]:
            given_away[1] = number
        if self.filter_policy:
            for phrase in _POLICY:
                if phrase in lower:
                    return Span("policy", whole, detail=phrase)
        return None
