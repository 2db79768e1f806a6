"""What a corpus stage decides from: the observed shards, the documents by position, and the run's executor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.documents import POSITION_BITS
from pipeline.storage import Folder


def part(shard: int) -> str:
    """Return the name of shard number `shard` without an ending."""
    return f"part-{shard:05d}"


@dataclass(frozen=True)
class Observations:
    """The observed shards of one corpus stage. Picklable, so that tasks can be handed it."""

    folder: Folder
    shards: tuple[int, ...]

    def read(self, shard: int, columns: list[str] | None = None) -> pa.Table:
        """Return the observation of `shard`, or some `columns` of it."""
        return self.folder.get_table(f"{part(shard)}.parquet", columns)

    def __iter__(self) -> Iterator[pa.Table]:
        return (self.read(shard) for shard in self.shards)


@dataclass(frozen=True)
class Corpus:
    """The documents a corpus stage decides on, by position. Picklable, so that tasks can be handed it."""

    folder: Folder
    shards: tuple[int, ...]

    def read(self, positions: Sequence[int] | np.ndarray, columns: Sequence[str] = ("text",)) -> pa.Table:
        """Return `columns` of the documents at `positions`, one row a position, in the order given.

        Only the row groups that hold one of them are read.
        """
        wanted = np.asarray(positions, np.int64)
        order = np.argsort(wanted, kind="stable")
        pieces = [
            self._rows(int(shard), wanted[order[start:end]] & ((1 << POSITION_BITS) - 1), list(columns))
            for shard, start, end in _runs(wanted[order] >> POSITION_BITS)
        ]
        if not pieces:
            return pa.table({name: pa.array([], pa.large_string()) for name in columns})
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(pieces).take(pa.array(back))

    def _rows(self, shard: int, rows: np.ndarray, columns: list[str]) -> pa.Table:
        with self.folder.open(f"{part(shard)}.parquet") as file:
            parquet = pq.ParquetFile(file)
            starts = np.cumsum([0] + [parquet.metadata.row_group(g).num_rows for g in range(parquet.num_row_groups)])
            groups = np.searchsorted(starts, rows, side="right") - 1
            return pa.concat_tables(
                [
                    parquet.read_row_group(int(group), columns=columns).take(pa.array(rows[start:end] - starts[group]))
                    for group, start, end in _runs(groups)
                ]
            )


def _runs(keys: np.ndarray) -> Iterator[tuple[Any, int, int]]:
    """Yield (key, start, end) for each run of equal values in the sorted array `keys`."""
    if len(keys) == 0:
        return
    bounds = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
    for start, end in itertools.pairwise(bounds):
        yield keys[start], start, end


class Tasks(Protocol):
    """Runs pure functions on the run's executor."""

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``, computed by the run's workers in any order.

        Args:
            name: what this round is called; its finished results are found again under it after a crash, so
                it must differ from every other round of the same decision.
            function: importable by name; its value is a pa.Table, or anything JSON can hold.
            items: picklable.
        """
        ...


class LocalTasks:
    """Tasks in this process, one after the other, without resuming: for tests and for use from Python."""

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``."""
        return [function(item) for item in items]
