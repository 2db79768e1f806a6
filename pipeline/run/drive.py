"""Carries out a plan in its run folder: pass after pass, each from wherever it stands."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from pipeline.corpus import Corpus, Observations, Shards
from pipeline.documents import POSITION_BITS
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.errors import AccountingError, UserError
from pipeline.executors.contract import Result, WorkerLimits, no_revision, run_local
from pipeline.run.accounts import PassReport, Summary, summarise
from pipeline.run.commits import Brief, Records, commits, looks
from pipeline.run.decide import Decided, decide, failed_drops
from pipeline.run.folder import Unfinished, bring_back, claim, noted
from pipeline.run.inputs import InputMarks, NamedSplit, named_splits
from pipeline.run.passes import Pass
from pipeline.run.plan import RunPlan, preload_of
from pipeline.run.progress import Progress, Silent
from pipeline.run.publish import Finish, Finished, publish
from pipeline.stage import digest_of
from pipeline.storage import Folder, lease
from pipeline.tally import Tally, too_many
from pipeline.worker.shard import Made, part_name, run_shard_task
from pipeline.worker.task import Applied, Observer, PassWork, ShardTask, Stand, revise

SHARD_FORMAT = 2
"""Raised when what a shard, ledger or commit looks like changes, so that old ones are not taken for new."""
EXACT_FROM = 100
"""Documents from which on `failed_share` is held to the letter at the end of a pass."""


def execute(
    plan: RunPlan,
    out: Folder,
    *,
    workers: int,
    progress: Progress | None = None,
    finish: Finish | None = None,
    retry_failed: bool = False,
    asked: bool = True,
) -> Finished:
    """Carry out `plan` in folder `out` from wherever it stands, and publish what it makes.

    Args:
        workers: processes.
        finish: adds what belongs to the result beside the corpus, before all is published together.
        retry_failed: shards in which documents failed are made again.
        asked: the user has named the folder.
    Raises:
        UserError: the folder belongs to another recipe or cannot be written; a stage fails on too many documents.
        AccountingError: a pass does not balance.
    """
    with lease(out):
        state = claim(out, plan.recipe, asked=asked)
        with noted(out, state):
            return _Run(plan, out, workers, progress or Silent(), state, retry_failed).carry_out(finish)


@dataclass
class Standing:
    """The corpus as a pass leaves it: where each shard's texts are, and which of its rows are left.

    Attributes:
        folder: of the pass that wrote the texts.
        rows: by shard, the folder of the pass that last took rows out; None where all are left.
        briefs: by shard, what was committed last.
    """

    folder: str
    texts: Folder
    names: list[str]
    rows: list[Folder | None]
    briefs: list[Brief]
    schema: pa.Schema
    shards: Shards

    @property
    def kept(self) -> int:
        """Documents left."""
        return sum(brief.kept for brief in self.briefs)

    def stand(self, number: int) -> Stand:
        """Return where shard `number` stands."""
        brief = self.briefs[number]
        return Stand(self.texts, self.rows[number], brief.outcome, brief.rows)


@dataclass
class Looked:
    """One corpus stage's observation of a corpus."""

    label: str
    stage: CorpusStage
    folder: str
    observations: Observations
    digest: str
    failed: DropPositions | None
    inputs: tuple[tuple[str, Folder], ...] = ()


@dataclass
class _Run:
    """One execution: the passes in order, each from wherever it stands."""

    plan: RunPlan
    out: Folder
    workers: int
    progress: Progress
    state: Unfinished
    retry_failed: bool
    reports: list[PassReport] = field(default_factory=list)
    decided: dict[str, Decided] = field(default_factory=dict)
    products: dict[str, Decided] = field(default_factory=dict)

    def carry_out(self, finish: Finish | None) -> Finished:
        """Run every pass that is not done, and publish the corpus, the summary and the manifest."""
        self._note_state()
        self.marks = InputMarks.load(self.out)
        limits, ledger = self.plan.recipe.limits, self.plan.recipe.ledger
        sizes = [limits.batch_bytes, limits.record_bytes, limits.split_bytes, limits.shard_bytes]
        chain = digest_of([SHARD_FORMAT, sizes, ledger.text_characters])
        standing: Standing | None = None
        looked: list[Looked] = []
        for step in self.plan.passes:
            started = time.perf_counter()
            decided = self._decisions(step, looked, standing)
            applied = self._applied(looked, decided) + [Applied(label, stage) for label, stage in step.maps]
            if standing is None or applied:
                described = [[a.label, a.stage.kind if isinstance(a.stage, DropPositions) else "", _identity(a, decided)] for a in applied]
                schema = [[f.name, str(f.type)] for f in step.schema_in] if standing is None else []
                chain = digest_of([chain, schema, described])
                folder = f"{step.number:02d}-{step.name}-{chain}"
            elif not step.observes:
                self._count_decisions(decided)
                continue
            else:
                folder = standing.folder
            standing, looked = self._pass(step, folder, applied, standing, decided)
            self.reports[-1].seconds = time.perf_counter() - started
        assert standing is not None
        summary = summarise(self.plan, self.reports)
        finished = Finished(
            plan=self.plan, out=self.out, summary=summary, standing=standing, decided=self.decided,
            looked={look.label: look for look in self.looks}, chain=chain,
        )  # fmt: skip
        return publish(finished, self.state, self._run, self.marks, finish, self.progress)
