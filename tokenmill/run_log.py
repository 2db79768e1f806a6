"""The log of a run: lines with times in a file on this machine, or in an object of a bucket that is written anew now and then."""

from __future__ import annotations

import datetime
import pathlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol, TextIO

from pipeline.errors import StorageError
from pipeline.storage import Folder
from tokenmill.terminal import visible

MOST_BYTES = 8 << 20
"""A log that has grown beyond this keeps its latest half when the next run opens it."""
LINES = 20_000
"""Lines of a log in a bucket, at most: the latest."""
OBJECT_SECONDS = 15.0
"""How often a log in a bucket is written."""


class _Sink(Protocol):
    """Where lines go. Raises OSError or StorageError where they cannot be written."""

    def write(self, line: str) -> None: ...
    def close(self) -> None: ...


class RunLog:
    """Lines with the time of each. It is opened when the first line is written, which is after the run has found that the
    folder is its own; where it cannot be written, the run goes on without.

    Args:
        place: a path, or an object as its folder and name; None for no log.
        waits: lines are held back until there is `work`, so that a run that finds everything done leaves no trace.
    """

    def __init__(self, place: pathlib.Path | tuple[Folder, str] | None, *, waits: bool = False):
        self._place = place
        self._sink: _Sink | None = None
        self._lock = threading.Lock()
        self._held: list[str] | None = [] if waits else None

    def work(self) -> None:
        """Something is done that was not: from here on each line is written at once."""
        held, self._held = self._held or [], None
        for line in held:
            self._add(line)

    def write(self, line: str) -> None:
        """Add a line."""
        now = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
        line = f"{now} {visible(line)}\n"
        if self._held is None:
            self._add(line)
        else:
            self._held.append(line)

    def close(self) -> None:
        """No line comes any more, in this run."""
        self._try(lambda sink: sink.close())

    @property
    def is_kept(self) -> bool:
        """Whether lines that are written are to be found anywhere."""
        return self._place is not None

    @property
    def is_open(self) -> bool:
        """Whether a line has been written."""
        return self._sink is not None

    def _add(self, line: str) -> None:
        place = self._place
        if place is not None and self._sink is None:
            try:
                self._sink = _File(place) if isinstance(place, pathlib.Path) else _Object(*place)
            except (OSError, StorageError) as error:
                self._without(error)
        self._try(lambda sink: sink.write(line))

    def _try(self, act: Callable[[_Sink], None]) -> None:
        try:
            if self._sink is not None:
                with self._lock:  # what workers print comes from another thread
                    act(self._sink)
        except (OSError, StorageError) as error:
            self._without(error)

    def _without(self, error: OSError | StorageError) -> None:
        why = f"{self._place}: {error.strerror}" if isinstance(error, OSError) else f"{error}"
        print(f"note: no log is kept: {why}", file=sys.stderr)
        self._place = self._sink = None


class _File:
    """A file on this machine, each line at once."""

    def __init__(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = open(path, "a", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
        if path.stat().st_size > MOST_BYTES:
            latest = path.read_bytes()[-MOST_BYTES // 2 :].partition(b"\n")[2]
            self._file.truncate(0)
            self._file.write(latest.decode("utf-8", "replace"))

    def write(self, line: str) -> None:
        self._file.write(line)

    def close(self) -> None:
        self._file.flush()


class _Object:
    """An object that holds the latest lines, written at most every `OBJECT_SECONDS`, and at the end."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name, self._written, self._new = folder, name, 0.0, False
        self._lines: deque[str] = deque(maxlen=LINES)
        if folder.exists(name):
            self._lines.extend(folder.get(name).decode("utf-8", "replace").splitlines(keepends=True))

    def write(self, line: str) -> None:
        self._lines.append(line)
        self._new = True
        if time.monotonic() - self._written >= OBJECT_SECONDS:
            self.close()

    def close(self) -> None:
        if self._new:
            self._folder.put(self._name, "".join(self._lines).encode("utf-8", "backslashreplace"))
            self._new, self._written = False, time.monotonic()
