"""What a worker is doing right now, where its supervisor can see it even after the worker is dead.

The worker writes the number of the document in work, and the stage, into a small shared map, and arms a
CPU timer whose default action kills the process even inside C code. Sleeping and waiting for a busy
machine do not count, so which documents fail does not depend on load.
"""

from __future__ import annotations

import contextlib
import mmap
import pathlib
import signal
import struct
from collections.abc import Iterator

_SLOT = struct.Struct("<qqqq")  # document number, stage index, offset in the input, batch (1) or single document (0)
NOTHING = -1


class _Guard:
    """The one guard of this process: a no-op until `watch` gives it a map."""

    def __init__(self) -> None:
        self.map: mmap.mmap | None = None
        self.cpu_seconds = 0.0
        self.stage = NOTHING
        self._held = False

    def watch(self, path: str | pathlib.Path, cpu_seconds: float) -> None:
        """Write to the file `path` from now on; limit each document to `cpu_seconds` (0: no limit)."""
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), _SLOT.size)
        self.cpu_seconds = cpu_seconds

    def working_on(self, number: int, offset: int = NOTHING, *, batch: bool = False) -> None:
        """Say that document `number` (or, with `batch`, the batch that begins with it) is in work now."""
        if self.map is None or self._held:
            return
        _SLOT.pack_into(self.map, 0, number, self.stage, offset, batch)
        if self.cpu_seconds:
            signal.setitimer(signal.ITIMER_PROF, self.cpu_seconds)

    @contextlib.contextmanager
    def holding(self, number: int, *, batch: bool = False) -> Iterator[None]:
        """Say `working_on` for the whole block; what is called inside cannot say otherwise."""
        self.working_on(number, batch=batch)
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def idle(self) -> None:
        """Say that no document is in work, and disarm the timer."""
        if self.map is not None:
            _SLOT.pack_into(self.map, 0, NOTHING, NOTHING, NOTHING, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)


guard = _Guard()


def create(path: str | pathlib.Path) -> None:
    """Make the file that `guard.watch` maps, saying that nothing is in work."""
    pathlib.Path(path).write_bytes(_SLOT.pack(NOTHING, NOTHING, NOTHING, 0))


def look(path: str | pathlib.Path) -> tuple[int, int, int, bool]:
    """Return (document number, stage index, offset, is a batch) as last written by the worker that maps `path`."""
    number, stage, offset, batch = _SLOT.unpack(pathlib.Path(path).read_bytes()[: _SLOT.size])
    return number, stage, offset, bool(batch)
