"""What a run under way tells those who ask from elsewhere: two small files in its folder, written anew now and then.

``status.json`` is how far it is and which tasks are in work, where, since when and at which document; it goes when the run
ends well. ``tasks.log`` holds a line for each task that ended, with the time: the latest `LINES` of them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.errors import StorageError
from pipeline.executors.contract import Result, Spot
from pipeline.run.folder import typed_file
from pipeline.run.progress import Progress
from pipeline.storage import Folder, unsynced
from pipeline.worker.task import IN_PIECE

FILE, LOG = "status.json", "tasks.log"
SECONDS_HERE, SECONDS_ELSEWHERE = 2.0, 10.0
"""How often ``status.json`` is written, on this machine and in an object store; the log a tenth as often."""
LINES = 5000
"""Lines of the log, at most: half a megabyte."""
SHOWN = 50
"""Tasks in work that are told, the oldest first."""
DEAD_SECONDS = 90.0
"""After so long without a word a run is no longer taken for one that is under way."""


@dataclass
class PassStatus:
    """How far one pass or decision is; `seconds` None where it is under way."""

    name: str
    number: int
    passes: int
    tasks: int
    stood: int
    done: int = 0
    documents: int = 0
    kept: int = 0
    bytes_in: int = 0
    since: float = 0.0
    seconds: float | None = None


@dataclass
class Working:
    """A task in work: where ("" is the machine that drives), since when, and at which document of its split (-1: none)."""

    task: str
    place: str
    since: float
    document: int


@dataclass
class Status:
    """Content of ``status.json``.

    Attributes:
        host, process: of the process that drives the run.
        passes: those of this execution, the last under way.
        in_work: how many tasks are in work; `running`: the oldest of them.
        failed_tasks: tasks that ended without a result.
        cpu_seconds: of all tasks of this execution.
    """

    edition: int
    host: str
    process: int
    started: float
    updated: float
    passes: list[PassStatus] = field(default_factory=list)
    in_work: int = 0
    running: list[Working] = field(default_factory=list)
    tasks_done: int = 0
    failed_tasks: int = 0
    tried_again: int = 0
    cpu_seconds: float = 0.0


class StatusBoard:
    """Progress that is passed on and written down; see `pipeline.run.progress.Progress`.

    Args:
        out: the run folder.
        edition: of the run folder.
    """

    def __init__(self, progress: Progress, out: Folder, edition: int) -> None:
        self._progress, self._out = progress, out
        self._every = SECONDS_HERE if out.path() is not None else SECONDS_ELSEWHERE
        now = time.time()
        self._status = Status(edition, socket.gethostname(), os.getpid(), now, now)
        self._lines: deque[str] = deque(maxlen=LINES)
        if out.exists(LOG):
            self._lines.extend(out.get(LOG).decode("utf-8", "replace").splitlines())
        self._spots: Mapping[Any, int] = {}
        self._written = self._logged = 0.0
        self._new_lines = False

    # progress

    def begin(self, name: str, number: int, passes: int, shards: int, done: int, **more: Any) -> None:
        """A pass or a decision begins."""
        self._status.passes.append(PassStatus(name, number, passes, shards, done, since=time.time()))
        if shards > done:
            self._say(f"{name}: begins, {shards - done} of {shards} shards to do")
            self._write(at_once=True)
        self._progress.begin(name, number, passes, shards, done, **more)

    def shard(self, tally: Any, *more: Any) -> None:
        """A shard, or a task of a decision, is done."""
        if self._status.passes and tally is not None:
            step = self._status.passes[-1]
            step.documents += tally.read
            step.kept += tally.kept
            step.bytes_in += tally.bytes_in
        self._progress.shard(tally, *more)

    def look(self, documents: int, *more: Any) -> None:
        """So many documents of the shards in work are behind us."""
        self._progress.look(documents, *more)

    def end(self, name: str, seconds: float) -> None:
        """The pass or decision that began last is done."""
        if self._status.passes:
            step = self._status.passes[-1]
            step.seconds = seconds
            if step.done:
                self._say(f"{name}: done in {seconds:.1f} s")
        self._spots = {}
        self._progress.end(name, seconds)

    def note(self, text: str) -> None:
        """Something the user should know."""
        self._progress.note(text)

    def said(self, line: str) -> None:
        """A stage or a library has printed something."""
        self._progress.said(line)

    # tasks

    def spots(self, spots: Mapping[Any, int]) -> None:
        """Take note of the tasks in work, and tell how far the run is if it is time."""
        self._spots = spots
        self._write()

    def ended(self, result: Result) -> None:
        """Take note of how a task ended."""
        status = self._status
        status.tasks_done += result.error is None
        status.failed_tasks += result.error is not None
        status.tried_again += result.attempts - 1
        status.cpu_seconds += result.cpu_seconds
        if status.passes:
            status.passes[-1].done += 1
        spot = self._spots.get(result.key)
        place = f" on {spot.place}" if isinstance(spot, Spot) and spot.place else ""
        tries = f", {result.attempts} attempts" if result.attempts > 1 else ""
        why = "" if result.error is None else f": {' '.join(str(result.error).split())[:300]}"
        self._say(f"{result.key} {result.status}{place}, {result.cpu_seconds:.2f} s of CPU{tries}{why}")
        self._write()

    def close(self, error: BaseException | None) -> None:
        """The run ends: well, and then its status goes; else what it was when it ended stays."""
        if error is not None:
            self._say(f"the run ends: {' '.join(str(error).split())[:500] or type(error).__name__}")
        elif self._status.tasks_done:
            self._say(f"the run is done: {self._status.tasks_done} tasks, {self._status.cpu_seconds:.1f} s of CPU")
        with contextlib.suppress(
            StorageError
        ):  # of a run that ends because its folder cannot be written, the reason counts
            self._log()
            if error is None:
                self._out.delete(FILE)
            else:
                self._write(at_once=True)

    def _say(self, text: str) -> None:
        self._lines.append(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}")
        self._new_lines = True

    def _write(self, *, at_once: bool = False) -> None:
        now = time.time()
        if not at_once and now - self._written < self._every:
            return
        status = self._status
        oldest = sorted(self._spots.items(), key=lambda item: getattr(item[1], "since", 0.0))
        status.in_work, status.updated = len(oldest), now
        status.running = [
            Working(str(key), getattr(spot, "place", ""), getattr(spot, "since", 0.0), _document(spot))
            for key, spot in oldest[:SHOWN]
        ]
        with unsynced():
            self._out.put_json(FILE, asdict(status))
        self._written = now
        if now - self._logged > 10 * self._every:
            self._log()

    def _log(self) -> None:
        if self._new_lines:
            with unsynced():
                self._out.put(LOG, "".join(f"{line}\n" for line in self._lines).encode())
            self._new_lines, self._logged = False, time.time()


def _document(number: int) -> int:
    return number if number < 0 else number & IN_PIECE


def read_status(out: Folder) -> Status | None:
    """Return what the run in `out` told last; None where it has ended well, or has not begun."""
    return typed_file(out, FILE, Status)
