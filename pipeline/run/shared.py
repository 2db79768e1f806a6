"""Passes whose tasks are worked on by several processes that share nothing but the run folder: the one that drives.

It writes tasks into ``queue/`` of the run folder, block by block, and works on them itself. Whoever has joined
(`join.py`) does too. A task belongs to the one who created its claim; its outcome is a file beside it. Who joins shows a
sign of life; where that stays away for `LEASE_SECONDS`, its claims are taken from it. Decisions and publication are
made by the process that drives alone.

    queue/now.json                      the round under way, and for which code, recipe and inputs
    queue/alive/ID                      a process that has joined: its sign of life, and its tasks in work
    queue/ROUND/blocks/N                tasks, as `handed.Block`
    queue/ROUND/claims/N/KEY            who works on it
    queue/ROUND/done/N/KEY              how it ended, as `handed.Outcome`
"""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pipeline.errors import StorageError, UserError
from pipeline.executors.contract import Executor, Result, Spot, Task
from pipeline.run.handed import Handing, Outcome
from pipeline.run.plan import RunPlan
from pipeline.storage import Folder, Missing
from pipeline.storage.leases import LEASE_SECONDS
from pipeline.worker.task import ShardTask

QUEUE, NOW, ALIVE = "queue", "now.json", "alive"
FIRST_BLOCK, MOST_BLOCK = 16, 1024
"""Tasks of the first block, and of a block at most: each is twice as large as the one before."""


def poll_seconds(folder: Folder) -> float:
    """Return how often to look for news in `folder`."""
    return 0.3 if folder.path() is not None else 3.0


class Now(msgspec.Struct):
    """The round under way."""

    folder: str
    identity: str


class Alive(msgspec.Struct):
    """A sign of life: a number that grows, and (since when, document) by the key of each task in work."""

    beat: int
    host: str
    process: int
    working: dict[str, tuple[float, int]]


def read_as(folder: Folder, name: str, kind: Any) -> Any:
    """Return file `name` as a `kind`; None where it is gone, or torn."""
    try:
        return msgspec.json.decode(folder.get(name), type=kind)
    except (Missing, msgspec.DecodeError):
        return None


def names_in(folder: Folder, place: str) -> list[str]:
    """Return the names of the files in folder `place` of `folder`."""
    return [name.rsplit("/", 1)[-1] for name in folder.names(place)]


class Sharing:
    """A run whose passes are shared; its queue is gone when the block ends."""

    def __init__(self, plan: RunPlan, out: Folder) -> None:
        self.out, self.queue = out, out / QUEUE
        self.identity = Handing(plan, out).identity()
        self.me = uuid.uuid4().hex
        self.alive: dict[str, tuple[Alive, float]] = {}
        self._looked = 0.0

    def __enter__(self) -> Sharing:
        return self

    def __exit__(self, *raised: object) -> None:
        with contextlib.suppress(StorageError):
            self.queue.delete(NOW)
            self.queue.remove_tree("")

    def round(self, plan: RunPlan, number: int, local: Executor) -> Executor:
        """Return an executor that does tasks of pass `number` on `local`, and by whoever has joined."""

        def run(
            function: Callable[[Any], Any],
            tasks: Iterable[Task],
            *,
            on_look: Callable[[Mapping[Any, int]], None] | None = None,
            **how: Any,
        ) -> Iterator[Result]:
            shared = _Round(self, Handing(plan, self.out), number, iter(tasks))

            def look(at: Mapping[Any, int]) -> None:
                shared.poll()
                if on_look is not None:
                    on_look({**at, **shared.elsewhere()})

            while not shared.is_over:
                for result in local(function, shared.mine(), on_look=look, **how):
                    shared.settle(result.key)
                    yield result
                    yield from shared.news()
                yield from shared.news()
                if not shared.is_over:
                    time.sleep(poll_seconds(self.queue) / 2)
                    look({})
            shared.close()

        return run

    def look(self) -> bool:
        """See who is alive, four times in `LEASE_SECONDS`; return whether it was time. Who shows no sign for so long is
        struck off, by this machine's clock alone."""
        now = time.monotonic()
        if now - self._looked < LEASE_SECONDS / 4:
            return False
        self._looked = now
        found = {}
        for name in names_in(self.queue, ALIVE):
            told = read_as(self.queue, f"{ALIVE}/{name}", Alive)
            if told is None:
                continue
            before, seen = self.alive.get(name, (None, now))
            seen = now if before is None or before.beat != told.beat else seen
            if now - seen > LEASE_SECONDS:
                self.queue.delete(f"{ALIVE}/{name}")
            else:
                found[name] = told, seen
        self.alive = found
        return True


@dataclass
class _Handed:
    """A block of tasks, as the process that drives sees it."""

    name: str
    tasks: dict[str, ShardTask]
    open: deque[str]
    mine: set[str] = field(default_factory=set)
    theirs: set[str] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        return not (self.open or self.mine or self.theirs)


