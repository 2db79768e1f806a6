"""C4's rules: which lines of a page are prose, and whether enough of them are."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.documents import Document
from pipeline.stage import Drop, Span, StageFault, Verdict
from stages.quality.rule_stage import Rule, RuleStage, off_at
from stages.text import kernels
from stages.text.punctuation import CLOSING, TERMINAL, UNMARKED
from stages.text.words import (
    sentences_of_lines,
    spacy_sentences_of_lines,
    spacy_words,
    split_sentences,
    split_unicode_sentences,
    unicode_words,
)

_CITATION = re.compile(r"\[\d*]|\[edit]|\[citation needed]")
_ENDINGS = (".", "?", "!", '"', "'")
_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
_GIVEN_AWAY = ("lorem_ipsum", "curly_bracket")
_OTHER_ENDS = frozenset(mark for mark in TERMINAL if not mark.isascii())
"""Marks that end a sentence in other scripts than Latin."""


@dataclass(frozen=True, kw_only=True)
class C4(RuleStage):
    """Keep the lines that are sentences, and the documents with enough of them.

    The rules of C4 (JMLR 21(140)). With ``words = "spacy"`` verdict, rule and the text left are those of datatrove 0.10.1 for
    every text. Lines lose the white space around them. A brace or "lorem ipsum" in a line that another rule has taken
    out does not count. Each line taken out of a document that stays is a span in the ledger. FineWeb ran these rules with
    ``filter_no_terminal_punct = false``. With unicode words, marks that end a sentence in other scripts do so here, a line
    of Thai or Lao needs none, and letters and syllables of scripts without spaces are words.
    """

    name: ClassVar[str] = "c4"
    published: ClassVar[str] = "C4, JMLR 21(140), arXiv:1910.10683; datatrove 0.10.1"
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"datatrove": {}}
    edits: ClassVar[bool] = True
    rule_parameters: ClassVar[tuple[str, ...]] = ("min_num_sentences", "filter_lorem_ipsum", "filter_curly_bracket")

    least: ClassVar[Mapping[str, float]] = {"min_num_sentences": -1, "min_words_per_line": -1}

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
    """Take out lines with a longer run between white space. -1: off."""
    filter_lorem_ipsum: bool = True
    """Drop documents with "lorem ipsum" in a line left so far."""
    filter_javascript: bool = True
    """Take out lines that mention javascript."""
    filter_curly_bracket: bool = True
    """Drop documents with { in a line left so far."""
    filter_policy: bool = True
    """Take out lines that speak of terms of use, privacy policy or cookies."""

    @property
    def signal_names(self) -> tuple[str, ...]:
        return ("sentences", "lines_kept", *(f"{name}_line" for name in _GIVEN_AWAY))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The first two are asked line by line: that of the earlier line names the verdict."""
        given_away = [
            Rule(name, f"{name}_line", "above", f"filter_{name}", 0.0 if getattr(self, f"filter_{name}") else math.nan)
            for name in _GIVEN_AWAY
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
        if self.variant == "fineweb2":
            raise StageFault("variant", "FineWeb-2 applies no rules of C4: leave the stage out")
        super().check()
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
            detail = self._split(document)[int(value) - 1].strip()[:200] if at else ""
            return Drop(rule.name, value, threshold, detail, values)
        left = ("\n" if self.split_paragraph else " ").join(kept).strip()
        return self.keep(values, None if left == document.text else left, spans)

    def _split(self, document: Document) -> list[str]:
        if self.split_paragraph:
            return document.view(str.splitlines)
        return document.view(split_sentences if self.words == "spacy" else split_unicode_sentences)

    def _read(self, document: Document) -> tuple[tuple[float, ...], list[str], list[Span]]:
        """Return the signals, the lines left and the spans taken out."""
        lines = self._split(document)
        lower = (_CITATION.sub("", document.text) if "[" in document.text else document.text).lower()
        phrases = tuple(phrase for phrase in ("lorem ipsum", "javascript", *_POLICY) if phrase in lower)
        kept: list[str] = []
        spans: list[Span] = []
        given_away: dict[str, int] = {}
        changed: list[tuple[int, str]] = []
        numbers: list[int] = []
        for number, whole in enumerate(map(str.strip, lines)):
            line, span = self._form(whole)
            if span is None and (phrases or "{" in line):
                span = self._content(line, whole, phrases, number, given_away)
            if span is None:
                kept.append(line)
                numbers.append(number)
                if line is not whole:
                    changed.append((number, line))
            elif span.text:
                spans.append(span)
        sentences = self._sentences(document, numbers, changed, kept)
        given = (float(given_away.get(name, math.nan)) for name in _GIVEN_AWAY)
        return (sentences, len(kept) / len(lines) if lines else 0.0, *given), kept, spans

    def _sentences(self, document: Document, kept: list[int], changed: list[tuple[int, str]], lines: list[str]) -> int:
        """Return the sentences in the lines whose numbers are `kept`; `changed` are those that are no longer whole."""
        if not self.split_paragraph:
            return len(kept)
        text = document.text
        if self.words == "spacy":
            counts = spacy_sentences_of_lines(document.view(spacy_words), text.splitlines(keepends=True))
        else:
            counts = sentences_of_lines(document.view(unicode_words), text.splitlines(keepends=True))
        split = split_sentences if self.words == "spacy" else split_unicode_sentences
        for number, line in changed:
            counts[number] = len(split(line))
        return sum([counts[number] for number in kept])

    def _form(self, whole: str) -> tuple[str, Span | None]:
        """Return the line as it is left, and the span where its form takes it out."""
        line = whole
        if self.max_word_length != -1 and len(line) > self.max_word_length:
            longest = max(map(len, line.split()))
            if longest > self.max_word_length:
                return line, Span("too_long_word", whole, longest, self.max_word_length)
        if self.remove_citations and "[" in line:
            line = _CITATION.sub("", line)
        if self.filter_no_terminal_punct and not self._ended(line):
            return line, Span("no_terminal_punc", whole)
        least = self.min_words_per_line
        if least > 0 and len(whole.split(None, least)) < least:
            words = len(whole.split())
            if self.words == "unicode" and not whole.isascii():
                found = unicode_words(whole)
                words = max(words, kernels.count_words(found.numbers, found.length, found.flags)[3])
            if words < least:
                return line, Span("too_few_words", whole, words, least)
        return line, None

    def _ended(self, line: str) -> bool:
        """Tell whether `line` ends as a sentence does."""
        if line.endswith(_ENDINGS):
            return not line.endswith("...")
        if self.words != "unicode" or not line:
            return False
        last = line[-1]
        return last in _OTHER_ENDS or last in UNMARKED or (last in CLOSING and line[-2:-1] in _OTHER_ENDS)

    def _content(
        self, line: str, whole: str, phrases: tuple[str, ...], number: int, given_away: dict[str, int]
    ) -> Span | None:
        """Return the span where what `line` says takes it out; note its number, from 1, where it gives the document away.

        Args:
            phrases: those looked for that the document holds at all.
        """
        lower = line.lower()
        said = [phrase for phrase in phrases if phrase in lower]
        if "lorem ipsum" in said:
            given_away.setdefault("lorem_ipsum", number + 1)
        if self.filter_javascript and "javascript" in said:
            return Span("javascript", whole)
        if "{" in line:
            given_away.setdefault("curly_bracket", number + 1)
        if self.filter_policy and said and said[-1] in _POLICY:
            return Span("policy", whole, detail=next(phrase for phrase in said if phrase in _POLICY))
        return None
