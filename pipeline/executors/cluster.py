"""The executor on a Ray cluster that is there already: tasks on all its nodes, each by a supervised child process.

Of Ray only tasks are used. A task of Ray's is one of ours, run by the same supervisor as on one machine, so documents that
hang, crash or eat memory end in the same way, and Ray only ever loses processes and nodes. A task so lost is tried again;
who retries is us. Documents, shards and decisions are files; what goes through Ray is what to do, and what came of it.

A cluster is attached to, never started, stopped or resized.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from pipeline.errors import EnvironmentFault, UserError
from pipeline.executors import node_check
from pipeline.executors.contract import (
    OUTSIDE_ATTEMPTS,
    Death,
    Executor,
    Load,
    Result,
    Spot,
    Task,
    WorkerDied,
    WorkerLimits,
    no_revision,
)
from pipeline.executors.ray_task import attend

ATTACH_SECONDS = 10.0
"""How long a cluster may take to answer for the first time."""
CHECK_SECONDS = 60.0
"""How long a node may take to say what it has: the first process of a job starts there."""
LOOK_SECONDS = 0.5
"""How long, at most, until what is in work is looked at again."""
AHEAD = 2
"""Tasks handed to Ray for each core of the cluster: one in work, one that waits for it."""
CARRIED = re.compile(r"(AWS|GOOGLE|AZURE|HF|TOKENMILL)_\w+")
"""Environment variables that go to the nodes: how storage is reached, and our own settings."""


@dataclass(frozen=True)
class Needs:
    """What every node must have: see `node_check.faults`.

    Attributes:
        sign: name of a file in the run folder that is there when the first task begins.
    """

    folder: Any
    sign: str
    files: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@contextlib.contextmanager
def attached(address: str | None) -> Iterator[Callable[[Needs], Executor]]:
    """Yield what makes an executor on the Ray cluster at `address` (``HOST:PORT``, or ``auto`` for that of this machine or
    of ``RAY_ADDRESS``). Before its first task every node is asked whether it has what is needed.

    Raises:
        UserError: there is no such cluster, or it is of another version.
    """
    ray = _ray()
    where = _reached(address or "auto")
    os.environ.setdefault("RAY_task_oom_retries", "0")  # retries are ours; Ray's own have no end
    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what befalls its nodes; results are ours to print
        try:
            ray.init(address=where, log_to_driver=False, logging_level="ERROR", namespace="tokenmill")
        except Exception as error:
            raise UserError(f"cannot attach to the Ray cluster at {where} ({_line(error)})") from error
        try:
            yield lambda needs: _Cluster(ray, needs).run
        finally:
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UserError(
            f"--executor ray needs Ray, which is not installed here ({error}): pip install 'tokenmill[ray]'"
        ) from error
    return ray


def _reached(address: str) -> str:
    """Return `address` once a cluster has answered there; Ray itself asks for a minute, and then ends the program."""
    if address.startswith("ray://"):
        raise UserError(f"{address}: a Ray client holds no run; run the command on the cluster, as by `ray job submit`")
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and port.isdigit()):
        raise UserError(f"--address must be auto or HOST:PORT, as of `ray start --head`; got {address!r}")
    if host:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError as error:
            raise UserError(
                f"no Ray cluster answers at {address} ({error.strerror or error}); mend --address"
            ) from error
    command = [sys.executable, "-c", _PROBE, address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ATTACH_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"what is at {address} does not answer as a Ray cluster does; mend --address") from error
    if done.returncode == 0:
        return done.stdout.split()[-1]
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()] or ["no answer"]
    if "Version mismatch" in done.stdout + done.stderr:
        said = " ".join(" ".join(lines).split("Version mismatch", 1)[1].split())[:300]
        raise UserError(f"the Ray cluster at {address} is of another version{said}")
    start = "; start one with `ray start --head`, or name it by --address" if address == "auto" else ""
    raise UserError(f"no Ray cluster is found at {address} ({lines[-1][:200]}){start}")


_PROBE = """
import sys, ray
from ray._private import services, utils
address = services.canonicalize_bootstrap_address_or_die(sys.argv[1])
told = ray._raylet.GcsClient(address=address).internal_kv_get(b"CLUSTER_METADATA", namespace=b"cluster")
import json
told = json.loads(told) if told else {}
ours = ray.__version__, ".".join(map(str, sys.version_info[:2]))
theirs = told.get("ray_version", ours[0]), ".".join(str(told.get("python_version", ours[1])).split(".")[:2])
if ours != theirs:
    sys.exit(f"Version mismatch: Ray {theirs[0]} with Python {theirs[1]} there, Ray {ours[0]} with Python {ours[1]} here")
