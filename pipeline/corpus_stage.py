"""The contract of a stage that must see the whole corpus before it can act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.corpus import Corpus, Observations, Tasks
from pipeline.decisions import DropPositions
from pipeline.documents import Batch
from pipeline.stage import MapStage, Stage
from pipeline.storage import Folder


@dataclass(frozen=True, kw_only=True)
class CorpusStage(Stage):
    """A stage that must see the whole corpus before it can act.

    `observe` runs on every batch and `combine` once per shard; what they return is kept as a file a shard. `decide`
    runs once and answers a map stage, whose bulk lies in files it has written into `work`.

    Corpus stages in a row observe the same documents in one pass, decide one after the other, each on what those
    before it left, and are applied together by the next pass.

    Class attributes:
        decides: the class of its decision; None where nothing changes in the documents (a tokenizer is trained, tokens
            are counted). Only a class named here is ever restored from a run folder. A stage that follows one whose
            decision is not `DropPositions` waits until it is applied.
        sums: what it observes is a sum over the corpus, not rows about single documents, so it waits until all
            decisions before it are applied.
        gives: name of a product that its decision's folder holds for later stages, such as ``ladder``.
    """

    decides: ClassVar[type[MapStage] | None] = DropPositions
    sums: ClassVar[bool] = False
    gives: ClassVar[str] = ""

    @property
    def takes(self) -> tuple[str, ...]:
        """Products of earlier stages that this one needs; found as ``batch.inputs[product]`` while observing and as
        ``observations.inputs[product]`` while deciding. A recipe in which nothing before gives one is refused."""
        return ()

    def observe(self, batch: Batch) -> pa.Table:
        """Return what the decision needs to know of `batch`.

        A column ``position`` holds `batch.positions`; whoever reads the observation finds positions of the corpus.
        """
        raise NotImplementedError

    def combine(self, tables: list[pa.Table]) -> pa.Table:
        """Return one shard's observation from those of its batches (at least one, perhaps of no rows)."""
        return pa.concat_tables(tables)

    def observation_identity(self) -> dict[str, Any]:
        """What `observe` depends on; a parameter used by `decide` alone may be left out, so that changing it
        does not observe the corpus again."""
        return self.identity()

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> MapStage | None:
        """Return the decision, an instance of `decides`.

        Args:
            observations: what was observed, read by shard or by part.
            corpus: the documents of this pass, read by position.
            tasks: runs pure functions on the run's workers; finished ones are found again after a crash.
            work: folder of this decision; files written there are found again by the decision as `batch.folder`.
        """
        raise NotImplementedError
