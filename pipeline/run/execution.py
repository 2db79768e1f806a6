"""One execution of a run: when, for how long, on what machine. A run that was stopped and went on has several."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

MOST = 50
"""Executions that are remembered, the latest."""
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass
class Execution:
    """What is written down of an execution. Neither the machine's name nor a path of it is.

    Attributes:
        started: seconds since 1970, UTC; seconds: wall time as far as was written down.
        cpu_seconds: of its tasks, those that came to nothing included.
        workers: processes.
        cores, memory_bytes, system: of the machine that drove it; 0 and empty where it does not tell.
        ended: ``running``, ``done``, ``failed``, or ``stopped``: it ended without a word.
    """

    started: float
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    workers: int = 0
    cores: int = 0
    memory_bytes: int = 0
    system: str = ""
    ended: str = RUNNING

    def tell(self, ended: str = RUNNING) -> None:
        """Take down how long it has been going on, and how it stands."""
        self.seconds, self.ended = round(max(self.seconds, time.time() - self.started), 3), ended
        self.cpu_seconds = round(self.cpu_seconds, 3)


def executions_with(before: Sequence[Execution], workers: int) -> list[Execution]:
    """Return the executions `before`, the last of them ended, and one that begins now with `workers` processes."""
    for execution in before:
        if execution.ended == RUNNING:
            execution.ended = STOPPED
    now = Execution(time.time(), 0.0, 0.0, workers, _cores(), psutil.virtual_memory().total, _system())
    return [*before, now][-MOST:]


def since_published(executions: Sequence[Execution]) -> list[Execution]:
    """Return the executions that came to the last publication: from behind the one before it."""
    first = max((n for n, e in enumerate(executions[:-1]) if e.ended == DONE), default=-1) + 1
    return list(executions[first:])


def date(seconds: float) -> str:
    """Return a moment (seconds since 1970) to the minute, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0


def _system() -> str:
    """Return kind, version and processor of the system, such as Linux 6.12 x86_64; nothing that names this machine."""
    version = re.match(r"\d+(?:\.\d+)?", platform.release())
    return " ".join(part for part in (platform.system(), version[0] if version else "", platform.machine()) if part)
