"""Nodes of a Ray cluster, each in a network namespace of its own, which nobody else's Ray on this machine sees."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

BIN = pathlib.Path(sys.executable).parent
PORT = 6399


@dataclass
class Namespaces:
    """Two network namespaces that see each other, and nothing else."""

    names: tuple[str, str]
    made: list[str] = field(default_factory=list)

    def make(self) -> str:
        """Make them; return why that cannot be, or nothing."""
        first, second = self.names
        ends = (f"v{os.getpid() % 100_000}a", f"v{os.getpid() % 100_000}b")
        commands = [
            f"ip netns add {first}",
            f"ip netns add {second}",
            f"ip link add {ends[0]} netns {first} type veth peer name {ends[1]} netns {second}",
            f"ip -n {first} addr add 10.77.0.1/24 dev {ends[0]}",
            f"ip -n {second} addr add 10.77.0.2/24 dev {ends[1]}",
            *(f"ip -n {name} link set lo up" for name in self.names),
            f"ip -n {first} link set {ends[0]} up",
            f"ip -n {second} link set {ends[1]} up",
        ]
        if shutil.which("ip") is None:
            return "there is no `ip` command here"
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True)
            if done.returncode:
                return f"no network namespaces here: {command}: {done.stderr.strip()}"
        return ""

    def within(self, number: int, *command: str) -> list[str]:
        """Return `command` as it runs in one of them."""
        return ["ip", "netns", "exec", self.names[number], *command]

    def pids(self, number: int) -> list[int]:
        """Return the processes in one of them."""
        done = subprocess.run(["ip", "netns", "pids", self.names[number]], capture_output=True, text=True)
        return [int(line) for line in done.stdout.split()]

    def kill(self, number: int) -> None:
        """Kill every process in one of them: a machine that is gone."""
        until = time.monotonic() + 10
        while (left := self.pids(number)) and time.monotonic() < until:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.1)

    def remove(self) -> None:
        for number, name in enumerate(self.names):
            self.kill(number)
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@dataclass
class Cluster:
    """A Ray cluster in namespaces; node 0 is its head."""

    spaces: Namespaces
    folder: pathlib.Path
    environment: dict[str, str]
    address: str = f"10.77.0.1:{PORT}"

    def start(self, number: int, cores: int = 1) -> None:
        """Start one node."""
        options = ["--num-cpus", str(cores), "--object-store-memory=100000000", "--disable-usage-stats"]
        if number == 0:
            options += ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={self.folder}/ray"]
        else:
            options += [f"--address={self.address}"]
        command = self.spaces.within(
            number, str(BIN / "ray"), "start", f"--node-ip-address=10.77.0.{number + 1}", *options
        )
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def command(self, *arguments: str) -> list[str]:
        """Return a command of tokenmill's that runs beside the head."""
        return self.spaces.within(0, str(BIN / "python"), "-m", "tokenmill", *arguments)

    def tokenmill(self, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess:
        """Run tokenmill beside the head."""
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            timeout=400,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


class NoNamespaces(Exception):
    """This machine lets nobody make network namespaces."""


@contextlib.contextmanager
def ray_cluster(cores: int = 1) -> Iterator[Cluster]:
    """Yield a cluster whose head is started. Raises NoNamespaces."""
    spaces = Namespaces((f"tma{os.getpid()}", f"tmb{os.getpid()}"))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tmc", dir="/tmp"))  # short: sockets lie below it
    try:
        if why := spaces.make():
            raise NoNamespaces(why)
        environment = {
            **os.environ, "HOME": str(folder), "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_health_check_period_ms": "500", "RAY_health_check_timeout_ms": "500",
            "RAY_health_check_failure_threshold": "4", "RAY_health_check_initial_delay_ms": "1000",
        }  # fmt: skip
        made = Cluster(spaces, folder, environment)
        made.start(0, cores)
        yield made
    finally:
        spaces.remove()
        shutil.rmtree(folder, ignore_errors=True)
