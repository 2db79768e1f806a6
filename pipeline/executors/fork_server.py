"""The fork server: a process of its own that imports what workers need, once, and whose forks they are.

Run as a program, ``python -I -X utf8 fork_server.py SOCKET PARENT PATH``: it begins with the interpreter's own isolated
path and appends what the supervisor names, so nothing shadows what is installed. `forks.py` is the other end of its
sockets. It is single-threaded, for it forks. Messages are JSON; on the first socket:

    {"preload": [module, ...], "find": {name: file, ...}, "loads": [pickled call, ...]}
                                            import these and call these ahead of need, one by one whenever nothing is
                                            asked; what cannot be is no error yet
    {"attach": true} + socket, board                        a run of tasks, with a socket of its own

and on a run's socket:

    {"preload": ..., "find": ..., "loads": ...} -> {"importing": module} before each, then
                                                 {"ready": [name, ...]}: all are imported; of `find`, those that are
                                                 found here in the same file; what is not is not imported either
                                                 or {"broken": [module, reason]}. What a call raises is no error
                                                 here: each worker makes it again, and can say whose it is
    {"fork": id, "slot": n} + worker's socket -> {"born": id, "pid": p}, later {"died": id, "status": s, "cpu": seconds}
                                                 or {"unborn": id, "reason": text}

When a run's socket closes, its workers are killed; when the first one closes or the parent dies, everything ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import pathlib
import pickle
import select
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, even inside C code. Only Linux can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


@dataclass
class _Run:
    """One run of tasks: its socket and the board that its workers write to."""

    sock: socket.socket
    board: int

    def tell(self, **message: Any) -> None:
        """Send `message`; a run that is gone is found by its closed socket."""
        with contextlib.suppress(OSError):
            channel.send(self.sock, json.dumps(message).encode())


class Server:
    """The fork server's state: runs by descriptor, workers by process id."""

    def __init__(self, first: socket.socket) -> None:
        self.first = first
        self.runs: dict[int, _Run] = {}
        self.workers: dict[int, tuple[_Run, int]] = {}
        self.ahead: deque[Callable[[], Any]] = deque()
        self.life, self.alive = os.pipe()  # whoever holds the reading end learns of our death
        self.wake, self.woken = socket.socketpair()
        self.wake.setblocking(False)
        self.woken.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.woken.fileno(), warn_on_full_buffer=False)

    def loop(self) -> None:
        """Answer requests until the first socket closes."""
        self.poll = select.poll()
        for sock in (self.first, self.wake):
            self.poll.register(sock, select.POLLIN)
        while True:
            events = self.poll.poll(0 if self.ahead else None)
            if not events:
                self.ahead.popleft()()
            for fd, _ in events:
                if fd == self.wake.fileno():
                    self._reap()
                elif fd == self.first.fileno():
                    try:
                        self._first_request(*_receive(self.first))
                    except (EOFError, OSError):
                        return
                elif fd in self.runs:
                    self._request(self.runs[fd])

    def _first_request(self, request: dict[str, Any], files: list[int]) -> None:
        if "attach" in request:
            sock = socket.socket(fileno=files[0])
            self.runs[sock.fileno()] = _Run(sock, files[1])
            self.poll.register(sock, select.POLLIN)
        else:
            self.ahead += [partial(_fault_of, name) for name in _wanted(request)]
            self.ahead += [partial(_make, call) for call in request["loads"]]

    def _request(self, run: _Run) -> None:
        try:
            request, files = _receive(run.sock)
        except (EOFError, OSError):
            return self._end(run)
        if "fork" in request:
            self._fork(run, request, socket.socket(fileno=files[0]))
        else:
            self._prepare(run, request)

    def _prepare(self, run: _Run, request: dict[str, Any]) -> None:
        for name in _wanted(request):
            if name not in sys.modules:
                run.tell(importing=name)
            if fault := _fault_of(name):
                return run.tell(broken=[name, fault])
        for number, call in enumerate(request["loads"]):
            run.tell(importing=f"what stages load ({number + 1} of {len(request['loads'])})")
            _make(call)
        gc.freeze()  # what is imported stays: collections in forks need not touch, and so copy, its pages
        run.tell(ready=_found(request))

    def _fork(self, run: _Run, request: dict[str, Any], sock: socket.socket) -> None:
        ours = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError as error:  # too many processes, or too little memory
            sock.close()
            return run.tell(unborn=request["fork"], reason=error.strerror)
        if pid == 0:
            code = 1
            try:
                self._become_worker(run, ours)
                worker.serve(sock, run.board, request["slot"])
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code)
        sock.close()
        self.workers[pid] = (run, request["fork"])
        run.tell(born=request["fork"], pid=pid)

    def _become_worker(self, run: _Run, parent: int) -> None:
        """Leave everything behind that belongs to the server."""
        die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for sock in (self.first, self.wake, self.woken, *(other.sock for other in self.runs.values())):
            sock.close()
        os.close(self.alive)
        if sys.platform == "linux":
            os.close(self.life)
        else:
            threading.Thread(target=_die_with, args=(self.life,), name="fork server watch", daemon=True).start()

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self.wake.recv(4096):
                pass
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                run, worker_id = self.workers.pop(pid, (None, 0))
                if run is not None:
                    run.tell(died=worker_id, status=status, cpu=usage.ru_utime + usage.ru_stime)

    def _end(self, run: _Run) -> None:
        """Kill what is left of a run whose socket is closed."""
        for pid, (owner, _) in self.workers.items():
            if owner is run:
                os.kill(pid, signal.SIGKILL)
        self.poll.unregister(run.sock)
        del self.runs[run.sock.fileno()]
        run.sock.close()
        os.close(run.board)


def _receive(sock: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, files = channel.receive(sock)
    return json.loads(data), files


def _wanted(request: dict[str, Any]) -> list[str]:
    """Return the modules to import: what is not found here in the same file travels with the tasks."""
    missing = set(request["find"]) - set(_found(request))
    return [name for name in request["preload"] if name.split(".")[0] not in missing]


def _found(request: dict[str, Any]) -> list[str]:
    return [name for name, file in request["find"].items() if _file_of(name) == file]


def _file_of(name: str) -> str | None:
    """Return the file, or for a package without one the folder, in which top-level module `name` is found here."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    place = spec.origin if spec.has_location else next(iter(spec.submodule_search_locations or ()), None)
    return None if place is None else os.path.realpath(place)


def _fault_of(name: str) -> str | None:
    """Import `name`; return why it cannot be."""
    try:
        importlib.import_module(name)
    except BaseException as error:  # a module may do anything when it is imported
        return f"{type(error).__name__}: {error}"
    return None


def _make(call: str) -> None:
    """Make a call that leaves in memory what all forks are to find there."""
    with contextlib.suppress(BaseException):
        pickle.loads(bytes.fromhex(call))()


def _die_with(life: int) -> None:
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGKILL)


def _package_beside() -> None:
    """Make `pipeline` the package that this file belongs to, whatever the path would find."""
    folder = pathlib.Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        "pipeline", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["pipeline"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["pipeline"])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor decides what an interrupt means
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what a worker prints outlives its death
    control, supervisor, more = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    if supervisor:  # 0: it was started from a thread, whose end is not the supervisor's
        die_with_parent(supervisor)
    sys.path += [entry for entry in more if entry not in sys.path]
    _package_beside()
    from pipeline.executors import channel, worker

    Server(socket.socket(fileno=control)).loop()
