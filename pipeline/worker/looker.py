"""One corpus stage looking at one shard: what it has seen, and the documents it failed on."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pyarrow as pa

from pipeline.commit import Look
from pipeline.documents import Batch
from pipeline.errors import is_environment
from pipeline.storage import encode_table
from pipeline.worker.checks import schema_of
from pipeline.worker.isolate import observe_batch
from pipeline.worker.task import Observer, ShardTask, sha_of


class Looker:
    """One corpus stage looking at one shard: what it has seen so far, and the documents it failed on."""

    def __init__(self, observer: Observer, task: ShardTask):
        self.observer = observer
        self.cpu = 0.0
        self._task = task
        self._tables: list[pa.Table] = []
        self._failed: list[tuple[int, str, str]] = []
        self._rows = 0
        self._schema: pa.Schema | None = None
        self._skips = {n: (rule, detail) for n, stage, rule, detail in task.skips if stage == observer.label}

    def see(self, batch: Batch, numbers: np.ndarray) -> None:
        """Observe `batch`, whose rows in the shard are its numbers.

        Args:
            numbers: the documents' numbers in what was read, by which the guard names them.
        """
        cpu = time.process_time()
        dead = [row for row, number in enumerate(numbers.tolist()) if number in self._skips]
        self._failed += [(int(batch.numbers[row]), *self._skips[int(numbers[row])]) for row in dead]
        if dead:
            rows = np.delete(np.arange(len(batch)), dead)
            batch, numbers = batch.select(rows.tolist()), numbers[rows]
        batch.shard, batch.folder, batch.inputs = 0, None, dict(self.observer.inputs)
        stage = self.observer.stage
        if not self._tables:
            self._schema = schema_of(stage, batch.select([]))
        tables, removed = observe_batch(stage, batch, numbers, care=self._task.care, schema=self._schema)
        self._failed += [(int(batch.numbers[r.row]), r.rule, r.detail) for r in removed]
        self._tables += tables
        self._rows += len(batch) - len(removed)
        self.cpu += time.process_time() - cpu

    @property
    def failures(self) -> int:
        """Documents that the stage could not observe."""
        return len(self._failed)

    def put(self, name: str, of: str) -> Look:
        """Write what was seen of shard `name`, whose outcome is `of`, and behind it the record that says so."""
        cpu = time.process_time()
        stage, label = self.observer.stage, self.observer.label
        if not self._tables:
            empty = pa.RecordBatch.from_pylist([], schema=self._task.work.schema_out)
            self._tables = [stage.observe(Batch(empty, inputs=dict(self.observer.inputs)))]
        try:
            data = encode_table(stage.combine(self._tables))
        except Exception as error:
            if is_environment(error):
                raise
            raise RuntimeError(f"{label} cannot put together what it saw of {self._task.place}: {error}") from error
        self.observer.folder.put(f"{name}.parquet", data)
        look = Look(of, sha_of(data), self._rows, self._failed, self.cpu + time.process_time() - cpu)
        self.observer.folder.put_json(f"seen/{name}.json", dataclasses.asdict(look))
        return look
