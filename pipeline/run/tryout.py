"""The splits that a try-out of the first so many documents reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pipeline.executors.contract import Result
from pipeline.readers import Split
from pipeline.recipe import Recipe
from pipeline.run.inputs import InputMarks, named_splits
from pipeline.stage import digest_of
from pipeline.storage import Folder
from pipeline.worker.counting import count_documents
from pipeline.worker.task import PassWork, ShardTask
from pipeline.worker.tryout import Counting, revise_counting

FILE = "tryout.json"
AHEAD = 4
"""Splits counted at a time."""

Count = tuple[int, int | None]
"""See `pipeline.worker.counting.count_documents`."""


def first_splits(
    recipe: Recipe,
    splits: Sequence[Split],
    schema: pa.Schema,
    out: Folder,
    marks: InputMarks,
    run: Callable[..., Iterator[Result]] | None,
) -> tuple[Split, ...]:
    """Return the splits that hold the first ``input.limit`` documents, the last of them cut behind its last document.

    What is found is kept in `out`, and found again for inputs and limits that are the same.

    Args:
        run: runs tasks on the run's workers; None, for a forecast, finds only what is known.
    """
    left = recipe.tryout.limit
    if left is None:
        return tuple(splits)
    counts = _Counts(out.get_json(FILE) if out.exists(FILE) else {}, run)
    work = _work(recipe, schema)
    tasks = (ShardTask(work, item.name, 0, item.split, item.changed) for item in named_splits(splits, marks))
    found: list[Split] = []
    while left and (group := list(itertools.islice(tasks, AHEAD))):
        for task, count in zip(group, counts.of(group, left), strict=True):
            documents, until = count if count[0] <= left else counts.of([task], left)[0]
            assert task.split is not None
            found.append(replace(task.split, until=until))
            left -= documents
            if not left:
                break
    if run is not None:
        out.put_json(FILE, counts.known)
    return tuple(found)


@dataclass
class _Counts:
    known: dict[str, Count]
    run: Callable[..., Iterator[Result]] | None

    def of(self, tasks: Sequence[ShardTask], most: int) -> list[Count]:
        """Return how many documents each split has, `most` at most."""
        keys = [digest_of([task.name, task.work.sample, task.work.record_bytes, most]) for task in tasks]
        todo = [(key, Counting(task, most)) for key, task in zip(keys, tasks, strict=True) if key not in self.known]
        if self.run is not None and todo:
            for result in self.run(count_documents, todo, revise_task=revise_counting):
                self.known[result.key] = result.value
        return [self.known.get(key, (most, None)) for key in keys]


def _work(recipe: Recipe, schema: pa.Schema) -> PassWork:
    limits = recipe.limits
    return PassWork(
        stages=(),
        observers=(),
        schema_in=schema,
        schema_out=schema,
        target=None,
        writes=False,
        shards=None,
        batch_bytes=limits.batch_bytes,
        record_bytes=limits.record_bytes,
        shard_bytes=limits.shard_bytes,
        memory_bytes=limits.memory_bytes,
        text_characters=0,
        failed_share=1.0,
        sample=recipe.tryout.sample,
    )