print(address)
"""


@dataclass(eq=False)
class _Flight:
    """A task handed to Ray, and what is known of it."""

    key: Any
    argument: Any
    attempts: int = 0
    number: int = -1
    place: str = ""
    since: float = 0.0
    tried: list[str] = field(default_factory=list)  # where it was lost


@dataclass
class _Cluster:
    """An attached cluster."""

    ray: Any
    needs: Needs
    checked: bool = False

    def run(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[Task],
        *,
        workers: int,
        limits: WorkerLimits | None = None,
        revise: Callable[[Any, Death], Any] = no_revision,
        on_look: Callable[[Mapping[Any, int]], None] | None = None,
        preload: Iterable[str] = (),
        loads: Iterable[Load] = (),
    ) -> Iterator[Result]:
        """Yield a Result for each task, as they end; see `contract.Executor`. `workers`: tasks handed to Ray at a time; 0
        for twice as many as the cluster has cores.

        Raises:
            UserError: a node cannot do the work: what it lacks, by node.
        """
        todo = (_Flight(key, argument) for key, argument in tasks)
        first = next(todo, None)
        if first is None:
            return
        modules = list(preload)
        if not self.checked:
            self._check(modules)
            self.checked = True
        shared = {
            "function": function, "limits": limits or WorkerLimits(), "revise": revise, "preload": modules,
            "loads": list(loads), "environ": _carried(), "version": node_check.code_version(),
        }  # fmt: skip
        yield from self._fly(self.ray.put(cloudpickle.dumps(shared)), first, todo, workers, on_look)

    def _fly(
        self,
        shared: Any,
        first: _Flight,
        todo: Iterator[_Flight],
        workers: int,
        on_look: Callable[[Mapping[Any, int]], None] | None,
    ) -> Iterator[Result]:
        flying: dict[Any, _Flight] = {}
        waiting = [first]
        remote = self.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming", scheduling_strategy="SPREAD")(
            attend
        )
        try:
            while True:
                room = (workers or self._room()) - len(flying)
                while room > 0 and (flight := waiting.pop() if waiting else next(todo, None)) is not None:
                    flight.attempts += 1
                    flying[remote.remote(shared, cloudpickle.dumps((flight.key, flight.argument)))] = flight
                    room -= 1
                if not flying:
                    return
                for stream in self._news(list(flying)):
                    result = self._hear(stream, flying, waiting)
                    if result is not None:
                        yield result
                if on_look is not None:
                    begun = [f for f in flying.values() if f.since]
                    on_look({f.key: Spot(f.number, f.place, f.since) for f in begun})
        finally:
            for stream in flying:
                with contextlib.suppress(Exception):
                    self.ray.cancel(stream, force=True)

    def _news(self, streams: list[Any]) -> list[Any]:
        """Return the streams with something to say, after half a second at most."""
        ready, rest = self.ray.wait(streams, num_returns=1, timeout=LOOK_SECONDS)
        if rest and ready:
            ready += self.ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        return list(ready)

    def _hear(self, stream: Any, flying: dict[Any, _Flight], waiting: list[_Flight]) -> Result | None:
        """Take what a task says; return its result if that is it, and let it be tried again if it was lost."""
        flight = flying[stream]
        try:
            said = pickle.loads(self.ray.get(next(stream)))
        except StopIteration:
            said = None
        except self.ray.exceptions.RayTaskError as error:
            del flying[stream]
            raise _of_task(error, flight) from error
        except (self.ray.exceptions.RayError, OSError, EOFError) as error:
            del flying[stream]
            return self._lost(flight, error, waiting)
        if isinstance(said, Result):
            del flying[stream]
            return said
        if said is None:
            del flying[stream]
            return self._lost(flight, EOFError("its answer did not come"), waiting)
        flight.place, flight.since, flight.number = said
        return None

    def _lost(self, flight: _Flight, error: BaseException, waiting: list[_Flight]) -> Result | None:
        flight.tried.append(flight.place or "a node")
        flight.number, flight.place, flight.since = -1, "", 0.0
        if flight.attempts < OUTSIDE_ATTEMPTS:
            waiting.append(flight)
            return None
        said = f"{flight.attempts} attempts at {flight.key!r} were lost with their process or node, on {flight.tried}"
        died = WorkerDied(f"{said}, the last by {type(error).__name__}: {_line(error)}")
        return Result(flight.key, "lost", error=died, attempts=flight.attempts, environment=True)

    def _room(self) -> int:
        cores = sum(node["Resources"].get("CPU", 0) for node in self.ray.nodes() if node["Alive"])
        return max(1, int(AHEAD * cores))

    def _check(self, modules: list[str]) -> None:
        """Ask every node what it has. Raises UserError that names, for each that cannot do the work, what it lacks."""
        nodes = {n["NodeID"]: n for n in self.ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1}
        if not nodes:
            raise UserError("no node of the Ray cluster has a core to give (num_cpus)")
        wanted = _wanted(self.needs, modules)
        asked = {}
        with _by_value():
            for number in nodes:
                place = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(number, soft=False)
                options = self.ray.remote(num_cpus=0, max_retries=1, scheduling_strategy=place)
                asked[options(node_check.faults).remote(wanted)] = nodes[number]["NodeManagerAddress"]
        done, late = self.ray.wait(list(asked), num_returns=len(asked), timeout=CHECK_SECONDS)
        lines = [f"node {asked[ref]}: no answer in {CHECK_SECONDS:.0f} s" for ref in late]
        for ref in done:
            try:
                lines += [f"node {asked[ref]}: {fault}" for fault in self.ray.get(ref)]
            except self.ray.exceptions.RayError as error:
                lines.append(f"node {asked[ref]}: {_line(error)}")
        if lines:
            more = f"; and {len(lines) - 5} more such lines" if len(lines) > 5 else ""
            raise UserError("; ".join(sorted(lines)[:5]) + more)


def _wanted(needs: Needs, modules: list[str]) -> dict[str, Any]:
    """Return what a node is asked for; see `node_check.faults`."""
    return {
        "versions": node_check.about(sorted(needs.libraries)),
        "files": [(path, os.path.getsize(path)) for path in needs.files],
        "modules": sorted({name.split(".")[0] for name in modules}),
        "environ": _carried(),
        "folder": needs.folder.url,
        "sign": (needs.sign, hashlib.sha256(needs.folder.get(needs.sign)).hexdigest()),
    }


@contextlib.contextmanager
def _by_value() -> Iterator[None]:
    """Send the check as code, not by name: the module it is in may be what a node lacks."""
    of_ray: Any = importlib.import_module("ray.cloudpickle")
    of_ray.register_pickle_by_value(node_check)
    try:
        yield
    finally:
        of_ray.unregister_pickle_by_value(node_check)


def _carried() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if CARRIED.fullmatch(name)}


def _of_task(error: Any, flight: _Flight) -> UserError:
    cause = getattr(error, "cause", None) or error
    place = f"node {flight.place}: " if flight.place else ""
    return EnvironmentFault(
        f"{place}{_line(cause)}"
        if isinstance(cause, UserError)
        else f"{place}workers cannot start there: {_line(cause)}"
    )


def _line(error: BaseException) -> str:
    """Return the last line of what an error of Ray's says: what stands before it is where it came from."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (lines[-1] if len(lines) > 3 else " ".join(lines))[:300]
