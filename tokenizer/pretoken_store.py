"""Exact pretoken counts in bounded memory: partitions by hash, spilled as Parquet, summed one at a time.

The order of the result, by partition and then by bytes, depends on the pretokens alone: neither on memory,
nor on workers, nor on the order in which shards came.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from pipeline.storage import Folder
from tokenizer.memory import hash_bytes
from tokenizer.pretokens import SCHEMA, PretokenTable, columns_of

PARTITIONS = 64
_SHIFT = np.uint64(58)

MEMORY_BYTES = 512 << 20
"""Memory that counting may take, unless told otherwise."""


class PretokenCounts:
    """Sums tables of pretoken counts (`pretokens.SCHEMA`), keeping at most about `memory_bytes` in memory.

    Safe to use from several threads. Without `work` nothing is spilled, and memory is not bounded.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES, work: Folder | None = None):
        self.memory_bytes, self.work = memory_bytes, work
        self._lock = threading.Lock()
        self._held: list[list[pa.Table]] = [[] for _ in range(PARTITIONS)]
        self._held_bytes = 0
        self._spills = 0

    def add(self, table: pa.Table) -> None:
        """Add `table`; its rows need not be distinct."""
        parts = partitioned(table)
        with self._lock:
            for held, part in zip(self._held, parts, strict=True):
                if part.num_rows:
                    held.append(part)
            self._held_bytes += table.nbytes
            if self._held_bytes > self.memory_bytes and self.work is not None:
                self.spill()

    def spill(self) -> None:
        """Write what is held to disk, each partition summed."""
        assert self.work is not None
        for number, held in enumerate(self._held):
            if held:
                self.work.put_table(f"{number:02d}-{self._spills:06d}.parquet", summed(held))
                held.clear()
        self._held_bytes = 0
        self._spills += 1

    def result(self, floor: int = 1) -> pa.Table:
        """Return all counts of at least `floor`, each pretoken once, ordered by partition and then by bytes.

        What was spilled is deleted. The result is all that must fit into memory.
        """
        tables = [part for number in range(PARTITIONS) for part in [self._partition(number, floor)] if part.num_rows]
        place = None if self.work is None else self.work.path()
        if place is not None and place.is_dir():
            place.rmdir()
        return pa.concat_tables(tables).combine_chunks() if tables else SCHEMA.empty_table()

    def _partition(self, number: int, floor: int) -> pa.Table:
        total = PretokenTable()
        for table in self._held[number]:
            total.add_table(table)
        self._held[number].clear()
        if self.work is not None and self._spills:
            for name in [n for n in self.work.names() if n.startswith(f"{number:02d}-")]:
                total.add_table(self.work.get_table(name).cast(SCHEMA))
                self.work.delete(name)
        table = total.to_table()
        if floor > 1:
            table = table.filter(pc.greater_equal(table["count"], floor))
        return table.take(pc.sort_indices(table, [("pretoken", "ascending")]))


def summed(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the sum of `tables`, in no particular order."""
    total = PretokenTable()
    for table in tables:
        total.add_table(table)
    return total.to_table()


def ordered(table: pa.Table) -> pa.Table:
    """Return `table`, whose pretokens are distinct, ordered by partition and then by bytes."""
    parts = [part.take(pc.sort_indices(part, [("pretoken", "ascending")])) for part in partitioned(table)]
    return pa.concat_tables(parts).combine_chunks()


def partitioned(table: pa.Table) -> list[pa.Table]:
    """Return the rows of `table` by partition."""
    numbers = np.concatenate([np.empty(0, np.uint8), *map(_partition_numbers, table.to_batches())])
    order = pa.array(np.argsort(numbers, kind="stable"))
    bounds = np.searchsorted(numbers[order], np.arange(PARTITIONS + 1))
    rows = table.take(order)
    return [rows.slice(a, b - a) for a, b in itertools.pairwise(bounds)]


def _partition_numbers(batch: pa.RecordBatch) -> np.ndarray:
    data, offsets, _ = columns_of(batch)
    return _numbers(data, offsets)


@njit(cache=True, nogil=True)
def _numbers(data, offsets):  # type: ignore[no-untyped-def]
    numbers = np.empty(len(offsets) - 1, np.uint8)
    for row in range(len(numbers)):
        numbers[row] = hash_bytes(data, offsets[row], offsets[row + 1] - offsets[row]) >> _SHIFT
    return numbers


def digest_of_counts(counts: pa.Table) -> str:
    """Return the SHA-256 of pretokens and counts: the fingerprint of the corpus as the training sees it."""
    data_sha, number_sha = hashlib.sha256(), hashlib.sha256()
    for batch in counts.to_batches():
        data, offsets, numbers = columns_of(batch)
        data_sha.update(data[: offsets[-1]].tobytes())
        number_sha.update(np.stack([np.diff(offsets), numbers], axis=1).astype("<i8").tobytes())
    return hashlib.sha256(data_sha.digest() + number_sha.digest()).hexdigest()