class _Round:
    """The tasks of one pass, on their way."""

    def __init__(self, sharing: Sharing, handing: Handing, number: int, tasks: Iterator[Task]) -> None:
        self._sharing, self._handing, self._number, self._tasks = sharing, handing, number, tasks
        self._blocks: dict[str, _Handed] = {}
        self._block_of: dict[Any, _Handed] = {}
        self._ready: deque[Result] = deque()
        self._polled, self._made, self._exhausted = 0.0, 0, False
        self._unseen: set[str] = set()
        self._folder: Folder | None = None

    @property
    def is_over(self) -> bool:
        """Whether every task has ended and been told of."""
        return self._exhausted and not self._blocks and not self._ready

    def close(self) -> None:
        """Take the round away."""
        if self._folder is not None:
            self._sharing.queue.delete(NOW)
            self._folder.remove_tree("")

    def mine(self) -> Iterator[Task]:
        """Yield tasks that this process has claimed, as long as there are any that nobody has."""
        while True:
            self._hand_out()
            block = next((block for block in self._blocks.values() if block.open), None)
            if block is None:
                return
            key = block.open.popleft()
            if self._where().create(f"claims/{block.name}/{key}", self._sharing.me.encode()):
                block.mine.add(key)
                yield key, block.tasks[key]
            else:
                block.theirs.add(key)

    def settle(self, key: Any) -> None:
        """Take note that a task has ended."""
        block = self._block_of.pop(key)
        block.mine.discard(key)
        block.theirs.discard(key)
        if block.is_over:
            del self._blocks[block.name]
            self._where().delete(f"blocks/{block.name}")

    def news(self) -> Iterator[Result]:
        """Yield results that came from elsewhere."""
        while self._ready:
            yield self._ready.popleft()

    def elsewhere(self) -> dict[Any, int]:
        """Return where tasks are that others work on, as they told last."""
        return {
            key: Spot(document, told.host, since)
            for told, _ in self._sharing.alive.values()
            for key, (since, document) in told.working.items()
            if key in self._block_of
        }

    def poll(self) -> None:
        """See what others have claimed and done, and take tasks from those that are dead."""
        now = time.monotonic()
        if now - self._polled < poll_seconds(self._sharing.queue):
            return
        self._polled = now
        self._hand_out()
        for block in list(self._blocks.values()):
            if block.open:
                claims = set(names_in(self._where(), f"claims/{block.name}"))
                block.theirs |= claims.intersection(block.open)
                block.open = deque(key for key in block.open if key not in claims)
            if block.theirs:
                for key in names_in(self._where(), f"done/{block.name}"):
                    self._take(block, key)
        if self._sharing.look():
            self._bury()

    def _take(self, block: _Handed, key: str) -> None:
        outcome = read_as(self._where(), f"done/{block.name}/{key}", Outcome) if key in block.theirs else None
        if outcome is None:
            return
        self.settle(key)
        about: dict[str, Any] = {"attempts": outcome.attempts, "cpu_seconds": outcome.cpu_seconds}
        if outcome.made is None:
            self._ready.append(Result(key, "failed", error=UserError(outcome.error), **about))
        else:
            self._ready.append(Result(key, "done", outcome.made, **about))

    def _bury(self) -> None:
        """Take back claims whose owner is gone, of tasks that nobody alive has told of twice in a row."""
        told = {key for alive, _ in self._sharing.alive.values() for key in alive.working}
        unseen = {key for block in self._blocks.values() for key in block.theirs if key not in told}
        for key in unseen & self._unseen:
            block = self._block_of[key]
            name = f"claims/{block.name}/{key}"
            try:
                owner = self._where().get(name).decode("utf-8", "replace")
            except Missing:
                owner = ""
            if owner not in self._sharing.alive:
                self._where().delete(name)
                block.theirs.discard(key)
                block.open.append(key)
        self._unseen = unseen

    def _hand_out(self) -> None:
        """Write the next block where fewer tasks are open than it holds."""
        size = min(MOST_BLOCK, FIRST_BLOCK << self._made)
        if self._exhausted or sum(len(block.open) for block in self._blocks.values()) >= size:
            return
        tasks = list(itertools.islice(self._tasks, size))
        self._exhausted = len(tasks) < size
        if not tasks:
            return
        data = self._handing.block(self._number, tasks)
        if self._folder is None:
            self._begin()
        name = f"{self._made:05d}"
        block = _Handed(name, dict(tasks), deque(key for key, _ in tasks))
        self._where().put(f"blocks/{name}", msgspec.json.encode(data))
        self._made += 1
        self._blocks[name] = block
        self._block_of.update((key, block) for key, _ in tasks)

    def _begin(self) -> None:
        """Take the place of whatever round a dead process has driven."""
        name = f"{self._number:02d}-{uuid.uuid4().hex}"
        self._folder = self._sharing.queue / name
        for other in self._sharing.queue.children():
            if other != ALIVE:
                self._sharing.queue.remove_tree(other)
        self._sharing.queue.put(NOW, msgspec.json.encode(Now(name, self._sharing.identity)))

    def _where(self) -> Folder:
        assert self._folder is not None
        return self._folder
