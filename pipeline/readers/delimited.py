"""Documents out of CSV and TSV files: the first row names the columns, each other is a document.

A row of CSV may go over many lines (RFC 4180). A quotation mark that is never closed costs its own line, not the rest of
the file. TSV has no quoting (IANA, text/tab-separated-values), unless its rows only fit their header with it.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from pipeline.errors import InputError
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import Fault, InputFile, Item, ReadOptions, Split
from pipeline.readers.lines import Damage, Line, lines
from pipeline.readers.objects import SAMPLE, NoText, document, keys_of
from pipeline.readers.packed import first_bytes
from pipeline.readers.plain import text_encoding, text_of
from pipeline.readers.stopping import answered
from pipeline.storage import open_input

HEAD = 1 << 20
LINE_OVERHEAD = 128
"""Bytes counted for each further line of a row beside its text: a mark that is never closed may take in millions of short ones."""
_EMPTY = re.compile(rb"(?:\r*+\n)++")
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    Attributes:
        quoted: quotation marks hold cells together; else they are characters like any other.
        encoding: of each line.
    """

    delimiter: str
    quoted: bool
    encoding: str


@dataclass(slots=True)
class Row:
    """A row: its cells, or why it could not be read; `line` is the number of its first line, from 1."""

    offset: int
    line: int
    cells: list[str]
    rule: str = ""
    detail: str = ""


def dialect_of(head: bytes, base: str) -> Dialect:
    """Return how a file of kind `base` (``csv`` or ``tsv``) that begins with `head` is written."""
    encoding = text_encoding(head)
    whole = head[: head.rfind(b"\n") + 1] or head
    first = text_of(whole.split(b"\n", 1)[0], encoding)
    if base == "csv":
        return Dialect(max(_DELIMITERS, key=first.count), True, encoding)
    plain, quoted = Dialect("\t", False, encoding), Dialect("\t", True, encoding)
    return quoted if _misfits(whole, quoted) < _misfits(whole, plain) else plain


def _misfits(head: bytes, dialect: Dialect) -> int:
    rows = [len(row.cells) for row in Rows(io.BytesIO(head), "", dialect, 1 << 40) if isinstance(row, Row)][
        : SAMPLE + 1
    ]
    return sum(cells != rows[0] for cells in rows[1:])


