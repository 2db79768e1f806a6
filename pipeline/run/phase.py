"""The shards of one pass, made or found again, and what corpus stages see of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from pipeline.commit import Commit
from pipeline.corpus import Shards
from pipeline.errors import UserError
from pipeline.executors.contract import Result
from pipeline.run.accounts import PassReport
from pipeline.run.commits import Brief, LookBrief, Records, commits, looks
from pipeline.run.inputs import InputMarks, named_splits
from pipeline.run.passes import Pass
from pipeline.run.plan import RunPlan
from pipeline.run.progress import Progress
from pipeline.run.standing import Standing
from pipeline.tally import ENOUGH, Tally, too_many
from pipeline.worker.shard import Made, part_name, run_shard_task
from pipeline.worker.task import Observer, PassWork, ShardTask, Stand, revise


class Host(Protocol):
    """What a phase needs of the run it belongs to."""

    plan: RunPlan
    progress: Progress
    retry_failed: bool
    marks: InputMarks
    places: dict[str, str]

    def tasks(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[tuple[Any, Any]],
        *,
        revise_task: Callable[[Any, Any], Any],
    ) -> Iterator[Result]:
        """Yield the results of `tasks` on the run's workers."""
        ...

    def too_many(self, step: Pass, failed: int, tally: Tally, place: str) -> UserError:
        """Return the error that ends a run in which too many documents fail."""
        ...


