"""The local executor: child processes on this machine under a supervisor.

Each worker reads and writes for itself, so that no document crosses a pipe. The supervisor knows which document each
is at, limits its CPU time, memory and wall time, and outlives whatever it does.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import EnvironmentFault, UserError
from pipeline.executors.contract import (
    ATTEMPTS,
    OUTSIDE_ATTEMPTS,
    Death,
    Executor,
    Load,
    Result,
    Spot,
    Task,
    WorkerDied,
    WorkerLimits,
    no_revision,
)
from pipeline.executors.crew import LOOK_SECONDS, Ahead, Crew, modules_of
from pipeline.executors.place import Answer, Place
from pipeline.executors.worker import DONE, call
from pipeline.guard import NOTHING

PAUSE_SECONDS = 0.25
"""How long a task waits that the environment has failed, and twice as long the next time."""


def run_local(
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
    """Yield a Result for each task, as they end, run by child processes of this machine; see `contract.Executor`.

    Raises:
        EnvironmentFault: workers cannot start: a module cannot be imported, or they die before they take a task.
    """
    with Crew(function, workers, limits or WorkerLimits(), [*preload, *modules_of(function)], list(loads)) as crew:
        yield from told(steps(crew, lambda argument: argument, tasks, revise), on_look)


@contextlib.contextmanager
def kept_workers(workers: int, later: Callable[[], Ahead] = lambda: ((), ())) -> Iterator[Executor]:
    """Yield an executor like `run_local` whose workers live on from one round of tasks to the next, unless that needs
    more than they were born with. Rounds are one after the other; `workers` of a round counts for nothing.

    Args:
        later: asked when the first worker is wanted: modules and calls that later rounds will need, got ready while this
            one works.
    """
    with Crew(call, workers, WorkerLimits(), later=later) as crew:

        def run(
            function: Callable[[Any], Any],
            tasks: Iterable[Task],
            *,
            workers: int = workers,
            limits: WorkerLimits | None = None,
            revise: Callable[[Any, Death], Any] = no_revision,
            on_look: Callable[[Mapping[Any, int]], None] | None = None,
            preload: Iterable[str] = (),
            loads: Iterable[Load] = (),
        ) -> Iterator[Result]:
            crew.limits = limits or WorkerLimits()
            crew.want([*preload, *modules_of(function)], list(loads))
            yield from told(steps(crew, order_of(crew, function), tasks, revise), on_look)

        yield run


def order_of(crew: Crew, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what makes of an argument of `function` what is sent to a worker that runs `worker.call`."""
    return lambda argument: (function, argument, crew.limits.cpu_seconds, crew.limits.wall_seconds)


def told(
    steps: Iterator[Result | dict[Any, Spot]], on_look: Callable[[Mapping[Any, int]], None] | None
) -> Iterator[Result]:
    """Yield the results among `steps`, and tell `on_look` the rest."""
    for step in steps:
        if isinstance(step, Result):
            yield step
        elif on_look is not None:
            on_look(step)


def steps(
    crew: Crew, order: Callable[[Any], Any], tasks: Iterable[Task], revise: Callable[[Any, Death], Any]
) -> Iterator[Result | dict[Any, Spot]]:
    """Yield the results of `tasks` as they end, and at every look where those in work are.

    Args:
        order: makes of an argument what a worker is sent.
    """
    queue = _Queue(tasks, revise)
    while True:
        for place in crew.free():
            while (job := queue.next()) is not None and (refused := _begin(crew, place, job, order)) is not None:
                yield refused
            if job is None:
                break
        if not crew.busy() and not queue.waiting:
            return
        for place in crew.wait(queue.pause()):
            result = queue.settle(*crew.done(place))
            if result is not None:
                yield result
        if crew.looked:
            yield {place.job.key: Spot(crew.number(place), "", place.job.since) for place in crew.busy()}


def _begin(crew: Crew, place: Place, job: Job, order: Callable[[Any], Any]) -> Result | None:
    """Begin `job` in `place`, or return its result where its argument cannot be pickled."""
    job.attempts += 1
    try:
        crew.begin(place, job, order(job.argument), fresh=job.attempts > 1)
    except EnvironmentFault:
        raise
    except Exception as error:
        return job.result("failed", error=error)
    return None


