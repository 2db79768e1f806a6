"""One task of one pass: a split read, taken through the fused map stages, written as a shard, and observed.

What a task writes appears in the order observation, shard, ledger, tally. The tally is the commit: a shard
without one is made again, with the same bytes.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.corpus import part
from pipeline.documents import Batch
from pipeline.errors import AccountingError
from pipeline.executors.contract import Death
from pipeline.guard import NOTHING, guard
from pipeline.ledger import LEDGER_SCHEMA, LedgerBuilder
from pipeline.readers import Fault, Ignored, ReadOptions, Split, read_split
from pipeline.stage import CorpusStage, MapStage, Outcome, Removal, failure
from pipeline.storage import ROW_GROUP_BYTES, Folder, encode_table, shard_writer, write_bounded
from pipeline.tally import READ, StageTally, Tally

Skips = tuple[tuple[int, str, str, str], ...]  # (document number, stage, rule, detail)


@dataclass(frozen=True)
class PassTask:
    """All that a worker needs for one shard of one pass.

    Attributes:
        shard: number of the shard to make; also of the shard to read in later passes.
        split: what to read in the first pass.
        source: folder of the shards that later passes read.
        schema_in, schema_out: columns read, and columns of the shard.
        maps, labels: the map stages and the names they are counted under.
        observe, observe_label: the corpus stage that sees what this pass keeps.
        target: the pass's folder; None where nothing is written and the shard is only observed.
        observed: folder of the observations.
        decision: folder of the decision that this pass begins with.
        skips: documents that killed a worker, with the stage, rule and detail to fail them by.
        suspects: documents that were in work when memory ran out once.
        careful: hand each stage one document at a time, so that a killer is named exactly.
    """

    shard: int
    split: Split | None
    source: Folder | None
    schema_in: pa.Schema
    schema_out: pa.Schema
    maps: tuple[MapStage, ...]
    labels: tuple[str, ...]
    observe: CorpusStage | None
    observe_label: str
    target: Folder | None
    observed: Folder | None
    decision: Folder | None
    batch_bytes: int
    record_bytes: int
    text_characters: int
    skips: Skips = ()
    suspects: tuple[int, ...] = ()
    careful: bool = False

    @property
    def place(self) -> str:
        """Where the documents come from, for messages."""
        if self.split is None:
            return f"{self.source.url if self.source else '?'}/{part(self.shard)}.parquet"
        return f"{self.split.file.name} [{self.split.start}:{self.split.end}]"


def revise(task: PassTask, death: Death) -> PassTask | None:
    """Return the task to try after a worker died on it, or None to try the same again.

    The document in work is left out next time and counted as failed. A batch in work is taken apart first,
    and a document in work when memory ran out gets a second chance in a fresh worker, for the memory may
    have been lost to those before it.
    """
    if death.number == NOTHING:
        return None
    if death.batch and not task.careful:
        return replace(task, careful=True)
    if death.rule == "memory" and death.number not in task.suspects:
        return replace(task, suspects=(*task.suspects, death.number))
    if any(number == death.number for number, *_ in task.skips):
        return None
    names = (*task.labels, task.observe_label)
    stage = names[death.stage] if 0 <= death.stage < len(names) else READ
    return replace(task, skips=(*task.skips, (death.number, stage, death.rule, death.detail)))


def run_pass_task(task: PassTask) -> dict[str, Any]:
    """Do `task` and return its tally as a dictionary; the tally is also the last file written."""
    started, cpu = time.perf_counter(), time.process_time()
    if task.target is None:
        return _observe_only(task, cpu)
    shard = _Shard(task)
    for item in _read(task):
        if isinstance(item, Ignored):
            shard.tally.ignored[item.reason] = shard.tally.ignored.get(item.reason, 0) + item.count
        elif isinstance(item, Fault):
            shard.fault(item)
        else:
            shard.add(item)
    guard.idle()
    return shard.commit(started, cpu)


@dataclass
class _Shard:
    """The shard being made: rows waiting to be written, the ledger, the tally and the observation."""

    task: PassTask
    tally: Tally = field(default_factory=Tally)
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0
    observations: list[pa.Table] = field(default_factory=list)
    observe_cpu: float = 0.0

    def __post_init__(self) -> None:
        self.ledger = LedgerBuilder(self.task.text_characters)
        self.tally.stages = [StageTally(label) for label in self.task.labels]
        self.sink = io.BytesIO()
        self.writer = shard_writer(self.sink, self.task.schema_out)
        self.skips = {number: (stage, rule, detail) for number, stage, rule, detail in self.task.skips}

    def fault(self, fault: Fault) -> None:
        """Count a record that could not be read, or a document that killed a worker before."""
        self.tally.read += 1
        self.tally.count("failed", READ, fault.rule)
        split = self.task.split
        self.ledger.add(
            id=fault.id,
            url=fault.url,
            source=None if split is None else split.file.source,
            stage=READ,
            rule=fault.rule,
            kind="failed",
            detail=f"{split.file.name}@{fault.offset}: {fault.detail}" if split else fault.detail,
            text=self.ledger.excerpt(fault.text),
        )

    def add(self, batch: Batch) -> None:
        """Take `batch` through the stages; keep, observe and write what is left of it."""
        self.tally.read += len(batch)
        self.tally.bytes_in += _payload_bytes(batch)
        batch = self._without_skipped(batch)
        for index, stage in enumerate(self.task.maps):
            guard.stage = index
            batch = self._apply(index, stage, batch)
        guard.stage = NOTHING
        numbers = batch.numbers
        kept = Batch(_conform(batch.data, self.task.schema_out), shard=self.task.shard, folder=self.task.decision)
        kept.numbers = np.arange(self.tally.kept, self.tally.kept + len(kept), dtype=np.int64)
        if self.task.observe is not None:
            kept = self._observe(kept, numbers)
        guard.idle()
        self.tally.kept += len(kept)
        self.tally.bytes_out += _text_bytes(kept)
        self.waiting.append(kept.data)
        self.waiting_bytes += kept.data.nbytes
        if self.waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _without_skipped(self, batch: Batch) -> Batch:
        """Fail the documents of `batch` that killed a worker in a stage before."""
        rows, removed = [], []
        for row, number in enumerate(batch.numbers.tolist()):
            if number in self.skips:
                removed.append((self.skips[number][0], Removal(row, *_rule(self.skips[number]))))
            else:
                rows.append(row)
        for stage, removal in removed:
            self.tally.count("failed", stage, removal.rule)
            self.ledger.add_removed(stage, batch, [removal])
        return batch.select(rows)

    def _apply(self, index: int, stage: MapStage, batch: Batch) -> Batch:
        label, count = self.task.labels[index], self.tally.stages[index]
        cpu = time.process_time()
        outcome = apply_stage(stage, batch, careful=self.task.careful)
        count.cpu_seconds += time.process_time() - cpu
        gone = [removal for removal in outcome.removed if removal.kind != "span"]
        if len(outcome.kept) + len(gone) != len(batch):
            raise AccountingError(
                f"stage {label} lost documents of {self.task.place}: given {len(batch)}, kept {len(outcome.kept)}, "
                f"removed {len(gone)}"
            )
        for removal in outcome.removed:
            self.tally.count(removal.kind, label, removal.rule)
        self.ledger.add_removed(label, batch, outcome.removed)
        # a document that fails in a stage was given to it but is neither dropped nor handed on
        count.documents_in += len(batch)
        count.documents_out += len(outcome.kept)
        return outcome.kept

    def _observe(self, kept: Batch, numbers: np.ndarray) -> Batch:
        """Let the corpus stage see `kept`; a document it fails on leaves the shard, and the rest are renumbered."""
        guard.stage = len(self.task.maps)
        cpu = time.process_time()
        observed = observe_batch(self.task.observe, kept, numbers, careful=self.task.careful)  # type: ignore[arg-type]
        if observed.removed:
            for removal in observed.removed:
                self.tally.count("failed", self.task.observe_label, removal.rule)
            self.ledger.add_removed(self.task.observe_label, kept, observed.removed)
            bad = {removal.row for removal in observed.removed}
            rows = [row for row in range(len(kept)) if row not in bad]
            kept, numbers = kept.select(rows), numbers[rows]
            kept.numbers = np.arange(self.tally.kept, self.tally.kept + len(kept), dtype=np.int64)
            observed = observe_batch(self.task.observe, kept, numbers, careful=self.task.careful)  # type: ignore[arg-type]
        guard.stage = NOTHING
        self.observations.extend(observed.tables)
        self.observe_cpu += time.process_time() - cpu
        return kept

    def _flush(self) -> None:
        if self.waiting:
            write_bounded(self.writer, pa.Table.from_batches(self.waiting, self.task.schema_out))
        self.waiting, self.waiting_bytes = [], 0

    def commit(self, started: float, cpu: float) -> dict[str, Any]:
        """Write observation, shard, ledger and, last, the tally."""
        task, name = self.task, part(self.task.shard)
        assert task.target is not None
        self._flush()
        self.writer.close()
        if task.observe is not None:
            _put_observation(task, self.observations, self.observe_cpu)
        task.target.put(f"{name}.parquet", self.sink.getvalue())
        table = self.ledger.table()
        task.target.put(
            f"ledger/{name}.parquet", encode_table(table if table.num_rows else LEDGER_SCHEMA.empty_table())
        )
        self.tally.cpu_seconds = time.process_time() - cpu
        self.tally.seconds = time.perf_counter() - started
        self.tally.check(f"{task.place} ({name})")
        tally = self.tally.as_dict()
        task.target.put_json(f"tally/{name}.json", tally)
        return tally


@dataclass
class Observed:
    """What a corpus stage saw of a batch, and the documents it failed on."""

    tables: list[pa.Table]
    removed: list[Removal]


def apply_stage(stage: MapStage, batch: Batch, *, careful: bool = False) -> Outcome:
    """Return what `stage` makes of `batch`. Where it raises, or in `careful` mode, each document goes alone,
    so that one document's fault is that document's outcome and nobody else's."""
    if not careful:
        try:
            return stage.apply(batch)
        except AccountingError:
            raise
        except Exception:
            if len(batch) == 0:
                raise
    kept: list[Batch] = []
    removed: list[Removal] = []
    for row in range(len(batch)):
        guard.working_on(int(batch.numbers[row]))
        single = batch.select([row])
        try:
            outcome = stage.apply(single)
        except AccountingError:
            raise
        except Exception as error:  # one document's fault is one counted outcome
            removed.append(failure(row, error))
            continue
        kept.append(outcome.kept)
        removed.extend(replace(removal, row=row) for removal in outcome.removed)
    return Outcome(_joined(kept) if kept else stage.apply(batch.select([])).kept, removed)