class Phase:
    """The shards of one pass, made or found, and its observations.

    Attributes:
        made: commits of the pass; None where it only observes.
        seen: records of each observation, by label.
    """

    def __init__(self, run: Host, step: Pass, work: PassWork, before: Standing | None, report: PassReport):
        self.run_, self.step, self.work, self.before, self.report = run, step, work, before, report
        self.made: Records[Commit] | None = None if work.target is None else commits(work.target)
        self.seen = {observer.label: looks(observer.folder) for observer in work.observers}
        self.there = set() if work.target is None else set(work.target.names())
        self._files: dict[str, set[str]] = {}
        self._splits: list[str] = []
        self._in_work: dict[str, int] = {}
        self._failed = self._read = 0

    def run(self) -> None:
        """Make every shard and observation that does not stand."""
        run, name = self.run_, self.report.name
        started = time.perf_counter()
        todo: Iterable[tuple[str, ShardTask]] = self.todo()
        stand, size, size_done = 0, self._sizes(), 0
        if self.before is not None or all(run.marks.is_known(file) for file in run.plan.recipe.inputs):
            todo = list(todo)
            stand = self.total - len(todo)
            size_done = max(0, size - sum(self._size_of(task) for _, task in todo))
        run.progress.begin(
            name, self.step.number, len(run.plan.passes), self.total, stand, size=size, size_done=size_done
        )
        done = 0
        for result in run.tasks(run_shard_task, self._noted(todo), revise_task=revise):
            for made in result.value:
                self._take(made, run.places.get(result.key, ""))
            run.progress.shard(self._tally_of(result.value), self._in_work.pop(result.key, 0))
            run.places.pop(result.key, None)
            done += 1
        for records in [self.made, *self.seen.values()]:
            if records is not None:
                records.pack(done=True)
        self.report.seconds = self._spent(time.perf_counter() - started if done else 0.0)
        run.progress.end(name, time.perf_counter() - started)

    def _noted(self, todo: Iterable[tuple[str, ShardTask]]) -> Iterator[tuple[str, ShardTask]]:
        """Yield `todo`, taking note of where each task reads, and how much."""
        for key, task in todo:
            self._in_work[key] = self._size_of(task)
            self.run_.places[key] = task.split.file.name if task.split is not None else key
            yield key, replace(task, before=(self._failed, self._read))

    def _sizes(self) -> int:
        """Return the bytes that the pass goes through: of files as stored, or of text."""
        if self.before is not None:
            return sum(brief.bytes_out for brief in self.before.briefs)
        return sum(split.size for split in self.run_.plan.splits)

    def _size_of(self, task: ShardTask) -> int:
        if task.split is not None:
            return task.split.size
        return 0 if self.before is None else self.before.briefs[task.number].bytes_out

    def _spent(self, seconds: float) -> float:
        """Return the wall seconds that this pass has taken in all executions, `seconds` in this one among them."""
        place = self.work.target or (self.work.observers[0].folder if self.work.observers else None)
        if place is None:
            return seconds
        before = place.get_number("seconds.json")
        if seconds:
            place.put_json("seconds.json", round(before + seconds, 3))
        return round(before + seconds, 3)

    @property
    def total(self) -> int:
        """Splits or shards that the pass goes through."""
        return len(self.run_.plan.splits) if self.before is None else len(self.before.names)

    def todo(self) -> Iterator[tuple[str, ShardTask]]:
        """Yield the tasks that are left."""
        return self._first() if self.before is None else self._later()

    def _take(self, made: Made, place: str) -> None:
        """Take note of what a worker has committed, and end the run where too many documents fail."""
        self.run_.marks.save(every=30)
        failed = self._failed
        if made.commit is not None:
            assert self.made is not None
            self.made.add(made.name, made.commit)
            self.made.pack()
            self._read += made.commit.tally.read
            self._failed += made.commit.tally.failures
        for label, look in made.looks.items():
            self.seen[label].add(made.name, look)
            self.seen[label].pack()
            self._read += look.rows if made.commit is None else 0
            self._failed += len(look.failed)
        self.report.worst = max(self.report.worst, (self._failed - failed, place))
        if self._read >= ENOUGH and too_many(self._failed, self._read, self.run_.plan.recipe.limits.failed_share):
            tally = made.commit.tally if made.commit else Tally()
            raise self.run_.too_many(self.step, self._failed, replace(tally, read=self._read), self.report.worst[1])

    def _tally_of(self, made: list[Made]) -> Tally | None:
        tallies = [m.commit.tally for m in made if m.commit is not None]
        return Tally.sum(tallies) if tallies else None

    # what stands

    def _stands(self, name: str, source: str) -> Brief | None:
        """Return the commit of shard `name` if it stands: made from `source`, all its files there, nothing to retry."""
        assert self.made is not None
        brief: Brief | None = self.made.known.get(name)
        if brief is None or brief.source != source:
            return None
        files = [f"{name}.parquet"] * brief.texts + [f"rows/{name}.parquet"] * brief.selected
        files += [f"ledger/{name}.parquet"] * bool(brief.ledger) + [f"signals/{name}.parquet"] * self.work.signals
        if not all(file in self.there for file in files) or (self.run_.retry_failed and brief.failed):
            return None
        return brief

    def _unseen(self, name: str, outcome: str) -> tuple[Observer, ...]:
        """Return the observers that have not seen shard `name` as it stands."""
        missing = []
        for observer in self.work.observers:
            brief: LookBrief | None = self.seen[observer.label].known.get(name)
            retry = self.run_.retry_failed and brief is not None and brief.failed
            if brief is None or brief.of != outcome or retry or not self._is_there(observer, name):
                missing.append(observer)
        return tuple(missing)

    def _is_there(self, observer: Observer, name: str) -> bool:
        if observer.label not in self._files:
            self._files[observer.label] = set(observer.folder.names())
        return f"{name}.parquet" in self._files[observer.label]

    def _first(self) -> Iterator[tuple[str, ShardTask]]:
        """Yield the tasks left of the first pass, a split each, or a shard of one that stands but has not been seen."""
        for item in named_splits(self.run_.plan.splits, self.run_.marks):
            self._splits.append(item.name)
            part, first, last = 0, 0, False
            while not last and (brief := self._stands(part_name(item.name, part), "")) and brief.first == first:
                name = part_name(item.name, part)
                if observers := self._unseen(name, brief.outcome):
                    yield name, self._looking(name, observers, self._made_stand(name, brief))
                part, first, last = part + 1, brief.end, brief.last
            if not last:
                task = ShardTask(self.work, item.name, 0, item.split, item.changed, first=first, part=part)
                yield item.name, task

    def _later(self) -> Iterator[tuple[str, ShardTask]]:
        """Yield the tasks left of a later pass, a shard each."""
        before = self.before
        assert before is not None
        for number, name in enumerate(before.names):
            stand = before.stand(number)
            brief = None if self.made is None else self._stands(name, stand.outcome)
            if self.made is not None and brief is None:
                yield name, ShardTask(self.work, name, number, stand=stand)
                continue
            seen = stand if brief is None else self._made_stand(name, brief, stand)
            if observers := self._unseen(name, seen.outcome):
                yield name, self._looking(name, observers, seen)

    def _made_stand(self, name: str, brief: Brief, before: Stand | None = None) -> Stand:
        """Return where a shard stands that this pass has made."""
        assert self.work.target is not None
        texts = self.work.target if brief.texts or before is None else before.texts
        rows = self.work.target if brief.selected else None if brief.texts or before is None else before.rows
        return Stand(texts, rows, brief.outcome, brief.rows)

    def _looking(self, name: str, observers: tuple[Observer, ...], stand: Stand) -> ShardTask:
        work = replace(self.work, stages=(), observers=observers, target=None, writes=False)
        return ShardTask(work, name, 0, stand=stand)

    # what comes of it

    def standing(self) -> Standing:
        """Return the corpus as the pass leaves it."""
        before, made, target = self.before, self.made, self.work.target
        if made is None or target is None:
            assert before is not None
            return before
        names = list(self._parts()) if before is None else before.names
        briefs = [made.known[name] for name in names]
        folder = target.url.rsplit("/", 1)[-1]
        if before is None or self.work.writes:
            shards = Shards.write(target, names, [brief.rows for brief in briefs])
            return Standing(folder, target, names, [None] * len(names), briefs, self.work.schema_out, shards)
        rows = [target if b.selected else r for b, r in zip(briefs, before.rows, strict=True)]
        return replace(before, folder=folder, rows=rows, briefs=briefs, schema=self.work.schema_out)

    def _parts(self) -> Iterator[str]:
        assert self.made is not None
        for split in self._splits:
            part, last = 0, False
            while not last:
                name = part_name(split, part)
                yield name
                part, last = part + 1, self.made.known[name].last
