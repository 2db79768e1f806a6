"""What every executor promises: tasks in, one result each out, and who is to blame where there is none.

An executor is one function, ``run(function, tasks, *, workers, limits, revise, on_look, preload, loads)``, that yields
a `Result` for each task as they end, in any order. Retries are ours, never those of whatever runs the tasks.

Faults have owners. What a stage does to a document is the document's, and `revise` says what to try after it.
What storage, memory or an operator does is the environment's: the same task is tried again, and after that the
run ends with a line. What the supervisor could not watch, because it was stopped itself, is nobody's.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.errors import UserError

ATTEMPTS = 3
"""How often a task is tried that the environment fails, or whose worker dies with no document in work."""
OUTSIDE_ATTEMPTS = 10
"""How often a task is tried whose workers are killed from outside, each time at another document."""


@dataclass(frozen=True)
class WorkerLimits:
    """What a worker may take.

    Attributes:
        cpu_seconds: CPU time of one document over all stages of a pass; 0: no limit.
        wall_seconds: time without progress in one document; 0: no limit.
        memory_bytes: resident memory of the process.
        task_seconds: time of one task, for tasks that have no documents; 0: no limit.
    """

    cpu_seconds: float = 30.0
    wall_seconds: float = 600.0
    memory_bytes: int = 2_000_000_000
    task_seconds: float = 0.0


@dataclass(frozen=True)
class Death:
    """A worker's end: the document, stage and offset it was at (`guard.NOTHING` where none), and the cause.

    Attributes:
        batch: the document begins a batch, any of which may be the one.
        rule: ``cpu_time``, ``wall_time``, ``task_time``, ``memory`` or ``crash``.
        outside: somebody else ended the worker (the kernel's memory killer, an operator), or the fork server is gone.
    """

    number: int
    stage: int
    offset: int
    batch: bool
    rule: str
    detail: str
    outside: bool = False


@dataclass(frozen=True)
class Result:
    """How a task ended.

    Attributes:
        key: the task's key.
        status: ``done``; ``failed``, the task raised; ``lost``, no attempt lived to the end.
        value: what the function returned; None where it did not.
        error: the exception it raised, or why no attempt lived to the end.
        attempts: how often the task was started.
        cpu_seconds: CPU time of all attempts, those that died included.
        environment: the error is a fault of the environment: it stood after `ATTEMPTS` attempts.
    """

    key: Any
    status: str
    value: Any = None
    error: BaseException | None = None
    attempts: int = 1
    cpu_seconds: float = 0.0
    environment: bool = False


def cause_of(code: int, cpu_seconds: float) -> tuple[str, str]:
    """Return rule and detail of a process that ended with `code` (as `os.waitstatus_to_exitcode` gives it)."""
    if code == -signal.SIGPROF:
        return "cpu_time", f"over {cpu_seconds:g} s of CPU time"
    if code < 0:
        names = {known.value: known.name for known in signal.Signals}
        return "crash", f"process killed by {names.get(-code, f'signal {-code}')}"
    return "crash", f"process ended with exit code {code}"


class WorkerDied(UserError):
    """Every attempt at a task ended with the death of its worker."""


class Spot(int):
    """Where a task in work is: the number of the document it is at, and besides the place where it runs ("" on this
    machine) and the seconds since 1970 when it was begun."""

    place: str
    since: float

    def __new__(cls, number: int, place: str = "", since: float = 0.0) -> Spot:
        """Return the number with what belongs to it."""
        made = super().__new__(cls, number)
        made.place, made.since = place, since
        return made


Task = tuple[Any, Any]
"""A key and the argument that the function is called with."""
Load = Callable[[], Any]
"""A call that leaves in the process what every task needs: models, tables, compiled code."""


def no_revision(argument: Any, death: Death) -> Any:
    """The `revise` of tasks that have no documents: try the same again."""
    return None


class Executor(Protocol):
    """The signature of every executor."""

    def __call__(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[Task],
        *,
        workers: int,
        limits: WorkerLimits | None = None,
        revise: Callable[[Any, Death], Any] = no_revision,
        on_look: Callable[[Mapping[Any, int]], None] | None = None,
        preload: Iterable[str] = (),
        loads: Iterable[Load] = (),
    ) -> Iterator[Result]:
        """Yield a Result for each task, as they end.

        Args:
            function: called with a task's argument; may live in a script or a notebook.
            tasks: taken as workers become free.
            workers: how many tasks may be in work at a time.
            revise: given an argument and the death it led to, returns the argument to try instead, or None to try
                the same again.
            on_look: told now and then the number of the document that each task in work is at, a `Spot`.
            preload: modules that every worker needs.
            loads: calls that fill a worker's memory with what it needs; where workers are forks, made once for all.
                What they raise is told by the task that needs it.
        """
        ...
