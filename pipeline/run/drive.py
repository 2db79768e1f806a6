"""Carries out a plan in its run folder: pass after pass, each from wherever it stands."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pipeline.commit import Look
from pipeline.corpus import Corpus, Observations
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.documents import POSITION_BITS
from pipeline.errors import AccountingError, RecipeError, UserError, is_environment, said_of
from pipeline.executors.contract import Executor, Load, Result, WorkerLimits, no_revision
from pipeline.executors.local import kept_workers, run_local
from pipeline.run.accounts import PassReport, summarise
from pipeline.run.commits import LookBrief, Records
from pipeline.run.decide import FILE as DECISION
from pipeline.run.decide import Decided, decide, failed_drops
from pipeline.run.execution import executions_with
from pipeline.run.folder import EARLIER, EDITION, UNFINISHED, Unfinished, bring_back, claim, noted
from pipeline.run.inputs import InputMarks
from pipeline.run.passes import Pass
from pipeline.run.phase import Phase
from pipeline.run.plan import RunPlan, check_place, loads_of, preload_of
from pipeline.run.progress import Progress, Silent
from pipeline.run.publish import NEXT, Finish, Finished, publish, roll_forward
from pipeline.run.shared import Sharing
from pipeline.run.standing import Looked, Standing
from pipeline.run.status import StatusBoard
from pipeline.run.tryout import first_splits
from pipeline.stage import StageFault, digest_of
from pipeline.storage import Folder, lease
from pipeline.tally import ENOUGH, Tally, too_many
from pipeline.worker.shard import run_shard_task
from pipeline.worker.task import IN_PIECE, Applied, Observer, PassWork

MOST_WORKERS = 4096
"""Processes of one machine, none of which has anything to do where tasks are fewer."""
SHARD_FORMAT = 2
"""Raised when what a shard, ledger or commit looks like changes, so that old ones are not taken for new."""


def execute(
    plan: RunPlan,
    out: Folder,
    *,
    workers: int,
    progress: Progress | None = None,
    finish: Finish | None = None,
    retry_failed: bool = False,
    asked: bool = True,
    executor: Executor | None = None,
    beside: Mapping[str, str] | None = None,
    share: bool = False,
) -> Finished:
    """Carry out `plan` in folder `out` from wherever it stands, and publish what it makes.

    Args:
        workers: processes.
        finish: adds what belongs to the result beside the corpus, before all is published together.
        retry_failed: shards in which documents failed are made again.
        asked: the user has named the folder.
        executor: runs the tasks; child processes of this machine if not given.
        beside: see `pipeline.run.publish.publish`.
        share: others may join, and work on shards of the run too; see `pipeline.run.join`.
    Raises:
        Held: another run holds the folder.
        UserError: the folder belongs to another recipe or cannot be written; a stage fails on too many documents.
        AccountingError: a pass does not balance.
    """
    if executor is None and workers > MOST_WORKERS:
        raise UserError(f"{workers:,} workers are beyond reason: give no more than {MOST_WORKERS:,}")
    check_place(plan.recipe, out)
    with lease(out):
        roll_forward(out)
        state = claim(out, plan.recipe, asked=asked)
        state.executions = executions_with(state.executions, workers)
        if out.exists(UNFINISHED):
            out.sweep()  # what writers that were killed have left
        out.remove_tree(NEXT)
        with noted(out, state), contextlib.ExitStack() as stack:
            board = stack.enter_context(_told(progress or Silent(), out))
            sharing = stack.enter_context(Sharing(plan, out)) if share else None
            run = _Run(plan, out, workers, board, state, retry_failed, beside or {}, executor or run_local, sharing)
            if executor is None:
                run.executor = stack.enter_context(kept_workers(workers, run.later))
            return run.carry_out(finish)


@contextlib.contextmanager
def _told(progress: Progress, out: Folder) -> Iterator[StatusBoard]:
    """Yield `progress`, passed on and written down in `out` for whoever asks from elsewhere."""
    board = StatusBoard(progress, out, EDITION)
    try:
        yield board
    except BaseException as error:
        board.close(error)
        raise
    board.close(None)


@dataclass
class _Run:
    """One execution: the passes in order, each from wherever it stands."""

    plan: RunPlan
    out: Folder
    workers: int
    progress: Progress
    state: Unfinished
    retry_failed: bool
    beside: Mapping[str, str]
    executor: Executor = run_local
    sharing: Sharing | None = None
    looks_only: bool = False
    at: int = 1  # the pass that is being made; behind the last: publishing
    reports: list[PassReport] = field(default_factory=list)
    decided: dict[str, Decided] = field(default_factory=dict)
    looked: dict[str, Looked] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def carry_out(self, finish: Finish | None) -> Finished:
        """Run every pass that is not done, and publish the corpus, the summary and the manifest."""
        self._note()
        for note in self.plan.notes:
            self.progress.note(note)
        standing: Standing | None = None
        looked: list[Looked] = []
        for note in self.plan.recipe.notes:
            self.progress.note(note)
        chain = self._start()
        for step in self.plan.passes:
            self.at = step.number
            decided = self._decisions(self._able(step), looked, standing)
            step = self._able(step)
            applied = _all_applied(step, looked, decided)
            if standing is not None and not applied and not step.observes:
                self.reports[-1].decided += decided  # they change nothing: there is nothing to read
                looked = []
                continue
            chain, folder = _follow(chain, step, applied, standing)
            bring_back(self.out, folder)
            standing, looked = self._pass(step, folder, applied, decided, standing)
        assert standing is not None
        self.at = len(self.plan.passes) + 1
        summary = summarise(self.plan, self.reports)
        summary.faults = dict(self.faults)
        made = {label: decision for label, decision in self.decided.items() if label not in self.faults}
        finished = Finished(self.plan, self.out, summary, standing, made, self.looked, chain)
        beside = {place: label for place, label in self.beside.items() if label in self.looked}
        return publish(finished, self.state, self.tasks, self.marks, finish, self.progress, beside)

    def forecast(self) -> list[Forecast]:
        """Return what stands of each pass, as far as that can be told without working. Nothing is written."""
        found: list[Forecast] = []
        standing: Standing | None = None
        looked: list[Looked] = []
        chain = self._start()
        for step in self.plan.passes:
            if found and found[-1].todo != 0:
                found.append(Forecast(step, None, None))
                continue
            try:
                decided = self._decisions(step, looked, standing)
            except _NotDecided:
                found.append(Forecast(step, None, None))
                continue
            applied = _all_applied(step, looked, decided)
            if standing is not None and not applied and not step.observes:
                found.append(Forecast(step, 0, 0))
                continue
            chain, folder = _follow(chain, step, applied, standing)
            phase = self._phase(step, folder, applied, standing, PassReport(step.name, folder, "", 0, 0))
            todo = len(list(phase.todo()))
            found.append(Forecast(step, todo, phase.total))
            if todo == 0:
                standing = phase.standing()
                looked = [self._look(o, phase.seen[o.label], standing, phase.report) for o in phase.work.observers]
        return found

    def _start(self) -> str:
        """Return what stands for the run before its first pass: all that cuts and shapes shards but the stages."""
        self.marks = InputMarks.load(self.out)
        recipe, schema_in = self.plan.recipe, self.plan.passes[0].schema_in
        limits, ledger = recipe.limits, recipe.ledger
        run = None if self.looks_only else self.tasks
        splits = first_splits(recipe, self.plan.splits, schema_in, self.out, self.marks, run)
        self.plan = replace(self.plan, splits=splits)
        sizes = [limits.batch_bytes, limits.record_bytes, limits.split_bytes, limits.shard_bytes]
        schema = [[column.name, str(column.type)] for column in schema_in]
        sample = [recipe.tryout.sample] if recipe.tryout.sample < 1 else []
        return digest_of([SHARD_FORMAT, sizes, ledger.text_characters, schema, *sample])

    def _place(self, folder: str) -> Folder:
        """Return where pass `folder` is; of one that only a forecast looks at, perhaps among the earlier ones."""
        earlier = self.out.path(f"{EARLIER}/{folder}")
        if self.looks_only and earlier is not None and earlier.is_dir():
            return self.out / EARLIER / folder
        return self.out / folder

    def _note(self, folder: str = "", texts: str = "", observed: Sequence[str] = ()) -> None:
        """Write down how far the run is, and which pass it begins now."""
        if folder:
            self.state.passes.append({"folder": folder, "texts": texts, "observed": list(observed), "decisions": []})
            self.state.made = sorted({*self.state.made, folder})
        for execution in self.state.executions[-1:]:
            execution.tell()
        self.out.put_json(UNFINISHED, asdict(self.state))

    def _below(self, folder: Folder) -> str:
        return folder.url.removeprefix(f"{self.out.url}/")

    # decisions

    def _decisions(self, step: Pass, looked: Sequence[Looked], standing: Standing | None) -> list[Decided]:
        """Return the decisions that `step` begins with, each made on what those before it left."""
        gone = [look.failed for look in looked if look.failed is not None]
        made: list[Decided] = []
        for (label, stage), look in zip(step.decides, looked, strict=True):
            assert standing is not None
            observations = replace(look.observations, gone=tuple(gone))
            inputs = [self._product(product).digest for product in stage.takes]
            key = digest_of([stage.identity(), look.digest, [drops.digest for drops, _ in gone], inputs])
            work = look.observations.folder / f"decision-{key}"
            started = time.perf_counter()
            fresh = not work.exists(DECISION)
            if fresh and self.looks_only:
                raise _NotDecided
            if fresh:
                self.progress.begin(f"{label}: deciding", step.number, len(self.plan.passes), 0, 0)
            try:
                decided = decide(label, stage, observations, Corpus(standing.texts, standing.shards), work, self.tasks)
            except StageFault as fault:
                raise RecipeError(f"stages[{self.plan.labels.index(label)}].{fault.key}", fault.problem) from fault
            except Exception as error:
                if (
                    stage.decides is not None
                    or self.looks_only
                    or isinstance(error, AccountingError)
                    or is_environment(error)
                ):
                    raise
                decided = self._without(label, stage, work, error)
            if fresh:
                self.progress.end(f"{label}: deciding", time.perf_counter() - started)
            for note in decided.notes if not self.looks_only else ():
                self.progress.note(f"{label}: {note}")
            if isinstance(decided.decision, DropPositions):
                gone.append((decided.decision, decided.folder))
            made.append(decided)
            self.decided[label] = decided
            if self.state.passes and label not in self.faults:
                self.state.passes[-1]["decisions"].append(self._below(work))
        return made

    def _without(self, label: str, stage: CorpusStage, work: Folder, error: Exception) -> Decided:
        """Return that nothing was decided: `stage` changes no document, so what it fails at withholds none."""
        self.faults[label] = said_of(error)
        self.progress.note(f"{label}: {self.faults[label]}; the documents are published without what it makes")
        return Decided(label, stage, None, work, "", 0.0)

    def _able(self, step: Pass) -> Pass:
        """Return `step` without the corpus stages that need a product which could not be made."""
        missing = {self.decided[label].stage.gives for label in self.faults if label in self.decided} - {""}

        def left(stages: tuple[tuple[str, CorpusStage], ...]) -> tuple[tuple[str, CorpusStage], ...]:
            for label, stage in stages:
                if lacking := sorted(missing.intersection(stage.takes)):
                    self.faults.setdefault(label, f"needs a {lacking[0]}, which could not be made")
            return tuple((label, stage) for label, stage in stages if not missing.intersection(stage.takes))

        return replace(step, decides=left(step.decides), observes=left(step.observes)) if missing else step

    def _product(self, product: str) -> Decided:
        """Return the decision that holds `product`: of the nearest stage before that gives it."""
        return next(d for d in reversed(list(self.decided.values())) if d.stage.gives == product)

    # passes

    def _pass(
        self, step: Pass, folder: str, applied: list[Applied], decided: list[Decided], standing: Standing | None
    ) -> tuple[Standing, list[Looked]]:
        """Do what is left of pass `step`; return the corpus as it leaves it, and what was observed of that."""
        report = PassReport("", folder, "", 0, 0, decided=list(decided))
        phase = self._phase(step, folder, applied, standing, report)
        self._note(folder, report.texts, [self._below(observer.folder) for observer in phase.work.observers])
        phase.run()
        self.marks.save()
        after = phase.standing()
        report.kept, report.bytes_kept = after.kept, sum(brief.bytes_out for brief in after.briefs)
        if phase.made is not None:
            report.tally = Tally.sum(commit.tally for _, commit in phase.made.whole(after.names))
            report.bytes_written = sum(brief.bytes_written for brief in after.briefs)
            self._check(step, report.tally)
        self.reports.append(report)
        looked = [self._look(o, phase.seen[o.label], after, report) for o in phase.work.observers]
        self._check_failed(step, report, looked)
        return after, looked

    def _phase(
        self, step: Pass, folder: str, applied: list[Applied], standing: Standing | None, report: PassReport
    ) -> Phase:
        makes = standing is None or bool(applied)
        writes = makes and step.writes
        observers = [self._observer(label, stage, folder) for label, stage in step.observes]
        report.name = step.name if makes else step.observes[0][0]
        report.texts = folder if writes or standing is None else self._below(standing.texts)
        work = self._work(step, folder, applied, observers, standing, makes, writes)
        return Phase(self, step, work, standing, report)

    def _observer(self, label: str, stage: CorpusStage, folder: str) -> Observer:
        products = [(product, self._product(product)) for product in stage.takes]
        identity = digest_of([stage.observation_identity(), [decided.digest for _, decided in products]])
        place = self._place(folder) / f"observed-{label.replace('#', '-')}-{identity}"
        return Observer(label, stage, place, tuple((product, decided.folder) for product, decided in products))

    def _work(
        self, step: Pass, folder: str, applied: list[Applied], observers: list[Observer], standing: Standing | None,
        makes: bool, writes: bool,
    ) -> PassWork:  # fmt: skip
        limits = self.plan.recipe.limits
        return PassWork(
            stages=tuple(applied),
            observers=tuple(observers),
            schema_in=step.schema_in,
            schema_out=step.schema_out,
            target=self._place(folder) if makes else None,
            writes=writes,
            shards=standing.shards if standing else None,
            batch_bytes=limits.batch_bytes,
            record_bytes=limits.record_bytes,
            shard_bytes=limits.shard_bytes,
            memory_bytes=limits.memory_bytes,
            text_characters=self.plan.recipe.ledger.text_characters,
            failed_share=limits.failed_share,
            sample=self.plan.recipe.tryout.sample,
            signals=self.plan.recipe.output.signals and makes and any(a.stage.measures for a in applied),
        )

    def _look(self, observer: Observer, seen: Records[Look], after: Standing, report: PassReport) -> Looked:
        """Return what `observer` has seen of the whole corpus, and the documents it could not see as drops to come."""
        sha = hashlib.sha256()
        failed = 0
        for name in after.names:
            brief: LookBrief = seen.known[name]
            sha.update(f"{name} {brief.digest}\n".encode())
            failed += brief.failed
            report.looked[observer.label] = report.looked.get(observer.label, 0.0) + brief.cpu_seconds
        tryout = bool(self.plan.recipe.tryout)
        observations = Observations(observer.folder, after.shards, inputs=dict(observer.inputs), tryout=tryout)
        look = Looked(observer.label, observer.stage, observations, sha.hexdigest()[:16])
        if failed:
            numbers = {name: number for number, name in enumerate(after.names)}
            bad = sorted(
                (numbers[name] << POSITION_BITS | row, rule, detail)
                for name, record in seen.whole(after.names)
                for row, rule, detail in record.failed
            )
            place = observer.folder / f"failed-{digest_of(bad)}"
            look.failed = failed_drops(observer.label, iter(bad), place), place
        self.looked[observer.label] = look
        return look

    # checks

    def _check(self, step: Pass, tally: Tally) -> None:
        """Hold the law of conservation over the pass and towards the one before it."""
        tally.check(f"pass {step.number} ({step.name})")
        before = next((report.tally for report in reversed(self.reports) if report.tally is not None), None)
        if before is not None and before.kept != tally.read:
            raise AccountingError(
                f"pass {step.number} read {tally.read} documents, the pass before it kept {before.kept}"
            )

    def _check_failed(self, step: Pass, report: PassReport, looked: Sequence[Looked]) -> None:
        share = self.plan.recipe.limits.failed_share
        tally = report.tally or Tally(read=report.kept)
        failed = tally.failures + sum(look.failed[0].rows for look in looked if look.failed is not None)
        if too_many(failed, tally.read, share) or (tally.read >= ENOUGH and failed > share * tally.read):
            raise self.too_many(step, failed, tally, report.worst[1])

    def too_many(self, step: Pass, failed: int, tally: Tally, place: str) -> UserError:
        """Return the error that ends a run in which too many documents fail.

        Args:
            place: the file or shard in which most did, empty where it is not known.
        """
        most = f"{tally.worst()}{place and f', most in {place}'}"
        return UserError(
            f"{failed} of {tally.read} documents of pass {step.number} failed ({most}): more than "
            f"limits.failed_share = {self.plan.recipe.limits.failed_share}; see `tokenmill inspect {self.out.url}`, mend "
            "the cause, then run again with --retry-failed"
        )

    # work

    def later(self) -> tuple[list[str], list[Load]]:
        """Return the modules and calls that the passes from the one at hand on need; of those that stand, none."""
        stages = self.plan.stages_from(self.at)
        return preload_of(stages), loads_of(stages)

    def tasks(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[tuple[Any, Any]],
        *,
        revise_task: Callable[[Any, Any], Any] = no_revision,
    ) -> Iterator[Result]:
        """Yield the results of `tasks` on the run's workers; the first that failed for good ends the run."""

        board = self.progress if isinstance(self.progress, StatusBoard) else None

        def look(at: Any) -> None:
            if board is not None:
                board.spots(at)
            oldest = sorted((key for key in at if key in self.places), key=lambda key: getattr(at[key], "since", 0.0))
            places = [_placed(self.places[key], at[key]) for key in oldest]
            self.progress.look(sum(n & IN_PIECE for n in at.values() if n > 0), list(dict.fromkeys(places)))

        limits = self.plan.recipe.limits
        stages = self.plan.stages_of(self.at)
        documents = revise_task is not no_revision
        executor = self.executor
        if self.sharing is not None and function is run_shard_task:
            executor = self.sharing.round(self.plan, self.at, executor)
        results = executor(
            function,
            tasks,
            workers=self.workers,
            limits=WorkerLimits(
                limits.cpu_seconds if documents else 0.0,
                limits.wall_seconds if documents else 0.0,
                limits.memory_bytes,
                0.0 if documents else limits.decision_seconds,
            ),
            revise=revise_task,
            on_look=look,
            preload=preload_of(stages),
            loads=loads_of(stages),
        )
        with contextlib.closing(results):  # type: ignore[type-var]
            for result in results:
                if board is not None:
                    board.ended(result)
                for execution in self.state.executions[-1:]:
                    execution.cpu_seconds += result.cpu_seconds
                if result.error is not None:
                    raise result.error
                yield result


