"""Small stages and recipes for tests of the engine; importable by name, so that workers can load them."""

from __future__ import annotations

import json
import os
import pathlib
import signal
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DROP_SCHEMA, DropPositions
from pipeline.documents import Batch, Document
from pipeline.readers import InputFile
from pipeline.recipe import Limits, Recipe
from pipeline.stage import DocumentStage, Drop, Keep, MapStage, Outcome, Stage, Verdict


@dataclass(frozen=True, kw_only=True)
class Shorts(DocumentStage):
    """Drops short texts, and misbehaves on the texts HANG, KILL, EAT and RAISE."""

    name: ClassVar[str] = "shorts"
    minimum: int = 3

    def judge(self, document: Document) -> Verdict:
        if document.text == "HANG":
            while True:
                pass
        if document.text == "KILL":
            os.kill(os.getpid(), 9)
        if document.text == "EAT":
            eaten = []
            while True:
                eaten.append(bytearray(os.urandom(1000) * 10_000))
        if document.text == "RAISE":
            raise ValueError("cannot be judged")
        if len(document.text) < self.minimum:
            return Drop("short", len(document.text), self.minimum)
        return None


@dataclass(frozen=True, kw_only=True)
class Shout(DocumentStage):
    """Writes in capitals."""

    name: ClassVar[str] = "shout"

    def judge(self, document: Document) -> Verdict:
        return Keep(text=document.text.upper())


@dataclass(frozen=True, kw_only=True)
class Loses(MapStage):
    """Loses its first document of each batch without a word."""

    name: ClassVar[str] = "loses"

    def apply(self, batch: Batch) -> Outcome:
        return Outcome(batch.select(range(1, len(batch))))


@dataclass(frozen=True, kw_only=True)
class Unique(CorpusStage):
    """Keeps the first of equal texts; can misbehave while observing the text KILL-OBSERVE."""

    name: ClassVar[str] = "unique"
    threshold: float = 1.0
    log: str = ""
    """A file in which each task of the decision leaves a line."""

    def observe(self, batch: Batch) -> pa.Table:
        if "KILL-OBSERVE" in batch.texts:
            os.kill(os.getpid(), 9)
        texts = pa.array(batch.texts, pa.large_string())
        return pa.table({"position": pa.array(batch.positions), "text": texts})

    def observation_identity(self) -> dict:
        return {"stage": self.name}

    def decide(self, observations, corpus, tasks, work) -> DropPositions:
        first: dict[str, int] = {}
        drops = []
        parts = [(self.log, part) for part in observations.parts(1)]
        assert all(rows >= 0 for rows in tasks.map("seen", _length, parts))
        for table in observations:
            for position, text in zip(table["position"].to_pylist(), table["text"].to_pylist(), strict=True):
                kept = first.setdefault(text, position)
                if kept != position:
                    row = {"position": position, "rule": "seen", "value": 1.0, "threshold": self.threshold}
                    drops.append({**row, "detail": f"kept {kept}"})
        return DropPositions.write(self.counted_as, pa.Table.from_pylist(drops, schema=DROP_SCHEMA), work)


@dataclass(frozen=True, kw_only=True)
class DiesOnce(Unique):
    """Kills the run in the middle of its first decision, when its tasks are done and nothing is decided."""

    name: ClassVar[str] = "dies_once"
    marker: str

    def decide(self, observations, corpus, tasks, work) -> DropPositions:
        decision = super().decide(observations, corpus, tasks, work)
        if not os.path.exists(self.marker):
            pathlib.Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return decision


def _length(item) -> int:
    log, part = item
    if log:
        with open(log, "a") as file:
            file.write(f"{part.first}\n")
    return part.read().num_rows


def write_jsonl(path: pathlib.Path, texts: list[str], start: int = 0) -> pathlib.Path:
    """Write one line a text, with ids that say where it is from."""
    lines = [json.dumps({"id": f"{path.stem}-{n}", "text": text}) for n, text in enumerate(texts, start)]
    path.write_text("".join(line + "\n" for line in lines))
    return path


def recipe(folder: pathlib.Path, stages: tuple[Stage, ...], name: str = "toy", **limits) -> Recipe:
    """Return a recipe over all JSONL files in `folder`."""
    files = tuple(InputFile(str(p), p.name, "web", ()) for p in sorted(folder.glob("*.jsonl")))
    options = {"cpu_seconds": 1.0, "memory_bytes": 700_000_000, "batch_bytes": 4000, **limits}
    return Recipe(name, folder, files, stages, Limits(**options), resolved={"name": name})


@dataclass(frozen=True, kw_only=True)
class Needs(DocumentStage):
    """Reads a file for every document; the file may be missing."""

    name: ClassVar[str] = "needs"
    file: str

    def judge(self, document: Document) -> Verdict:
        return Keep(text=document.text + pathlib.Path(self.file).read_text())


@dataclass(frozen=True, kw_only=True)
class Loads(DocumentStage):
    """Cannot load what it needs."""

    name: ClassVar[str] = "loads"
    file: str

    def load(self) -> None:
        if not os.path.exists(self.file):
            raise ValueError("the model is not where it was")

    def judge(self, document: Document) -> Verdict:
        return None


@dataclass(frozen=True, kw_only=True)
class Costly(DocumentStage):
    """Takes long, and counts each document it is given by a line in a file."""

    name: ClassVar[str] = "costly"
    costly: ClassVar[bool] = True
    log: str

    def judge(self, document: Document) -> Verdict:
        with open(self.log, "a") as file:
            file.write(f"{document.text[:40]}\n")
        return Keep(text=document.text + ".")


@dataclass(frozen=True, kw_only=True)
class Counts(CorpusStage):
    """Counts documents without changing them; dies on the text KILL-OBSERVE, raises on RAISE-OBSERVE."""

    name: ClassVar[str] = "counts"
    decides: ClassVar[None] = None
    sums: ClassVar[bool] = True

    def observe(self, batch: Batch) -> pa.Table:
        if "KILL-OBSERVE" in batch.texts:
            os._exit(3)
        if "RAISE-OBSERVE" in batch.texts:
            raise ValueError("cannot be counted")
        return pa.table({"documents": pa.array([len(batch)])})

    def decide(self, observations, corpus, tasks, work) -> None:
        work.put_json("count.json", sum(sum(table["documents"].to_pylist()) for table in observations))
