"""Holding a folder, so that two runs do not write to it at once.

On this machine it is a lock on the folder itself, which the kernel lets go of when its holder ends, however it does.
In an object store it is a small object, created on condition, renewed by a thread, and free for others when it has not
been renewed for `LEASE_SECONDS`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.errors import StorageError, UserError
from pipeline.storage.folder import LEASE, Folder, files_of
from pipeline.storage.local import LocalFiles
from pipeline.storage.objects import Changed, Objects, hastily

LEASE_SECONDS = float(os.environ.get("TOKENMILL_LEASE_SECONDS", "60"))
"""After so long without a sign of life a lease in an object store is free. Clocks may differ by a quarter of it."""


class Held(UserError):
    """Another run holds the folder."""


@dataclass
class Lease:
    """A folder held; `check` before what nobody else may do."""

    folder: Folder
    lost: str = ""
    _end: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise StorageError where the lease was lost: no sign of life came through, and another run has the folder."""
        if self.lost:
            raise StorageError(
                f"{self.folder.url} is no longer ours ({self.lost}); run again when the other run is done"
            )


@contextlib.contextmanager
def lease(folder: Folder) -> Iterator[Lease]:
    """Hold `folder` for the block, made where it is missing. Raises `Held` where another run holds it."""
    files = files_of(folder.url)
    with _locked(folder, files) if isinstance(files, LocalFiles) else _leased(folder, files) as held:
        yield held


@contextlib.contextmanager
def _locked(folder: Folder, files: LocalFiles) -> Iterator[Lease]:
    try:
        files.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(files.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StorageError(f"cannot write to {folder.url} ({error.strerror}); choose another --out") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Held(f"another run is writing to {folder.url}; wait for it, or choose another --out") from error
        except OSError as error:
            raise StorageError(
                f"{folder.url} cannot be locked ({error.strerror}), so that two runs could write there; name a folder on another "
                "file system, or a bucket"
            ) from error
        yield Lease(folder)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _leased(folder: Folder, files: Objects) -> Iterator[Lease]:
    held = Lease(folder)
    content = {"owner": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid()}
    with hastily():
        tag = _acquire(folder, files, content)
    thread = threading.Thread(target=_renew, args=(held, files, content, tag), name="lease", daemon=True)
    thread.start()
    try:
        yield held
    finally:
        held._end.set()
        thread.join()
        if not held.lost:
            with contextlib.suppress(OSError, ValueError):
                if json.loads(files.get(LEASE))["owner"] == content["owner"]:
                    files.delete(LEASE)


def _acquire(folder: Folder, files: Objects, content: dict[str, object]) -> str | None:
    """Create the lease, or take over one that has expired, and return its ETag."""
    try:
        try:
            return files.put_if(LEASE, _signed(content), "create")
        except FileExistsError:
            found = files.head(LEASE)
            left = found.modified / 1e9 + 1 + LEASE_SECONDS - time.time()  # S3 tells the time in whole seconds
            if left > 0:
                raise Held(
                    f"another run is writing to {folder.url} ({_owner(files)}); wait for it, or choose another --out. "
                    f"If it was killed, the folder is free in {left:.0f} s"
                ) from None
            return files.put_if(LEASE, _signed(content), {"e_tag": found.tag})
    except (Changed, FileNotFoundError) as error:
        raise Held(f"another run has just begun to write to {folder.url}; choose another --out") from error
    except OSError as error:
        raise StorageError(f"cannot write to {folder.url} ({error}); choose another --out") from error


def _renew(held: Lease, files: Objects, content: dict[str, object], tag: str | None) -> None:
    """Show a sign of life four times in `LEASE_SECONDS`, until the end; say so where another has taken the folder."""
    last = time.monotonic()
    while not held._end.wait(LEASE_SECONDS / 4):
        try:
            tag = files.put_if(LEASE, _signed(content), {"e_tag": tag})
            last = time.monotonic()
        except Changed:
            held.lost = f"another run has taken it: {_owner(files)}"
            return
        except OSError as error:
            if time.monotonic() - last > LEASE_SECONDS:
                held.lost = f"no sign of life came through for {LEASE_SECONDS:g} s: {error}"
                return


def _signed(content: dict[str, object]) -> bytes:
    return json.dumps({**content, "time": time.time()}).encode()


def _owner(files: Objects) -> str:
    with contextlib.suppress(OSError, ValueError, KeyError):
        found = json.loads(files.get(LEASE))
        return f"process {found['process']} on {found['host']}"
    return "its owner is not known"
