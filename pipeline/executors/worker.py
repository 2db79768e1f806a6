"""What a worker process does: take a task, do it, answer; until its socket closes."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import threading
import time
import traceback
from typing import Any

import cloudpickle
import psutil

from pipeline.errors import UserError, is_environment
from pipeline.executors import channel
from pipeline.guard import guard

READY, BROKEN, DONE, FAILED = "ready", "broken", "done", "failed"


def serve(sock: socket.socket, board: int, slot: int) -> None:
    """Answer tasks with (``done`` or ``failed``, value or error, is the error the environment's, CPU seconds, has the
    task left something running, so that the process should take no other).

    The first message is what all tasks share: the function, the CPU limit of a document, the supervisor's environment
    and working directory. It is answered with ``ready``, or ``broken`` and why.
    """
    _be_killed_first()
    with contextlib.suppress(EOFError, OSError):
        try:
            shared = pickle.loads(channel.receive(sock)[0])
            os.environ.clear()
            os.environ.update(shared["environ"])
            with contextlib.suppress(OSError):
                os.chdir(shared["cwd"])
            function = pickle.loads(shared["function"])
        except (EOFError, OSError):
            raise
        except Exception as error:
            return channel.send(sock, pickle.dumps((BROKEN, f"{type(error).__name__}: {error}", True, 0.0, False)))
        guard.watch(board, shared["cpu_seconds"], slot)
        guard.wall_seconds = shared["wall_seconds"]
        os.close(board)
        channel.send(sock, pickle.dumps((READY, None, False, 0.0, False)))
        while True:
            message, _ = channel.receive(sock)
            channel.send(sock, _answer(function, message))


def call(order: tuple[Any, Any, float, float]) -> Any:
    """Call a function that comes with its task: what workers run that serve one round of tasks after the other.

    Args:
        order: the function, its argument, and the limits of a document, CPU seconds and seconds without progress.
    """
    function, argument, guard.cpu_seconds, guard.wall_seconds = order
    return function(argument)


def _be_killed_first() -> None:
    """Where memory runs out, the kernel is to kill a worker, which is replaced, not the supervisor."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def _answer(function: Any, message: bytes) -> bytes:
    cpu, threads = time.process_time(), threading.active_count()
    guard.begin_task()
    environment = False
    try:
        answer: tuple[str, Any] = (DONE, function(pickle.loads(message)))
    except BaseException as error:  # SystemExit and the like are errors of a task, not the end of its worker
        environment = is_environment(error)
        if not isinstance(error, UserError):
            error.add_note("in a worker:\n" + traceback.format_exc())
        answer = (FAILED, error)
    guard.idle()
    data = _pickled(answer)
    worn = end_children() or threading.active_count() > threads
    return pickle.dumps((*data, environment, time.process_time() - cpu, worn))


def end_children() -> bool:
    """Kill the processes that a task has started and left behind; return whether there were any."""
    try:
        os.waitpid(-1, os.WNOHANG)  # costs nothing where there are none
    except ChildProcessError:
        return False
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.kill()
    return True


def _pickled(answer: tuple[str, Any]) -> tuple[str, bytes]:
    """Return the kind of `answer` and its value pickled; an error that cannot be is replaced by one that says the same."""
    kind, value = answer
    try:
        try:
            data = pickle.dumps(value)
        except Exception:  # it is of a class that came with the task
            data = cloudpickle.dumps(value)
        if kind == FAILED:
            pickle.loads(data)
        return kind, data
    except Exception as error:
        said = value if kind == FAILED else error
        return FAILED, pickle.dumps(RuntimeError(f"{type(said).__name__}: {said}"))
