"""One task of one pass: read, taken through the stages, observed, written as shards, each committed.

A shard's files appear in the order observations, texts or rows, ledger, commit. The commit is what counts: a shard
without one is made again, with the same bytes. A split that yields more than a shard holds rolls over into the next,
so memory stays flat, and a crash loses at most the shard in work.
"""

from __future__ import annotations

import dataclasses
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import psutil
import pyarrow as pa

from pipeline.commit import Commit, Look
from pipeline.documents import Batch
from pipeline.errors import EnvironmentFault, UserError
from pipeline.guard import NOTHING, guard
from pipeline.ledger import LedgerBuilder
from pipeline.readers import Fault, Ignored, Mark
from pipeline.stage import Removal, digest_of
from pipeline.storage import ROW_GROUP_BYTES, encode_numbers, encode_table, shard_writer, write_bounded
from pipeline.tally import ENOUGH, READ, StageTally, Tally, count_reason, too_many
from pipeline.worker.isolate import apply_stage
from pipeline.worker.loading import load_once
from pipeline.worker.looker import Looker
from pipeline.worker.read import read_task, rows_table
from pipeline.worker.signals import SignalBuilder
from pipeline.worker.task import Applied, ShardTask, sha_of

READ_BYTES = 1 << 29
"""Bytes of pages and text after which a shard ends, whatever is left of them."""
LOADED_SHARE = 0.8
"""Of the memory a worker may take, what models and libraries may fill before its first document."""
SHARD_ITEMS = 1 << 19
"""Documents and faults after which a shard ends."""


@dataclass
class Made:
    """What a task answers for each shard: its commit, None where it stood already, and what each observer saw, by label."""

    name: str
    commit: Commit | None
    looks: dict[str, Look]


def run_shard_task(task: ShardTask) -> list[Made]:
    """Do `task` and return what it made, shard by shard."""
    for applied in task.work.stages:
        load_once(applied.label, applied.stage)
    for observer in task.work.observers:
        load_once(observer.label, observer.stage)
    _check_memory(task.work.memory_bytes)
    made: list[Made] = []
    for shard in _shards(task):
        made.append(shard.commit())
        if not shard.last:
            shard.hold_to_share(READ)
    return made


def _check_memory(limit: int) -> None:
    """Raise EnvironmentFault where what is loaded leaves hardly any of the worker's memory for documents."""
    if not guard.is_watched or _loaded_memory:
        return
    resident = psutil.Process().memory_info().rss
    _loaded_memory.append(resident)
    if resident > LOADED_SHARE * limit:
        raise EnvironmentFault(
            f"limits.memory_bytes = {limit:,} is too little: a worker holds {resident:,} bytes before its first document; "
            f"give it at least {2 * resident:,}"
        )


_loaded_memory: list[int] = []


def _shards(task: ShardTask) -> Iterator[ShardMaker]:
    """Yield shard after shard, each full or the last of its split."""
    if task.split is None:
        shard = ShardMaker(task, task.name, 0, task.before)
        for item in read_task(task):
            assert isinstance(item, Batch)
            shard.add(item)
            shard.hold_to_share()
        yield shard
        return
    part, first = task.part, task.first
    shard = ShardMaker(task, part_name(task.name, part), first, task.before)
    for item in read_task(task):
        if isinstance(item, Batch):
            item.shard = task.number
            shard.add(item)
            shard.hold_to_share()
        elif isinstance(item, Fault):
            shard.fault(item)
        elif isinstance(item, Ignored):
            shard.ignore(item)
        elif isinstance(item, Mark):
            shard.end = item.number
            if shard.is_full:
                shard.last = False
                yield shard
                part, first = part + 1, item.number
                shard = ShardMaker(task, part_name(task.name, part), first, shard.so_far())
    yield shard


def part_name(split: str, part: int) -> str:
    """Return the name of part number `part` of what a split makes."""
    return f"{split}-{part:04d}"


