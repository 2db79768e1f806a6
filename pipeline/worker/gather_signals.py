"""Puts the signals of a pass's shards together into the files of ``signals/``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.storage import Folder, encode_numbers


@dataclass(frozen=True)
class SignalTask:
    """Neighbouring shards of one pass, whose signals become one file.

    Attributes:
        source: folder of the pass.
        shards: their names.
        target: folder of the file; file: its name in it.
    """

    source: Folder
    shards: tuple[str, ...]
    target: Folder
    file: str


def gather_signals(task: SignalTask) -> list[dict[str, Any]]:
    """Write the file of `task` and return its name, bytes and SHA-256; each document's shard becomes a column."""
    tables = []
    for name in task.shards:
        table = task.source.get_table(f"signals/{name}.parquet")
        shard = pa.array([name], pa.large_string()).take(pa.array([0] * table.num_rows, pa.int32()))
        tables.append(table.add_column(0, pa.field("shard", pa.large_string()), shard))
    data = encode_numbers(pa.concat_tables(tables).replace_schema_metadata(tables[0].schema.metadata).combine_chunks())
    task.target.put(task.file, data)
    return [{"name": task.file, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}]
