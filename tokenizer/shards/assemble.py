"""The second half of making shards: runs of encoded documents become parts, each with its index and its table of documents."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StorageError
from pipeline.storage import Folder
from tokenizer.shards.encode import IPC_ROWS, ROWS
from tokenizer.shards.formats import megatron_index
from tokenizer.shards.layout_kernel import lay_out
from tokenizer.shards.order import Part, Run, groups_of

COPY_BYTES = 8 << 20
GROUP_TOKENS = 1 << 23
"""Tokens of a shuffle that are put in order at once, about."""
TABLE_ROWS = 1 << 16
"""Rows of a row group of a table of documents."""

DOCUMENTS = ".documents.parquet"


@dataclass(frozen=True)
class AssembleTask:
    """One part to write: ``NAME.bin``, ``NAME.idx`` and ``NAME.documents.parquet`` in `target`.

    Attributes:
        ranges: ranges of keys that the runs count by; 0: whole runs in their order.
        work: folder of the runs, and of the record that the part is done.
    """

    name: str
    part: Part
    ranges: int
    dtype: np.dtype
    target: Folder
    work: Folder

    @property
    def record(self) -> str:
        """Name of the file that is written last, and says that the part is done."""
        return f"{self.name.replace('/', '-')}.json"


def assemble_part(task: AssembleTask) -> dict[str, Any]:
    """Write a part, and last its record, which is returned.

    Returns:
        ``name``, ``tokens``, ``documents``, ``sha256`` of the payload; ``others``: SHA-256 of each other file;
        ``lengths``: how many documents have 2^(k-1) to 2^k - 1 tokens, by k; ``shortest``, ``longest``.
    """
    if task.work.exists(task.record):
        found: dict[str, Any] = task.work.get_json(task.record)
        if all(task.target.exists(name) for name in [found["name"], *found["others"]]):
            return found
    lengths: list[np.ndarray] = []
    with contextlib.ExitStack() as stack:
        payload = _Digested(stack.enter_context(task.target.writing(f"{task.name}.bin")))
        table_file = _Digested(stack.enter_context(task.target.writing(f"{task.name}{DOCUMENTS}")))
        table = stack.enter_context(_table_writer(table_file))
        for rows in _in_ranges(task, payload) if task.ranges else _in_order(task, payload):
            lengths.append(rows["tokens"].to_numpy())
            table.write_table(rows, row_group_size=TABLE_ROWS)
    sizes = np.concatenate(lengths)
    index = megatron_index(sizes, task.dtype.name)
    task.target.put(f"{task.name}.idx", index)
    others = {
        f"{task.name}.idx": hashlib.sha256(index).hexdigest(),
        f"{task.name}{DOCUMENTS}": table_file.sha.hexdigest(),
    }
    about = {
        "name": f"{task.name}.bin",
        "tokens": int(sizes.sum()),
        "documents": len(sizes),
        "sha256": payload.sha.hexdigest(),
        "others": others,
        "lengths": np.bincount(np.frexp(sizes.astype(float))[1]).tolist(),
        "shortest": int(sizes.min()),
        "longest": int(sizes.max()),
    }
    task.work.put_json(task.record, about)
    return about


@dataclass
class _Digested:
    """A file whose content is digested while it is written."""

    file: BinaryIO
    sha: Any = field(default_factory=hashlib.sha256)
    closed: bool = False

    def write(self, data: Any) -> int:
        self.sha.update(data)
        self.file.write(data)
        return len(data)

    def flush(self) -> None:
        self.file.flush()


def _table_writer(file: _Digested) -> pq.ParquetWriter:
    """Return the writer of a table of documents: names that repeat once each, numbers by their differences."""
    repeated = ["source", "language", "file"]
    encodings = {"offset": "DELTA_BINARY_PACKED", "tokens": "DELTA_BINARY_PACKED"}
    return pq.ParquetWriter(
        pa.PythonFile(file, mode="w"), ROWS, compression="zstd", use_dictionary=repeated, column_encoding=encodings
    )


def _in_order(task: AssembleTask, payload: _Digested) -> Iterator[pa.Table]:
    """Copy whole runs, and yield the rows of each."""
    for run in task.part.runs:
        with task.work.open(f"{run.name}.bin") as file:
            while block := file.read(COPY_BYTES):
                payload.write(block)
        with _rows(task.work, run) as reader:
            yield reader.read_all()


def _in_ranges(task: AssembleTask, payload: _Digested) -> Iterator[pa.Table]:
    """Write the documents of a few ranges after the other in the order of their keys, and yield their rows."""
    runs, bounds = task.part.runs, []
    totals = np.zeros(task.ranges, np.int64)
    for run in runs:
        counts = np.frombuffer(task.work.get(f"{run.name}.ranges"), "<i8").reshape(2, task.ranges)
        totals += counts[1]
        bounds.append(
            np.concatenate([[[0], [0]], counts.cumsum(axis=1)], axis=1)[:, task.part.first : task.part.last + 1]
        )
    wanted = totals[task.part.first : task.part.last]
    for first, last in groups_of(wanted, GROUP_TOKENS):
        found = [
            _slice(task, run, edges[:, first], edges[:, last])
            for run, edges in zip(runs, bounds, strict=True)
            if edges[0, last] > edges[0, first]
        ]
        rows = pa.concat_tables(table for _, table in found)
        tokens = np.concatenate([part for part, _ in found])
        order = np.argsort(rows["key"].to_numpy(), kind="stable")
        lengths = rows["tokens"].to_numpy().astype(np.int64)
        out = np.empty(len(tokens), task.dtype)
        lay_out(tokens, np.cumsum(lengths) - lengths, lengths, order, -1, -1, out)
        payload.write(out.data.cast("B"))
        yield rows.take(pa.array(order)).drop_columns(["key"])


def _slice(task: AssembleTask, run: Run, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, pa.Table]:
    """Return the tokens and rows of a run from (document, token) `start` to `end`."""
    size = task.dtype.itemsize
    data = task.work.get_range(f"{run.name}.bin", int(start[1]) * size, int(end[1] - start[1]) * size)
    with _rows(task.work, run) as reader:
        first, last = int(start[0]) // IPC_ROWS, (int(end[0]) - 1) // IPC_ROWS
        rows = pa.Table.from_batches([reader.get_batch(k) for k in range(first, last + 1)])
        return np.frombuffer(data, task.dtype), rows.slice(int(start[0]) - first * IPC_ROWS, int(end[0] - start[0]))


@contextlib.contextmanager
def _rows(work: Folder, run: Run) -> Iterator[Any]:
    with work.open(f"{run.name}.rows") as file:
        try:
            yield pa.ipc.open_file(file)
        except (pa.ArrowInvalid, OSError) as error:
            raise StorageError(
                f"{work.url}/{run.name}.rows is torn ({' '.join(str(error).split())[:200]}); delete {work.url} and run again"
            ) from error
