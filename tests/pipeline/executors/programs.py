"""Programs that run tasks, started as a user starts them, and what is left of them afterwards."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import psutil


def start(program: pathlib.Path, *arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """Start `program` in a session of its own, in its own folder."""
    options = {"cwd": program.parent, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.Popen(command, start_new_session=True, text=True, **options)


def session(leader: int) -> list[psutil.Process]:
    """Return the processes of the session that process `leader` began, the leader first."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            process = psutil.Process(pid)
            if os.getsid(pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return sorted(found, key=lambda process: (process.pid != leader, process.pid))


def parts(leader: int) -> tuple[psutil.Process | None, list[psutil.Process]]:
    """Return the fork server and the workers of the program with process id `leader`."""
    below = [process for process in session(leader) if process.pid != leader]
    parents = {}
    for process in below:
        with contextlib.suppress(psutil.Error):
            parents[process.pid] = process.ppid()
    server = next((process for process in below if parents.get(process.pid) == leader), None)
    return server, [process for process in below if server is not None and parents.get(process.pid) == server.pid]


def left(leader: int, seconds: float = 5.0) -> list[psutil.Process]:
    """Return the processes of a session that are still there after at most `seconds`."""
    until = time.monotonic() + seconds
    while (found := session(leader)) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def wait_for(path: pathlib.Path, seconds: float = 20.0) -> None:
    """Wait until `path` is there."""
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} does not appear"
        time.sleep(0.005)
