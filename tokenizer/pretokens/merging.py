"""Pretoken counts of a whole corpus: those of shards added up in tasks, as a tree over ranges of the pretokens' hash.

Counts are kept in runs: files ordered by partition (64, by hash), so that what many runs hold of a range of partitions
is added up without the rest. A task reads no more than a range of a bounded number of runs, and the deciding process
holds names and numbers of rows. The result is ordered by partition and then by bytes and cut by its own rows, so its
files depend on the pretokens alone: not on memory, workers, or how the corpus was cut into shards.
"""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numba import njit

from pipeline.corpus import ObservedPart, Tasks
from pipeline.storage import Folder
from tokenizer.memory import hash_bytes
from tokenizer.pretokens.counts import SCHEMA, PretokenTable, columns_of
from tokenizer.scratch import remove

PARTITIONS = 64
_SHIFT = np.uint64(58)

MEMORY_BYTES = 512 << 20
"""Memory that one task's counts may take, unless told otherwise."""

FAN_IN = 64
"""Runs that one task adds up."""
TASK_ROWS = 1 << 21
"""Rows of all its runs that one task adds up, unless one partition has more."""
GROUP_ROWS = 1 << 17
"""Rows in a row group of a run: what is read for one range is little more than its own rows."""
FILE_ROWS = 1 << 22
"""Pretokens in one file of the result, unless one partition has more."""

COUNTS_FOLDER = "pretokens"
"""Folder of the result: ``00000.parquet`` and so on, columns of `SCHEMA`."""
_RUNS, _SUMS = "runs", "sums"


@dataclass(frozen=True)
class Run:
    """A file of counts ordered by partition: partition p is its rows ``bounds[p]`` to ``bounds[p + 1]``."""

    file: str
    bounds: tuple[int, ...]

    def rows(self, first: int, last: int) -> int:
        """Return the rows of partitions `first` to `last` (not included)."""
        return self.bounds[last] - self.bounds[first]

    def read(self, folder: Folder, first: int, last: int) -> pa.Table:
        """Return what the run holds of partitions `first` to `last` (not included)."""
        start, end = self.bounds[first], self.bounds[last]
        if start == end:
            return SCHEMA.empty_table()
        with folder.open(self.file) as file:
            parquet = pq.ParquetFile(file)
            lengths = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
            begins = np.cumsum([0, *lengths])
            groups = range(int(np.searchsorted(begins, start, "right")) - 1, int(np.searchsorted(begins, end)))
            rows = parquet.read_row_groups(list(groups), use_threads=False)
        return rows.slice(start - int(begins[groups[0]]), end - start).cast(SCHEMA)

    def partitions(self, folder: Folder, first: int, last: int) -> list[pa.Table]:
        """Return what the run holds of each of partitions `first` to `last` (not included)."""
        rows = self.read(folder, first, last)
        return [rows.slice(self.rows(first, p), self.rows(p, p + 1)) for p in range(first, last)]


Layer = tuple[Run, ...]
"""Runs that hold every partition once between them."""


class RunWriter:
    """Writes tables of distinct pretokens as runs into ``runs/`` of `work`: ``<name>-000.parquet`` and so on."""

    def __init__(self, work: Folder, name: str):
        self.work, self.name = work, name
        self.runs: list[Run] = []

    def write(self, table: pa.Table) -> None:
        """Write `table` as one run, unless it is empty."""
        if table.num_rows == 0:
            return
        rows, bounds = _by_partition(table)
        file = f"{_RUNS}/{self.name}-{len(self.runs):03d}.parquet"
        self.work.put(file, _encoded(rows, GROUP_ROWS))
        self.runs.append(Run(file, tuple(bounds.tolist())))


def merge_parts(
    parts: Sequence[ObservedPart], work: Folder, tasks: Tasks, floor: int, memory_bytes: int = MEMORY_BYTES
) -> list[str]:
    """Add up the counts that were observed of `parts`; see `merge_runs`.

    Args:
        memory_bytes: what one task's counts may take; the result does not depend on it.
    """
    made = tasks.map("adding up pretokens of shards", sum_part, [(part, work, memory_bytes) for part in parts])
    return merge_runs([msgspec.convert(run, Run) for runs in made for run in runs], work, tasks, floor)


def sum_part(item: tuple[ObservedPart, Folder, int]) -> list[dict]:
    """Add up the counts of a run of shards; answer its runs as JSON holds them."""
    part, work, memory_bytes = item
    writer = RunWriter(work, f"{part.first:010d}")
    table = PretokenTable(memory_bytes, writer.write)
    for observed in part.tables():
        table.add_table(observed)
    table.flush()
    return [msgspec.to_builtins(run) for run in writer.runs]


