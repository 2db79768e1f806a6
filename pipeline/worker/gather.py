"""Puts shards together into the files of the final corpus: of a stated size, none empty, in the order of the input."""

from __future__ import annotations

import contextlib
import hashlib
import io
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from pipeline.errors import AccountingError
from pipeline.storage import ROW_GROUP_BYTES, Folder, shard_writer
from pipeline.worker.read import read_stand
from pipeline.worker.task import Stand

BATCH_BYTES = 8 << 20
LINES_AT_ONCE = 1024
"""Rows held as Python objects while lines are written."""


@dataclass(frozen=True)
class Form:
    """What the files of the final corpus are like.

    Attributes:
        format: ``parquet`` or ``jsonl.zst``.
        columns: those that are written, in this order; empty for all.
        partition_by: column whose values get a folder each; empty for none.
    """

    format: str = "parquet"
    columns: tuple[str, ...] = ()
    partition_by: str = ""


@dataclass(frozen=True)
class GatherTask:
    """Neighbouring shards that become one file, or a few where one shard alone is larger than a file.

    Attributes:
        shards: name and place of each.
        beside: folders whose files hold one row a document too (token counts), by the name of the folder that they are
            put together in, row for row beside the texts.
        target: folder of the files, in `data` and in the folders of `beside`.
        file: name of the file, without ending; several get ``-000`` and so on behind it.
        file_bytes: bytes of text that make a file.
        several: more than one file may come of it.
        form: what the files of texts are like.
    """

    shards: tuple[tuple[str, Stand], ...]
    beside: tuple[tuple[str, Folder], ...]
    schema: pa.Schema
    target: Folder
    file: str
    file_bytes: int
    several: bool
    form: Form = Form()


def gather(task: GatherTask) -> list[dict[str, Any]]:
    """Write the files of `task` and return name, bytes, SHA-256 and rows of each."""
    made: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        files: dict[str, _Files] = {}
        for name, shard in task.shards:
            tables = {place: folder.get_table(f"{name}.parquet") for place, folder in task.beside}
            at = 0
            for batch in read_stand(shard, name, min(BATCH_BYTES, task.file_bytes)):
                for data in _cut(batch.data, task.file_bytes):
                    beside = {place: table.slice(at, data.num_rows) for place, table in tables.items()}
                    at += data.num_rows
                    for part, rows, others in _parted(data, beside, task.form.partition_by):
                        if part not in files:
                            files[part] = _Files(task, stack, part)
                        made += files[part].add(rows, others)
            for place, table in tables.items():
                if table.num_rows != at:
                    raise AccountingError(f"{place} of shard {name} has {table.num_rows} rows for {at} documents")
        for written in files.values():
            made += written.close()
    return made


NO_VALUE = "_none"
"""Folder of the documents that have no value in the column that parts them."""
Part = tuple[str, pa.RecordBatch, Mapping[str, pa.Table]]


def _parted(data: pa.RecordBatch, beside: Mapping[str, pa.Table], column: str) -> Iterator[Part]:
    """Yield folder, rows and the rows beside them for each value of `column`; all in one where it is empty."""
    if not column:
        yield "", data, beside
        return
    values = data.column(column)
    for value in values.unique().to_pylist():
        mask = pc.is_null(values) if value is None else pc.fill_null(pc.equal(values, value), False)
        yield folder_of(value), data.filter(mask), {place: table.filter(mask) for place, table in beside.items()}


def folder_of(value: str | None) -> str:
    """Return the folder for `value`: the value itself where it is a plain name, else with ``%`` and hex digits."""
    if not value:
        return f"{NO_VALUE}/"
    name = urllib.parse.quote(value, safe=" +,=@()&")
    return f"{'%' + format(ord(name[0]), '02X') + name[1:] if name[0] in '._' else name}/"


