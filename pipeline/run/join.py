"""Working on a run that another process drives: tasks are claimed one by one, done, and their outcomes left beside them."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pipeline.errors import StorageError, UserError
from pipeline.executors.contract import Executor, Result, Task, WorkerLimits
from pipeline.executors.local import kept_workers
from pipeline.run.folder import read_manifest, read_unfinished
from pipeline.run.handed import Block, Handing, Outcome
from pipeline.run.plan import RunPlan, loads_of, preload_of
from pipeline.run.progress import Progress
from pipeline.run.shared import ALIVE, NOW, QUEUE, Alive, Now, names_in, poll_seconds, read_as
from pipeline.storage import Folder, Held, lease
from pipeline.storage.leases import LEASE_SECONDS
from pipeline.worker.shard import run_shard_task
from pipeline.worker.task import IN_PIECE, ShardTask, revise


def follow(plan: RunPlan, out: Folder, *, workers: int, progress: Progress) -> bool:
    """Work on the run of `plan` in `out` that another process drives, until that ends.

    Returns:
        Whether the run is finished; else its driver has died, and somebody must take its place.

    Raises:
        UserError: the run has failed; or this machine has other code, recipe or inputs than the one that drives.
        EnvironmentFault, StorageError: something is wrong with this machine. What it had claimed is free for others.
    """
    progress.note("another process drives this run: its shards are worked on here too")
    stages, finished = plan.recipe.stages, None
    joiner = _Joiner(plan, out)
    while finished is None:
        with (
            kept_workers(workers, lambda: (preload_of(stages), loads_of(stages))) as executor,
            contextlib.suppress(_Lost),
        ):
            while (finished := _ended(out)) is None:
                joiner.work(executor)
    progress.note(f"{joiner.done:,} shards were made here")
    return finished


class _Lost(Exception):
    """This process was taken for dead: what it has in work is another's now, and its workers begin anew."""


@dataclass
class _Joiner:
    plan: RunPlan
    out: Folder
    done: int = 0

    def __post_init__(self) -> None:
        self.handing, self.queue = Handing(self.plan, self.out), self.out / QUEUE
        self.identity = self.handing.identity()

    def work(self, executor: Executor) -> None:
        """Do what there is to do, until there has been nothing for a while."""
        pause = poll_seconds(self.out)
        until = time.monotonic() + min(LEASE_SECONDS / 4, 5 * pause)
        while time.monotonic() < until:
            now = read_as(self.queue, NOW, Now)
            if now is not None and now.identity != self.identity:
                raise UserError(
                    f"the run in {self.out.url} is of another recipe, other inputs or another version of tokenmill than "
                    "here; give the same command on every machine"
                )
            done = 0 if now is None else self._round(now.folder, executor)
            if done:
                self.done, until = self.done + done, time.monotonic() + min(LEASE_SECONDS / 4, 5 * pause)
            else:
                time.sleep(pause)

    def _round(self, name: str, executor: Executor) -> int:
        with _member(self.queue) as member:
            return _Work(self.handing, self.queue / name, member, self.plan).carry_out(executor)


def _ended(out: Folder) -> bool | None:
    """Return whether the run is finished, or its driver dead; None where it goes on."""
    try:
        with lease(out):
            unfinished = read_unfinished(out)
            failed = unfinished is not None and unfinished.state == "failed"
            finished = unfinished is None and read_manifest(out) is not None
            if failed or finished:
                out.remove_tree(QUEUE)  # what came when its driver had gone: of shards that were in work
            if unfinished is not None and failed:
                raise UserError(f"the run in {out.url} has ended: {unfinished.error}")
            return finished
    except Held:
        return None


