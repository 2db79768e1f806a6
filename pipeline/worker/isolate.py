"""Stages applied so that one document's fault is that document's outcome and nobody else's.

Only what a stage does to a document can fail it: a fault of the environment ends the task. Where a whole batch raises, or
is not accounted for, the documents at fault are found by halves. What a stage loses, doubles or invents is found by the
identity of rows (`checks.py`); where no single document explains it, it ends the run.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch
from pipeline.errors import AccountingError, is_environment
from pipeline.guard import NOTHING, guard
from pipeline.stage import MapStage, Outcome, Removal, failure
from pipeline.worker.checks import Unaccounted, checked, seen_well
from pipeline.worker.children import Care, Fate, by_parts

T = TypeVar("T")
ENOUGH = 8
"""Documents of a batch of which all are unaccounted for, from which on it is the stage's fault and not theirs."""


def is_ours(error: BaseException) -> bool:
    """Return whether `error` must not be laid at a document's door: the environment's, the accounts', or an interrupt
    where somebody sits before this very process."""
    if isinstance(error, KeyboardInterrupt):
        return not guard.is_watched
    return (isinstance(error, AccountingError) and not isinstance(error, Unaccounted)) or is_environment(error)


def apply_stage(stage: MapStage, batch: Batch, *, care: Care | None = None) -> Outcome:
    """Return what `stage` makes of `batch`; with `care`, in child processes, where a document may kill its process.

    Raises:
        AccountingError: what it keeps and removes are not just the documents it was given, whichever these are.
    """
    if care is None or len(batch) == 0:
        return _applied(stage, batch)
    kept: list[Batch] = []
    removed: list[Removal] = []
    signals = _unmeasured(stage, batch)
    for rows, answer in by_parts(batch.numbers.tolist(), lambda rows: _packed(stage, batch.select(rows)), care):
        if isinstance(answer, Fate):
            removed.append(Removal(rows.start, answer.rule, "failed", detail=answer.detail))
            continue
        data, numbers, gone, measured = answer
        part = batch.select(rows)
        if signals is not None and measured is not None:
            signals[rows.start : rows.stop] = measured
        kept.append(part if data is None else part.remade(_unpacked(data), numbers))
        removed += [replace(removal, row=removal.row + rows.start) for removal in gone]
    return Outcome(_joined(kept) if kept else _none_kept(stage, batch), removed, signals)


def _unmeasured(stage: MapStage, batch: Batch) -> np.ndarray | None:
    """Return the signals of a batch before any is known."""
    return np.full((len(batch), len(stage.measures)), np.nan) if stage.measures else None


def _packed(stage: MapStage, part: Batch) -> tuple[bytes | None, np.ndarray, list[Removal], np.ndarray | None]:
    """Return what `stage` makes of `part` as a child can send it: no data where all is kept as it is."""
    outcome = _applied(stage, part)
    same = outcome.kept is part
    return None if same else _ipc(outcome.kept.data), outcome.kept.numbers, outcome.removed, outcome.signals


def _applied(stage: MapStage, batch: Batch) -> Outcome:
    """Return what `stage` makes of `batch`; of one that raises, by halves, down to the documents at fault."""
    kept: list[Batch] = []
    removed: list[Removal] = []
    signals = _unmeasured(stage, batch)

    def one(rows: range) -> None:
        part = batch if len(rows) == len(batch) else batch.select(rows)
        guard.working_on(int(part.numbers[0]) if len(part) else NOTHING, len(part), batch=len(part) != 1)
        outcome = checked(stage, part, stage.apply(part))
        kept.append(outcome.kept)
        if signals is not None and outcome.signals is not None:
            signals[rows.start : rows.stop] = outcome.signals
        removed.extend(replace(r, row=r.row + rows.start) if rows.start else r for r in outcome.removed)

    fault = _by_halves(one, len(batch), lambda row, error: removed.append(failure(row, error)))
    if isinstance(fault, Unaccounted):
        failed = sum(removal.kind == "failed" for removal in removed)
        if failed == 0 or (failed == len(batch) >= ENOUGH):
            raise AccountingError(str(fault)) from fault
    if len(kept) == 1:
        return Outcome(kept[0], removed, signals)
    return Outcome(_joined(kept) if kept else _none_kept(stage, batch), removed, signals)


