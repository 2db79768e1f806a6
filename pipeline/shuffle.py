"""Rows brought to where they are grouped: written once by tasks, by destination, and read once by the destination's task.

Each writing task leaves one file in which destination n is run n, never a file for each pair of writer and reader. The
process that decides only knows how many writers and destinations there are.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from pipeline.corpus import Observations, ObservedPart, Tasks
from pipeline.documents import POSITION_BITS
from pipeline.storage import Folder


@dataclass(frozen=True)
class Shuffle:
    """Rows on their way from writing tasks to `partitions` reading ones. Picklable: it names files, it holds none.

    Attributes:
        folder: holds nothing else.
        partitions: destinations, numbered from 0.
    """

    folder: Folder
    partitions: int

    def write(self, writer: int, rows: pa.Table, partition: np.ndarray, piece: int = 0) -> int:
        """Leave `rows` for the destinations named in `partition`, one of each row; a destination keeps their order.

        Args:
            writer: number of the task; the same number and piece replaces what it wrote before.
            piece: a task may write several files, numbered from 0, so as not to hold all its rows at once.

        Returns:
            How many rows there are.
        """
        narrow = np.uint16 if self.partitions < 1 << 16 else np.uint32  # a stable sort of 16 bits is by radix
        order = np.argsort(partition.astype(narrow), kind="stable")
        counts = np.bincount(partition, minlength=self.partitions)
        write_runs(self.folder, _name(writer, piece), rows.take(pa.array(order)), counts)
        return int(rows.num_rows)

    def read(self, partition: int, writers: int | Sequence[int], schema: pa.Schema | None = None) -> pa.Table:
        """Return the rows for destination `partition`, writer by writer.

        Args:
            writers: how many tasks wrote, or how many pieces each of them wrote.
            schema: of the rows; needed where perhaps nobody wrote.
        """
        empty = [] if schema is None else [schema.empty_table()]
        return pa.concat_tables([*empty, *self.tables(partition, writers)])

    def tables(self, partition: int, writers: int | Sequence[int]) -> Iterator[pa.Table]:
        """Yield the rows of each writer for destination `partition`."""
        pieces = [1] * writers if isinstance(writers, int) else writers
        for writer, count in enumerate(pieces):
            for piece in range(count):
                yield read_run(self.folder, _name(writer, piece), partition)

    def delete(self, writers: int | Sequence[int]) -> None:
        """Delete the files, after whoever reads them is done."""
        for writer, count in enumerate([1] * writers if isinstance(writers, int) else writers):
            for piece in range(count):
                self.folder.delete(_name(writer, piece))


def clear(folder: Folder) -> int:
    """Delete what lies in `folder`, as a task, and return how many files that were."""
    names = folder.names()
    for name in names:
        folder.delete(name)
    return len(names)


def _name(writer: int, piece: int) -> str:
    return f"{writer:07d}-{piece:04d}.runs"


def write_runs(folder: Folder, name: str, rows: pa.Table, counts: np.ndarray) -> None:
    """Write `rows` as file `name`: the first ``counts[0]`` of them are run 0, the next ``counts[1]`` run 1, and so on.

    The file: the schema, an Arrow IPC stream for each run that has rows, and uint64 where each of them begins and the last
    ends. So a run costs its reader two reads, however many runs there are.
    """
    rows = rows.combine_chunks()
    sink = io.BytesIO(rows.schema.serialize().to_pybytes())
    sink.seek(0, io.SEEK_END)
    begins = np.empty(len(counts) + 1, np.uint64)
    start = 0
    for run, count in enumerate(counts.tolist()):
        begins[run] = sink.tell()
        if count:
            with pa.ipc.new_stream(sink, rows.schema) as stream:
                stream.write_table(rows.slice(start, count))
            start += count
    begins[-1] = sink.tell()
    sink.write(begins.tobytes() + np.uint64(len(counts)).tobytes())
    folder.put(name, sink.getvalue())


def read_run(folder: Folder, name: str, run: int) -> pa.Table:
    """Return run number `run` of a file that `write_runs` wrote; little else of it is read."""
    with folder.open(name) as source:
        end = source.seek(0, io.SEEK_END)
        runs = _numbers(source, end - 8, 1)[0]
        begin, stop = _numbers(source, end - 8 * (runs + 2 - run), 2)
        if begin == stop:
            source.seek(0)
            return pa.ipc.read_schema(source).empty_table()
        source.seek(begin)
        return pa.ipc.open_stream(source.read(stop - begin)).read_all()


def _numbers(source: BinaryIO, at: int, count: int) -> list[int]:
    source.seek(at)
    numbers: list[int] = np.frombuffer(source.read(8 * count), np.uint64).tolist()
    return numbers


@dataclass(frozen=True)
class Ranges:
    """A corpus cut into runs of whole shards, one a task: range n begins with shard ``firsts[n]``."""

    firsts: tuple[int, ...]

    @classmethod
    def of(cls, parts: Sequence[ObservedPart]) -> Ranges:
        """Return the ranges of `parts`, which follow each other."""
        return cls(tuple(part.first for part in parts))

    def __len__(self) -> int:
        return len(self.firsts)

    def number(self, positions: np.ndarray) -> np.ndarray:
        """Return int64: the range that each position lies in."""
        return np.searchsorted(np.array(self.firsts, np.int64), positions >> POSITION_BITS, side="right") - 1


SMALL = 50_000
"""A corpus of no more documents is decided on in one task: rounds of tasks would take longer than the work itself."""


def parts_of(observations: Observations, rows: int, least: int = 4, small: int = 5_000) -> list[ObservedPart]:
    """Return the observations in parts of at most about `rows` documents.

    A corpus that fits one part is cut into up to `least`, none of fewer than `small` documents, so that a decision on it
    can use several workers. Neither depends on how many there are.
    """
    return observations.parts(min(rows, max(small, -(-observations.rows // least))))


def pieces_of(rows: int, limit: int, least: int = 4, small: int = 50_000) -> int:
    """Return into how many partitions `rows` rows go, of at most about `limit` rows; see `parts_of` for the others."""
    return max(1, -(-rows // limit), min(least, rows // small))


def by_range(keys: np.ndarray, partitions: int) -> np.ndarray:
    """Return int64: the range of each of `keys`, uint64 and even over all values, where `partitions` cut them evenly."""
    return ((keys >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True)
class Merge:
    """Tables ``number-level`` of `folder`, numbers `first` to `last` (not included), to be made one of the next level."""

    folder: Folder
    level: int
    first: int
    last: int
    number: int

    def read(self) -> pa.Table:
        """Return the tables, one after the other."""
        return pa.concat_tables(
            [read_run(self.folder, merge_file(number, self.level), 0) for number in range(self.first, self.last)]
        )

    def write(self, table: pa.Table) -> int:
        """Leave what they come to."""
        return put_merged(self.folder, self.number, table, self.level + 1)


def merge_file(number: int, level: int) -> str:
    """Return the name of a table on its way up the tree."""
    return f"{number:07d}-{level}.runs"


def put_merged(folder: Folder, number: int, table: pa.Table, level: int = 0) -> int:
    """Leave `table` in `folder` for `merge_tree`, the leaf of task `number`; return its rows."""
    write_runs(folder, merge_file(number, level), table, np.array([table.num_rows]))
    return int(table.num_rows)


def merge_tree(
    tasks: Tasks, name: str, function: Callable[[Merge], int], folder: Folder, leaves: int, fan: int = 64
) -> pa.Table:
    """Merge the tables that `leaves` tasks have left in `folder`, `fan` in a task, until one is left, and return it.

    Args:
        function: reads a `Merge`, writes what it comes to and returns its rows.
    """
    level, count = 0, leaves
    while count > 1 or level == 0:
        merges = [
            Merge(folder, level, at, min(at + fan, count), number) for number, at in enumerate(range(0, count, fan))
        ]
        tasks.map(f"{name}, level {level + 1}", function, merges)
        level, count = level + 1, len(merges)
    return read_run(folder, merge_file(0, level), 0)
