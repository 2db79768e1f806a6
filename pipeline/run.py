"""A run: the folder that one recipe's execution owns, and the passes carried out in it, from wherever they stand."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.metadata
import json
import pathlib
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tomli_w

from pipeline.corpus import Corpus, Observations, part
from pipeline.errors import AccountingError, RecipeError, StorageError, UserError
from pipeline.executors.contract import Result, WorkerLimits, no_revision
from pipeline.executors.local import run_local
from pipeline.passes import PassTask, revise, run_pass_task
from pipeline.plan import Pass, all_splits, check_inputs, plan_passes
from pipeline.readers import Split
from pipeline.recipe import Recipe, stage_labels
from pipeline.stage import MapStage, Stage
from pipeline.storage import Folder, lease
from pipeline.tally import READ, Rules, Tally, merge_rules


class Progress(Protocol):
    """Told how a run goes. All methods may do nothing."""

    def begin(self, name: str, number: int, passes: int, shards: int, done: int) -> None:
        """A pass or a decision begins; `done` of its `shards` stand from before."""

    def shard(self, tally: Tally | None) -> None:
        """A shard is done."""

    def look(self, documents: int) -> None:
        """So many documents of the shards in work are behind us."""

    def end(self, name: str, seconds: float) -> None:
        """The pass or decision that began last is done."""

    def note(self, text: str) -> None:
        """Something the user should know."""


class Silent:
    """Progress that nobody watches."""

    def begin(self, name: str, number: int, passes: int, shards: int, done: int) -> None: ...
    def shard(self, tally: Tally | None) -> None: ...
    def look(self, documents: int) -> None: ...
    def end(self, name: str, seconds: float) -> None: ...
    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class RunPlan:
    """What a run will do, known before any document is read: all that `--dry-run` shows."""

    recipe: Recipe
    passes: tuple[Pass, ...]
    splits: tuple[Split, ...]

    @property
    def labels(self) -> list[str]:
        """The stages' names as tallies count them."""
        return stage_labels([stage.name for stage in self.recipe.stages])


def plan_run(recipe: Recipe) -> RunPlan:
    """Return what running `recipe` means. Opens every input and reads its schema; raises UserError for any fault."""
    schema = check_inputs(recipe.inputs, recipe.stages)
    splits = all_splits(recipe.inputs, recipe.limits.split_bytes)
    return RunPlan(recipe, tuple(plan_passes(recipe, schema)), tuple(splits))


def preload_of(stages: Sequence[Stage]) -> list[str]:
    """Return the modules that every worker of a run of `stages` needs."""
    wanted = {name for stage in stages for name in (type(stage).__module__, *stage.preload)}
    return ["pipeline.passes", "pipeline.decisions", *sorted(wanted)]


@dataclass
class PassReport:
    """How a pass went, for the summary."""

    name: str
    fingerprint: str
    folder: str
    tally: Tally
    seconds: float = 0.0
    decide_cpu: float = 0.0
    observe_cpu: float = 0.0
    notes: list[str] = field(default_factory=list)