def _by_halves(
    one: Callable[[range], None], rows: int, fail: Callable[[int, BaseException], None]
) -> BaseException | None:
    """Call `one` with all rows, or where that raises with halves of them, in order, down to single rows, which `fail` is
    told of. Return what it raised at first."""
    waiting = [range(rows)]
    first: BaseException | None = None
    while waiting:
        part = waiting.pop()
        try:
            one(part)
        except BaseException as error:  # one document's fault is one counted outcome
            if len(part) == 0 or is_ours(error):
                raise
            first = first or error
            if len(part) == 1:
                fail(part.start, error)
            else:
                middle = part.start + len(part) // 2
                waiting += [range(middle, part.stop), range(part.start, middle)]
    return first


def _none_kept(stage: MapStage, batch: Batch) -> Batch:
    """Return no documents, with the columns that the stage would have given them."""
    try:
        return stage.apply(batch.select([])).kept
    except Exception as error:
        if is_environment(error):
            raise
        return batch.select([])


def observe_batch(
    stage: CorpusStage,
    batch: Batch,
    numbers: np.ndarray,
    *,
    care: Care | None = None,
    schema: pa.Schema | None = None,
) -> tuple[list[pa.Table], list[Removal]]:
    """Return what `stage` observes of `batch`, and the documents it fails on; with `care`, in child processes.

    Args:
        numbers: the documents' numbers in what was read, by which the guard names them.
        schema: of its observations, null where a type is not known; None where nothing is.
    """
    if care is None or len(batch) == 0:
        return _observed(stage, batch, numbers, schema)
    tables: list[pa.Table] = []
    removed: list[Removal] = []

    def work(rows: range) -> tuple[list[bytes], list[Removal]]:
        tables, removed = _observed(stage, batch.select(rows), numbers[rows.start : rows.stop], schema)
        return [_ipc(table) for table in tables], removed

    for rows, answer in by_parts(numbers.tolist(), work, care):
        if isinstance(answer, Fate):
            removed.append(Removal(rows.start, answer.rule, "failed", detail=answer.detail))
            continue
        tables += [pa.ipc.open_stream(data).read_all() for data in answer[0]]
        removed += [replace(removal, row=removal.row + rows.start) for removal in answer[1]]
    return tables or [stage.observe(batch.select([]))], removed


def _observed(
    stage: CorpusStage, batch: Batch, numbers: np.ndarray, schema: pa.Schema | None
) -> tuple[list[pa.Table], list[Removal]]:
    tables: list[pa.Table] = []
    removed: list[Removal] = []

    def one(rows: range) -> None:
        part = batch if len(rows) == len(batch) else batch.select(rows)
        number = int(numbers[rows.start]) if len(rows) else NOTHING
        with guard.holding(number, len(rows), batch=len(rows) != 1):
            tables.append(seen_well(stage, part, stage.observe(part), schema))

    _by_halves(one, len(batch), lambda row, error: removed.append(failure(row, error)))
    return tables or [stage.observe(batch.select([]))], removed


def _ipc(data: pa.RecordBatch | pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write(data)
    return sink.getvalue()


def _unpacked(data: bytes) -> pa.RecordBatch:
    table = pa.ipc.open_stream(data).read_all().combine_chunks()
    found = table.to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema=table.schema)


def _joined(batches: Sequence[Batch]) -> Batch:
    data = pa.Table.from_batches([b.data for b in batches]).combine_chunks().to_batches()
    first = batches[0]
    return Batch(
        data[0] if data else first.data,
        shard=first.shard,
        numbers=np.concatenate([b.numbers for b in batches]),
        folder=first.folder,
        inputs=first.inputs,
        documents=[document for b in batches for document in b.documents],
    ).bound()
