"""Starts the fork server and asks it for workers. What it does and what it is asked: `fork_server.py`."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pathlib
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import EnvironmentFault
from pipeline.executors import channel
from pipeline.executors.contract import Load
from pipeline.prints import Hearing

SETTINGS = {
    # one thread a worker, for workers are as many as cores
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # nothing around a run changes it
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}
"""Environment variables that hold in every worker."""
STARTS = 3
"""How often a fork server that dies while it imports is started anew."""

try:
    _FIRST_FOLDER = os.getcwd()
except OSError:  # it was removed
    _FIRST_FOLDER = ""


@dataclass
class _Server:
    """The fork server of this process."""

    process: subprocess.Popen[bytes]
    sock: socket.socket
    hearing: Hearing
    owner: int = field(default_factory=os.getpid)

    @property
    def alive(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def ask(self, request: dict[str, Any], files: Iterable[int] = ()) -> None:
        """Send `request`; a server that has died shows on the sockets of its runs."""
        with contextlib.suppress(OSError):
            channel.send(self.sock, json.dumps(request).encode(), list(files))

    def end(self) -> None:
        """End the server, and its workers with it. It may be in the middle of an import, for which nobody waits."""
        self.sock.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            self.hearing.end()


_server: _Server | None = None
_lock = threading.Lock()


def start_fork_server(preload: Iterable[str], loads: Iterable[Load] = ()) -> None:
    """Start the fork server, if none runs, and let it import `preload` and make the calls `loads` while we go on."""
    with _lock:
        _running().ask(_request(preload, loads))


def _running() -> _Server:
    global _server
    if _server is not None and not _server.alive:
        _server.end()
        _server = None
    if _server is None:
        _server = _start()
    return _server


def _start() -> _Server:
    if not sys.executable:
        raise EnvironmentFault(
            "workers cannot start: this Python does not say where its interpreter is (sys.executable)"
        )
    ours, theirs = channel.pair()
    in_main_thread = threading.current_thread() is threading.main_thread()
    program = pathlib.Path(__file__).resolve().with_name("fork_server.py")
    command = [sys.executable, "-I", "-X", "utf8", str(program), str(theirs.fileno())]
    command += [str(os.getpid() if in_main_thread else 0), json.dumps(_path())]
    hearing = Hearing()
    # an interrupt from the keyboard goes to all processes of the terminal; the server must not see one before it can
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=hearing.writing,
            stderr=hearing.writing,
            pass_fds=[theirs.fileno()],
            env={**os.environ, **SETTINGS},
        )
    except OSError as error:
        ours.close()
        raise EnvironmentFault(f"workers cannot start: {sys.executable}: {error.strerror}") from error
    finally:
        theirs.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        hearing.begin()
    return _Server(process, ours, hearing)


def _forget(server: _Server | None) -> None:
    """End `server`, and start another when one is wanted."""
    global _server
    with _lock:
        if server is not None and server is _server:
            server.end()
            _server = None


@atexit.register
def stop_fork_server() -> None:
    """End the fork server, if there is one."""
    _forget(_server)


def _path() -> list[str]:
    """Return what the server appends to its own path: of ours, what is absolute and there, and neither the working
    directory nor the folder of the script; and last the folder that our own packages lie in."""
    refused = _here()
    entries = [entry for entry in sys.path if os.path.isabs(entry) and os.path.exists(entry)]
    kept = [entry for entry in entries if os.path.realpath(entry) not in refused]
    return [*kept, str(pathlib.Path(__file__).resolve().parents[2])]


def _here() -> set[str]:
    """Return the working directory, now and when we started, and the folder of the script that runs."""
    found = {_FIRST_FOLDER}
    with contextlib.suppress(OSError):
        found.add(os.getcwd())
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script:
        found.add(os.path.dirname(os.path.realpath(script)))
    return found


def _request(preload: Iterable[str], loads: Iterable[Load]) -> dict[str, Any]:
    """Return the request to import `preload` and call `loads`, with the loaded top-level modules that the server may
    not find: those that lie in the working directory or beside the script."""
    here = tuple(folder.rstrip(os.sep) + os.sep for folder in _here())
    outside = tuple(
        os.path.realpath(folder) + os.sep
        for folder in (sys.prefix, sys.base_prefix, *(entry for entry in sys.path if "site-packages" in entry))
    )
    find = {}
    for name, module in list(sys.modules.items()):
        if "." in name or name == "__main__":
            continue
        place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
        if isinstance(place, str):
            place = os.path.realpath(place)
            if place.startswith(here) and not place.startswith(outside):
                find[name] = place
    modules = [name for name in dict.fromkeys(preload) if name != "__main__"]
    return {"preload": modules, "find": find, "loads": [pickle.dumps(load).hex() for load in loads]}


class Lost(Exception):
    """The fork server is gone, and all its workers with it."""


class Forks:
    """The workers of one run of tasks. Events come from `events`, which a selector may wait for.

    Args:
        board: the file descriptor of the map that they write to.
        preload: modules to import before the first fork.
        loads: calls to make before the first fork.
    Raises:
        EnvironmentFault: a module cannot be imported, or the server dies of it.
    """

    def __init__(self, board: int, preload: Iterable[str], loads: Iterable[Load] = ()) -> None:
        self._last = ""
        self._held: list[dict[str, Any]] = []  # what was said of workers while we waited for another answer
        for attempt in range(STARTS):
            self.channel = self._attach(board)
            try:
                self.prepare(preload, loads)
            except Lost:
                self.channel.close()
                if attempt == STARTS - 1:
                    raise EnvironmentFault(
                        "workers cannot start: the process that imports their modules died "
                        f"{STARTS} times{self._last and f', the last time importing {self._last}'}"
                    ) from None
                continue
            except BaseException:
                self.channel.close()
                raise
            return

    def prepare(self, preload: Iterable[str], loads: Iterable[Load] = ()) -> None:
        """Let the server import `preload` and make the calls `loads`, for the workers that are forked from now on."""
        request = _request(preload, loads)
        self.channel.push(json.dumps(request).encode())
        self.by_value = sorted(set(request["find"]) - set(self._ready()))

    def _attach(self, board: int) -> channel.Channel:
        ours, theirs = channel.pair()
        with theirs, _lock:
            self._server = _running()
            self._server.ask({"attach": True}, [theirs.fileno(), board])
        return channel.Channel(ours)

    def _ready(self) -> list[str]:
        waiting = select.poll()
        waiting.register(self.channel, select.POLLIN)
        while True:
            waiting.poll()
            for event in self.events():
                if "ready" in event:
                    return list(event["ready"])
                if "broken" in event:
                    module, reason = event["broken"]
                    raise EnvironmentFault(
                        f"workers cannot start: module {module} cannot be imported ({reason}); install what it needs, "
                        "or mend it"
                    )
                if "importing" in event:
                    self._last = event["importing"]
                else:
                    self._held.append(event)

    def fork(self, worker: int, slot: int) -> channel.Channel:
        """Ask for a worker, which will be known as `worker`, and return the supervisor's end of its socket."""
        ours, theirs = channel.pair()
        with theirs:
            self.channel.send_with(json.dumps({"fork": worker, "slot": slot}).encode(), [theirs.fileno()])
        return channel.Channel(ours)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what the server has said. Raises Lost where it is gone."""
        held, self._held = self._held, []
        yield from held
        yield from map(json.loads, self.channel.pull())
        if self.channel.closed:
            _forget(self._server)
            raise Lost

    def close(self) -> None:
        """Leave; the server kills what is still there."""
        self.channel.close()
