"""Stages applied so that one document's fault is that document's outcome and nobody else's.

Only what a stage does to a document can fail it: a fault of the environment ends the task, and a stage that loses,
doubles or invents documents ends the run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch
from pipeline.errors import AccountingError, is_environment
from pipeline.guard import NOTHING, guard
from pipeline.stage import MapStage, Outcome, Removal, failure


def apply_stage(stage: MapStage, batch: Batch, *, careful: bool = False) -> Outcome:
    """Return what `stage` makes of `batch`. Where it raises, or in `careful` mode, each document goes alone.

    Raises:
        AccountingError: what it keeps and removes are not just the documents it was given.
    """
    if not careful:
        try:
            return checked(stage, batch, stage.apply(batch))
        except Exception as error:
            if len(batch) == 0 or _is_ours(error):
                raise
    kept: list[Batch] = []
    removed: list[Removal] = []
    signals = np.full((len(batch), len(stage.measures)), np.nan) if stage.measures else None
    for row in range(len(batch)):
        guard.working_on(int(batch.numbers[row]))
        single = batch.select([row])
        try:
            outcome = checked(stage, single, stage.apply(single))
        except Exception as error:  # one document's fault is one counted outcome
            if _is_ours(error):
                raise
            removed.append(failure(row, error))
            continue
        kept.append(outcome.kept)
        if signals is not None and outcome.signals is not None:
            signals[row] = outcome.signals[0]
        removed.extend(replace(removal, row=row) for removal in outcome.removed)
    return Outcome(_joined(kept) if kept else stage.apply(batch.select([])).kept, removed, signals)


def checked(stage: MapStage, given: Batch, outcome: Outcome) -> Outcome:
    """Return `outcome` if it accounts for every document of `given`, each once and in order."""
    gone = [removal.row for removal in outcome.removed if removal.kind != "span"]
    rows = np.array(gone, np.int64)
    wrong = (
        len(np.unique(rows)) != len(rows)
        or bool(((rows < 0) | (rows >= len(given))).any())
        or not np.array_equal(np.delete(given.numbers, rows), outcome.kept.numbers)
        or len(outcome.kept.data) != len(outcome.kept.numbers)
    )
    if wrong:
        raise AccountingError(
            f"stage {stage.counted_as} lost documents, doubled or reordered them: given {len(given)}, kept {len(outcome.kept)}, "
            f"removed {len(gone)}"
        )
    return outcome


def observe_alone(stage: CorpusStage, batch: Batch, numbers: np.ndarray) -> tuple[list[pa.Table], list[Removal]]:
    """Return what `stage` observes of each document of `batch` by itself, and the documents it fails on.

    Args:
        numbers: the documents' numbers in what was read, by which the guard names them.
    """
    tables: list[pa.Table] = []
    removed: list[Removal] = []
    for row in range(len(batch)):
        with guard.holding(int(numbers[row])):
            try:
                tables.append(stage.observe(batch.select([row])))
            except Exception as error:  # as in apply_stage
                if _is_ours(error):
                    raise
                removed.append(failure(row, error))
    return tables, removed


def observe_batch(
    stage: CorpusStage, batch: Batch, numbers: np.ndarray, *, careful: bool = False
) -> tuple[list[pa.Table], list[Removal]]:
    """Return what `stage` observes of `batch`; document by document where it raises or in `careful` mode."""
    if not careful:
        with guard.holding(int(numbers[0]) if len(numbers) else NOTHING, batch=True):
            try:
                return [stage.observe(batch)], []
            except Exception as error:
                if len(batch) == 0 or _is_ours(error):
                    raise
    tables, removed = observe_alone(stage, batch, numbers)
    return tables or [stage.observe(batch.select([]))], removed


def _is_ours(error: Exception) -> bool:
    """Return whether `error` must not be laid at a document's door."""
    return isinstance(error, AccountingError) or is_environment(error)


def _joined(batches: list[Batch]) -> Batch:
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
