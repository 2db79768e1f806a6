"""Documents out of Arrow files: the file format (Feather 2), and the stream format that `datasets` keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
from pyarrow import ipc

from pipeline.errors import InputError
from pipeline.guard import guard
from pipeline.readers.contract import InputFile, Item, Mark
from pipeline.readers.layout import Layout, layout_of
from pipeline.readers.parquet import ParquetReader
from pipeline.storage import open_input

FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"
_ROWS = 1024
"""Rows of a record batch that are made into documents at a time."""


def open_arrow(file: InputFile, kind: str, source: BinaryIO) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
    """Return `source` opened as kind ``arrow`` (file) or ``arrows`` (stream). Raises InputError where it is none."""
    try:
        return ipc.open_file(source) if kind == "arrow" else ipc.open_stream(source)
    except (pa.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(
            f"{file.name} is no readable Arrow file ({why}); replace it or take it out of input.paths"
        ) from error


def arrow_layout(file: InputFile, kind: str) -> Layout:
    """Return which columns of an Arrow file become which of ours. Raises InputError as `layout_of`."""
    with open_input(file.path) as source:
        return layout_of(file, open_arrow(file, kind, source).schema)


@dataclass
class ArrowReader(ParquetReader):
    """Reads one split, record batches `start` to `end` of a file or a whole stream, as the rows of Parquet are read."""

    def read(self) -> Iterator[Item]:
        """Yield batches and faults, in the order of the rows."""
        kind, first = self.split.format, 0
        with open_input(self.split.file.path) as source:
            reader = open_arrow(self.split.file, kind, source)
            number, count = 0, reader.num_record_batches if kind == "arrow" else None
            while count is None or number < count:
                guard.working_on(self.number, first, batch=True)
                try:
                    data = reader.get_batch(number) if count is not None else reader.read_next_batch()
                except StopIteration:
                    return
                except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
                    why = " ".join(str(error).split())[:200]
                    yield self._fault(first, "damaged_row_group", f"record batch {number} cannot be read: {why}")
                    yield Mark(self.number)
                    if count is None:
                        return  # where the next one begins is not known
                    number += 1
                    continue
                for start in range(0, data.num_rows, _ROWS):
                    piece = data.slice(start, _ROWS)
                    yield from self._rows(piece, first + start)
                first, number = first + data.num_rows, number + 1

    def _layout_of_file(self) -> Layout:
        return arrow_layout(self.split.file, self.split.format)
