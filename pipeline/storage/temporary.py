"""A folder for what a process needs only while it lives; what dead processes have left is cleaned up by the next one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator

PREFIX = "tokenmill-"
YOUNG_SECONDS = 60.0
"""A folder so young may belong to somebody who has not come to lock it."""


@contextlib.contextmanager
def temporary_folder() -> Iterator[pathlib.Path]:
    """Yield a folder among temporary files that is gone when the block ends; those of dead processes of this user go too.

    Whoever lives holds a lock on the folder, which the kernel lets go of when the process ends, however it does.
    """
    base = pathlib.Path(tempfile.gettempdir())
    for folder in base.glob(f"{PREFIX}run-*"):
        _remove_if_dead(folder)
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}run-") as name:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield pathlib.Path(name)
        finally:
            os.close(descriptor)


def _remove_if_dead(folder: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        about = folder.lstat()
        young = time.time() - about.st_mtime < YOUNG_SECONDS
        if about.st_uid != os.getuid() or not stat.S_ISDIR(about.st_mode) or young:
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