class ShardMaker:
    """A shard being made: rows waiting to be written, the ledger, the tally and the observations.

    Attributes:
        end: number of the first document of the split that is not in it.
        last: nothing of the split follows it.
        before: documents of the pass that had failed before it, and that had been read.
    """

    def __init__(self, task: ShardTask, name: str, first: int, before: tuple[int, int]):
        self.task, self.work, self.name, self.first, self.before = task, task.work, name, first, before
        self.end, self.last = first, True
        self.ledger = LedgerBuilder(self.work.text_characters, self.work.shards)
        self.tally = Tally(stages=[StageTally(applied.label) for applied in self.work.stages])
        self._started, self._cpu = time.perf_counter(), time.process_time()
        self._skips = {number: (stage, rule, detail) for number, stage, rule, detail in task.skips}
        self._sink = io.BytesIO()
        self._writer = shard_writer(self._sink, self.work.schema_out) if self.work.writes else None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._rows: list[np.ndarray] = []
        self._signals = SignalBuilder(self.work.stages if self.work.signals else (), care=task.care)
        self.lookers = [Looker(observer, task) for observer in self.work.observers]

    @property
    def is_full(self) -> bool:
        """Whether the shard should end here. Depends on its documents alone."""
        return (
            self.tally.bytes_out + self.ledger.bytes >= self.work.shard_bytes
            or self.tally.bytes_in >= READ_BYTES
            or self.tally.read >= SHARD_ITEMS
        )

    def so_far(self) -> tuple[int, int]:
        """Return how many documents of the pass have failed, and how many were read, as far as this worker knows."""
        failed, read = self.before
        return failed + self.tally.failures + sum(looker.failures for looker in self.lookers), read + self.tally.read

    def hold_to_share(self, *reading: str) -> None:
        """Raise UserError where too many documents fail. While a shard is read, only what fails in stages is looked at:
        that takes time, while records that cannot be read cost little and often lie together.

        Args:
            reading: `READ`, where documents count that could not be read.
        """
        failed, read = self.so_far()
        if not reading:
            failed -= sum(self.tally.failed.get(READ, {}).values())
        if self.tally.read >= ENOUGH and too_many(failed, read, self.work.failed_share):
            raise UserError(
                f"{failed} of {read} documents failed so far, the last ones of {self.task.place} ({self.tally.worst()}): "
                f"more than limits.failed_share = {self.work.failed_share}; mend the cause, then run again with --retry-failed"
            )

    def ignore(self, item: Ignored) -> None:
        """Count records that are no documents."""
        count_reason(self.tally.ignored, item.reason, item.count)

    def fault(self, fault: Fault) -> None:
        """Count a record that could not be read, or a document that killed a worker before."""
        file = self.task.piece(fault.number).file
        self.tally.read += 1
        self.tally.count("failed", READ, fault.rule)
        self.ledger.add(
            id=fault.id,
            url=fault.url,
            source=file.source,
            stage=READ,
            rule=fault.rule,
            kind="failed",
            detail=self.ledger.told(f"{file.name}@{fault.offset}: ", fault.detail),
            text=self.ledger.excerpt(fault.text),
        )

    def add(self, batch: Batch) -> None:
        """Take `batch` through the stages; keep, observe and write what is left of it."""
        guard.begin_batch(batch.numbers.tolist())
        self.tally.read += len(batch)
        self.tally.bytes_in += _bytes_of(batch.data, "text") + _bytes_of(batch.data, "raw")
        batch = self._without_skipped(batch)
        self._signals.begin(batch)
        for index, applied in enumerate(self.work.stages):
            guard.stage = index
            batch = self._apply(index, applied, batch)
        guard.stage = NOTHING
        kept = batch.replaced(_conform(batch.data, self.work.schema_out))
        self._signals.end(kept, self.tally.kept if self.work.writes else None)
        self._observe(kept)
        guard.idle()
        self.tally.kept += len(kept)
        self.tally.bytes_out += _bytes_of(kept.data, "text")
        if self._writer is None:
            self._rows.append(kept.numbers)
            return
        self._waiting.append(kept.data)
        self._waiting_bytes += kept.data.nbytes
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _without_skipped(self, batch: Batch) -> Batch:
        """Fail the documents of `batch` that killed a worker in a stage before."""
        rows = []
        for row, number in enumerate(batch.numbers.tolist()):
            if number in self._skips:
                stage, rule, detail = self._skips[number]
                self._remove(stage, batch, [Removal(row, rule, "failed", detail=detail)])
            else:
                rows.append(row)
        return batch.select(rows)

    def _apply(self, index: int, applied: Applied, batch: Batch) -> Batch:
        count, cpu = self.tally.stages[index], time.process_time()
        batch.folder = applied.folder
        outcome = apply_stage(applied.stage, batch, care=self.task.care)
        self._remove(applied.label, batch, outcome.removed)
        self._signals.took(index, batch, outcome, self.ledger)
        count.cpu_seconds += time.process_time() - cpu
        # a document that fails in a stage was given to it but is neither dropped nor handed on
        count.documents_in += len(batch)
        count.documents_out += len(outcome.kept)
        count.bytes_out += _bytes_of(outcome.kept.data, "text")
        return outcome.kept

    def _remove(self, label: str, batch: Batch, removed: Sequence[Removal]) -> None:
        for removal in removed:
            self.tally.count(removal.kind, label, removal.rule)
        self.ledger.add_removed(label, batch, removed)

    def _observe(self, kept: Batch) -> None:
        seen = kept.numbered(self.tally.kept) if self.work.writes else kept.replaced(kept.data)
        for index, looker in enumerate(self.lookers):
            guard.stage = len(self.work.stages) + index
            looker.see(seen, kept.numbers)
        guard.stage = NOTHING

    def _flush(self) -> None:
        if self._waiting and self._writer is not None:
            write_bounded(self._writer, pa.Table.from_batches(self._waiting, self.work.schema_out))
        self._waiting, self._waiting_bytes = [], 0

    def commit(self) -> Made:
        """Write observations, texts or rows, ledger and, last, the commit."""
        guard.idle()
        before = self.task.stand
        if self.work.target is None:
            assert before is not None
            return Made(self.name, None, self._looks(before.outcome))
        data, outcome = self._content()
        looks = self._looks(outcome)
        written = 0
        if data:
            self.work.target.put(f"{self.name}.parquet" if self.work.writes else f"rows/{self.name}.parquet", data)
            written += len(data)
        if self.ledger.rows:
            lines = encode_table(self.ledger.table())
            self.work.target.put(f"ledger/{self.name}.parquet", lines)
            written += len(lines)
        if self._signals.measures:
            lines = encode_numbers(self._signals.table())
            self.work.target.put(f"signals/{self.name}.parquet", lines)
            written += len(lines)
        self.tally.cpu_seconds = time.process_time() - self._cpu - sum(looker.cpu for looker in self.lookers)
        self.tally.seconds = time.perf_counter() - self._started
        self.tally.check(f"{self.task.place} ({self.name})")
        commit = Commit(
            source=before.outcome if before else "",
            outcome=outcome,
            rows=self.tally.kept if self.work.writes else before.size if before else 0,
            kept=self.tally.kept,
            texts=self.work.writes,
            selected=bool(data) and not self.work.writes,
            ledger=self.ledger.rows,
            tally=self.tally,
            first=self.first,
            end=self.end,
            last=self.last,
            bytes_written=written,
        )
        self.work.target.put_json(f"tally/{self.name}.json", dataclasses.asdict(commit))
        return Made(self.name, commit, looks)

    def _looks(self, outcome: str) -> dict[str, Look]:
        return {looker.observer.label: looker.put(self.name, outcome) for looker in self.lookers}

    def _content(self) -> tuple[bytes, str]:
        """Return the bytes of the shard's file, none where nothing has changed, and its outcome."""
        before = self.task.stand.outcome if self.task.stand else ""
        if self._writer is not None:
            self._flush()
            self._writer.close()
            data = self._sink.getvalue()
            return data, sha_of(data)
        if self.tally.kept == self.tally.read:
            return b"", before
        data = encode_table(rows_table(np.concatenate([np.zeros(0, np.int64), *self._rows])))
        return data, digest_of([before, sha_of(data)])


def _conform(data: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return `data` with exactly the columns of `schema`; absent ones are null."""
    columns: Sequence[pa.Array] = [
        pa.nulls(data.num_rows, field.type)
        if (index := data.schema.get_field_index(field.name)) < 0
        else data.column(index).cast(field.type)
        if data.column(index).type != field.type
        else data.column(index)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _bytes_of(data: pa.RecordBatch, name: str) -> int:
    """Return the bytes of the strings in column `name`, a large_string or large_binary; 0 where there is none."""
    index = data.schema.get_field_index(name)
    if index < 0 or data.num_rows == 0:
        return 0
    array = data.column(index)
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    return int(offsets[-1] - offsets[0])
