"""What a task reads: documents of a split of the input, or those left of a shard that an earlier pass wrote."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import InputError
from pipeline.readers import Item, Mark, ReadOptions, Split, read_split
from pipeline.storage import Folder, open_input
from pipeline.storage.temporary import temporary_folder
from pipeline.tally import READ
from pipeline.worker.ahead import Killers, looked_ahead
from pipeline.worker.children import Care
from pipeline.worker.task import PIECE_BITS, ShardTask, Stand, State
from pipeline.worker.tryout import tried

SHARD_AHEAD = 32 << 20
"""Bytes that the first request to an object store fetches of a shard: most are read by one."""


def read_task(task: ShardTask) -> Iterator[Item]:
    """Yield what the task's split or shard holds, from document `task.first` on, with marks where a shard may end."""
    if task.split is None:
        assert task.stand is not None
        for batch in read_stand(task.stand, task.name, task.work.batch_bytes):
            batch.shard = task.number
            yield batch
        return
    # a document that killed a stage can be read, and then its id and url are known; one that killed the reader cannot
    killed = ((number, rule, detail) for number, stage, rule, detail in task.skips if stage == READ)
    killers = Killers.of(killed, task.doubts)
    passed = task.first == 0
    with _at_hand(task) as task:
        items = _pieces(task, killers)
        for item in looked_ahead(items, killers, Care(task.work.memory_bytes)) if task.ahead else items:
            if passed:
                yield item
            elif isinstance(item, Mark) and item.number >= task.first:
                passed = True


def _pieces(task: ShardTask, killers: Killers) -> Iterator[Item]:
    """Yield what the pieces of the task's split hold, from that on in which document `task.first` is."""
    assert task.split is not None
    until = task.split.until
    for number, piece in enumerate(task.split.pieces):
        if number < task.first >> PIECE_BITS:
            continue
        if until is not None and number << PIECE_BITS >= until:
            return
        options = ReadOptions(
            task.work.schema_in,
            task.work.batch_bytes,
            killers.skip,
            task.work.record_bytes,
            number << PIECE_BITS,
            killers.doubts,
            killers.stops,
        )
        yield from tried(read_split(piece, options), until, task.work.sample, piece.file.name)
        unchanged(piece, task.changed[number] if task.changed else None)


@contextlib.contextmanager
def _at_hand(task: ShardTask) -> Iterator[ShardTask]:
    """Yield `task` with its input where forks can read it: a connection to an object store is of one process, a copy of
    the file is everybody's."""
    assert task.split is not None
    if not task.ahead or not any("://" in piece.file.path for piece in task.split.pieces):
        yield task
        return
    with temporary_folder() as folder:
        pieces = []
        for number, piece in enumerate(task.split.pieces):
            with open_input(piece.file.path) as theirs, open(folder / str(number), "wb") as ours:
                shutil.copyfileobj(theirs, ours, 1 << 22)
            pieces.append(replace(piece, file=replace(piece.file, path=str(folder / str(number))), more=()))
        yield replace(task, split=replace(pieces[0], more=tuple(pieces[1:])))


def unchanged(split: Split, state: State) -> None:
    """Raise InputError if the input is no longer the file that the run was planned on."""
    if state is not None and changed_at(split.file.path) != state:
        raise InputError(f"{split.file.name} was changed while it was read; let it be written whole, then run again")


def changed_at(path: str) -> State:
    """Return size and time of change (ns) of a file on this machine; None for one elsewhere."""
    if "://" in path:
        return None
    try:
        stat = os.stat(path)
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); mend the path or its permissions") from error
    return stat.st_size, stat.st_mtime_ns


def rows_left(folder: Folder, name: str) -> np.ndarray:
    """Return int64, ascending: the rows of shard `name` that are left, as `select` wrote them."""
    table = folder.get_table(f"rows/{name}.parquet")
    if table.column_names != ["row"]:
        raise folder.foreign(f"rows/{name}.parquet", "the rows that are left of a shard")
    return np.asarray(table["row"].combine_chunks()).astype(np.int64)


def rows_table(rows: np.ndarray) -> pa.Table:
    """Return `rows` as the table that says which rows of a shard are left."""
    return pa.table({"row": pa.array(rows, pa.uint32())})


def read_stand(stand: Stand, name: str, batch_bytes: int) -> Iterator[Batch]:
    """Yield what is left of shard `name` as batches of at most about `batch_bytes`, numbered by row."""
    left = None if stand.rows is None else rows_left(stand.rows, name)
    with stand.texts.parquet(f"{name}.parquet", SHARD_AHEAD) as parquet:
        if parquet.metadata.num_rows != stand.size or "text" not in parquet.schema_arrow.names:
            raise stand.texts.foreign(f"{name}.parquet", f"{stand.size} documents")
        sizes = [parquet.metadata.row_group(g) for g in range(parquet.num_row_groups)]
        per_row = max((g.total_byte_size // max(1, g.num_rows) for g in sizes), default=1)
        first = 0
        for data in parquet.iter_batches(batch_size=max(1, batch_bytes // max(1, per_row)), use_threads=False):
            numbers = np.arange(first, first + data.num_rows, dtype=np.int64)
            first += data.num_rows
            if left is not None:
                numbers = left[np.searchsorted(left, numbers[0]) : np.searchsorted(left, first)]
                data = data.take(pa.array(numbers - (first - data.num_rows)))
            yield Batch(data, numbers=numbers)
