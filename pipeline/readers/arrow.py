"""Documents out of Arrow files: the file format (Feather 2), and the stream format that `datasets` keeps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
from pyarrow import ipc

from pipeline.errors import InputError
from pipeline.guard import guard
from pipeline.readers.contract import InputFile, Item, Mark
from pipeline.readers.layout import Layout, is_text, layout_of
from pipeline.readers.parquet import ParquetReader
from pipeline.storage import open_input

FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"
_ROWS = 1024
"""Rows of a record batch that are made into documents at a time."""


def open_arrow(file: InputFile, kind: str, source: BinaryIO) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
    """Return `source` opened as kind ``arrow`` (file) or ``arrows`` (stream). Raises InputError where it is none."""
    try:
        reader = ipc.open_file(source) if kind == "arrow" else ipc.open_stream(source)
        _read_names(reader.schema)
        return reader
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(
            f"{file.name} is no readable Arrow file ({why}); replace it or take it out of input.paths"
        ) from error


def _read_names(fields: Iterable[pa.Field]) -> None:
    """Raise UnicodeDecodeError where a name, however deep, is no UTF-8."""
    for field in fields:
        _ = field.name
        kind = field.type
        if pa.types.is_nested(kind):
            _read_names(kind.field(number) for number in range(kind.num_fields))


def arrow_layout(file: InputFile, kind: str) -> Layout:
    """Return which columns of an Arrow file become which of ours. Raises InputError as `layout_of`."""
    with open_input(file.path) as source:
        return layout_of(file, open_arrow(file, kind, source).schema)


def check_buffers(data: pa.RecordBatch) -> None:
    """Raise pa.ArrowInvalid where `data` would lead out of its buffers: an Arrow file is memory as it was written, and
    the library takes it at its word. Texts that are no UTF-8 pass; the reader of columns sees to them."""
    data.validate()
    for column in data.columns:
        if is_text(column.type) and not pa.types.is_dictionary(column.type):
            # as bytes: offsets are held against the buffer, and the bytes themselves against nothing
            column = column.view(_BYTES[column.type])
        column.validate(full=True)


_BYTES = {
    pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.binary(): pa.binary(), pa.large_binary(): pa.large_binary(),
    pa.string_view(): pa.binary_view(), pa.binary_view(): pa.binary_view(),
}  # fmt: skip


@dataclass
class ArrowReader(ParquetReader):
    """Reads one split, record batches `start` to `end` of a file or a whole stream, as the rows of Parquet are read."""

    def read(self) -> Iterator[Item]:
        """Yield batches and faults, in the order of the rows."""
        first = 0
        with open_input(self.split.file.path) as source:
            reader = open_arrow(self.split.file, self.split.format, source)
            whole = self.split.format == "arrow"
            for number in range(reader.num_record_batches) if whole else itertools.count():
                data, rule, why = self._record_batch(reader, number, first)
                if data is not None:
                    yield from self._pieces(data, first)
                    first += data.num_rows
                elif not rule:
                    return
                else:
                    yield self._fault(first, rule, f"record batch {number} cannot be read: {why}")
                    yield Mark(self.number)
                    if not whole:
                        return  # where the next one begins is not known

    def _record_batch(
        self, reader: ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader, number: int, first: int
    ) -> tuple[pa.RecordBatch | None, str, str]:
        """Return record batch `number`, or None with the rule and the reason of its fault; no rule at the end."""
        doubted = self.number in self.options.doubts
        guard.working_on(self.number, first, batch=not doubted)
        if doubted and self.number in self.options.stops:
            return None, *self.options.skip[self.number]
        try:
            data = reader.get_batch(number) if self.split.format == "arrow" else reader.read_next_batch()
            check_buffers(data)
        except StopIteration:
            return None, "", ""
        except (pa.ArrowException, OSError, ValueError, NotImplementedError, MemoryError) as error:
            return None, "damaged_row_group", " ".join(str(error).split())[:200]
        return data, "", ""

    def _pieces(self, data: pa.RecordBatch, first: int) -> Iterator[Item]:
        """Yield the documents and faults of `data`, whose first row is number `first` of the file, a few rows at a time."""
        start = singly = 0
        while start < data.num_rows:
            singly = _ROWS if self.number in self.options.doubts else max(0, singly - 1)
            rows = 1 if singly else _ROWS
            guard.working_on(self.number, first + start, batch=rows > 1)
            if self._is_left_out(singly):
                yield from self._row_left_out(first + start)
            else:
                yield from self._rows(data.slice(start, rows), first + start)
            start += rows

    def _layout_of_file(self) -> Layout:
        return arrow_layout(self.split.file, self.split.format)
