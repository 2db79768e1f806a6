"""Puts shards together into the files of the final corpus: of a stated size, none empty, in the order of the input."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import AccountingError
from pipeline.storage import ROW_GROUP_BYTES, Folder, shard_writer
from pipeline.worker.read import read_stand
from pipeline.worker.task import Stand

BATCH_BYTES = 8 << 20


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
    """

    shards: tuple[tuple[str, Stand], ...]
    beside: tuple[tuple[str, Folder], ...]
    schema: pa.Schema
    target: Folder
    file: str
    file_bytes: int
    several: bool


def gather(task: GatherTask) -> list[dict[str, Any]]:
    """Write the files of `task` and return name, bytes, SHA-256 and rows of each."""
    made: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        files = _Files(task, stack)
        for name, shard in task.shards:
            tables = {place: folder.get_table(f"{name}.parquet") for place, folder in task.beside}
            at = 0
            for batch in read_stand(shard, name, min(BATCH_BYTES, task.file_bytes)):
                for data in _cut(batch.data, task.file_bytes):
                    if task.several and files.rows and files.bytes + data.nbytes > task.file_bytes:
                        made += files.close()
                        files = _Files(task, stack, files.number + 1)
                    beside = {place: table.slice(at, data.num_rows) for place, table in tables.items()}
                    files.add(data, beside)
                    at += data.num_rows
            for place, table in tables.items():
                if table.num_rows != at:
                    raise AccountingError(f"{place} of shard {name} has {table.num_rows} rows for {at} documents")
        return made + files.close()


def _cut(data: pa.RecordBatch, limit: int) -> Iterator[pa.RecordBatch]:
    """Yield `data` in pieces of at most about `limit` bytes, at least a row each."""
    rows = max(1, int(data.num_rows * limit // max(1, data.nbytes)))
    for at in range(0, data.num_rows, rows):
        yield data.slice(at, rows)


class _Files:
    """One file of texts and those beside it, row for row, while they are written."""

    def __init__(self, task: GatherTask, stack: contextlib.ExitStack, number: int = 0):
        self._task, self._stack, self.number = task, stack, number
        self._writers: dict[str, _Writer] = {}
        self.rows = self.bytes = 0

    def add(self, data: pa.RecordBatch, beside: Mapping[str, pa.Table]) -> None:
        """Add rows to each file."""
        if data.num_rows == 0:
            return
        self._writer("data", self._task.schema).add(data)
        for place, table in beside.items():
            self._writer(place, table.schema).add(*table.combine_chunks().to_batches())
        self.rows += data.num_rows
        self.bytes += data.nbytes

    def _writer(self, place: str, schema: pa.Schema) -> _Writer:
        if place not in self._writers:
            ending = f"-{self.number:03d}" if self._task.several else ""
            name = f"{place}/{self._task.file}{ending}.parquet"
            self._writers[place] = _Writer(self._task.target, name, schema, self._stack)
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
    """One Parquet file being written, in row groups bounded by bytes."""

    def __init__(self, folder: Folder, name: str, schema: pa.Schema, stack: contextlib.ExitStack):
        self._name, self._schema = name, schema
        self._opened = contextlib.ExitStack()
        stack.push(self._opened)  # where something fails, no half a file appears
        self._sink = _Digested(self._opened.enter_context(folder.writing(name)))
        self._writer: pq.ParquetWriter = shard_writer(cast(BinaryIO, self._sink), schema)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = self._rows = 0

    def add(self, *batches: pa.RecordBatch) -> None:
        """Add rows."""
        for data in batches:
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
