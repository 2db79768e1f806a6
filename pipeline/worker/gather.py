"""Puts shards together into the files of the final corpus: of a stated size, none empty, in the order of the input."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
    writers = {"data": _Writer(task.schema)}
    for name, shard in task.shards:
        tables = {place: folder.get_table(f"{name}.parquet") for place, folder in task.beside}
        at = 0
        for batch in read_stand(shard, name, min(BATCH_BYTES, task.file_bytes)):
            for data in _cut(batch.data, task.file_bytes):
                if task.several and writers["data"].rows and writers["data"].bytes + data.nbytes > task.file_bytes:
                    made += _close(task, writers, len(made))
                    writers = {"data": _Writer(task.schema)}
                writers["data"].add(data)
                for place, table in tables.items():
                    writers.setdefault(place, _Writer(table.schema)).add(
                        *table.slice(at, data.num_rows).combine_chunks().to_batches()
                    )
                at += data.num_rows
        for place, table in tables.items():
            if table.num_rows != at:
                raise AccountingError(f"{place} of shard {name} has {table.num_rows} rows for {at} documents")
    return made + _close(task, writers, len(made))


def _cut(data: pa.RecordBatch, limit: int) -> Iterator[pa.RecordBatch]:
    """Yield `data` in pieces of at most about `limit` bytes, at least a row each."""
    rows = max(1, int(data.num_rows * limit // max(1, data.nbytes)))
    for at in range(0, data.num_rows, rows):
        yield data.slice(at, rows)


def _close(task: GatherTask, writers: dict[str, _Writer], number: int) -> list[dict[str, Any]]:
    number //= max(1, len(writers))
    made = []
    for place, writer in writers.items():
        if writer.rows:
            name = f"{place}/{task.file}{f'-{number:03d}' if task.several else ''}.parquet"
            data = writer.close()
            task.target.put(name, data)
            sha = hashlib.sha256(data).hexdigest()
            made.append({"name": name, "bytes": len(data), "sha256": sha, "rows": writer.rows})
    return made


class _Writer:
    """One Parquet file being written, in row groups bounded by bytes."""

    def __init__(self, schema: pa.Schema):
        self._schema, self._sink = schema, io.BytesIO()
        self._writer: pq.ParquetWriter = shard_writer(self._sink, schema)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self.rows = self.bytes = 0

    def add(self, *batches: pa.RecordBatch) -> None:
        """Add rows."""
        for data in batches:
            if data.num_rows:
                self._waiting.append(data)
                self._waiting_bytes += data.nbytes
                self.rows += data.num_rows
                self.bytes += data.nbytes
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting, self._waiting_bytes = [], 0

    def close(self) -> bytes:
        """Return the file."""
        self._flush()
        self._writer.close()
        return self._sink.getvalue()
