"""Tasks of a pass as data, for machines that have the same recipe.

Nothing in them is code: stages are named by their label in the recipe, decisions by their fields as in ``decision.json``,
splits by their number, and every folder lies below the run's. So who can write to a run folder can hand out work, but
not what is run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from pipeline.corpus import Shards
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.errors import StorageError
from pipeline.executors.node_check import code_version
from pipeline.run.plan import RunPlan
from pipeline.stage import MapStage, digest_of
from pipeline.storage import Folder
from pipeline.worker.shard import Made
from pipeline.worker.task import Applied, Observer, PassWork, ShardTask, Stand, State


class AppliedData(msgspec.Struct):
    """A stage of a pass: one of the recipe, or with `fields` what one of its corpus stages has decided."""

    label: str
    folder: str | None = None
    fields: dict[str, Any] | None = None
    failed: bool = False


class ObserverData(msgspec.Struct):
    """A corpus stage that looks on; see `pipeline.worker.task.Observer`."""

    label: str
    folder: str
    inputs: list[tuple[str, str]]


class WorkData(msgspec.Struct):
    """What is the same for many tasks of pass `number`; see `pipeline.worker.task.PassWork`."""

    number: int
    stages: list[AppliedData]
    observers: list[ObserverData]
    target: str | None
    writes: bool
    shards: tuple[str, str] | None
    signals: bool


class StandData(msgspec.Struct):
    """See `pipeline.worker.task.Stand`."""

    texts: str
    rows: str | None
    outcome: str
    size: int


class TaskData(msgspec.Struct):
    """See `pipeline.worker.task.ShardTask`; `split` and `work` are numbers."""

    key: str
    work: int
    name: str
    number: int
    split: int | None
    until: int | None
    changed: list[State]
    stand: StandData | None
    first: int
    part: int


class Block(msgspec.Struct):
    """Tasks handed out together: a file."""

    works: list[WorkData]
    tasks: list[TaskData]


class Outcome(msgspec.Struct):
    """How a task ended elsewhere: what it made, or what it failed with."""

    made: list[Made] | None
    error: str
    attempts: int
    cpu_seconds: float


@dataclass
class Handing:
    """Turns tasks of a run of `plan` in folder `out` into data, and back on another machine."""

    plan: RunPlan
    out: Folder
    _numbers: dict[int, int] = field(default_factory=dict)

    def identity(self) -> str:
        """Return what stands for code, recipe and inputs: machines on which it differs cannot work together."""
        recipe = self.plan.recipe
        splits = [[s.file.name, s.file.source, s.format, s.start, s.end, len(s.more)] for s in self.plan.splits]
        stages = [stage.identity() for stage in recipe.stages]
        shape = [asdict(recipe.limits), asdict(recipe.ledger), asdict(recipe.tryout)]
        return digest_of([code_version(), stages, shape, splits])

    def block(self, number: int, tasks: list[tuple[str, ShardTask]]) -> Block:
        """Return `tasks` of pass `number` as data."""
        if not self._numbers:
            self._numbers = {id(split): n for n, split in enumerate(self.plan.splits)}
        works: dict[int, WorkData] = {}
        for _, task in tasks:
            works.setdefault(id(task.work), self._work_data(number, task.work))
        places = {key: place for place, key in enumerate(works)}
        return Block(list(works.values()), [self._task_data(key, task, places[id(task.work)]) for key, task in tasks])

    def tasks(self, block: Block) -> dict[str, ShardTask]:
        """Return the tasks of `block` by their key. Raises StorageError for one that is not of this run."""
        try:
            works = [self._work(data) for data in block.works]
            return {_plain(data.key): self._task(data, works) for data in block.tasks}
        except (LookupError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
            raise StorageError(f"{self.out.url} hands out tasks of another run ({error!r})") from error

    def _name(self, folder: Folder) -> str:
        name = folder.url.removeprefix(f"{self.out.url.rstrip('/')}/")
        assert name != folder.url, folder
        return name

    def _folder(self, name: str) -> Folder:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name} is no folder of the run")
        return self.out / name

    def _work_data(self, number: int, work: PassWork) -> WorkData:
        stages = [self._applied_data(applied) for applied in work.stages]
        observers = [
            ObserverData(o.label, self._name(o.folder), [(product, self._name(f)) for product, f in o.inputs])
            for o in work.observers
        ]
        shards = None if work.shards is None else (self._name(work.shards.folder), work.shards.file)
        target = None if work.target is None else self._name(work.target)
        return WorkData(number, stages, observers, target, work.writes, shards, work.signals)

    def _applied_data(self, applied: Applied) -> AppliedData:
        if applied.folder is None:
            return AppliedData(applied.label)
        failed = isinstance(applied.stage, DropPositions) and applied.stage.kind == "failed"
        fields = json.loads(msgspec.json.encode(asdict(applied.stage)))
        return AppliedData(applied.label, self._name(applied.folder), fields, failed)

    def _work(self, data: WorkData) -> PassWork:
        recipe, step = self.plan.recipe, self.plan.passes[data.number - 1]
        limits = recipe.limits
        return PassWork(
            stages=tuple(self._applied(applied) for applied in data.stages),
            observers=tuple(self._observer(observer) for observer in data.observers),
            schema_in=step.schema_in,
            schema_out=step.schema_out,
            target=None if data.target is None else self._folder(data.target),
            writes=data.writes,
            shards=None if data.shards is None else Shards(self._folder(data.shards[0]), _plain(data.shards[1])),
            batch_bytes=limits.batch_bytes,
            record_bytes=limits.record_bytes,
            shard_bytes=limits.shard_bytes,
            memory_bytes=limits.memory_bytes,
            text_characters=recipe.ledger.text_characters,
            failed_share=limits.failed_share,
            sample=recipe.tryout.sample,
            signals=data.signals,
        )

    def _stage(self, label: str) -> Any:
        return self.plan.recipe.stages[self.plan.labels.index(label)]

    def _applied(self, data: AppliedData) -> Applied:
        stage = self._stage(data.label)
        if data.fields is None or data.folder is None:
            if not isinstance(stage, MapStage):
                raise TypeError(f"{data.label} changes no document")
            return Applied(data.label, stage)
        kind = DropPositions if data.failed else stage.decides
        return Applied(data.label, msgspec.convert(data.fields, kind), self._folder(data.folder))

    def _observer(self, data: ObserverData) -> Observer:
        stage = self._stage(data.label)
        if not isinstance(stage, CorpusStage):
            raise TypeError(f"{data.label} looks at no corpus")
        inputs = tuple((product, self._folder(name)) for product, name in data.inputs)
        return Observer(data.label, stage, self._folder(data.folder), inputs)

    def _task_data(self, key: str, task: ShardTask, work: int) -> TaskData:
        split = None if task.split is None else self._numbers[id(task.split)]
        until = None if task.split is None else task.split.until
        stand = None
        if task.stand is not None:
            rows = None if task.stand.rows is None else self._name(task.stand.rows)
            stand = StandData(self._name(task.stand.texts), rows, task.stand.outcome, task.stand.size)
        return TaskData(
            key, work, task.name, task.number, split, until, list(task.changed), stand, task.first, task.part
        )

    def _task(self, data: TaskData, works: list[PassWork]) -> ShardTask:
        split = None if data.split is None else replace(self.plan.splits[data.split], until=data.until)
        stand = None
        if data.stand is not None:
            rows = None if data.stand.rows is None else self._folder(data.stand.rows)
            stand = Stand(self._folder(data.stand.texts), rows, data.stand.outcome, data.stand.size)
        return ShardTask(
            works[data.work], _plain(data.name), data.number, split, tuple(data.changed), stand, data.first, data.part
        )


def _plain(name: str) -> str:
    """Return `name` if it is that of a file in its own folder."""
    if "/" in name or name.startswith("."):
        raise ValueError(f"{name} is no name of a file")
    return name