def execute(
    plan: RunPlan,
    out: Folder,
    *,
    workers: int,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Carry out `plan` in folder `out` from wherever it stands, and return the summary written to ``summary.json``.

    Raises:
        UserError: the folder belongs to another recipe or cannot be written.
        AccountingError: a pass does not balance.
    """
    with lease(out):
        return _Run(plan, out, workers, progress or Silent()).carry_out()


class _Run:
    """One execution: the passes in order, each from wherever it stands."""

    def __init__(self, plan: RunPlan, out: Folder, workers: int, progress: Progress):
        self.plan, self.out, self.workers, self.progress = plan, out, workers, progress
        limits = plan.recipe.limits
        self.worker_limits = WorkerLimits(limits.cpu_seconds, limits.wall_seconds, limits.memory_bytes)
        self.preload = preload_of(plan.recipe.stages)
        self.reports: list[PassReport] = []

    def carry_out(self) -> dict[str, Any]:
        """Run every pass that is not done, and write the manifest, the corpus and the summary."""
        self._claim()
        for number, step in enumerate(self.plan.passes):
            started, cpu = time.perf_counter(), time.process_time()
            before = self.plan.passes[number - 1] if number else None
            decision = self._decide(step, before) if before else None
            decide_cpu = time.process_time() - cpu
            if step.writes or step.observes:
                report = self._pass(step, before, decision)
                report.seconds, report.decide_cpu = time.perf_counter() - started, decide_cpu
                self.reports.append(report)
        return self._finish()

    def _claim(self) -> None:
        """Refuse a folder that belongs to another recipe; write the recipe as resolved."""
        name = self.plan.recipe.name
        if self.out.exists("manifest.json"):
            owner = self.out.get_json("manifest.json").get("name")
            if owner != name:
                raise RecipeError(
                    "--out", f"{self.out.url} belongs to recipe {owner!r}, not {name!r}; choose another folder"
                )
        elif others := self.out.names():
            raise RecipeError(
                "--out", f"{self.out.url} is not empty ({others[0]}) and holds no run; choose another folder"
            )
        self.out.put("recipe.toml", tomli_w.dumps(dict(self.plan.recipe.resolved)).encode())
        self.out.put_json("manifest.json", manifest(self.plan))

    def _pass(self, step: Pass, before: Pass | None, decision: MapStage | None) -> PassReport:
        """Do what is left of pass `step`, and return its tally, checked."""
        label = step.name if step.writes else step.observes_label
        shards = range(len(self.plan.splits))
        documents, observed = self.out / step.documents, self.out / step.observed if step.observes else None
        made = _finished(documents, "tally") if step.writes else set(shards)
        seen = _finished(observed) if observed is not None else set(shards)
        todo = [shard for shard in shards if shard not in made or shard not in seen]
        tasks = ((shard, self._task(step, before, decision, shard, shard in made)) for shard in todo)
        started = time.perf_counter()
        self.progress.begin(label, step.number, len(self.plan.passes), len(shards), len(shards) - len(todo))
        for result in self._run(run_pass_task, tasks, revise):
            self.progress.shard(Tally.from_dict(result.value) if "kept" in result.value else None)
        self.progress.end(label, time.perf_counter() - started)
        tallies = [Tally.from_dict(documents.get_json(f"tally/{part(shard)}.json")) for shard in shards]
        tally = Tally.sum(tallies) if step.writes else _standing(tallies)
        report = PassReport(label, step.fingerprint, step.documents, tally)
        self._check(step, tally)
        if observed is not None:
            report.observe_cpu = sum(observed.get_json(f"{part(shard)}.json")["cpu_seconds"] for shard in shards)
        if not step.writes:
            report.tally.cpu_seconds = report.observe_cpu
        report.notes = self._notes(self.out / step.decision) if step.decision else []
        return report

    def _task(self, step: Pass, before: Pass | None, decision: MapStage | None, shard: int, made: bool) -> PassTask:
        """Return the task that makes shard number `shard` of pass `step`, or only observes it where it is `made`."""
        limits = self.plan.recipe.limits
        return PassTask(
            shard=shard,
            split=self.plan.splits[shard] if before is None and not made else None,
            source=self.out / step.documents if made else self.out / before.documents if before else None,
            schema_in=step.schema_in,
            schema_out=step.schema_out,
            maps=((decision,) if decision else ()) + step.maps,
            labels=((step.decides_label,) if decision else ()) + step.labels,
            observe=step.observes,
            observe_label=step.observes_label,
            target=None if made else self.out / step.documents,
            observed=self.out / step.observed if step.observes else None,
            decision=self.out / step.decision if step.decision else None,
            batch_bytes=limits.batch_bytes,
            record_bytes=limits.record_bytes,
            text_characters=self.plan.recipe.ledger.text_characters,
        )

    def _check(self, step: Pass, tally: Tally) -> None:
        """Hold the law of conservation over the pass and towards the one before it."""
        tally.check(f"pass {step.number} ({step.name})")
        if self.reports and self.reports[-1].tally.kept != tally.read:
            raise AccountingError(
                f"pass {step.number} read {tally.read} documents, the pass before it kept {self.reports[-1].tally.kept}"
            )
        by_stages = sum(n for stage, rules in tally.failed.items() if stage != READ for n in rules.values())
        share = self.plan.recipe.limits.failed_share
        if tally.read >= 100 and by_stages > share * tally.read:
            raise UserError(
                f"stages failed on {by_stages} of {tally.read} documents of pass {step.number} ({_worst(tally)}): more than "
                f"limits.failed_share = {share}; see `tokenmill inspect {self.out.url}`"
            )

    def _decide(self, step: Pass, before: Pass) -> MapStage | None:
        """Return the decision of the corpus stage before `step`, made now or found again."""
        stage, work = step.decides, self.out / step.decision
        assert stage is not None
        if not work.exists("decision.json"):
            label, started = f"{step.decides_label}: deciding", time.perf_counter()
            self.progress.begin(label, step.number, len(self.plan.passes), 0, 0)
            shards = tuple(range(len(self.plan.splits)))
            observations = Observations(self.out / before.observed, shards)
            tasks = _RunTasks(work, self._run)
            decision = stage.decide(observations, Corpus(self.out / before.documents, shards), tasks, work)
            if (decision is not None) != stage.transforms:
                raise TypeError(f"{stage.name} says transforms = {stage.transforms} but decided {decision!r}")
            work.put_json("decision.json", None if decision is None else _described(decision))
            self.progress.end(label, time.perf_counter() - started)
        for note in self._notes(work):
            self.progress.note(f"{step.decides_label}: {note}")
        return _restored(work.get_json("decision.json"))

    def _notes(self, work: Folder) -> list[str]:
        return work.get_json("notes.json") if work.exists("notes.json") else []

    def _run(self, function: Callable[[Any], Any], tasks: Any, revise_task: Callable = no_revision) -> Iterator[Result]:
        """Yield the results of `tasks`; the first that failed for good ends the run."""

        def look(at: Any) -> None:
            self.progress.look(sum(max(0, number) for number in at.values()))

        results = run_local(
            function,
            tasks,
            workers=self.workers,
            limits=self.worker_limits,
            revise=revise_task,
            on_look=look,
            preload=self.preload,
        )
        with contextlib.closing(results):  # type: ignore[type-var]
            for result in results:
                if result.error is not None:
                    raise result.error
                yield result

    def _finish(self) -> dict[str, Any]:
        """Publish the corpus, remove passes that this recipe no longer has, and write the summary."""
        shards = range(len(self.plan.splits))
        documents = self.out / self.plan.passes[-1].documents
        publish(self.out / "data", documents, [f"{part(shard)}.parquet" for shard in shards])
        self._remove_superseded()
        summary = summarise(self.plan, self.reports)
        if not summary["balanced"]:
            raise AccountingError(f"the run does not balance: {json.dumps(summary)}")
        self.out.put_json("summary.json", summary)
        return summary

    def _remove_superseded(self) -> None:
        """Delete folders of passes that a change of the recipe has left behind: they cost disk and mislead."""
        root = self.out.path()
        if root is None:
            return
        current = {step.documents for step in self.plan.passes}
        for folder in sorted(root.iterdir()):
            if folder.is_dir() and folder.name[:2].isdigit() and folder.name not in current:
                shutil.rmtree(folder)
                self.progress.note(f"removed {folder.name}: the recipe no longer makes it")


class _RunTasks:
    """Tasks of a decision on the run's workers; each result is a file, found again after a crash."""

    def __init__(self, work: Folder, run: Callable[..., Iterator[Result]]):
        self._work, self._run = work, run

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``; see `pipeline.corpus.Tasks`."""
        folder = self._work / "tasks" / name
        done = {file.rsplit(".", 1)[0]: file for file in folder.names()}
        todo = [(n, item) for n, item in enumerate(items) if f"{n:06d}" not in done]
        for _ in self._run(partial(_do_and_keep, function, folder), [(n, (n, item)) for n, item in todo]):
            pass
        done = {file.rsplit(".", 1)[0]: file for file in folder.names()}
        return [_kept_value(folder, done[f"{n:06d}"]) for n in range(len(items))]


def _do_and_keep(function: Callable[[Any], Any], folder: Folder, numbered: tuple[int, Any]) -> None:
    number, item = numbered
    value = function(item)
    if isinstance(value, pa.Table):
        folder.put_table(f"{number:06d}.parquet", value)
    else:
        folder.put_json(f"{number:06d}.json", value)


def _kept_value(folder: Folder, name: str) -> Any:
    return folder.get_table(name) if name.endswith(".parquet") else folder.get_json(name)


def publish(target: Folder, source: Folder, names: Sequence[str]) -> None:
    """Make `target` hold copies of exactly the files `names` of `source`."""
    for stale in sorted(set(target.names()) - set(names)):
        target.delete(stale)
    for name in names:
        target.copy(source, name)


def _finished(folder: Folder, below: str = "") -> set[int]:
    """Return the shards whose commit, a JSON file, stands in `folder`, or in folder `below` of it."""
    found = (re.fullmatch(r"(?:tally/)?part-(\d+)\.json", name) for name in folder.names(below))
    return {int(match[1]) for match in found if match}


def _standing(tallies: list[Tally]) -> Tally:
    """Return the tally of a pass that only looked at the documents kept by the one before it."""
    kept, size = sum(tally.kept for tally in tallies), sum(tally.bytes_out for tally in tallies)
    return Tally(read=kept, kept=kept, bytes_in=size, bytes_out=size)


def _worst(tally: Tally) -> str:
    counts = [
        (n, f"{stage}: {rule}") for stage, rules in tally.failed.items() if stage != READ for rule, n in rules.items()
    ]
    return "most by " + max(counts)[1]


def _described(decision: MapStage) -> dict[str, Any]:
    kind = type(decision)
    return {"module": kind.__module__, "class": kind.__qualname__, "fields": dataclasses.asdict(decision)}


def _restored(described: dict[str, Any] | None) -> MapStage | None:
    """Return the decision that `_described` wrote. Only stage classes of modules already loaded or registered are made."""
    if described is None:
        return None
    kind = getattr(importlib.import_module(described["module"]), described["class"])
    if not (isinstance(kind, type) and issubclass(kind, MapStage)):
        raise StorageError(f"decision.json names {described['module']}.{described['class']}, which is no map stage")
    return msgspec.convert(described["fields"], kind)


def manifest(plan: RunPlan) -> dict[str, Any]:
    """Return what identifies a run: recipe as resolved, passes with fingerprints, inputs, versions."""
    packages = (
        "tokenmill",
        "numpy",
        "pyarrow",
        "polars",
        "numba",
        "tokenizers",
        "trafilatura",
        "spacy",
        "fasttext-community",
    )
    versions = {}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "name": plan.recipe.name,
        "recipe": plan.recipe.resolved,
        "stages": [stage.identity() for stage in plan.recipe.stages],
        "passes": [{"folder": p.documents, "writes": p.writes, "stages": list(p.labels)} for p in plan.passes],
        "inputs": [{"file": f.name, "source": f.source} for f in plan.recipe.inputs],
        "shards": len(plan.splits),
        "versions": {"python": platform.python_version(), **versions},
    }


def summarise(plan: RunPlan, reports: Sequence[PassReport]) -> dict[str, Any]:
    """Return the run's accounts as the summary file holds them."""
    first, last = reports[0].tally, reports[-1].tally
    failed, dropped, spans = (
        _in_order(plan, [getattr(r.tally, k) for r in reports]) for k in ("failed", "dropped", "spans")
    )
    failures = sum(n for rules in failed.values() for n in rules.values())
    drops = sum(n for rules in dropped.values() for n in rules.values())
    stages = {s.stage: s for report in reports for s in report.tally.stages}
    observe = {p.observes_label: r.observe_cpu for p, r in zip(plan.passes, reports, strict=False) if p.observes}
    decide = {p.decides_label: r.decide_cpu for p, r in zip(plan.passes, reports, strict=False) if p.decides}
    lines = []
    for label in plan.labels:
        tally = stages.get(label)
        cpu = (tally.cpu_seconds if tally else 0.0) + observe.get(label, 0.0) + decide.get(label, 0.0)
        documents_in = tally.documents_in if tally else last.kept
        documents_out = tally.documents_out if tally else last.kept
        lines.append({"stage": label, "documents_in": documents_in, "documents_out": documents_out, "cpu_seconds": cpu})
    return {
        "name": plan.recipe.name,
        "read": first.read,
        "kept": last.kept,
        "failed": failures,
        "dropped": dropped,
        "balanced": first.read == last.kept + drops + failures,
        "failed_by": failed,
        "spans": spans,
        "ignored": first.ignored,
        "bytes_in": first.bytes_in,
        "bytes_out": last.bytes_out,
        "cpu_seconds": sum(r.tally.cpu_seconds + r.decide_cpu for r in reports),
        "passes": [
            {
                "name": r.name,
                "fingerprint": r.fingerprint,
                "folder": r.folder,
                "read": r.tally.read,
                "kept": r.tally.kept,
                "seconds": r.seconds,
                "cpu_seconds": r.tally.cpu_seconds + r.decide_cpu,
                "bytes_in": r.tally.bytes_in,
                "bytes_out": r.tally.bytes_out,
                "notes": r.notes,
            }
            for r in reports
        ],
        "stages": lines,
    }


def _in_order(plan: RunPlan, counts: Sequence[Rules]) -> Rules:
    """Return the sum of `counts`: stages in the order of the recipe, rules by documents, most first."""
    total: Rules = {}
    for rules in counts:
        merge_rules(total, rules)
    order = [stage for stage in [READ, *plan.labels] if stage in total]
    return {stage: dict(sorted(total[stage].items(), key=lambda rule: (-rule[1], rule[0]))) for stage in order}


def ledger_files(out: Folder) -> list[tuple[str, str]]:
    """Return (folder, file) of every ledger shard of the run in `out`, in the order in which documents left."""
    summary = out.get_json("summary.json") if out.exists("summary.json") else None
    if summary is None:
        raise UserError(f"{out.url} holds no finished run: run its recipe first")
    found, seen = [], set()
    for step in summary["passes"]:
        if step["folder"] not in seen:
            seen.add(step["folder"])
            found += [(f"{step['folder']}/ledger", name) for name in (out / step["folder"] / "ledger").names()]
    return found


def read_ledger(out: Folder, stage: str | None = None, rule: str | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the ledger rows of the run in `out`, restricted to `stage` and `rule` where given."""
    for folder, name in ledger_files(out):
        with (out / folder).open(name) as file:
            for batch in pq.ParquetFile(file).iter_batches():
                for column, wanted in (("stage", stage), ("rule", rule)):
                    if wanted is not None:
                        batch = batch.filter(pc.equal(batch.column(column), wanted))
                if batch.num_rows:
                    yield batch


def local_folder(path: str | pathlib.Path) -> Folder:
    """Return the folder at `path`: a URL as it is, a path on this machine made absolute."""
    text = str(path)
    return Folder(text if "://" in text else str(pathlib.Path(text).resolve()))
