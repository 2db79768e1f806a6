"""Work in child processes of a worker's own: what kills one is found by halves, and costs no more than its own part.

A child is a fork of a worker that has loaded everything and done nothing, so whatever those before it have leaked or
broken is not in it. It shows the document in work where the worker would, on the guard's map, and has the same limits.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from pipeline.errors import EnvironmentFault, UserError
from pipeline.executors.contract import cause_of
from pipeline.executors.fork_server import die_with_parent
from pipeline.guard import NOTHING, guard

LOOK_SECONDS = 0.02
"""How often a child's memory is looked at."""
EARLY = 0.9
"""The share of the time without progress after which we end a child: before the supervisor ends us for it."""
DEAF = 1.5
"""A child that has used so many times the CPU limit of its document has put our timer off."""
GOODBYE_SECONDS = 1.0
"""How long a child may live that has nothing more to say."""


@dataclass(frozen=True)
class Care:
    """What a child may take: bytes of resident memory."""

    memory_bytes: int


@dataclass(frozen=True)
class Fate:
    """How a child ended that gave no answer, and the document it was at; `batch`: any of its documents may be the one."""

    number: int
    batch: bool
    rule: str
    detail: str


Rows = range
Part = tuple[Rows, Any]


def by_parts(numbers: Sequence[int], work: Callable[[Rows], Any], care: Care) -> Iterator[Part]:
    """Yield runs of rows, in order, each with what `work` answers for it in a child, or the fate of a single document.

    A part in which a child dies is done again without the document it was at, which then goes alone; or by halves,
    where only the batch is known. A document that dies alone is the one.

    Args:
        numbers: by which the guard names the documents.
        work: given rows, returns something picklable.
    Raises:
        BaseException: what `work` raises.
    """
    places = {number: row for row, number in enumerate(numbers)}
    waiting: list[tuple[Rows, Fate | None]] = [(range(len(numbers)), None)]
    while waiting:
        rows, known = waiting.pop()
        if len(rows) == 0:
            continue
        answer = known or in_child(lambda rows=rows: work(rows), care)  # type: ignore[misc]
        if not isinstance(answer, Fate) or len(rows) == 1:
            yield rows, answer
            continue
        at = NOTHING if answer.batch else places.get(answer.number, NOTHING)
        if at not in rows:
            middle = rows.start + len(rows) // 2
            waiting += [(range(middle, rows.stop), None), (range(rows.start, middle), None)]
            continue
        exact = answer if answer.rule.endswith("_time") else None  # its own; all else may be those before it
        waiting += [(range(at + 1, rows.stop), None), (range(at, at + 1), exact), (range(rows.start, at), None)]


def in_child(work: Callable[[], Any], care: Care) -> Any:
    """Return what `work` answers in a fork of this process, or its `Fate`.

    Raises:
        BaseException: what `work` raises.
        EnvironmentFault: there can be no other process.
    """
    spent = guard.spent()
    reading, writing = os.pipe()
    ours = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise EnvironmentFault(f"a worker cannot start a process of its own ({error.strerror})") from error
    if child == 0:
        _be_child(work, ours, reading, writing)
    os.close(writing)
    try:
        data, code, over = _listen(child, reading, care)
    finally:
        os.close(reading)
    answer = _read(data)
    guard.resume(spent if answer is None else answer[2])
    if answer is None or isinstance(answer[1], MemoryError):
        number, _, _, batch = guard.seen()
        cause = over or (
            cause_of(code, guard.cpu_seconds) if answer is None else ("memory", f"MemoryError: {answer[1]}")
        )
        return Fate(number, batch or number == NOTHING, *cause)
    if answer[0] == "raised":
        raise answer[1]
    return answer[1]


def _be_child(work: Callable[[], Any], parent: int, reading: int, writing: int) -> None:
    """Do the work, send the answer and end; never returns."""
    try:
        die_with_parent(parent)
        os.setpgid(0, 0)  # what it starts ends with it
        os.close(reading)
        try:
            answer = ("done", work(), guard.spent())
        except BaseException as error:
            if not isinstance(error, UserError):
                error.add_note("in a child of a worker:\n" + traceback.format_exc())
            answer = ("raised", error, guard.spent())
        with os.fdopen(writing, "wb") as file:
            file.write(_packed(answer))
        os._exit(0)
    finally:
        os._exit(1)


def _packed(answer: tuple[str, Any, dict[int, float]]) -> bytes:
    try:
        data = pickle.dumps(answer)
        if answer[0] == "raised":
            pickle.loads(data)
        return data
    except Exception as error:
        said = answer[1] if answer[0] == "raised" else error
        return pickle.dumps(("raised", RuntimeError(f"{type(said).__name__}: {said}"), answer[2]))


def _read(data: bytes) -> tuple[str, Any, dict[int, float]] | None:
    try:
        answer: tuple[str, Any, dict[int, float]] = pickle.loads(data)
        return answer
    except (EOFError, pickle.UnpicklingError):  # it died before it had sent all
        return None


def _listen(child: int, reading: int, care: Care) -> tuple[bytes, int, tuple[str, str] | None]:
    """Return what `child` has sent, the code it ended with, and the cause where we have killed it for one."""
    parts: list[bytes] = []
    over: tuple[str, str] | None = None
    waited = 0.0
    closed, looked = 0.0, time.monotonic()
    process, at, had = psutil.Process(child), guard.seen(), 0.0
    while True:
        if not closed and select.select([reading], [], [], LOOK_SECONDS)[0]:
            if part := os.read(reading, 1 << 20):
                parts.append(part)
            else:
                closed = time.monotonic()
        now = time.monotonic()
        if not closed and now - looked < LOOK_SECONDS:
            continue
        waited, looked = waited + min(now - looked, 10 * LOOK_SECONDS), now  # for the rest we were stopped ourselves
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _end_group(child)
            while select.select([reading], [], [], 0)[0] and (part := os.read(reading, 1 << 20)):
                parts.append(part)
            return b"".join(parts), os.waitstatus_to_exitcode(status), over
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            if guard.seen() != at:
                at, had, waited = guard.seen(), times.user + times.system, 0.0
            if process.memory_info().rss > care.memory_bytes:
                over = ("memory", f"worker over {care.memory_bytes} bytes of resident memory")
            elif 0 < guard.cpu_seconds < (times.user + times.system - had) / DEAF:
                over = ("cpu_time", f"over {guard.cpu_seconds:g} s of CPU time")
            elif 0 < guard.wall_seconds < waited / EARLY:
                over = ("wall_time", f"no progress in {guard.wall_seconds:g} s")
        if over or (closed and now - closed > GOODBYE_SECONDS):
            os.kill(child, signal.SIGKILL)
        if closed:
            time.sleep(0.0005)


def _end_group(leader: int) -> None:
    """Kill what a child has started and left behind."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
