"""Executors run tasks and know nothing else.

An executor is one function: ``run(function, tasks, revise, limits, on_look) -> iterator of Result``. The local
one keeps a fixed number of child processes, each of which reads and writes for itself, so that no document
crosses a pipe. The supervisor knows which document each is at, limits its CPU time, memory and wall time,
and outlives whatever it does. Retries are ours, not the executor's: `revise` says what to try after a death.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

from pipeline import guard as guards
from pipeline.errors import UserError
from pipeline.guard import NOTHING

ATTEMPTS_WITHOUT_CAUSE = 3
"""How often a task is tried whose worker dies with no document in work."""
LOOK_SECONDS = 0.02
"""How often the supervisor looks at memory; what allocates 5 GB/s is caught at 100 MB over the limit."""


@dataclass(frozen=True)
class WorkerLimits:
    """What a worker may take: CPU and wall seconds of one document (0: no limit), resident bytes of the process."""

    cpu_seconds: float = 30.0
    wall_seconds: float = 600.0
    memory_bytes: int = 2_000_000_000


@dataclass(frozen=True)
class Death:
    """A worker's end: the document, stage and offset it was at (`NOTHING` where none), and the cause.

    Attributes:
        batch: the document begins a batch, any of which may be the one.
        rule: ``cpu_time``, ``wall_time``, ``memory`` or ``crash``.
    """

    number: int
    stage: int
    offset: int
    batch: bool
    rule: str
    detail: str


@dataclass(frozen=True)
class Result:
    """How a task ended.

    Attributes:
        key: the task's key.
        value: what the function returned; None where it did not.
        error: the exception it raised, or why no attempt lived to the end.
        attempts: how often the task was started.
    """

    key: Any
    status: str  # "done" or "failed"
    value: Any = None
    error: BaseException | None = None
    attempts: int = 1


class WorkerDied(Exception):
    """Every attempt at a task ended with the death of its worker."""


def no_revision(task: Any, death: Death) -> Any:
    """The `revise` of tasks that have no documents: try the same again."""
    return None


def run_local(
    function: Callable[[Any], Any],
    tasks: Iterable[tuple[Any, Any]],
    *,
    workers: int,
    limits: WorkerLimits | None = None,
    revise: Callable[[Any, Death], Any] = no_revision,
    on_look: Callable[[Mapping[Any, int]], None] | None = None,
    preload: Iterable[str] = (),
) -> Iterator[Result]:
    """Yield a Result for each task, as they end, run by child processes on this machine.

    Args:
        function: importable by name; called with a task's argument.
        tasks: (key, argument) pairs; taken as workers become free.
        workers: number of child processes.
        revise: given a task and the death it led to, returns the task to try instead, or None to try it again.
        on_look: told now and then the number of the document that each task in work is at.
        preload: modules that the fork server imports once for all workers.
    """
    limits = limits or WorkerLimits()
    queue = iter(tasks)
    again: deque[_Job] = deque()
    with tempfile.TemporaryDirectory(prefix="tokenmill-") as folder:
        crew = [_Worker(pathlib.Path(folder) / f"guard-{n}", function, limits, preload) for n in range(workers)]
        try:
            while True:
                for worker in crew:
                    if worker.job is None:
                        job = again.popleft() if again else next((_Job(k, a) for k, a in queue), None)
                        if job is None:
                            break
                        worker.begin(job)
                busy = [worker for worker in crew if worker.job is not None]
                if not busy:
                    return
                _wait(busy)
                for worker in busy:
                    result = worker.look()
                    if isinstance(result, Death):
                        result = _after_death(worker.end_job(), result, revise, again)
                    if isinstance(result, Result):
                        yield result
                if on_look is not None:
                    on_look({w.job.key: guards.look(w.guard)[0] for w in crew if w.job is not None})
        finally:
            for worker in crew:
                worker.kill()


@dataclass
class _Job:
    key: Any
    argument: Any
    attempts: int = 0
    idle_deaths: int = 0


def _after_death(job: _Job, death: Death, revise: Callable[[Any, Death], Any], again: deque[_Job]) -> Result | None:
    """Put the job back in the queue, revised; or give up on it."""
    revised = revise(job.argument, death)
    if revised is None:
        job.idle_deaths += 1
        if job.idle_deaths >= ATTEMPTS_WITHOUT_CAUSE:
            error = WorkerDied(f"{job.attempts} attempts, the last: {death.rule}: {death.detail}")
            return Result(job.key, "failed", error=error, attempts=job.attempts)
    else:
        job.argument = revised
    again.append(job)
    return None


def _wait(busy: list[_Worker]) -> None:
    """Sleep until a worker answers or dies, or it is time to look at memory."""
    handles: list[Any] = []
    for worker in busy:
        assert worker.process is not None
        handles += [worker.pipe, worker.process.sentinel]
    multiprocessing.connection.wait(handles, timeout=LOOK_SECONDS)


@dataclass
class _Worker:
    """One child process, replaced when it dies or has grown, and what the supervisor knows of it."""

    guard: pathlib.Path
    function: Callable[[Any], Any]
    limits: WorkerLimits
    preload: Iterable[str]
    process: Any = None
    pipe: Any = None
    job: _Job | None = None
    seen: tuple[int, int, int, bool] = (NOTHING, NOTHING, NOTHING, False)
    since: float = 0.0
    usage: psutil.Process | None = None
    cause: tuple[str, str] | None = field(default=None)

    def begin(self, job: _Job) -> None:
        """Give the worker `job`, starting its process where there is none."""
        if self.process is None:
            self._start()
        job.attempts += 1
        self.job, self.cause, self.since = job, None, time.monotonic()
        with contextlib.suppress(OSError):  # it died idle: `look` finds out and the job is tried again
            self.pipe.send_bytes(pickle.dumps(job.argument))

    def _start(self) -> None:
        guards.create(self.guard)
        context = start_fork_server(self.preload)
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, self.function, str(self.guard), self.limits.cpu_seconds)
        self.process = context.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        with contextlib.suppress(psutil.NoSuchProcess):
            self.usage = psutil.Process(self.process.pid)

    def look(self) -> Result | Death | None:
        """Return the job's result or the worker's death, or None while it works on."""
        if self.pipe.poll():
            try:
                status, value = pickle.loads(self.pipe.recv_bytes())
            except (EOFError, OSError):
                return self._death()
            job = self.end_job(keep=True)
            if self._resident() > self.limits.memory_bytes // 2:
                self.kill()  # parsers leak; a fresh worker costs milliseconds
            if status == "done":
                return Result(job.key, "done", value, attempts=job.attempts)
            return Result(job.key, "failed", error=value, attempts=job.attempts)
        if not self.process.is_alive():
            return self._death()
        self._enforce()
        return None

    def _enforce(self) -> None:
        resident = self._resident()
        seen = guards.look(self.guard)
        if seen != self.seen:
            self.seen, self.since = seen, time.monotonic()
        if resident > self.limits.memory_bytes:
            self.cause = ("memory", f"worker over {self.limits.memory_bytes} bytes of resident memory")
        elif (
            self.limits.wall_seconds and seen[0] != NOTHING and time.monotonic() - self.since > self.limits.wall_seconds
        ):
            self.cause = ("wall_time", f"no progress in {self.limits.wall_seconds:g} s")
        if self.cause is not None:
            self.process.kill()

    def _resident(self) -> int:
        try:
            return self.usage.memory_info().rss if self.usage else 0
        except psutil.Error:
            return 0

    def _death(self) -> Death:
        self.process.join()
        code = self.process.exitcode
        number, stage, offset, batch = guards.look(self.guard)
        rule, detail = self.cause or _cause(code, self.limits)
        return Death(number, stage, offset, batch, rule, detail)

    def end_job(self, *, keep: bool = False) -> _Job:
        """Return the job in work and forget it; the process too, unless `keep`."""
        job = self.job
        assert job is not None
        self.job = None
        if not keep:
            self.kill()
        return job

    def kill(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process.close()
            self.pipe.close()
            self.process = self.usage = None


def _cause(exitcode: int | None, limits: WorkerLimits) -> tuple[str, str]:
    if exitcode == -signal.SIGPROF:
        return "cpu_time", f"over {limits.cpu_seconds:g} s of CPU time"
    if exitcode is not None and exitcode < 0:
        return "crash", f"process killed by {signal.Signals(-exitcode).name}"
    return "crash", f"process ended with exit code {exitcode}"


def start_fork_server(preload: Iterable[str]) -> Any:
    """Return the fork-server context. The server imports `preload` once, single-threaded, while we go on; workers are
    its forks. Called again, it leaves the running server as it is."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pipeline.executor", *preload])
    # the server inherits the environment: one thread per worker, for workers are as many as cores
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return context


_ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def _serve(pipe: Any, function: Callable[[Any], Any], guard_path: str, cpu_seconds: float) -> None:
    """What a worker does: take a task, do it, answer; until the pipe closes."""
    _die_with_supervisor()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor decides what an interrupt means
    guards.guard.watch(guard_path, cpu_seconds)
    with contextlib.suppress(EOFError, OSError):
        while True:
            argument = pickle.loads(pipe.recv_bytes())
            guards.guard.idle()
            try:
                answer = ("done", function(argument))
            except Exception as error:
                if not isinstance(error, UserError):
                    error.add_note("in a worker:\n" + traceback.format_exc())
                answer = ("failed", error)
            guards.guard.idle()
            pipe.send_bytes(_pickled(answer))


def _pickled(answer: tuple[str, Any]) -> bytes:
    """Return `answer` pickled; an exception that cannot be is replaced by one that says the same."""
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)
        return data
    except Exception:
        return pickle.dumps(("failed", RuntimeError(f"{type(answer[1]).__name__}: {answer[1]}")))


def _die_with_supervisor() -> None:
    """End this process as soon as the supervisor is gone, however that ended: a worker that outlived a killed run
    would go on writing beside the next one."""
    supervisor = multiprocessing.parent_process()
    assert supervisor is not None

    def watch() -> None:
        multiprocessing.connection.wait([supervisor.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="supervisor watch", daemon=True).start()
