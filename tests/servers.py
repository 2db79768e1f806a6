"""A real S3 server for tests and benchmarks: SeaweedFS on loopback, or on another address of a network namespace."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

SERVER = shutil.which("weed", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("weed")
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest", "AWS_REGION": "us-east-1"}
NAMES = ("s3", "master", "volume", "filer")
WHO = {"name": "test", "credentials": [{"accessKey": "test", "secretKey": "testtest"}]}
ACTIONS = ["Admin", "Read", "Write", "List", "Tagging"]
PUT = """
from pipeline.storage import Folder
Folder("s3://tests/ready").put("sign", b"")
"""


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextlib.contextmanager
def seaweedfs(folder: pathlib.Path, ip: str = "127.0.0.1", within: Sequence[str] = ()) -> Iterator[int]:
    """Start a server with a bucket named ``tests`` and yield the port of its S3 interface. Its parts one by one, on one core:
    all that ``weed mini`` adds to them takes three times as much when nobody asks anything.

    Args:
        folder: where it keeps what it is given.
        ip: the address that it listens on.
        within: what its command begins with, such as ``ip netns exec NAME``.
    """
    assert SERVER is not None
    ports = free_ports(2 * len(NAMES))
    (folder / "s3.json").write_text(json.dumps({"identities": [{**WHO, "actions": ACTIONS}]}))
    command = [*within, SERVER, "server", f"-dir={folder}", f"-ip={ip}", f"-ip.bind={ip}", "-filer", "-s3"]
    command += [f"-{name}.port={port}" for name, port in zip(NAMES, ports, strict=False)]
    command += [f"-{name}.port.grpc={port}" for name, port in zip(NAMES, ports[len(NAMES) :], strict=True)]
    command += [f"-s3.config={folder}/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
    command += [f"-{name}.localSocket={folder}/{name}.sock" for name in ("s3", "filer")]
    with open(folder / "log", "wb") as log:
        environment = {**os.environ, **KEYS, "GOMEMLIMIT": "200MiB", "GOMAXPROCS": "1"}
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        _wait(server, endpoint(ports[0], ip), folder / "log", within)
        yield ports[0]
    finally:
        server.send_signal(signal.SIGKILL)  # it takes half a minute over a SIGTERM
        server.wait()


def endpoint(port: int, ip: str = "127.0.0.1") -> dict[str, str]:
    """Return the environment variables that point to a server."""
    return {**KEYS, "AWS_ENDPOINT_URL": f"http://{ip}:{port}", "AWS_ALLOW_HTTP": "true"}


def _wait(server: subprocess.Popen, variables: dict[str, str], log: pathlib.Path, within: Sequence[str]) -> None:
    until = time.monotonic() + 60
    command = [*within, sys.executable, "-c", PUT]
    environment = {**os.environ, **variables, "TOKENMILL_AWAY_SECONDS": "30"}
    while subprocess.run(command, env=environment, capture_output=True).returncode:
        assert server.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < until, log.read_text()[-2000:]