@dataclass
class _Member:
    """This process among those that work on a run; `lost` is set where it was taken for dead."""

    queue: Folder
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    working: Mapping[Any, int] = field(default_factory=dict)
    lost: threading.Event = field(default_factory=threading.Event)
    end: threading.Event = field(default_factory=threading.Event)

    def show(self, beat: int) -> None:
        """Show a sign of life."""
        working = {
            str(key): (getattr(s, "since", 0.0), s & IN_PIECE if s >= 0 else -1) for key, s in self.working.items()
        }
        told = Alive(beat, socket.gethostname(), os.getpid(), working)
        self.queue.put(f"{ALIVE}/{self.name}", msgspec.json.encode(told))

    def keep_showing(self) -> None:
        """Show a sign of life four times in `LEASE_SECONDS`, until the end, or until somebody has struck this one off."""
        beat, last = 1, time.monotonic()
        while not self.end.wait(LEASE_SECONDS / 4):
            try:
                if not self.queue.exists(f"{ALIVE}/{self.name}"):
                    break
                self.show(beat)
                beat, last = beat + 1, time.monotonic()
            except StorageError:
                if time.monotonic() - last > LEASE_SECONDS:
                    break
        if not self.end.is_set():
            self.lost.set()


@contextlib.contextmanager
def _member(queue: Folder) -> Iterator[_Member]:
    member = _Member(queue)
    member.show(0)
    thread = threading.Thread(target=member.keep_showing, name="sign of life", daemon=True)
    thread.start()
    try:
        yield member
    finally:
        member.end.set()
        thread.join()
        with contextlib.suppress(StorageError):
            queue.delete(f"{ALIVE}/{member.name}")


class _Work:
    """The tasks of one round that this process can have."""

    def __init__(self, handing: Handing, folder: Folder, member: _Member, plan: RunPlan) -> None:
        self._handing, self._folder, self._member, self._plan = handing, folder, member, plan
        self._blocks: dict[str, dict[str, ShardTask]] = {}
        self._open: list[tuple[str, str]] = []
        self._claims: dict[Any, str] = {}

    def carry_out(self, executor: Executor) -> int:
        """Do tasks as long as there are any that nobody has claimed; return how many."""
        limits, stages = self._plan.recipe.limits, self._plan.recipe.stages
        results = executor(
            run_shard_task,
            self._claimed(),
            workers=0,
            limits=WorkerLimits(limits.cpu_seconds, limits.wall_seconds, limits.memory_bytes),
            revise=revise,
            on_look=self._look,
            preload=preload_of(stages),
            loads=loads_of(stages),
        )
        done = 0
        try:
            with contextlib.closing(results):  # type: ignore[type-var]
                for result in results:
                    self._leave(result)
                    done += 1
        except _Lost:
            raise
        except BaseException:
            for claim in self._claims.values():  # others need not wait until this one counts as dead
                with contextlib.suppress(StorageError):
                    self._folder.delete(f"claims/{claim}")
            raise
        return done

    def _look(self, at: Mapping[Any, int]) -> None:
        self._member.working = dict(at)
        if self._member.lost.is_set():
            raise _Lost

    def _claimed(self) -> Iterator[Task]:
        while (found := self._next()) is not None:
            block, key = found
            if self._member.lost.is_set():
                raise _Lost
            if self._folder.create(f"claims/{block}/{key}", self._member.name.encode()):
                self._claims[key] = f"{block}/{key}"
                yield key, self._blocks[block][key]

    def _next(self) -> tuple[str, str] | None:
        """Return block and key of a task that nobody had claimed when that was looked at last."""
        if not self._open:
            self._open = self._unclaimed()
        return self._open.pop() if self._open else None

    def _unclaimed(self) -> list[tuple[str, str]]:
        names = names_in(self._folder, "blocks")
        self._blocks = {name: tasks for name, tasks in self._blocks.items() if name in names}
        random.shuffle(names)  # so that not all who have joined reach for the same one
        for name in names:
            if name not in self._blocks:
                block = read_as(self._folder, f"blocks/{name}", Block)
                if block is None:
                    continue
                self._blocks[name] = self._handing.tasks(block)
            claims = set(names_in(self._folder, f"claims/{name}"))
            if found := [(name, key) for key in self._blocks[name] if key not in claims]:
                random.shuffle(found)
                return found
        return []

    def _leave(self, result: Result) -> None:
        """Leave the outcome of a task; what is wrong with this machine ends its part, not the run."""
        if result.error is not None and result.environment:
            raise result.error
        error = "" if result.error is None else str(result.error) or type(result.error).__name__
        made = result.value if result.error is None else None
        outcome = Outcome(made, error, result.attempts, result.cpu_seconds)
        self._folder.put(f"done/{self._claims.pop(result.key)}", msgspec.json.encode(outcome))