def _cut(data: pa.RecordBatch, limit: int) -> Iterator[pa.RecordBatch]:
    """Yield `data` in pieces of at most about `limit` bytes, at least a row each."""
    rows = max(1, int(data.num_rows * limit // max(1, data.nbytes)))
    for at in range(0, data.num_rows, rows):
        yield data.slice(at, rows)


class _Files:
    """One file of texts and those beside it, row for row, while they are written."""

    def __init__(self, task: GatherTask, stack: contextlib.ExitStack, part: str):
        self._task, self._stack, self._part = task, stack, part
        self._writers: dict[str, _Writer] = {}
        self._rows = self._bytes = self._number = 0

    def add(self, data: pa.RecordBatch, beside: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
        """Add rows to each file; where these are full with what they hold, end them, begin others and return the ended."""
        if data.num_rows == 0:
            return []
        ended: list[dict[str, Any]] = []
        if self._task.several and self._rows and self._bytes + data.nbytes > self._task.file_bytes:
            ended = self.close()
            self._writers, self._rows, self._bytes, self._number = {}, 0, 0, self._number + 1
        self._writer("data", self._task.schema).add(data)
        for place, table in beside.items():
            self._writer(place, table.schema).add(*table.combine_chunks().to_batches())
        self._rows += data.num_rows
        self._bytes += data.nbytes
        return ended

    def _writer(self, place: str, schema: pa.Schema) -> _Writer:
        if place not in self._writers:
            number = f"-{self._number:03d}" if self._task.several else ""
            format = self._task.form.format if place == "data" else "parquet"
            columns = self._task.form.columns if place == "data" else ()
            name = f"{place}/{self._part}{self._task.file}{number}.{format}"
            schema = pa.schema([schema.field(c) for c in columns]) if columns else schema
            self._writers[place] = _Writer(self._task.target, name, format, schema, self._stack)
        return self._writers[place]

    def close(self) -> list[dict[str, Any]]:
        """End the files, which appear whole, and return name, bytes, SHA-256 and rows of each."""
        return [writer.close() for writer in self._writers.values()]


class _Digested(io.RawIOBase):
    """A file that is written once from its beginning; what goes through is counted and digested."""

    def __init__(self, file: BinaryIO):
        super().__init__()
        self._file, self.size, self.sha = file, 0, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: Any) -> int:
        self._file.write(data)
        self.sha.update(data)
        self.size += len(data)
        return len(data)


class _Writer:
    """One file being written, in row groups bounded by bytes, or line by line."""

    def __init__(self, folder: Folder, name: str, format: str, schema: pa.Schema, stack: contextlib.ExitStack):
        self._name, self._schema = name, schema
        self._opened = contextlib.ExitStack()
        stack.push(self._opened)  # where something fails, no half a file appears
        self._sink = _Digested(self._opened.enter_context(folder.writing(name)))
        sink = cast(BinaryIO, self._sink)
        self._writer: Any = _Lines(sink, schema) if format == "jsonl.zst" else shard_writer(sink, schema)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = self._rows = 0

    def add(self, *batches: pa.RecordBatch) -> None:
        """Add rows."""
        for data in batches:
            data = data if data.schema.names == self._schema.names else data.select(self._schema.names)
            self._waiting.append(data)
            self._waiting_bytes += data.nbytes
            self._rows += data.num_rows
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting, self._waiting_bytes = [], 0

    def close(self) -> dict[str, Any]:
        """End the file, which appears whole, and return its name, bytes, SHA-256 and rows."""
        self._flush()
        self._writer.close()
        self._opened.close()
        return {"name": self._name, "bytes": self._sink.size, "sha256": self._sink.sha.hexdigest(), "rows": self._rows}


class _Lines:
    """Writes rows as JSON objects, one a line, in one zstd frame; what is null is left out, binary is base64."""

    def __init__(self, sink: BinaryIO, schema: pa.Schema):
        self._names = schema.names
        self._file: Any = zstandard.ZstdCompressor(level=3).stream_writer(sink, closefd=False)
        self._encode = msgspec.json.Encoder(enc_hook=str).encode

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Add the rows of `table`."""
        for batch in table.to_batches(LINES_AT_ONCE):
            for row in batch.to_pylist():
                self._file.write(self._encode({k: v for k, v in row.items() if v is not None}) + b"\n")

    def close(self) -> None:
        """End the frame."""
        self._file.close()