@dataclass(eq=False)
class Job:
    """A task on its way to a result, and how its attempts ended."""

    key: Any
    argument: Any
    attempts: int = 0
    cpu_seconds: float = 0.0
    not_before: float = 0.0
    since: float = field(default_factory=time.time)
    faults: int = 0  # of the environment
    blameless: int = 0  # deaths with no document to leave out
    outside: int = 0
    outside_at: Counter[int] = field(default_factory=Counter)  # documents in work when somebody else ended the worker

    def result(self, status: str, **said: Any) -> Result:
        """Return how the job ended."""
        return Result(self.key, status, attempts=self.attempts, cpu_seconds=self.cpu_seconds, **said)


class _Queue:
    """What is to be done: tasks not taken yet, and those to try again, which go first when their time has come."""

    def __init__(self, tasks: Iterable[Task], revise: Callable[[Any, Death], Any]) -> None:
        self._tasks = iter(tasks)
        self._revise = revise
        self.waiting: deque[Job] = deque()

    def next(self) -> Job | None:
        """Return a job that may begin now."""
        now = time.monotonic()
        for job in self.waiting:
            if job.not_before <= now:
                self.waiting.remove(job)
                return job
        return next((Job(key, argument) for key, argument in self._tasks), None)

    def pause(self) -> float:
        """Return how long, at most, to wait for news; what is due already waits for a free worker."""
        due = [job.not_before - time.monotonic() for job in self.waiting]
        return min([LOOK_SECONDS, *(seconds for seconds in due if seconds > 0)])

    def settle(self, job: Job, end: Answer | Death, cpu_seconds: float) -> Result | None:
        """Return the result of `job` after an attempt, or None where it is to be tried again."""
        job.cpu_seconds += cpu_seconds
        return self._answered(job, end) if isinstance(end, Answer) else self._died(job, end)

    def _answered(self, job: Job, answer: Answer) -> Result | None:
        if answer.kind == DONE:
            return job.result("done", value=answer.value)
        if not answer.environment:
            return job.result("failed", error=answer.value)
        if isinstance(answer.value, MemoryError):  # perhaps a document's that asks for more than there is
            revised = self._revise(job.argument, Death(NOTHING, NOTHING, NOTHING, True, "memory", str(answer.value)))
            job.argument = job.argument if revised is None else revised
        job.faults += 1
        if job.faults < ATTEMPTS:
            self._again(job, PAUSE_SECONDS * 2 ** (job.faults - 1))
            return None
        return job.result("failed", error=one_line(answer.value, job.faults), environment=True)

    def _died(self, job: Job, death: Death) -> Result | None:
        """Blame a document, or the second time the one that was in work when a worker was killed from outside."""
        if death.outside:
            job.outside += 1
            job.outside_at[death.number] += 1
            if death.number == NOTHING or job.outside_at[death.number] < 2:
                return self._again_or_lost(job, death, job.outside < OUTSIDE_ATTEMPTS)
        revised = None if death.rule == "task_time" else self._revise(job.argument, death)
        if revised is not None:
            job.argument = revised
            self._again(job)
            return None
        job.blameless += 1
        return self._again_or_lost(job, death, job.blameless < ATTEMPTS)

    def _again_or_lost(self, job: Job, death: Death, again: bool) -> Result | None:
        if again:
            self._again(job)
            return None
        environment = death.outside or death.rule == "task_time"
        remedy = "; raise limits.memory_bytes, or use fewer workers" if death.rule == "memory" else ""
        error = WorkerDied(
            f"{job.attempts} attempts at {job.key!r}, the last ended with {death.rule}: {death.detail}{remedy}"
        )
        return job.result("lost", error=error, environment=environment)

    def _again(self, job: Job, pause: float = 0.0) -> None:
        job.not_before = time.monotonic() + pause
        self.waiting.append(job)


def one_line(error: BaseException | None, attempts: int) -> UserError:
    """Return a fault of the environment as one clear line; the original is its cause."""
    if isinstance(error, UserError):
        return error
    said = " ".join(str(error).split())[:500]
    fault = EnvironmentFault(f"{type(error).__name__}: {said} ({attempts} attempts); mend the cause and run again")
    fault.__cause__ = error
    return fault
