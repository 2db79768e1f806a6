"""The whole demo in a bucket whose network fails: the same bytes as in a folder."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

from pipeline.run.folder import local_folder
from pipeline.storage import Folder
from tests.cluster.test_ray import DEMO, bytes_of
from tests.pipeline.storage.fault_proxy import FAULTS, FaultProxy


@pytest.fixture(scope="module")
def demo_here(tmp_path_factory):
    """Return the demo as it is made in a folder."""
    out = tmp_path_factory.mktemp("demo") / "run"
    subprocess.run(command(str(out)), check=True, capture_output=True)
    return bytes_of(local_folder(out))


def command(out: str) -> list[str]:
    return [sys.executable, "-m", "tokenmill", "run", DEMO, "--out", out, "--workers", "2"]


def run(proxy: FaultProxy, out: str) -> subprocess.CompletedProcess:
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}",
        "TOKENMILL_REQUEST_SECONDS": "3",
    }
    return subprocess.run(command(out), capture_output=True, text=True, env=environment, timeout=500)


@pytest.fixture
def proxy(s3, s3_port):
    made = FaultProxy(s3_port)
    yield made
    made.close()


def test_one_request_in_twenty_fails_in_each_of_the_ways_of_networks_and_the_demo_is_the_same(s3, proxy, demo_here):
    proxy.spoil(0.05)
    done = run(proxy, f"{s3}/run")
    assert done.returncode == 0, done.stderr
    assert set(proxy.spoiled) == set(FAULTS)  # each of them came up
    assert bytes_of(Folder(f"{s3}/run")) == demo_here


def test_a_server_that_is_away_for_20_seconds_costs_20_seconds(s3, proxy, demo_here):
    def leave() -> None:
        while not any("01-extract" in line for line in list(proxy.requests)):
            time.sleep(0.05)
        proxy.down = True
        time.sleep(20)
        proxy.down = False

    threading.Thread(target=leave, daemon=True).start()
    done = run(proxy, f"{s3}/run")
    assert done.returncode == 0, done.stderr
    assert not proxy.down
    assert bytes_of(Folder(f"{s3}/run")) == demo_here


def test_a_second_run_on_a_folder_in_a_bucket_is_refused_with_the_time_left_also_when_the_first_was_killed(s3, proxy):
    out = f"{s3}/run"
    environment = {**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
    first = subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    until = time.monotonic() + 60
    while not any("unfinished.json" in line for line in list(proxy.requests)) and time.monotonic() < until:
        time.sleep(0.1)
    refused = run(proxy, out)
    assert (refused.returncode, len(refused.stderr.strip().splitlines())) == (2, 1), refused.stderr
    first.kill()
    first.wait()
    refused = run(proxy, out)
    assert refused.returncode == 2
    left = re.search(rf"process {first.pid} on .* If it was killed, the folder is free in (\d+) s", refused.stderr)
    assert left, refused.stderr
    assert 0 < int(left[1]) <= 62
    status = [sys.executable, "-m", "tokenmill", "status", out, "--json"]
    told = subprocess.run(status, capture_output=True, text=True, env=environment)
    assert '"state": "running"' in told.stdout, told.stderr  # it was, less than a minute and a half ago


def test_what_is_wrong_with_a_bucket_is_said_by_the_program_within_seconds_and_nothing_is_begun(s3, tmp_path):
    assert pathlib.Path(DEMO).exists()
    for changes, out, said in (
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, s3, "no credentials were found"),
        ({"AWS_SECRET_ACCESS_KEY": "no"}, s3, "the secret key is wrong"),
        ({}, "s3://no-such-bucket/run", "there is no such bucket"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, s3, "no connection to http://127.0.0.1:9"),
    ):
        environment = {name: value for name, value in {**os.environ, **changes}.items() if value}
        started = time.monotonic()
        done = subprocess.run(command(out), capture_output=True, text=True, env=environment, timeout=60)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert time.monotonic() - started < 15
    assert Folder(s3).names() == []


def test_no_permission_to_write_is_said_before_any_work(s3, proxy):
    proxy.spoil(1.0, ("403",), only=r"^PUT")
    done = run(proxy, f"{s3}/run")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert "no permission" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
