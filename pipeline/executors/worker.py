"""What a worker process does: take a task, do it, answer; until its socket closes."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import time
import traceback
from typing import Any

import cloudpickle

from pipeline.errors import UserError, is_environment
from pipeline.executors import channel
from pipeline.guard import guard

READY, BROKEN, DONE, FAILED = "ready", "broken", "done", "failed"


def serve(sock: socket.socket, board: int, slot: int) -> None:
    """Answer tasks with (``done`` or ``failed``, value or error, is the error the environment's, CPU seconds).

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
            return channel.send(sock, pickle.dumps((BROKEN, f"{type(error).__name__}: {error}", True, 0.0)))
        guard.watch(board, shared["cpu_seconds"], slot)
        os.close(board)
        channel.send(sock, pickle.dumps((READY, None, False, 0.0)))
        while True:
            message, _ = channel.receive(sock)
            channel.send(sock, _answer(function, message))


def call(order: tuple[Any, Any, float]) -> Any:
    """Call a function that comes with its task: what workers run that serve one round of tasks after the other.

    Args:
        order: the function, its argument, and the CPU limit of a document.
    """
    function, argument, guard.cpu_seconds = order
    return function(argument)


def _be_killed_first() -> None:
    """Where memory runs out, the kernel is to kill a worker, which is replaced, not the supervisor."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def _answer(function: Any, message: bytes) -> bytes:
    cpu = time.process_time()
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
    return pickle.dumps((*data, environment, time.process_time() - cpu))


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
