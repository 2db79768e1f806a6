"""Files of a folder on this machine. A file appears whole or not at all, and written data survives a power cut.

A file is written under another name beside its place, ``NAME#0``, that nobody is shown, and renamed when it is whole and
on the disk. Its writer holds a lock on it, so that what a dead writer has left is told from what a living one is at.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

FSYNC = os.environ.get("TOKENMILL_FSYNC", "1") != "0"
"""Wait until data is on the disk before a name stands for it; ``TOKENMILL_FSYNC=0`` leaves that to the system."""

UNFINISHED = re.compile(r"#\d+$")


class _Writes(threading.local):
    """Files and folders of this thread that are still to be synced; None where each is at once."""

    waiting: list[pathlib.Path] | None = None


_writes = _Writes()


@contextlib.contextmanager
def synced_together() -> Iterator[None]:
    """Sync what is written in the block at its end, each file and each folder once: a file system writes its journal for
    the first, and the others are in it. Until then a name may stand for data that a power cut would take away, so what
    makes these files count is written behind the block."""
    if _writes.waiting is not None:
        yield
        return
    waiting: list[pathlib.Path] = []
    _writes.waiting = waiting
    try:
        yield
    finally:
        _writes.waiting = None
    files = [path for path in dict.fromkeys(waiting) if path.is_file()]
    for path in [*files, *(path for path in dict.fromkeys(waiting) if path.is_dir())]:
        _sync(path)


@contextlib.contextmanager
def unsynced() -> Iterator[None]:
    """Leave to the system when what is written in the block comes to the disk: nothing is lost with it but time."""
    before, _writes.waiting = _writes.waiting, []
    try:
        yield
    finally:
        _writes.waiting = before


@dataclass(frozen=True)
class Head:
    """What storage knows of a file without reading it.

    Attributes:
        size: bytes.
        modified: nanoseconds since 1970.
        tag: what changes with the content, where storage keeps such a thing (ETag).
    """

    size: int
    modified: int
    tag: str | None = None


@dataclass(frozen=True)
class LocalFiles:
    """The files below `root`."""

    root: pathlib.Path

    @contextlib.contextmanager
    def writing(self, name: str, *, create: bool = False) -> Iterator[BinaryIO]:
        """Yield a file that becomes `name` when the block ends well; otherwise nothing is left of it."""
        path = self.root / name
        _make(path.parent)
        staged, file = _staged(path)
        with file:  # and with it the lock
            try:
                yield file
                file.flush()
                if FSYNC and _writes.waiting is None:
                    os.fsync(file.fileno())
                (_appear if create else os.replace)(staged, path)
            except BaseException:
                staged.unlink(missing_ok=True)
                raise
        if FSYNC and _writes.waiting is not None:
            _writes.waiting.append(path)
        _sync_folder(path.parent)

    def put(self, name: str, data: bytes, *, create: bool = False) -> None:
        """Write `data` as file `name`. Raises FileExistsError where it is there and `create` is set."""
        with self.writing(name, create=create) as file:
            file.write(data)

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return `length` bytes from `start` for each (start, length)."""
        with open(self.root / name, "rb", buffering=0) as file:
            return [os.pread(file.fileno(), length, start) for start, length in ranges]

    def get(self, name: str) -> bytes:
        """Return the content of file `name`."""
        return (self.root / name).read_bytes()

    def head(self, name: str) -> Head:
        """Return size and time of change of file `name`. Raises FileNotFoundError also where it is a folder."""
        found = (self.root / name).stat()
        if not os.path.isfile(self.root / name):
            raise FileNotFoundError(name)
        return Head(found.st_size, found.st_mtime_ns)

    def names(self, prefix: str) -> Iterator[str]:
        """Yield all files below `prefix`, unfinished ones too."""
        folders = [prefix.strip("/")]
        while folders:
            folder = folders.pop()
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.root / folder) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if _is_folder(entry):
                        folders.append(name)
                    else:
                        yield name

    def heads(self) -> Iterator[Head]:
        """Yield size and time of change of all files."""
        for name in self.names(""):
            with contextlib.suppress(FileNotFoundError):
                yield self.head(name)

    def children(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly below `prefix`."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root / prefix) as entries:
            yield from (entry.name for entry in entries if _is_folder(entry))

    def delete(self, name: str) -> None:
        """Delete file `name` if it is there."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            (self.root / name).unlink()

    def remove_tree(self, name: str) -> None:
        """Delete folder `name` and all that is in it; of a link, the link."""
        path = self.root / name
        if path.is_symlink():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)

    def copy(self, source: LocalFiles, name: str, new_name: str) -> None:
        """Copy a file of `source` to `new_name` here: blocks are shared where the file system can, never the file."""
        with open(source.root / name, "rb") as theirs, self.writing(new_name) as ours:
            try:
                while os.copy_file_range(theirs.fileno(), ours.fileno(), 1 << 30):
                    pass
            except (OSError, AttributeError):  # between file systems, or not on Linux
                theirs.seek(0)
                ours.seek(0)
                shutil.copyfileobj(theirs, ours, 1 << 20)

    def link(self, name: str, to: str) -> None:
        """Make file `name` appear as `to` too: one payload under two names, or a copy where there are no hard links."""
        _make((self.root / to).parent)
        (self.root / to).unlink(missing_ok=True)
        try:
            os.link(self.root / name, self.root / to)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV):
                raise
            self.copy(self, name, to)
        _sync_folder((self.root / to).parent)

    def move(self, name: str, to: str) -> None:
        """Rename file `name` to `to`, in place of what is there."""
        _make((self.root / to).parent)
        os.replace(self.root / name, self.root / to)
        _sync_folder((self.root / to).parent)

    def open(self, name: str, ahead: int) -> BinaryIO:
        """Return file `name` as a binary file."""
        return open(self.root / name, "rb")

    def sweep(self) -> list[str]:
        """Delete the unfinished files of writers that are dead, and return their names."""
        unfinished = [name for name in self.names("") if UNFINISHED.search(name)]
        return [name for name in unfinished if _removed_if_dead(self.root / name)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether `entry` is a folder, or a link to one; a link that leads nowhere is a file."""
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _appear(staged: pathlib.Path, path: pathlib.Path) -> None:
    """Rename `staged` to `path`. Raises FileExistsError where that is there."""
    try:
        os.link(staged, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if path.exists():  # a file system without hard links: as good as can be
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        os.replace(staged, path)
    else:
        staged.unlink()


def _staged(path: pathlib.Path) -> tuple[pathlib.Path, Any]:
    """Return a file beside `path` to write to, locked. What a dead writer left there is removed."""
    number = 0
    while True:
        staged = path.with_name(f"{path.name}#{number}")
        try:
            descriptor = os.open(staged, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            number += not _removed_if_dead(staged)
            continue
        if _locked(descriptor, staged):
            return staged, os.fdopen(descriptor, "r+b")
        os.close(descriptor)


def _locked(descriptor: int, path: pathlib.Path) -> bool:
    """Lock an open file; return whether `path` is still its name, for somebody may have taken it for a dead writer's."""
    with contextlib.suppress(OSError):  # a file system without locks: only `sweep` goes without
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        return os.stat(path).st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _removed_if_dead(path: pathlib.Path) -> bool:
    """Delete the unfinished file `path` unless somebody holds it; return whether it is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino == os.fstat(descriptor).st_ino:  # else it was renamed: it is a finished file now
            os.unlink(path)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _make(folder: pathlib.Path) -> None:
    """Make `folder` and those above it that are missing, so that they survive a power cut."""
    if folder.is_dir():
        return
    _make(folder.parent)
    with contextlib.suppress(FileExistsError):  # somebody else has just made it, or it is a file, which shows next
        folder.mkdir()
    _sync_folder(folder.parent)


def _sync_folder(folder: pathlib.Path) -> None:
    if FSYNC and _writes.waiting is not None:
        _writes.waiting.append(folder)
    elif FSYNC:
        _sync(folder)


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
