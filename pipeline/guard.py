"""What a worker is doing right now, where its supervisor can see it even after the worker is dead.

The worker writes the number of the document in work, and the stage, into a slot of a small shared map, and arms a
CPU timer whose default action kills the process even inside C code. Sleeping and waiting for a busy
machine do not count, so which documents fail does not depend on load.

The limit holds for a document, not for a stage: stages take a batch one after the other, so a document's number
comes back in each of them, and what it has used already is subtracted from the time that the timer is armed with.
A batch handed to one kernel is nobody's time: it has a limit of its own, and is taken apart where it exceeds that.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pathlib
import signal
import struct
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

# document number, stage index, offset in the input or documents in the part, batch (1) or single document (0)
_SLOT = struct.Struct("@qqqq")
_STRIDE = 64  # a cache line each: workers do not slow each other
NOTHING = -1
_LEAST_SECONDS = 0.001  # a timer of zero would be none; a document whose time is spent ends at the next clock tick


class _Guard:
    """The one guard of this process: a no-op until `watch` gives it a map."""

    def __init__(self) -> None:
        self.map: mmap.mmap | None = None
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0  # without progress; held to by whoever looks from outside, for forks of ours by us
        self.stage = NOTHING
        self._at = 0
        self._held = False
        self._used: dict[int, float] = {}  # CPU seconds by document; those too quick for the clock are not in it
        self._number = NOTHING  # the document whose time runs, NOTHING for a batch
        self._armed = 0.0

    def __reduce__(self) -> str:
        return "guard"  # a function that travels with a task finds the guard of the process it arrives in

    def watch(self, file: int | str | pathlib.Path, cpu_seconds: float, slot: int = 0) -> None:
        """Write to `slot` of a `Board` from now on; limit each document to `cpu_seconds` (0: no limit).

        Args:
            file: the board's file descriptor, which stays open, or its path.
        """
        with open(file, "r+b", buffering=0, closefd=not isinstance(file, int)) as opened:
            self.map = mmap.mmap(opened.fileno(), 0)
        self._at = slot * _STRIDE
        self.cpu_seconds = cpu_seconds
        self.begin_task()

    @property
    def is_watched(self) -> bool:
        """Whether a supervisor looks at this process."""
        return self.map is not None

    def begin_task(self) -> None:
        """Forget all documents: numbers mean others from now on."""
        self.idle()
        self.stage = NOTHING
        self._used.clear()

    def begin_batch(self, numbers: Iterable[int]) -> None:
        """Say which documents go through the stages next; what other documents have used is forgotten.

        What reading them has cost is kept: it counts towards their limit.
        """
        self._settle()
        if self._used:
            self._used = {number: self._used[number] for number in numbers if number in self._used}

    def working_on(self, number: int, offset: int = NOTHING, *, batch: bool = False) -> None:
        """Say that document `number` (or, with `batch`, the batch that begins with it) is in work now."""
        if self.map is None or self._held:
            return
        _SLOT.pack_into(self.map, self._at, number, self.stage, offset, batch)
        if self.cpu_seconds:
            self._arm(NOTHING if batch else number)

    @contextlib.contextmanager
    def holding(self, number: int, offset: int = NOTHING, *, batch: bool = False) -> Iterator[None]:
        """Say `working_on` for the whole block; what is called inside cannot say otherwise."""
        self.working_on(number, offset, batch=batch)
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def idle(self) -> None:
        """Say that no document is in work, and disarm the timer."""
        if self.map is not None:
            _SLOT.pack_into(self.map, self._at, NOTHING, NOTHING, NOTHING, 0)
            self._settle()

    def seen(self) -> tuple[int, int, int, bool]:
        """Return what is written in our slot, also by a fork of this process: as `Board.look`."""
        if self.map is None:
            return NOTHING, NOTHING, NOTHING, True
        number, stage, offset, batch = _SLOT.unpack_from(self.map, self._at)
        return number, stage, offset, bool(batch)

    def pause(self) -> None:
        """Disarm the timer; what is in work stays written, for a fork of this process goes on with it."""
        if self.map is not None:
            self._settle()

    def spent(self) -> dict[int, float]:
        """Return the CPU seconds that each document of this batch has used so far."""
        self.pause()
        return dict(self._used)

    def resume(self, spent: dict[int, float]) -> None:
        """Take over what a fork of this process has counted."""
        self._used.update(spent)

    def used(self, number: int) -> float:
        """Return the CPU seconds that document `number` has used in this batch, in whole ticks of the kernel's clock."""
        return self._used.get(number, 0.0)

    def _arm(self, number: int) -> None:
        """Let the time of document `number` run, and write down what the one before it has used."""
        seconds = self.cpu_seconds
        if self._used and number in self._used:
            seconds = max(seconds - self._used[number], _LEAST_SECONDS)
        left = signal.setitimer(signal.ITIMER_PROF, seconds)[0]
        before = self._number
        if before != NOTHING and left < self._armed:
            self._used[before] = self._used.get(before, 0.0) + self._armed - left
            if before == number:  # the same document goes on: its timer was armed without what it has just used
                seconds = max(self.cpu_seconds - self._used[before], _LEAST_SECONDS)
                signal.setitimer(signal.ITIMER_PROF, seconds)
        self._number, self._armed = number, seconds

    def _settle(self) -> None:
        """Disarm the timer and write down what the document in work has used."""
        left = signal.setitimer(signal.ITIMER_PROF, 0)[0]
        if self._number != NOTHING and left < self._armed:
            self._used[self._number] = self._used.get(self._number, 0.0) + self._armed - left
        self._number, self._armed = NOTHING, 0.0


guard = _Guard()


def _nameless_file() -> Any:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("tokenmill-board"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


class Board:
    """The slots of several workers in one shared map without a name: nothing is left of it, however a run ends."""

    def __init__(self, slots: int) -> None:
        size = slots * _STRIDE
        self._file: Any = _nameless_file()
        self._file.truncate(size)
        self._map = mmap.mmap(self._file.fileno(), size)
        for slot in range(slots):
            self.clear(slot)

    def fileno(self) -> int:
        """Return the file descriptor for `guard.watch`."""
        return int(self._file.fileno())

    def clear(self, slot: int) -> None:
        """Say that nothing is in work in `slot`."""
        _SLOT.pack_into(self._map, slot * _STRIDE, NOTHING, NOTHING, NOTHING, 0)

    def look(self, slot: int) -> tuple[int, int, int, bool]:
        """Return (document number, stage index, offset, is a batch) as last written by the worker that has `slot`."""
        number, stage, offset, batch = _SLOT.unpack_from(self._map, slot * _STRIDE)
        return number, stage, offset, bool(batch)

    def close(self) -> None:
        """Unmap it."""
        self._map.close()
        self._file.close()
