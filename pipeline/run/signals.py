"""``signals/`` of a finished run: its files, and what is read from them, pass by pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StorageError, UserError
from pipeline.run.folder import Manifest
from pipeline.stage import digest_of
from pipeline.storage import Folder
from pipeline.worker.gather_signals import SignalTask
from pipeline.worker.signals import STAGES

SIGNALS = "signals"
SHARDS = 256
"""Shards whose signals become one file."""
FORMAT = 1
"""Raised when what a file looks like changes."""


def signal_files(
    out: Folder, target: Folder, passes: Sequence[Mapping[str, Any]], shards: Sequence[str], outcome: Any
) -> Iterator[tuple[SignalTask, str]]:
    """Yield the files of ``signals/`` as tasks, and what stands for the content of each.

    Args:
        passes: as in the manifest. Those in which nothing measures have no files.
        shards: names, in order; outcome: stands for what became of their documents.
    """
    for step in passes:
        folder = out / step["folder"]
        there = set(folder.names(SIGNALS))
        names = [name for name in shards if f"{SIGNALS}/{name}.parquet" in there]
        for number, at in enumerate(range(0, len(names), SHARDS)):
            some = tuple(names[at : at + SHARDS])
            file = f"{SIGNALS}/{step['folder'].rpartition('-')[0]}-{number:05d}.parquet"
            yield SignalTask(folder, some, target, file), digest_of([FORMAT, step["folder"], some, outcome])


@dataclass(frozen=True)
class PassSignals:
    """What one pass measured.

    Attributes:
        name: number and name of the pass, as its folder's begins.
        labels: of the pass's stages, in order; column `left` counts them.
        rows: (first, end) of each run of neighbouring stages that measure.
        table: `pipeline.worker.signals.FACTS`, the shard, and a column for each signal asked for.
    """

    name: str
    labels: tuple[str, ...]
    rows: tuple[tuple[int, int], ...]
    table: pa.Table
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def column(self, name: str) -> np.ndarray:
        """Return a column of numbers as an array; absent values are -1 for whole numbers."""
        return _numbers(self.table[name])

    def codes(self, name: str) -> tuple[list[str], np.ndarray]:
        """Return the different texts of column `name`, and for each document which of them it has; absent is one."""
        found = self.table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        return found.dictionary.to_pylist(), _numbers(found.indices)

    def signals(self, label: str) -> tuple[list[str], np.ndarray]:
        """Return the names of the signals of stage `label`, and their values, shape (documents, signals)."""
        if label not in self._known:
            names = [n for n in self.table.column_names if n.startswith(f"{label}.")]
            values = np.empty((self.table.num_rows, len(names)), np.float64)
            for place, name in enumerate(names):
                values[:, place] = self.column(name)
            self._known[label] = [name.removeprefix(f"{label}.") for name in names], values
        names, values = self._known[label]
        return names, values


def _numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return a column of numbers as an array, absent ones as -1. By its buffer: pyarrow's own way imports pandas."""
    array = column.fill_null(-1) if column.null_count else column
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = np.dtype({"double": "float64"}.get(str(array.type), str(array.type)))
    data = array.buffers()[1] if len(array) else b""
    return np.frombuffer(data, kind)[array.offset : array.offset + len(array)]


def read_signals(out: Folder, manifest: Manifest, facts: Sequence[str] = ()) -> list[PassSignals]:
    """Return what each pass of the finished run in `out` measured, in order.

    Args:
        facts: facts wanted beside the signals (`pipeline.worker.signals.FACTS`, or ``shard``); numbers are always there.

    Raises:
        UserError: the run has no signals.
    """
    files = sorted(name for name in manifest.files if name.startswith(f"{SIGNALS}/"))
    if not files:
        raise UserError(
            f"the run in {out.url} has no signals: none of its stages measures, or its recipe says [output] signals = false"
        )
    groups: dict[str, list[pa.Table]] = {}
    for file in files:
        groups.setdefault(file.removeprefix(f"{SIGNALS}/").rpartition("-")[0], []).append(_read(out, file, facts))
    found = []
    for name, tables in groups.items():
        told = json.loads((tables[0].schema.metadata or {})[STAGES])
        rows = tuple((first, end) for first, end in told["rows"])
        found.append(PassSignals(name, tuple(told["labels"]), rows, pa.concat_tables(tables)))
    return found


def _read(out: Folder, file: str, facts: Sequence[str]) -> pa.Table:
    if not out.exists(file):
        raise StorageError(f"{out.url}/{file} is missing; run the recipe again, which makes it anew")
    with out.open(file) as source:
        parquet = pq.ParquetFile(source)
        texts = {"shard", "rule", "source", "language"} - set(facts)
        columns = [name for name in parquet.schema_arrow.names if name not in texts]
        return parquet.read(columns=columns)