def _placed(name: str, spot: int) -> str:
    """Return the file that a task reads, with the node it is read on and for how long where that is elsewhere."""
    place = getattr(spot, "place", "")
    return f"{name} on {place} for {time.time() - getattr(spot, 'since', 0.0):.0f} s" if place else name


def _applied(looked: Sequence[Looked], decided: Sequence[Decided]) -> list[Applied]:
    """Return what a pass begins with: documents that could not be observed fail, then what was decided."""
    failed = [Applied(look.label, *look.failed) for look in looked if look.failed is not None]
    made = [
        Applied(d.label, d.decision, d.folder)
        for d in decided
        if d.decision is not None and not (isinstance(d.decision, DropPositions) and d.decision.rows == 0)
    ]
    return [*failed, *made]


def _all_applied(step: Pass, looked: Sequence[Looked], decided: Sequence[Decided]) -> list[Applied]:
    return [*_applied(looked, decided), *(Applied(label, stage) for label, stage in step.maps)]


def _follow(chain: str, step: Pass, applied: Sequence[Applied], standing: Standing | None) -> tuple[str, str]:
    """Return what stands for the run behind a pass that applies `applied`, and the pass's folder."""
    if standing is not None and not applied:
        return chain, standing.folder
    chain = digest_of([chain, [[a.label, a.stage.identity()] for a in applied]])
    return chain, f"{step.number:02d}-{step.name}-{chain}"


class _NotDecided(Exception):
    """A forecast has come to a decision that is still to be made."""


@dataclass(frozen=True)
class Forecast:
    """What is left of a pass: `todo` of `total` tasks; None where that depends on what is still to do before it."""

    step: Pass
    todo: int | None
    total: int | None


def forecast(plan: RunPlan, out: Folder) -> list[Forecast]:
    """Return what running `plan` in `out` would have to do. Reads inputs that may have changed; writes nothing."""
    state = Unfinished(EDITION, plan.recipe.name, "", "running")
    return _Run(plan, out, 1, Silent(), state, False, {}, looks_only=True).forecast()
