"""Stages that do what no stage may, to the one document whose text says so; importable by name, so that workers can load them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch, Document
from pipeline.readers import json_values, jsonl
from pipeline.stage import DocumentStage, Drop, Keep, MapStage, Outcome, Removal, Span

ADDED = pa.field("length", pa.int64())


class Speechless(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Homemade(BaseException):
    """What no `except Exception` catches, and no other process can load."""

    def __reduce__(self) -> Any:
        raise TypeError("stays here")


def throw(error: BaseException) -> Callable[[Document], Any]:
    def judge(document: Document) -> Any:
        raise error

    return judge


def recurse(document: Document) -> Any:
    return recurse(document)


def write_text(document: Document) -> Any:
    document.text = "changed behind the engine's back"


async def later(document: Document) -> Any:
    return None


def spin(document: Document | None = None) -> Any:
    while True:
        pass


def spin_deaf(document: Document) -> Any:
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    spin()


def eat(document: Document) -> Any:
    eaten = []
    while True:
        eaten.append(b"x" * 50_000_000)


def leave_thread(document: Document) -> Any:
    threading.Thread(target=time.sleep, args=(60,)).start()


def leave_child(document: Document) -> Any:
    subprocess.Popen(["sleep", "61.7"])


def scream(document: Document) -> Any:
    print("printed by a stage")
    os.write(1, b"written by a stage\n")
    sys.stderr.write("\x1b[31mred\n")


def close_stdout(document: Document) -> Any:
    sys.stdout.close()
    sys.stdout = None  # type: ignore[assignment]


def wander(document: Document) -> Any:
    os.chdir("/")
    os.environ.clear()


RAISING: dict[str, Callable[[Document], Any]] = {
    "raises ValueError": throw(ValueError("wrong")),
    "raises StopIteration": throw(StopIteration()),
    "raises SystemExit": throw(SystemExit(0)),
    "raises KeyboardInterrupt": throw(KeyboardInterrupt()),
    "raises GeneratorExit": throw(GeneratorExit()),
    "raises a BaseException of its own": throw(Homemade("odd")),
    "raises an ExceptionGroup": throw(ExceptionGroup("several", [ValueError(), KeyError()])),
    "raises an error without a message": throw(Speechless()),
    "raises an error with a lone surrogate": throw(ValueError("\ud800")),
    "raises an error of ten megabytes": throw(ValueError("x" * 10_000_000)),
    "recurses without end": recurse,
}
ANSWERING: dict[str, Callable[[Document], Any]] = {
    "answers a text": lambda d: d.text,
    "answers True": lambda d: True,
    "answers the class Drop": lambda d: Drop,
    "answers a coroutine": later,
    "keeps with a number as text": lambda d: Keep(text=5),  # type: ignore[arg-type]
    "keeps with bytes as text": lambda d: Keep(text=b"x"),  # type: ignore[arg-type]
    "keeps with a column that is not declared": lambda d: Keep(columns={"height": 1}),
    "keeps with a column of a wrong type": lambda d: Keep(columns={"length": "long"}),
    "keeps with a list as columns": lambda d: Keep(columns=["length"]),  # type: ignore[arg-type]
    "keeps with a text as a span": lambda d: Keep(spans=["x"]),  # type: ignore[list-item]
    "keeps with a span of no text": lambda d: Keep(spans=[Span("rule", None)]),  # type: ignore[arg-type]
    "keeps with a span whose value is a text": lambda d: Keep(spans=[Span("rule", "x", "much")]),  # type: ignore[arg-type]
    "drops without a rule": lambda d: Drop(None),  # type: ignore[arg-type]
    "drops by an empty rule": lambda d: Drop(""),
    "drops with a text as value": lambda d: Drop("rule", "much"),  # type: ignore[arg-type]
    "drops with a number beyond all floats": lambda d: Drop("rule", 10**400),
    "drops with a number as detail": lambda d: Drop("rule", 1.0, 2.0, 7),  # type: ignore[arg-type]
    "changes the text of the document": write_text,
}
KILLING: dict[str, Callable[[Document], Any]] = {
    "ends the process": lambda d: os._exit(0),
    "ends the process with a code": lambda d: os._exit(3),
    "aborts": lambda d: os.abort(),
    "reads where nothing is": lambda d: ctypes.string_at(8),
    "kills its process": lambda d: os.kill(os.getpid(), signal.SIGKILL),
    "terminates its process": lambda d: os.kill(os.getpid(), signal.SIGTERM),
    "runs for ever": spin,
    "runs for ever and ignores the timer": spin_deaf,
    "sleeps for ever": lambda d: time.sleep(600),
    "eats memory": eat,
    "asks for more memory than there is": lambda d: bytes(1 << 60),
}
HARMLESS: dict[str, Callable[[Document], Any]] = {
    "prints": scream,
    "leaves a thread behind": leave_thread,
    "leaves a process behind": leave_child,
    "closes standard output": close_stdout,
    "goes elsewhere and forgets its environment": wander,
}
DOCUMENT = {**RAISING, **ANSWERING, **KILLING, **HARMLESS}


@dataclass(frozen=True, kw_only=True)
class BadDocument(DocumentStage):
    """Does to a document what its text says, if that is among the misdeeds above; else adds its length."""

    name: ClassVar[str] = "bad_document"

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        return (ADDED,)

    def judge(self, document: Document) -> Any:
        misdeed = DOCUMENT.get(document.text)
        return Keep(columns={"length": len(document.text)}) if misdeed is None else misdeed(document)


def _kept(batch: Batch, data: pa.RecordBatch, numbers: Any = None) -> Outcome:
    return Outcome(Batch(data, shard=batch.shard, numbers=batch.numbers if numbers is None else numbers))


def _rows(batch: Batch, rows: list[int], numbers: bool = False) -> Outcome:
    """Keep the data of `rows`, under their own numbers or those of the batch."""
    return _kept(batch, batch.data.take(pa.array(rows)), batch.numbers[rows] if numbers else None)


def _others(batch: Batch, row: int) -> list[int]:
    return [n for n in range(len(batch)) if n != row]


BATCH: dict[str, Callable[[Batch, int], Any]] = {
    "raises": lambda b, row: 1 // 0,
    "raises SystemExit": lambda b, row: sys.exit(1),
    "raises KeyboardInterrupt": lambda b, row: throw(KeyboardInterrupt())(None),  # type: ignore[arg-type]
    "loses the document": lambda b, row: Outcome(b.select(_others(b, row))),
    "removes the document twice": lambda b, row: Outcome(b.select(_others(b, row)), [Removal(row, "x")] * 2),
    "removes the document and keeps it": lambda b, row: Outcome(b, [Removal(row, "x")]),
    "keeps another in the document's place": lambda b, row: (
        _rows(b, [n if n != row else (row or 2) - 1 for n in range(len(b))])
        if len(b) > 1
        else _kept(b, _with(b, "id", pa.array(["another"], pa.large_string())))
    ),
    "doubles the document": lambda b, row: _rows(b, sorted([*range(len(b)), row]), numbers=True),
    "removes a row behind the last": lambda b, row: Outcome(b.select(_others(b, row)), [Removal(len(b), "x")]),
    "removes a negative row": lambda b, row: Outcome(b.select(_others(b, row)), [Removal(-1, "x")]),
    "removes a row that is no number": lambda b, row: Outcome(b.select(_others(b, row)), [Removal("0", "x")]),  # type: ignore[arg-type]
    "removes a span of a row there is not": lambda b, row: Outcome(b, [Removal(10_000, "x", "span", text="y")]),
    "removes by no rule": lambda b, row: Outcome(b.select(_others(b, row)), [Removal(row, "")]),
    "removes as an unknown kind": lambda b, row: Outcome(b, [Removal(row, "x", "perhaps")]),
    "removes with a list as value": lambda b, row: Outcome(b.select(_others(b, row)), [Removal(row, "x", value=[1])]),  # type: ignore[arg-type]
    "answers nothing": lambda b, row: None,
    "answers the batch": lambda b, row: b,
    "keeps a table": lambda b, row: Outcome(pa.Table.from_batches([b.data])),  # type: ignore[arg-type]
    "adds a column it does not declare": lambda b, row: _kept(b, _with(b, "height", pa.nulls(len(b), pa.int64()))),
    "takes a column away": lambda b, row: _kept(b, b.data.select([n for n in b.data.schema.names if n != "url"])),
    "gives numbers for texts": lambda b, row: _kept(b, _with(b, "text", pa.array([{}] * len(b)))),
    "changes the id": lambda b, row: _kept(b, _with(b, "id", pa.array(["mine"] * len(b), pa.large_string()))),
    "kills the process": lambda b, row: os.kill(os.getpid(), signal.SIGKILL),
    "ends the process": lambda b, row: os._exit(0),
    "runs for ever": lambda b, row: spin(),
}


def _with(batch: Batch, name: str, array: pa.Array) -> pa.RecordBatch:
    return batch.with_columns({name: array}).data


@dataclass(frozen=True, kw_only=True)
class BadBatch(MapStage):
    """Does to a batch what the text of a document in it says."""

    name: ClassVar[str] = "bad_batch"
    misdeed: str

    def apply(self, batch: Batch) -> Any:
        texts = batch.texts
        return BATCH[self.misdeed](batch, texts.index("BAD")) if "BAD" in texts else Outcome(batch)


def _seen(batch: Batch) -> pa.Table:
    return pa.table(
        {"position": pa.array(batch.positions), "length": pa.array([len(t) for t in batch.texts], pa.int64())}
    )


def _set(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


CORPUS: dict[str, Callable[[Batch, int], Any]] = {
    "raises": lambda b, row: 1 // 0,
    "raises SystemExit": lambda b, row: sys.exit(1),
    "raises KeyboardInterrupt": lambda b, row: throw(KeyboardInterrupt())(None),  # type: ignore[arg-type]
    "raises GeneratorExit": lambda b, row: throw(GeneratorExit())(None),  # type: ignore[arg-type]
    "observes nothing": lambda b, row: None,
    "observes a list": lambda b, row: _seen(b).to_pylist(),
    "observes a position it was not given": lambda b, row: _set(_seen(b), "position", pa.array([1 << 40] * len(b))),
    "observes a negative position": lambda b, row: _set(_seen(b), "position", pa.array([-1] * len(b))),
    "observes positions as texts": lambda b, row: _set(_seen(b), "position", pa.array(["0"] * len(b))),
    "observes no position": lambda b, row: _set(_seen(b), "position", pa.nulls(len(b), pa.int64())),
    "observes another type": lambda b, row: _set(_seen(b), "length", pa.array(["x"] * len(b))),
    "observes another column": lambda b, row: _seen(b).rename_columns(["position", "width"]),
    "kills the process": lambda b, row: os.kill(os.getpid(), signal.SIGKILL),
    "aborts": lambda b, row: os.abort(),
    "runs for ever": lambda b, row: spin(),
    "eats memory": lambda b, row: eat(None),  # type: ignore[arg-type]
}


@dataclass(frozen=True, kw_only=True)
class BadCorpus(CorpusStage):
    """Does what the text of a document says while it only observes."""

    name: ClassVar[str] = "bad_corpus"
    decides: ClassVar[None] = None
    misdeed: str

    def observe(self, batch: Batch) -> Any:
        texts = batch.texts
        return CORPUS[self.misdeed](batch, texts.index("BAD")) if "BAD" in texts else _seen(batch)

    def decide(self, observations: Any, corpus: Any, tasks: Any, work: Any) -> None:
        work.put_json("seen.json", sum(table.num_rows for table in observations))


@dataclass(frozen=True, kw_only=True)
class Leaks(DocumentStage):
    """Dies of every fifteenth document it is given in one process, whichever that is."""

    name: ClassVar[str] = "leaks"

    def judge(self, document: Document) -> None:
        leaked.append(document.text)
        if len(leaked) == 15:
            os.abort()


leaked: list[str] = []


@dataclass(frozen=True, kw_only=True)
class KillsMany(DocumentStage):
    """Dies of every document whose text is BAD."""

    name: ClassVar[str] = "kills_many"

    def judge(self, document: Document) -> None:
        if document.text == "BAD":
            os.abort()


@dataclass(frozen=True, kw_only=True)
class KillsReaders(DocumentStage):
    """Leaves the reader of JSON lines dying of every record that holds BAD, and a byte in a file for each that it begins."""

    name: ClassVar[str] = "kills_readers"
    log: str

    def load(self) -> None:
        count = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

        def parse(line: bytes) -> Any:
            os.write(count, b".")
            if b"BAD" in line:
                os.abort()
            return json_values.parse(line)

        jsonl.parse = parse  # type: ignore[attr-defined]

    def judge(self, document: Document) -> None:
        return None
