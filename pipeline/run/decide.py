"""The decision of a corpus stage: made once from what was observed, checked whenever it is found again.

``decision.json`` holds the fields of the decision and every file it lies in, with size and SHA-256. The class is the one
that the corpus stage itself names; a run folder cannot make the program import anything.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from pipeline.corpus import Corpus, Observations
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DROP_SCHEMA, INDEX, DropPositions
from pipeline.errors import StorageError
from pipeline.executors.contract import Result
from pipeline.prints import prints_aside
from pipeline.run.tasks import FOLDER, RunTasks
from pipeline.stage import MapStage
from pipeline.storage import Folder, synced_together

SCRATCH = "scratch"
"""Folder below a decision's for what its tasks hand each other; removed once it is decided."""
FILE = "decision.json"
COST = "cost.json"
"""CPU seconds that deciding took: what prices a run, and differs from one to the next."""
DIGEST_BYTES = 64 << 20
"""Files up to this size are read whole and held against their digest when a decision is found again; larger ones by
size, and by digest when they are used."""


@dataclass(frozen=True)
class Decided:
    """A decision and where it lies.

    Attributes:
        decision: None where nothing changes in the documents.
        digest: stands for the decision and all its files.
        cpu_seconds: what deciding took when it was decided.
        notes: what the user should hear.
    """

    label: str
    stage: CorpusStage
    decision: MapStage | None
    folder: Folder
    digest: str
    cpu_seconds: float
    notes: tuple[str, ...] = ()


@dataclass
class _Record:
    """Content of ``decision.json``."""

    stage: str
    fields: dict[str, Any] | None
    files: dict[str, tuple[int, str]]
    notes: list[str] = field(default_factory=list)


def decide(
    label: str,
    stage: CorpusStage,
    observations: Observations,
    corpus: Corpus,
    work: Folder,
    run: Callable[..., Iterator[Result]],
) -> Decided:
    """Return the decision of `stage` in folder `work`, found again or made now.

    Raises:
        StorageError: a file of a decision that was made is missing or not what it was.
        TypeError: the stage answers something else than what it says it decides.
    """
    if not work.exists(FILE):
        _make(label, stage, observations, corpus, work, run)
    record = _record(work)
    _check(work, record.files)
    decision = None
    if record.fields is not None and stage.decides is not None:
        decision = msgspec.convert(record.fields, stage.decides)
    digest = hashlib.sha256(msgspec.json.encode([record.fields, sorted(record.files.items())])).hexdigest()[:16]
    return Decided(label, stage, decision, work, digest, work.get_number(COST), tuple(record.notes))


def _make(
    label: str,
    stage: CorpusStage,
    observations: Observations,
    corpus: Corpus,
    work: Folder,
    run: Callable[..., Iterator[Result]],
) -> None:
    tasks, cpu = RunTasks(work, run), time.process_time()
    with prints_aside(), synced_together():
        try:
            decision = stage.decide(observations, corpus, tasks, work)
        except (SystemExit, GeneratorExit) as error:  # nothing that a stage raises ends the program without a word
            raise RuntimeError(f"stage {label} raised {type(error).__name__} while deciding") from error
        for below in (FOLDER, SCRATCH):
            work.remove_tree(below)
    if type(decision) is not (stage.decides or type(None)):
        wanted = "None" if stage.decides is None else f"a {stage.decides.__name__}"
        raise TypeError(f"{label} says it decides {wanted} but decided {decision!r}")
    names = [name for name in work.names() if name not in (FILE, COST)]
    record = _Record(
        stage=stage.name,
        fields=None if decision is None else dataclasses.asdict(decision),
        files={name: _size_and_digest(work, name) for name in names if not name.startswith((FOLDER, SCRATCH))},
        notes=work.get_json("notes.json") if work.exists("notes.json") else [],
    )
    work.put_json(COST, round(time.process_time() - cpu + tasks.cpu_seconds, 3))
    work.put_json(FILE, dataclasses.asdict(record))


def _record(work: Folder) -> _Record:
    try:
        return msgspec.json.decode(work.get(FILE), type=_Record)
    except msgspec.DecodeError as error:
        raise StorageError(f"{work.url}/{FILE} is damaged ({error}); delete {work.url} and run again") from error


def _size_and_digest(folder: Folder, name: str) -> tuple[int, str]:
    data = folder.get(name)
    return len(data), hashlib.sha256(data).hexdigest()


def _check(work: Folder, files: Mapping[str, tuple[int, str]]) -> None:
    for name, (size, digest) in files.items():
        try:
            now = work.size(name)
        except StorageError as error:
            raise StorageError(f"{work.url}/{name} is missing; delete {work.url} and run again") from error
        if now != size or (size <= DIGEST_BYTES and _size_and_digest(work, name)[1] != digest):
            raise StorageError(f"{work.url}/{name} is not what this run decided; delete {work.url} and run again")


def failed_drops(label: str, failed: Iterator[tuple[int, str, str]], work: Folder) -> DropPositions:
    """Return the decision that fails the documents that `label` could not observe.

    Args:
        failed: position, rule and detail of each.
    """
    if work.exists(INDEX):
        index = work.get(INDEX)
        rows_known = msgspec.json.decode(index)["rows"]
        return DropPositions(stage=label, rows=rows_known, digest=hashlib.sha256(index).hexdigest(), kind="failed")
    rows = [{"position": position, "rule": rule, "detail": detail} for position, rule, detail in failed]
    return DropPositions.write(label, pa.Table.from_pylist(rows, schema=DROP_SCHEMA), work, kind="failed")