class Rows:
    """The rows of a file, and damage where it lies. Blank lines are no rows."""

    def __init__(self, file: BinaryIO, packing: str, dialect: Dialect, limit: int):
        self.dialect, self.limit = dialect, limit
        self._source = lines(file, packing, 0, 1 << 62, limit, passes=self._past_empty)
        self._again: deque[tuple[int, Line]] = deque()
        self._row: list[tuple[int, Line]] = []  # the lines taken since the row began
        self._number = self._bytes = 0
        self._met: Damage | Line | None = None  # what ended the lines of the row that is read

    def _past_empty(self, data: bytes, at: int) -> int:
        """Pass over lines without anything, except inside a cell, whose text they are part of."""
        passed = None if self._row and self.dialect.quoted else _EMPTY.match(data, at)
        return at if passed is None else passed.end()

    def __iter__(self) -> Iterator[Row | Damage]:
        reader = self._reader()
        while True:
            self._row, self._bytes = [], 0
            try:
                cells = next(reader, None)
            except csv.Error as error:
                yield from self._mended(str(error))
                reader = self._reader()
                continue
            met, self._met = self._met, None
            if cells is not None and any(cells):
                yield Row(self._row[0][1].offset, self._row[0][0], cells)
            if isinstance(met, Damage):
                yield met
                reader = self._reader()
            elif met is not None:
                yield Row(met.offset, self._number, [], "record_too_large", f"a line of {met.size} bytes")
                reader = self._reader()
            elif cells is None:
                return

    def _reader(self) -> Iterator[list[str]]:
        d = self.dialect
        if not d.quoted:
            return (text.rstrip("\r\n").split(d.delimiter) for text in self._lines())
        return csv.reader(self._lines(), delimiter=d.delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        """Yield the text of each line, remembering those of the row that is read."""
        while True:
            if self._again:
                number, line = self._again.popleft()
            else:
                item = next(self._source, None)
                if item is None:
                    return
                self._number += 1 + item.before if isinstance(item, Line) else 0
                if isinstance(item, Damage) or item.data is None:
                    self._met = item
                    return
                number, line = self._number, item
            self._row.append((number, line))
            self._bytes += line.size + LINE_OVERHEAD * (len(self._row) > 1)
            if self._bytes > self.limit:
                raise csv.Error("unexpected end of data")
            yield text_of(line.data or b"", self.dialect.encoding) + "\n"

    def _mended(self, why: str) -> Iterator[Row]:
        """Yield what can be had of a row that is not written by the rules."""
        number, line = self._row[0]
        if "unexpected end" not in why:  # a mark inside a quoted cell that nobody doubled: read as it stands
            texts = [text_of(row.data or b"", self.dialect.encoding) + "\n" for _, row in self._row]
            try:
                yield from [
                    Row(line.offset, number, c) for c in csv.reader(texts, delimiter=self.dialect.delimiter) if any(c)
                ]
            except csv.Error as error:
                yield Row(line.offset, number, [], "bad_row", str(error))
            return
        self._again.extendleft(reversed(self._row[1:]))
        yield Row(line.offset, number, [], "bad_row", "the quotation mark opened here is never closed")


def columns_of(file: InputFile, base: str, packing: str) -> tuple[list[str], list[Mapping[str, Any]], Dialect]:
    """Return the names of the columns, up to `SAMPLE` rows by name, and how the file is written.

    Raises:
        InputError: the file's first row names no columns.
    """
    csv.field_size_limit(1 << 30)
    with open_input(file.path) as source:
        head = first_bytes(source, packing, HEAD)
    dialect = dialect_of(head, base)
    names: list[str] | None = None
    found: list[Mapping[str, Any]] = []
    for row in Rows(io.BytesIO(head), "", dialect, 1 << 40):
        if isinstance(row, Damage) or row.rule:
            continue
        if names is None:
            names = _names(row.cells)
            continue
        found.append(_named(names, row.cells))
        if len(found) == SAMPLE:
            break
    if names is None:
        raise InputError(f"{file.name} has no row that names its columns; write one, or take it out of input.paths")
    return names, found or [dict.fromkeys(names)], dialect


def _names(cells: Sequence[str]) -> list[str]:
    """Return the names of the columns, unique: the second ``m`` is ``m_2``, one without a name ``column 3``."""
    names: dict[str, None] = {}
    times: dict[str, int] = {}
    for place, cell in enumerate(cells, 1):
        name = wanted = cell.strip() or f"column {place}"
        again = times.get(wanted, 1)
        while name in names:
            again += 1
            name = f"{wanted}_{again}"
        times[wanted] = again
        names[name] = None
    return list(names)


def _below_headers(rows: Iterable[Row | Damage], names: Sequence[str], batches: BatchBuilder) -> Iterator[Row | Damage]:
    """Yield what is no header row; each but the first is counted."""
    begun = False
    for row in rows:
        if isinstance(row, Row) and not row.rule and _names(row.cells) == names:
            if begun:
                batches.ignore("a header row again")  # of a file that was joined to this one
            begun = True
        else:
            yield row


def _named(names: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    return dict(zip(names, cells, strict=False))


@dataclass
class DelimitedReader:
    """Reads one split, which is a whole file: `read` yields its documents and faults."""

    split: Split
    options: ReadOptions
    packing: str
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield batches and faults as they come."""
        batches = BatchBuilder(self.options.schema, self.options.batch_bytes)
        file, base = self.split.file, self.split.format.partition(".")[0]
        names, first, dialect = columns_of(file, base, self.packing)
        keys = keys_of(file, first)
        with open_input(file.path) as source:
            rows = _below_headers(Rows(source, self.packing, dialect, self.options.max_record_bytes), names, batches)
            yield from answered(self, rows, lambda row: self._answer(row, names, keys), batches)

    def _answer(self, row: Row | Damage | Fault, names: Sequence[str], keys: Any) -> Fault | dict[str, Any]:
        if isinstance(row, Fault):
            return row
        if isinstance(row, Damage):
            return Fault(self.number, row.offset, row.rule, row.detail)
        if self.number in self.options.skip:
            return self._fault(row, *self.options.skip[self.number])
        if row.rule:
            return self._fault(row, row.rule, row.detail)
        if len(row.cells) > len(names):
            return self._fault(row, "bad_row", f"{len(row.cells)} cells under {len(names)} columns")
        value = _named(names, row.cells)
        found = document(value, keys, self.split.file, row.offset)
        return self._fault(row, found.rule, found.detail, found.id) if isinstance(found, NoText) else found

    def _fault(self, row: Row, rule: str, detail: str, id: str | None = None) -> Fault:
        name = id or f"{self.split.file.name}#{row.offset}"
        return Fault(self.number, row.offset, rule, f"line {row.line}: {detail}", name)
