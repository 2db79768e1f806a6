"""Puts what a run has made where people look: all of it together, or nothing.

Files are first written below ``.next/``. When all are there, ``.next/manifest.json`` is written, which is the commit; then
each file is moved to its place, what an earlier form of the recipe had published and this one does not is removed, and
``manifest.json`` follows last. A run stopped in between goes on from there. Only files that a manifest names are
ever replaced or removed.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import tomli_w

from pipeline.executors.contract import Result
from pipeline.run.accounts import Summary, read_summary
from pipeline.run.decide import Decided
from pipeline.run.execution import DONE
from pipeline.run.folder import EDITION, MANIFEST, Manifest, Published, Unfinished, put_away, read_manifest, typed_file
from pipeline.run.inputs import InputMarks
from pipeline.run.plan import RunPlan
from pipeline.run.progress import Progress
from pipeline.run.signals import signal_files
from pipeline.run.standing import Looked, Standing
from pipeline.stage import digest_of, installed_version
from pipeline.storage import Folder
from pipeline.worker.gather import Form, GatherTask, gather
from pipeline.worker.gather_signals import gather_signals

NEXT = ".next"
FILE_FORMAT = 1
"""Raised when what a file of the corpus looks like changes."""
DATA = "data"


@dataclass
class Finished:
    """A run whose passes are done, and what was published of it.

    Attributes:
        decided: decision of each corpus stage, by label.
        looked: observation of each corpus stage, by label.
        chain: stands for all stages that the documents have gone through.
        unchanged: everything stood already, and nothing was written.
    """

    plan: RunPlan
    out: Folder
    summary: Summary
    standing: Standing
    decided: Mapping[str, Decided]
    looked: Mapping[str, Looked]
    chain: str
    unchanged: bool = False


@dataclass
class Publication:
    """What is to appear in the run folder.

    Attributes:
        files: every file by name, as it will be.
        before: what the last publication put there.
        manifest: of this one, its files still to come.
    """

    out: Folder
    before: Manifest | None
    manifest: Manifest
    files: dict[str, Published] = field(default_factory=dict)

    def put(self, name: str, data: bytes) -> None:
        """Publish `data` as file `name`."""
        self.out.put(f"{NEXT}/{name}", data)
        self.files[name] = Published(len(data), hashlib.sha256(data).hexdigest())

    def put_json(self, name: str, value: Any) -> None:
        """Publish `value` as JSON, keys in their order."""
        self.put(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())

    def copy(self, source: Folder, below: str) -> None:
        """Publish every file of folder `source` in folder `below`."""
        for name in source.names():
            self.put(f"{below}/{name}", source.get(name))

    def stands(self, made_from: str) -> list[str]:
        """Return the files that were made from just that and are still as they were; none if any is not."""
        names = [n for n, f in (self.before.files if self.before else {}).items() if f.made_from == made_from]
        return names if names and all(self.is_intact(name) for name in names) else []

    def is_intact(self, name: str) -> bool:
        """Return whether published file `name` is still what was put there."""
        assert self.before is not None
        about = self.before.files[name]
        path, manifest = self.out.path(name), self.out.path(MANIFEST)
        if path is None or manifest is None:
            return self.out.exists(name) and self.out.size(name) == about.bytes
        if not path.is_file() or path.stat().st_size != about.bytes:
            return False
        if path.stat().st_mtime_ns <= manifest.stat().st_mtime_ns:
            return True
        return hashlib.sha256(self.out.get(name)).hexdigest() == about.sha256


Finish = Callable[[Finished, Publication], None]
"""Adds to a publication what belongs to the result beside the corpus."""


def publish(
    finished: Finished,
    state: Unfinished,
    run: Callable[..., Iterator[Result]],
    marks: InputMarks,
    finish: Finish | None,
    progress: Progress,
    beside: Mapping[str, str],
) -> Finished:
    """Publish the corpus, what `finish` adds, the summary, the recipe and the manifest; nothing where all stands.

    Args:
        beside: name of a published folder -> label of the corpus stage whose observation, a row a document, is put
            together in it as the texts are in ``data/``.
    """
    out, plan = finished.out, finished.plan
    before = read_manifest(out)
    manifest = _manifest(finished, state, marks, beside)
    publication = Publication(out, before, manifest)
    current = {name for step in manifest.passes for name in (step["folder"], step["texts"])}
    if before is not None and before.identity == manifest.identity and all(map(publication.is_intact, before.files)):
        put_away(out, current, manifest.made)
        stored = read_summary(out)
        if stored is not None:
            if manifest.made != before.made:
                out.put_json(MANIFEST, asdict(replace(before, made=manifest.made)))
            finished.summary, finished.unchanged = stored, True
            return finished
    _gather_corpus(finished, publication, run, progress, beside)
    _gather_signals(finished, publication, run, state.passes)
    publication.put("recipe.toml", tomli_w.dumps(dict(plan.recipe.resolved)).encode())
    for execution in manifest.executions[-1:]:
        execution.tell(DONE)
    if finish is not None:
        finish(finished, publication)
    publication.put_json("summary.json", finished.summary.as_dict())
    manifest.files = dict(sorted(publication.files.items()))
    out.put_json(f"{NEXT}/{MANIFEST}", asdict(manifest))
    roll_forward(out)
    put_away(out, current, manifest.made)
    return finished


def roll_forward(out: Folder) -> None:
    """Finish a publication that was committed, if there is one."""
    manifest = typed_file(out, f"{NEXT}/{MANIFEST}", Manifest)
    if manifest is None:
        return
    before = read_manifest(out)
    for name in before.files if before else ():
        if name not in manifest.files:
            out.delete(name)
    for name in manifest.files:
        if out.exists(f"{NEXT}/{name}"):
            out.move(f"{NEXT}/{name}", name)
    out.move(f"{NEXT}/{MANIFEST}", MANIFEST)
    out.remove_tree(NEXT)


def replace_file(out: Folder, name: str, data: bytes) -> None:
    """Put `data` in place of published file `name` of the finished run in `out`."""
    manifest = read_manifest(out)
    if manifest is not None and manifest.files.get(name, Published(0, "")).sha256 != hashlib.sha256(data).hexdigest():
        manifest.files[name] = Published(len(data), hashlib.sha256(data).hexdigest())
        out.put(name, data)
        out.put_json(MANIFEST, asdict(manifest))
    elif not out.exists(name):
        out.put(name, data)


def _gather_corpus(
    finished: Finished,
    publication: Publication,
    run: Callable[..., Iterator[Result]],
    progress: Progress,
    beside: Mapping[str, str],
) -> None:
    """Make the files of ``data/``, and of the folders beside it, that do not stand."""
    files = ((task, made_from, f"{DATA}/{task.file}") for task, made_from in _files(finished, publication.out, beside))
    _make(publication, run, gather, files, progress)


def _gather_signals(
    finished: Finished, publication: Publication, run: Callable[..., Iterator[Result]], passes: list[dict[str, Any]]
) -> None:
    """Make the files of ``signals/`` that do not stand."""
    if not finished.plan.recipe.output.signals:
        return
    outcome = [finished.summary.dropped, finished.summary.failed_by]
    out = publication.out
    tasks = signal_files(out, out / NEXT, passes, finished.standing.names, outcome)
    _make(publication, run, gather_signals, ((task, made_from, task.file) for task, made_from in tasks))


def _make(
    publication: Publication,
    run: Callable[..., Iterator[Result]],
    function: Callable[[Any], list[dict[str, Any]]],
    files: Iterable[tuple[Any, str, str]],
    progress: Progress | None = None,
) -> None:
    """Publish what `function` makes of each (task, what stands for its content, begin of its files' names), or what stands."""
    sources: dict[str, str] = {}
    tasks: list[tuple[str, Any]] = []
    for task, made_from, name in files:
        standing = publication.stands(made_from)
        place, _, stem = name.rpartition("/")
        numbered = tuple(f"{stem}{behind}" for behind in ".-")
        same = all(n.startswith(place) and n.rpartition("/")[2].startswith(numbered) for n in standing[:1])
        if standing and same and publication.before is not None:
            publication.files.update({name: publication.before.files[name] for name in standing})
        else:
            sources[task.file] = made_from
            tasks.append((task.file, task))
    for result in run(function, tasks):
        for made in result.value:
            about = Published(made["bytes"], made["sha256"], sources[result.key])
            publication.files[made["name"]] = about
            if progress is not None:
                progress.shard(None)


def _files(finished: Finished, out: Folder, beside: Mapping[str, str]) -> Iterator[tuple[GatherTask, str]]:
    """Yield the files that the corpus becomes, each a run of neighbouring shards, and what stands for its content."""
    standing, output = finished.standing, finished.plan.recipe.output
    size, form = output.shard_bytes, Form(output.format, output.columns, output.partition_by)
    runs: list[list[int]] = []
    total = 0
    for number, brief in enumerate(standing.briefs):
        if brief.kept == 0:
            continue
        if not runs or total + brief.bytes_out > size:
            runs.append([])
            total = 0
        runs[-1].append(number)
        total += brief.bytes_out
    several = any(brief.bytes_out > size for brief in standing.briefs)
    width = max(5, len(str(len(runs))))
    folders = tuple((place, finished.looked[label].observations.folder) for place, label in sorted(beside.items()))
    looked = [[place, finished.looked[label].digest] for place, label in sorted(beside.items())]
    schema = [[f.name, str(f.type)] for f in standing.schema]
    for place, numbers in enumerate(runs):
        shards = tuple((standing.names[n], standing.stand(n)) for n in numbers)
        outcomes = [[name, stand.outcome] for name, stand in shards]
        shape = [] if form == Form() else [asdict(form)]
        made_from = digest_of([FILE_FORMAT, size, several, schema, outcomes, looked, *shape])
        task = GatherTask(shards, folders, standing.schema, out / NEXT, f"part-{place:0{width}d}", size, several, form)
        yield task, made_from


def _manifest(finished: Finished, state: Unfinished, marks: InputMarks, beside: Mapping[str, str]) -> Manifest:
    """Return the manifest, its files still to come."""
    plan, standing = finished.plan, finished.standing
    outcomes = hashlib.sha256()
    for name, brief in zip(standing.names, standing.briefs, strict=True):
        outcomes.update(f"{name} {brief.outcome}\n".encode())
    versions = {"python": platform.python_version(), "tokenmill": installed_version("tokenmill")}
    for name in sorted({library for stage in plan.recipe.stages for library in stage.libraries} | {"pyarrow"}):
        versions[name] = installed_version(name)
    stages = [stage.identity() for stage in plan.recipe.stages]
    decisions = [[label, decided.digest] for label, decided in finished.decided.items()]
    identity = digest_of(
        [FILE_FORMAT, finished.chain, outcomes.hexdigest(), decisions, sorted(beside.items()), versions,
         json.loads(json.dumps(plan.recipe.resolved, default=str)), asdict(plan.recipe.output)]
    )  # fmt: skip
    return Manifest(
        edition=EDITION,
        name=plan.recipe.name,
        recipe_file=state.recipe_file,
        state="complete",
        identity=identity,
        recipe=dict(plan.recipe.resolved),
        stages=stages,
        passes=list(state.passes),
        inputs=[{"file": f.name, "source": f.source, "sha256": marks.remembered(f)} for f in plan.recipe.inputs],
        versions=versions,
        shards=len(standing.names),
        made=list(state.made),
        overridden=list(plan.recipe.overridden),
        executions=list(state.executions),
    )
