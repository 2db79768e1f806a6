"""C4's rules: which lines of a page are prose, and whether enough of them are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, Span, StageFault, Verdict
from stages.text.words import count_sentences, split_sentences

_CITATION = re.compile(r"\[\d*]|\[edit]|\[citation needed]")
_ENDINGS = (".", "?", "!", '"', "'")
_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")


@dataclass(frozen=True, kw_only=True)
class C4(DocumentStage):
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
    signals: bool = False
    """Also write of kept documents how many sentences and what share of lines was kept: c4.sentences, c4.lines_kept."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        names = ("sentences", "lines_kept")
        return tuple(pa.field(f"{self.name}.{name}", pa.float64()) for name in names) if self.signals else ()

    def check(self) -> None:
        if self.max_word_length < -1 or self.max_word_length == 0:
            raise StageFault("max_word_length", "give the longest word allowed, or -1 for no limit")

    def judge(self, document: Document) -> Verdict:
        text = document.text
        lines = document.view(str.splitlines) if self.split_paragraph else split_sentences(text)
        kept: list[str] = []
        spans: list[Span] = []
        sentences = 0
        for line, verdict in self._lines(lines):
            if isinstance(verdict, Drop):
                return verdict
            if isinstance(verdict, Span):
                if verdict.text:
                    spans.append(verdict)
                continue
            if self.min_num_sentences != -1 and (self.signals or sentences < self.min_num_sentences):
                sentences += count_sentences(line) if self.split_paragraph else 1
            kept.append(line)
        if sentences < self.min_num_sentences:
            return Drop("too_few_sentences", sentences, self.min_num_sentences)
        left = ("\n" if self.split_paragraph else " ").join(kept).strip()
        columns = {}
        if self.signals:
            columns = {"c4.sentences": float(sentences), "c4.lines_kept": len(kept) / len(lines) if lines else 0.0}
        elif left == text:
            return None
        return Keep(text=None if left == text else left, columns=columns, spans=spans)

    def _lines(self, lines: list[str]) -> Iterator[tuple[str, Drop | Span | None]]:
        """Yield each line as it is left, and what became of it."""
        for whole in lines:
            line = whole = whole.strip()
            words = line.split()
            if self.max_word_length != -1 and len(line) > self.max_word_length:
                longest = max(map(len, words))
                if longest > self.max_word_length:
                    yield line, Span("too_long_word", whole, longest, self.max_word_length)
                    continue
            if self.remove_citations and "[" in line:
                line = _CITATION.sub("", line)
            if self.filter_no_terminal_punct and (not line.endswith(_ENDINGS) or line.endswith("...")):
                yield line, Span("no_terminal_punc", whole)
                continue
            if len(words) < self.min_words_per_line:
                yield line, Span("too_few_words", whole, len(words), self.min_words_per_line)
                continue
            yield line, self._content(line, whole)

    def _content(self, line: str, whole: str) -> Drop | Span | None:
        lower = line.lower()
        if self.filter_lorem_ipsum and "lorem ipsum" in lower:
            return Drop("lorem_ipsum", detail=line[:200])
        if self.filter_javascript and "javascript" in lower:
            return Span("javascript", whole)
        if self.filter_curly_bracket and "{" in line:
            return Drop("curly_bracket", detail=line[:200])
        if self.filter_policy:
            for phrase in _POLICY:
                if phrase in lower:
                    return Span("policy", whole, detail=phrase)
        return None
