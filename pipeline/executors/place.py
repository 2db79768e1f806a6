"""One place for a worker process, and what the supervisor knows of the process that fills it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import psutil

from pipeline.executors.channel import Channel
from pipeline.executors.contract import Death
from pipeline.guard import NOTHING


@dataclass(frozen=True)
class Answer:
    """What a worker said of a task: ``done`` or ``failed``, value or error, is it the environment's, CPU seconds."""

    kind: str
    value: Any
    environment: bool
    cpu_seconds: float


@dataclass(eq=False)
class Place:
    """One place for a worker process: the job in it, and what the supervisor knows of the process that fills it."""

    slot: int
    job: Any = None
    end: Answer | Death | None = None  # how the attempt at the job ended
    cpu_seconds: float = 0.0  # of that attempt
    worked: float = 0.0  # seconds of that attempt, as far as we could look
    # of the process
    id: int = 0
    channel: Channel | None = None
    process: psutil.Process | None = None
    ready: bool = False
    cause: tuple[str, str] | None = None  # why we have killed it
    closed_at: float = 0.0  # when it closed its socket
    reported: float = 0.0  # CPU seconds that its answers have accounted for
    seen: tuple[int, int, int, bool] = (NOTHING, NOTHING, NOTHING, False)
    waited: float = 0.0  # seconds since `seen` changed, as far as we could look
    burning: float | None = None  # CPU seconds that the process had when it was first suspected of not letting go

    def resident(self) -> int:
        """Return the bytes of resident memory."""
        try:
            return self.process.memory_info().rss if self.process else 0
        except psutil.Error:
            return 0

    def burns(self, cpu_seconds: float) -> bool:
        """Return whether the process goes on past the CPU limit of its document: whatever it runs has put our timer off."""
        if self.waited <= cpu_seconds or self.process is None:
            return False
        try:
            times = self.process.cpu_times()
        except psutil.Error:
            return False
        if self.burning is None:
            self.burning = times.user + times.system
        return bool(times.user + times.system - self.burning > cpu_seconds)

    def kill(self, *cause: str) -> None:
        """Kill the process, if it lives, for `cause`: rule and detail."""
        if len(cause) == 2:
            self.cause = (cause[0], cause[1])
        if self.process is not None:
            with contextlib.suppress(psutil.Error):
                self.process.kill()