def observe_batch(stage: CorpusStage, batch: Batch, numbers: np.ndarray, *, careful: bool = False) -> Observed:
    """Return what `stage` observes of `batch`; document by document where it raises or in `careful` mode.

    Args:
        numbers: the documents' numbers in what was read, by which the guard names them.
    """
    if not careful:
        with guard.holding(int(numbers[0]) if len(numbers) else NOTHING, batch=True):
            try:
                return Observed([stage.observe(batch)], [])
            except Exception:
                if len(batch) == 0:
                    raise
    tables: list[pa.Table] = []
    removed: list[Removal] = []
    for row in range(len(batch)):
        with guard.holding(int(numbers[row])):
            try:
                tables.append(stage.observe(batch.select([row])))
            except Exception as error:  # as in apply_stage
                removed.append(failure(row, error))
    return Observed(tables or [stage.observe(batch.select([]))], removed)


def _joined(batches: list[Batch]) -> Batch:
    data = pa.Table.from_batches([b.data for b in batches]).combine_chunks().to_batches()
    merged = data[0] if data else batches[0].data
    documents = [document for b in batches for document in b.documents]
    first = batches[0]
    joined = Batch(merged, shard=first.shard, folder=first.folder, documents=documents)
    joined.numbers = np.concatenate([b.numbers for b in batches])
    joined._bind()
    return joined


