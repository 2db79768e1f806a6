"""What a corpus stage decides from: what was observed, the documents by position, and the run's workers.

A position is ``shard << POSITION_BITS | row``: shards are numbered in the order of the input, rows as they stand in
the shard's file. On disk an observation holds rows only (its ``position`` column counts from 0 in each shard), so it
stays right when other inputs come or go; reading it adds the shard.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from pipeline.decisions import DropPositions
from pipeline.documents import POSITION_BITS
from pipeline.storage import Folder

ROW_MASK = (1 << POSITION_BITS) - 1


@dataclass(frozen=True)
class Shards:
    """The shards of a corpus in the order of the input: number n is entry n. Picklable: it is the name of a file."""

    folder: Folder
    file: str

    @classmethod
    def write(cls, folder: Folder, names: Sequence[str], rows: Sequence[int]) -> Shards:
        """Write the list into `folder` under a name that its content gives it.

        Args:
            names: of the shards' files, without ending.
            rows: documents in each file.
        """
        content = "".join(f"{name} {number}\n" for name, number in zip(names, rows, strict=True))
        file = f"shards-{hashlib.sha256(content.encode()).hexdigest()[:16]}.parquet"
        if not folder.exists(file):
            table = {"name": pa.array(names, pa.large_string()), "rows": pa.array(rows, pa.int64())}
            folder.put_table(file, pa.table(table))
        return cls(folder, file)

    def __len__(self) -> int:
        return len(_listed(self)[1])

    def name(self, number: int) -> str:
        """Return the name, without ending, of the file of shard `number`."""
        return str(_listed(self)[0][number].as_py())

    @property
    def rows(self) -> np.ndarray:
        """int64, shape (shards,): documents in each shard's file."""
        return _listed(self)[1]


@lru_cache(maxsize=8)
def _listed(shards: Shards) -> tuple[pa.Array, np.ndarray]:
    table = shards.folder.get_table(shards.file).combine_chunks()
    return table["name"].combine_chunks(), table["rows"].to_numpy()


@dataclass(frozen=True)
class Observations:
    """What one corpus stage observed, a file a shard. Picklable, so that tasks can be handed it.

    Attributes:
        gone: decisions of the corpus stages before it in the same pass, each with its folder: the documents they
            drop are not in what is read here.
        inputs: folders of the decisions whose products the stage takes (`CorpusStage.takes`), by product.
        tryout: the corpus is only a part of what the recipe is meant for.
    """

    folder: Folder
    shards: Shards
    gone: tuple[tuple[DropPositions, Folder], ...] = ()
    inputs: Mapping[str, Folder] = field(default_factory=dict)
    tryout: bool = False

    def read(self, shard: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return what was observed of `shard`, or `columns` of it, positions those of the corpus."""
        return self.read_without(self.gone_in(shard, shard + 1), shard, columns)

    def gone_in(self, first: int, last: int) -> np.ndarray:
        """Return int64, ascending: the positions in shards `first` to `last` (not included) that are not read here."""
        found = [decision.positions(folder, first, last) for decision, folder in self.gone]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))

    def read_without(self, gone: np.ndarray, shard: int, columns: Sequence[str] | None) -> pa.Table:
        """Return what `read` does, given the positions that are `gone` of a run of shards that `shard` is one of."""
        wanted = None if columns is None else list(columns)
        filtered = bool(self.gone) and wanted is not None and "position" not in wanted
        asked = [*(wanted or ()), "position"] if filtered else wanted
        table = self.folder.get_table(f"{self.shards.name(shard)}.parquet", asked)
        if "position" in table.column_names:
            positions = np.asarray(table["position"]) | (shard << POSITION_BITS)
            place = table.schema.get_field_index("position")
            table = table.set_column(place, "position", pa.array(positions, pa.int64()))
            low, high = np.searchsorted(gone, [shard << POSITION_BITS, (shard + 1) << POSITION_BITS])
            left = ~np.isin(positions, gone[low:high])
            if not left.all():
                table = table.filter(pa.array(left))
        return table.select(wanted) if filtered else table

    def parts(self, rows: int) -> list[ObservedPart]:
        """Return the observations as runs of shards of at most about `rows` documents each: an item for a task each."""
        bounds = [0]
        total = 0
        for shard, size in enumerate(self.shards.rows.tolist()):
            if total and total + size > rows:
                bounds.append(shard)
                total = 0
            total += size
        bounds.append(len(self.shards))
        return [ObservedPart(self, first, last) for first, last in itertools.pairwise(bounds) if last > first]

    @property
    def rows(self) -> int:
        """Documents in the shards' files: no fewer than were observed."""
        return int(self.shards.rows.sum())

    def __iter__(self) -> Iterator[pa.Table]:
        return (self.read(shard) for shard in range(len(self.shards)))


@dataclass(frozen=True)
class ObservedPart:
    """The observations of shards ``first`` to ``last`` (not included)."""

    observations: Observations
    first: int
    last: int

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield what was observed of each shard."""
        gone = self.observations.gone_in(self.first, self.last)
        return (self.observations.read_without(gone, shard, columns) for shard in range(self.first, self.last))

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return what was observed of all of them."""
        return pa.concat_tables(self.tables(columns))


@dataclass(frozen=True)
class Corpus:
    """The documents a corpus stage decides on, by position. Picklable, so that tasks can be handed it."""

    folder: Folder
    shards: Shards

    def read(self, positions: Sequence[int] | np.ndarray, columns: Sequence[str] = ("text",)) -> pa.Table:
        """Return `columns` of the documents at `positions`, one row a position, in the order given.

        Only the row groups that hold one of them are read.
        """
        wanted = np.asarray(positions, np.int64)
        order = np.argsort(wanted, kind="stable")
        pieces = [
            self._rows(int(shard), wanted[order[start:end]] & ROW_MASK, list(columns))
            for shard, start, end in _runs(wanted[order] >> POSITION_BITS)
        ]
        if not pieces:
            return pa.table({name: pa.array([], pa.large_string()) for name in columns})
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(pieces).take(pa.array(back))

    def _rows(self, shard: int, rows: np.ndarray, columns: list[str]) -> pa.Table:
        return rows_of(self.folder, self.shards.name(shard), rows, columns)


def rows_of(folder: Folder, name: str, rows: np.ndarray, columns: list[str]) -> pa.Table:
    """Return `columns` of the documents in `rows` (ascending) of shard `name`, whose texts stand in `folder`."""
    with folder.parquet(
        f"{name}.parquet", 64 << 10
    ) as parquet:  # of a large shard only its footer and what is asked for
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
    """Runs pure functions on the run's workers."""

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``, computed by the run's workers in any order.

        What is large belongs into files that `function` writes below the decision's folder; the value should be small,
        for all values of a round are held by the one process that decides.

        Args:
            name: what this round is called, for progress and for people.
            function: importable by name; its value is a pa.Table, or anything JSON can hold. A finished value is found
                again after a crash by function and item, not by its place in the round.
            items: picklable, made of dataclasses, tuples, texts, numbers, bytes and arrays.
        """
        ...


class LocalTasks:
    """Tasks in this process, one after the other, without resuming: for tests and for use from Python."""

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``."""
        return [function(item) for item in items]
