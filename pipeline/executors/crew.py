"""The worker processes of one run of tasks: started, watched, held to their limits, replaced."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import psutil

from pipeline.errors import EnvironmentFault
from pipeline.executors.contract import ATTEMPTS, OUTSIDE_ATTEMPTS, Death, Load, WorkerLimits, cause_of
from pipeline.executors.forks import SETTINGS, Forks, Lost, start_fork_server
from pipeline.executors.place import Answer, Place
from pipeline.executors.worker import BROKEN, READY
from pipeline.guard import NOTHING, Board

LOOK_SECONDS = 0.02
"""How often the supervisor looks at memory; what allocates 5 GB/s is caught at 100 MB over the limit."""
LOOK_COUNTS = 10 * LOOK_SECONDS
"""What the time between two looks counts at most: for the rest of it the supervisor itself was stopped."""
GOODBYE_SECONDS = 1.0
"""How long a worker may live that has closed its socket, and all workers after the last task."""
OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
"""Signals that come from others; a process that faults gets other ones."""

Ahead = tuple[Sequence[str], Sequence[Load]]
"""Modules and calls that later rounds of tasks will need."""


@dataclass
class Crew:
    """Places for workers; each is filled when there is a task for it. Use as a context: no worker outlives it."""

    function: Callable[[Any], Any]
    workers: int
    limits: WorkerLimits
    preload: Sequence[str] = ()
    loads: Sequence[Load] = ()
    later: Callable[[], Ahead] = lambda: ((), ())
    forks: Forks | None = None
    looked: bool = False  # memory and progress were looked at in the last `wait`
    _alive: set[int] = field(default_factory=set)
    _stillborn: int = 0

    def want(self, preload: Sequence[str], loads: Sequence[Load]) -> None:
        """Say what workers need for the tasks that follow."""
        self.preload, self.loads = preload, loads
        self._needs: set[Any] = {*preload, *map(pickle.dumps, loads)}

    def __enter__(self) -> Crew:
        self.want(self.preload, self.loads)
        self.places = [Place(slot) for slot in range(self.workers)]
        self._ids = itertools.count(1)
        self._look_at = time.monotonic()
        self._selector = selectors.DefaultSelector()
        return self

    def __exit__(self, *_: object) -> None:
        for place in self.places:
            self._empty(place)
        if self.forks is not None:
            with contextlib.suppress(Lost):
                until = time.monotonic() + GOODBYE_SECONDS
                while self._alive and time.monotonic() < until:
                    self._selector.select(LOOK_SECONDS)
                    self._alive -= {event["died"] for event in self.forks.events() if "died" in event}
            self._leave_server()
        self._selector.close()

    def free(self) -> Iterator[Place]:
        """Yield the places without a job."""
        return (place for place in self.places if place.job is None)

    def busy(self) -> list[Place]:
        """Return the places with a job."""
        return [place for place in self.places if place.job is not None]

    def number(self, place: Place) -> int:
        """Return the document that the worker in `place` is at."""
        return place.seen[0]

    def begin(self, place: Place, job: Any, argument: Any, *, fresh: bool = False) -> None:
        """Give the worker in `place` the `argument`, and start its process where there is none.

        Args:
            fresh: in a process that has done nothing yet.
        Raises:
            EnvironmentFault: no worker can be started.
            Exception: whatever pickling the argument raises; the place stays free.
        """
        self._connect()
        data = self._packed(argument)
        if fresh and place.channel is not None:
            self._empty(place)
        if place.channel is None:
            self._start(place)
        assert place.channel is not None
        place.job, place.end, place.worked, place.waited, place.cpu_seconds = job, None, 0.0, 0.0, 0.0
        self._push(place, data)

    def wait(self, seconds: float) -> list[Place]:
        """Wait for news, at most until the next look, and return the places whose attempt has come to an end."""
        server_spoke = False
        for key, events in self._selector.select(seconds):
            if key.data is None:
                server_spoke = True
                continue
            if events & selectors.EVENT_WRITE and not key.data.channel.flush():
                self._selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
            if events & selectors.EVENT_READ:
                self._hear(key.data)
        if server_spoke:  # behind the workers: an answer given before a death counts
            self._hear_server()
        now = time.monotonic()
        since = now - self._look_at
        self.looked = since >= LOOK_SECONDS
        if self.looked:
            self._look_at = now
            for place in self.places:
                if place.process is not None:
                    self._enforce(place, min(since, LOOK_COUNTS), now)
        return [place for place in self.places if place.end is not None]

    def done(self, place: Place) -> tuple[Any, Answer | Death, float]:
        """Return the job in `place`, how the attempt at it ended and its CPU seconds; the place is free from now on."""
        job, end = place.job, place.end
        assert end is not None
        place.job = place.end = None
        return job, end, place.cpu_seconds

    # the worker's process

    def _connect(self) -> None:
        if self.forks is None:
            self._board = Board(self.workers)
            self._born_with = self._needs
            self.forks = Forks(self._board.fileno(), self.preload, self.loads)
            modules, calls = self.later()
            if modules or calls:
                start_fork_server(modules, calls)
            self._selector.register(self.forks.channel, selectors.EVENT_READ, None)
            shared = {
                "function": self._packed(self.function),
                "cpu_seconds": self.limits.cpu_seconds,
                "wall_seconds": self.limits.wall_seconds,
                "environ": {**os.environ, **SETTINGS},
                "cwd": os.getcwd(),
            }
            self._shared = pickle.dumps(shared)
        elif not self._needs <= self._born_with:
            self._renew()

    def _renew(self) -> None:
        """Let workers that were born without what this round needs go; those that follow have it."""
        assert self.forks is not None
        for place in self.places:
            self._empty(place)
        self._born_with = self._born_with | self._needs
        try:
            self.forks.prepare(self.preload, self.loads)
        except Lost:
            self._lose_server()
            self._connect()

    def _packed(self, value: Any) -> bytes:
        """Return `value` pickled; what lives in a script or notebook, or beside it, travels whole."""
        assert self.forks is not None
        modules = [sys.modules[name] for name in self.forks.by_value if name in sys.modules]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            return bytes(cloudpickle.dumps(value))
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)

    def _start(self, place: Place) -> None:
        assert self.forks is not None
        place.id = next(self._ids)
        self._alive.add(place.id)
        self._board.clear(place.slot)
        try:
            place.channel = self.forks.fork(place.id, place.slot)
        except OSError as error:
            raise self._too_many(error.strerror) from error
        self._selector.register(place.channel, selectors.EVENT_READ, place)
        self._push(place, self._shared)

    def _too_many(self, reason: str | None) -> EnvironmentFault:
        running = sum(place.process is not None for place in self.places)
        return EnvironmentFault(f"no more than {running} of {self.workers} workers can be started here ({reason})")

    def _push(self, place: Place, data: bytes) -> None:
        assert place.channel is not None
        place.channel.push(data)
        if place.channel.flush():
            self._selector.modify(place.channel, selectors.EVENT_READ | selectors.EVENT_WRITE, place)

    def _empty(self, place: Place) -> None:
        """End the process in `place`; the job and the end of its attempt stay."""
        place.kill()
        if place.channel is not None:
            if not place.closed_at:
                self._selector.unregister(place.channel)
            place.channel.close()
        place.id, place.channel, place.process, place.ready, place.cause = 0, None, None, False, None
        place.closed_at = place.reported = 0.0

    def _hear(self, place: Place) -> None:
        """Take what the worker has sent."""
        assert place.channel is not None
        for message in place.channel.pull():
            kind, data, environment, cpu, worn = pickle.loads(message)
            if kind == READY:
                place.ready, self._stillborn = True, 0
            elif kind == BROKEN:
                raise EnvironmentFault(f"workers cannot start: what they are to run cannot be loaded there ({data})")
            else:
                self._answered(place, kind, data, environment, cpu, worn)
                if place.channel is None:
                    return
        if place.channel.closed and not place.closed_at:
            self._selector.unregister(place.channel)
            place.closed_at = time.monotonic()

    def _answered(self, place: Place, kind: str, data: bytes, environment: bool, cpu: float, worn: bool) -> None:
        try:
            value = pickle.loads(data)
        except Exception as error:
            kind, value = "failed", RuntimeError(f"the answer cannot be read: {type(error).__name__}: {error}")
        place.end, place.cpu_seconds = Answer(kind, value, environment, cpu), cpu
        place.reported += cpu
        # parsers leak, and a fault of the environment may be one of the process; a fresh worker costs milliseconds
        if place.cause or environment or worn or place.resident() > self.limits.memory_bytes // 2:
            self._empty(place)

    def _hear_server(self) -> None:
        assert self.forks is not None
        try:
            for event in self.forks.events():
                if "unborn" in event:
                    raise self._too_many(event["reason"])
                place = next((p for p in self.places if p.id == event.get("born", event.get("died"))), None)
                if "died" in event:
                    self._alive.discard(event["died"])
                    if place is not None:
                        self._died(place, os.waitstatus_to_exitcode(event["status"]), event["cpu"])
                elif place is not None:
                    with contextlib.suppress(psutil.Error):
                        place.process = psutil.Process(event["pid"])
        except Lost:
            self._lose_server()

    def _died(self, place: Place, code: int, cpu: float) -> None:
        self._hear(place)  # what it answered before it died
        if place.channel is not None:
            if place.job is not None and place.end is None:
                place.end, place.cpu_seconds = self._death(place, code), max(0.0, cpu - place.reported)
            self._empty(place)

    def _death(self, place: Place, code: int) -> Death:
        outside = place.cause is None and code < 0 and -code in OUTSIDE
        rule, detail = place.cause or cause_of(code, self.limits.cpu_seconds)
        if not place.ready and place.cause is None:
            self._stillborn += 1
            if self._stillborn >= (OUTSIDE_ATTEMPTS if outside else ATTEMPTS):
                raise EnvironmentFault(f"workers cannot start: {self._stillborn} in a row died at once, {detail}")
            outside = True  # before it took the task
        number, stage, offset, batch = self._board.look(place.slot)
        return Death(number, stage, offset, batch, rule, detail, outside)

    def _lose_server(self) -> None:
        """The fork server is gone, and its workers with it: start anew."""
        processes = [place.process for place in self.places if place.process is not None]
        for place in self.places:
            if place.channel is not None:
                self._hear(place)
            if place.channel is not None:
                if place.job is not None and place.end is None:
                    at = self._board.look(place.slot)
                    place.end = Death(*at, "crash", "the process that starts workers was ended", outside=True)
                self._empty(place)
        psutil.wait_procs(processes, timeout=GOODBYE_SECONDS)
        self._leave_server()

    def _leave_server(self) -> None:
        assert self.forks is not None
        self._selector.unregister(self.forks.channel)
        self.forks.close()
        self._board.close()
        self.forks = None
        self._alive.clear()

    def _enforce(self, place: Place, counted: float, now: float) -> None:
        """Kill the worker in `place` if it is over a limit; `counted` seconds have passed since the last look."""
        seen = self._board.look(place.slot)
        if seen != place.seen:
            place.waited, place.burning = 0.0, None
        place.waited += counted
        place.seen = seen
        place.worked += counted
        limits = self.limits
        if place.closed_at and now - place.closed_at > GOODBYE_SECONDS:
            place.kill("crash", "worker closed its connection")
        elif place.job is None or place.cause is not None:
            return
        elif place.resident() > limits.memory_bytes:
            place.kill("memory", f"worker over {limits.memory_bytes} bytes of resident memory")
        elif limits.wall_seconds and seen[0] != NOTHING and place.waited > limits.wall_seconds:
            place.kill("wall_time", f"no progress in {limits.wall_seconds:g} s")
        elif limits.cpu_seconds and seen[0] != NOTHING and place.burns(limits.cpu_seconds):
            place.kill("cpu_time", f"over {limits.cpu_seconds:g} s of CPU time")
        elif limits.task_seconds and place.worked > limits.task_seconds:
            place.kill("task_time", f"no answer in {limits.task_seconds:g} s")


def modules_of(function: Any) -> list[str]:
    """Return the module that `function` comes from, if it has one: imported once for all workers, not in each."""
    while hasattr(function, "func"):  # a partial
        function = function.func
    module = getattr(function, "__module__", None)
    return [module] if module in sys.modules else []