def merge_runs(runs: Sequence[Run], work: Folder, tasks: Tasks, floor: int) -> list[str]:
    """Add up `runs`, which lie in ``runs/`` of `work`, and return the files of the result below `work`, in order.

    Args:
        floor: pretokens that occur less often are left out.
    """
    layers: list[Layer] = [(run,) for run in runs]
    rounds = 0
    while len(layers) > FAN_IN:
        groups = [layers[at : at + FAN_IN] for at in range(0, len(layers), FAN_IN)]
        layers = _merge_layers(groups, work, tasks, 1, rounds)
        rounds += 1
    final = _merge_layers([layers], work, tasks, floor, rounds)[0]
    names = tasks.map(
        "writing pretokens", write_counts,
        [(final, first, last, work, number) for number, (first, last) in enumerate(_ranges([final], FILE_ROWS))],
    )  # fmt: skip
    for folder in (work / _RUNS, work / _SUMS):
        remove(folder, folder.names())
    return list(names)


def _merge_layers(
    groups: Sequence[Sequence[Layer]], work: Folder, tasks: Tasks, floor: int, rounds: int
) -> list[Layer]:
    """Add up each group of layers and return a layer for each; `rounds` of this went before."""
    items, owners = [], []
    for number, layers in enumerate(groups):
        for first, last in _ranges(layers, TASK_ROWS):
            file = f"{_SUMS}/{rounds:02d}-{number:06d}-{first:02d}.parquet"
            runs = tuple(run for layer in layers for run in layer if run.rows(first, last))
            items.append((runs, first, last, work, file, floor))
            owners.append(number)
    made = tasks.map(f"adding up pretokens, round {rounds + 1}", sum_range, items)
    merged: list[list[Run]] = [[] for _ in groups]
    for number, run in zip(owners, made, strict=True):
        merged[number].append(msgspec.convert(run, Run))
    return [tuple(layer) for layer in merged]


def _ranges(layers: Sequence[Layer], most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of partitions of at most `most` rows each, or of one partition."""
    rows = [sum(run.rows(p, p + 1) for layer in layers for run in layer) for p in range(PARTITIONS)]
    first = total = 0
    for partition, number in enumerate(rows):
        if partition > first and total + number > most:
            yield first, partition
            first, total = partition, 0
        total += number
    yield first, PARTITIONS


def sum_range(item: tuple[tuple[Run, ...], int, int, Folder, str, int]) -> dict:
    """Add up a range of partitions of some runs; answer the run of it as JSON holds it."""
    runs, first, last, work, file, floor = item
    held = [run.partitions(work, first, last) for run in runs]
    pieces, bounds = [SCHEMA.empty_table()], [0] * (first + 1)
    for number in range(last - first):  # one partition's sum at a time is small
        pieces.append(_sum_of((partitions[number] for partitions in held), floor))
        bounds.append(bounds[-1] + pieces[-1].num_rows)
    bounds += bounds[-1:] * (PARTITIONS - last)
    work.put(file, _encoded(pa.concat_tables(pieces), GROUP_ROWS))
    return msgspec.to_builtins(Run(file, tuple(bounds)))


def _sum_of(tables: Iterable[pa.Table], floor: int) -> pa.Table:
    table = summed(tables)
    return table.filter(pc.greater_equal(table["count"], floor)) if floor > 1 else table


def write_counts(item: tuple[Layer, int, int, Folder, int]) -> str:
    """Write one file of the result: partitions `first` to `last` of the layer, each ordered by bytes."""
    layer, first, last, work, number = item
    parts = [part for run in layer for part in run.partitions(work, first, last)]
    name = f"{COUNTS_FOLDER}/{number:05d}.parquet"
    work.put(name, _encoded(pa.concat_tables([SCHEMA.empty_table(), *map(_by_bytes, parts)]), FILE_ROWS))
    return name


def _by_bytes(table: pa.Table) -> pa.Table:
    return table.take(pc.sort_indices(table, [("pretoken", "ascending")]))


def _encoded(table: pa.Table, group_rows: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", row_group_size=group_rows)
    return sink.getvalue()


def load_counts(folder: Folder) -> pa.Table:
    """Return the counts that `merge_runs` left in `folder`."""
    tables = [folder.get_table(name).cast(SCHEMA) for name in folder.names(COUNTS_FOLDER)]
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()


def summed(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the sum of `tables`, in no particular order."""
    total = PretokenTable()
    for table in tables:
        total.add_table(table)
    return total.to_table()


def ordered(table: pa.Table) -> pa.Table:
    """Return `table`, whose pretokens are distinct, ordered by partition and then by bytes."""
    rows, bounds = _by_partition(table)
    parts = [_by_bytes(rows.slice(a, b - a)) for a, b in itertools.pairwise(bounds.tolist())]
    return pa.concat_tables(parts).combine_chunks()


def _by_partition(table: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Return the rows of `table` by partition, and where each partition begins and the last ends (int64)."""
    numbers = np.concatenate([np.empty(0, np.uint8), *map(_partition_numbers, table.to_batches())])
    order = np.argsort(numbers, kind="stable")
    return table.take(pa.array(order)), np.searchsorted(numbers[order], np.arange(PARTITIONS + 1))


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