def _rule(skip: tuple[str, str, str]) -> tuple[str, str, None, None, str]:
    _, rule, detail = skip
    return rule, "failed", None, None, detail


def _read(task: PassTask) -> Iterator[Batch | Fault | Ignored]:
    """Yield what the task's split or shard holds; batches know the folder of the pass's decision."""
    if task.split is not None:
        # a document that killed a stage can be read, and then its id and url are known; one that killed the reader cannot
        skip = {number: (rule, detail) for number, stage, rule, detail in task.skips if stage == READ}
        options = ReadOptions(task.schema_in, task.batch_bytes, skip, task.record_bytes)
        for item in read_split(task.split, options):
            if isinstance(item, Batch):
                item.shard, item.folder = task.shard, task.decision
            yield item
        return
    assert task.source is not None
    yield from read_shard(task.source, task.shard, task.batch_bytes, task.decision)


def read_shard(source: Folder, shard: int, batch_bytes: int, decision: Folder | None = None) -> Iterator[Batch]:
    """Yield the documents of one shard as batches of at most about `batch_bytes`."""
    with source.open(f"{part(shard)}.parquet") as file:
        parquet = pq.ParquetFile(file)
        sizes = [parquet.metadata.row_group(g) for g in range(parquet.num_row_groups)]
        per_row = max((g.total_byte_size // max(1, g.num_rows) for g in sizes), default=1)
        first = 0
        for data in parquet.iter_batches(batch_size=max(1, batch_bytes // max(1, per_row)), use_threads=False):
            numbers = np.arange(first, first + data.num_rows, dtype=np.int64)
            first += data.num_rows
            yield Batch(data, shard=shard, numbers=numbers, folder=decision)


def _observe_only(task: PassTask, cpu: float) -> dict[str, Any]:
    """Observe a shard that stands already. A document that the stage fails on cannot leave it: the run ends."""
    assert task.source is not None
    assert task.observe is not None
    tables: list[pa.Table] = []
    guard.stage = len(task.maps)
    for batch in read_shard(task.source, task.shard, task.batch_bytes, task.decision):
        observed = observe_batch(task.observe, batch, batch.numbers, careful=task.careful)
        if observed.removed:
            bad = observed.removed[0]
            raise ValueError(
                f"{task.observe_label} cannot observe document {batch.column('id')[bad.row]!r} of {task.place}: "
                f"{bad.rule}: {bad.detail}"
            )
        tables.extend(observed.tables)
    guard.idle()
    return _put_observation(task, tables, time.process_time() - cpu)


def _put_observation(task: PassTask, tables: list[pa.Table], cpu: float) -> dict[str, Any]:
    """Write what was observed of a shard, and behind it the file that says so."""
    assert task.observe is not None
    assert task.observed is not None
    if not tables:
        empty = pa.RecordBatch.from_pylist([], schema=task.schema_out)
        tables = [task.observe.observe(Batch(empty, shard=task.shard, folder=task.decision))]
    table = task.observe.combine(tables)
    task.observed.put(f"{part(task.shard)}.parquet", encode_table(table))
    done = {"rows": table.num_rows, "cpu_seconds": cpu}
    task.observed.put_json(f"{part(task.shard)}.json", done)
    return done


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


def _text_bytes(batch: Batch) -> int:
    index = batch.data.schema.get_field_index("text")
    return 0 if index < 0 else _string_bytes(batch.data.column(index))


def _payload_bytes(batch: Batch) -> int:
    index = batch.data.schema.get_field_index("raw")
    return _text_bytes(batch) + (0 if index < 0 else _string_bytes(batch.data.column(index)))


def _string_bytes(array: pa.Array) -> int:
    """Return the bytes of the strings in a large_string or large_binary array."""
    if len(array) == 0:
        return 0
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    return int(offsets[-1] - offsets[0])
