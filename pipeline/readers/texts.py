"""Documents out of text files that hold many: one a line, or one a paragraph, separated by blank lines.

A plain file is cut into byte ranges; a document belongs to the range in which it begins.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import DEFAULT_SOURCE, Fault, Item, ReadOptions, Split
from pipeline.readers.lines import Damage, Line, lines, past_blank
from pipeline.readers.packed import first_bytes
from pipeline.readers.plain import text_encoding, text_of
from pipeline.readers.stopping import answered
from pipeline.storage import open_input

HEAD = 1 << 20
"""Bytes at the start of a file that show its encoding."""
_PIECE = 1 << 16
_NEVER = 1 << 62
_BLANK = b" \t\r\v\f"


class _Paragraph:
    """Lines that follow each other, kept as far as they are no more than `limit` bytes."""

    def __init__(self, offset: int, limit: int):
        self.offset, self.limit = offset, limit
        self.size = -1
        self._held: list[bytes] = []

    def add(self, line: Line) -> None:
        self.size += 1 + line.size
        if line.data is None or self.size > self.limit:
            self.size, self._held = max(self.size, self.limit + 1), []
        else:
            self._held.append(line.data)

    def whole(self, torn: bool = False) -> Line:
        return Line(self.offset, b"\n".join(self._held) if self.size <= self.limit else None, self.size, torn)


def paragraphs(file: BinaryIO, packing: str, start: int, end: int, limit: int) -> Iterator[Line | Damage]:
    """Yield the runs of lines without a blank one that begin in ``[start, end)``, each as one `Line`, and damage where it lies."""
    end = _NEVER if packing else end
    begins = _blank_before(file, start, limit)
    paragraph: _Paragraph | None = None
    for line in lines(file, packing, start, _NEVER, limit):
        is_text = isinstance(line, Line) and (line.data is None or line.data.strip() != b"")
        if isinstance(line, Line) and is_text and (paragraph or (begins and line.offset < end)):
            paragraph = paragraph or _Paragraph(line.offset, limit)
            paragraph.add(line)
            if not line.torn and (paragraph.size <= limit or line.offset < end):
                continue
        if paragraph:
            yield paragraph.whole(isinstance(line, Line) and line.torn)
            paragraph = None
        if isinstance(line, Damage):
            yield line
        if line.offset >= end:
            return
        begins = not is_text
    if paragraph:
        yield paragraph.whole()


def _blank_before(file: BinaryIO, start: int, limit: int) -> bool:
    """Return whether a blank line, or none, stands before the first line that begins at `start` or behind it."""
    if start == 0:
        return True
    file.seek(start - 1)
    passed = 0
    while piece := file.read(_PIECE):
        line, found, _ = piece.partition(b"\n")
        passed += len(line)
        if line.strip(_BLANK) or passed > limit:
            return False
        if found:
            break
    at = start - 1
    while at and passed <= limit:
        file.seek(max(0, at - _PIECE))
        piece = file.read(min(at, _PIECE))
        before = piece.rstrip(_BLANK)
        if before:
            return before.endswith(b"\n") and passed + len(piece) - len(before) <= limit
        passed += len(piece)
        at -= len(piece)
    return at == 0 and passed <= limit


@dataclass
class TextsReader:
    """Reads one split: `read` yields its documents and faults. Blank lines are no documents and not counted."""

    split: Split
    options: ReadOptions
    packing: str
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield batches and faults as they come."""
        batches = BatchBuilder(self.options.schema, self.options.batch_bytes)
        with open_input(self.split.file.path) as file:
            encoding = text_encoding(first_bytes(file, self.packing, HEAD))
            yield from answered(self, self._records(file), lambda item: self._answer(item, encoding), batches)

    def _records(self, file: BinaryIO) -> Iterator[Line | Damage]:
        start, end, limit = self.split.start, self.split.end, self.options.max_record_bytes
        if self.split.file.documents == "paragraph":
            return paragraphs(file, self.packing, start, end, limit)
        return lines(file, self.packing, start, end, limit, passes=past_blank)

    def _answer(self, found: Line | Damage | Fault, encoding: str) -> Fault | dict[str, Any] | None:
        """Return a document, a fault, or None for a line that is blank or belongs to damage behind it."""
        if isinstance(found, Fault):
            return found
        file = self.split.file
        name = f"{file.name}#{found.offset}"
        if isinstance(found, Damage):
            return Fault(self.number, found.offset, found.rule, found.detail, name)
        if self.number in self.options.skip:
            return Fault(self.number, found.offset, *self.options.skip[self.number], id=name)
        if found.data is None:
            what = f"a {file.documents} of {found.size} bytes or more"
            return Fault(self.number, found.offset, "record_too_large", what, name)
        text = text_of(found.data.removeprefix(codecs.BOM_UTF8), encoding).replace("\r\n", "\n").strip("\r\n")
        if found.torn or not text.strip():
            return None
        row = {"id": name, "source": file.source or DEFAULT_SOURCE, "file": file.name, "offset": found.offset}
        return {**row, "text": text}
