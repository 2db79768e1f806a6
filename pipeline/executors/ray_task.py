"""What runs in a process of Ray's on a node: one of our tasks, by a supervised child process, as on one machine."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import pickle
import time
from collections.abc import Iterator
from typing import Any

import cloudpickle

from pipeline.errors import EnvironmentFault
from pipeline.executors import node_check
from pipeline.executors.contract import Result, WorkerLimits
from pipeline.executors.crew import Crew, modules_of
from pipeline.executors.local import order_of, steps
from pipeline.executors.worker import call

TELL_SECONDS = 2.0
"""How often a task that is in work says where it is."""

_kept = contextlib.ExitStack()
_crew: Crew | None = None
_of = b""
_shared: dict[bytes, dict[str, Any]] = {}


def attend(shared: bytes, task: bytes) -> Iterator[bytes]:
    """Yield, pickled: (place, since when, number of the document in work) now and then, and last the Result of one task.

    The child and its fork server live on in this process of Ray's, and serve the tasks that come to it later.

    Args:
        shared: what all tasks of a round have in common: function, limits, `revise`, preload, loads, environment and
            version of the code.
        task: key and argument.
    Raises:
        EnvironmentFault: this node has another version of tokenmill; it may have joined when the run was under way.
    """
    began = time.time()
    common = _common(shared)
    key, argument = pickle.loads(task)
    crew = _crew_for(common)
    place, told = _place(), time.monotonic() - TELL_SECONDS / 2
    try:
        for step in steps(crew, order_of(crew, common["function"]), [(key, argument)], common["revise"]):
            if isinstance(step, Result):
                yield _pickled(step)
            elif time.monotonic() - told >= TELL_SECONDS:
                told = time.monotonic()
                yield pickle.dumps((place, began, int(step.get(key, -1))))
    except BaseException:
        _leave()
        raise


def _common(shared: bytes) -> dict[str, Any]:
    name = hashlib.sha256(shared).digest()
    if name not in _shared:
        _shared.clear()
        found = pickle.loads(shared)
        here = node_check.code_version()
        if here != found["version"]:
            raise EnvironmentFault(f"tokenmill is {here} on node {_place()} and {found['version']} where the run began")
        _shared[name] = found
    return _shared[name]


def _crew_for(common: dict[str, Any]) -> Crew:
    """Return the one child of this process of Ray's, begun anew where another run's settings are wanted."""
    global _crew, _of
    of = pickle.dumps(sorted(common["environ"].items()))
    if _crew is None or of != _of:
        _leave()
        os.environ.update(common["environ"])
        _crew, _of = _kept.enter_context(Crew(call, 1, WorkerLimits())), of
    _crew.limits = common["limits"]
    _crew.want([*common["preload"], *modules_of(common["function"])], common["loads"])
    return _crew


def _leave() -> None:
    global _crew
    _crew = None
    _kept.close()


def _place() -> str:
    ray: Any = importlib.import_module("ray")
    return str(ray.util.get_node_ip_address())


def _pickled(result: Result) -> bytes:
    try:
        return pickle.dumps(result)
    except Exception:
        return bytes(cloudpickle.dumps(result))
