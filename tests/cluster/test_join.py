"""Several processes on one run, with nothing between them but its folder: the same bytes, whoever of them dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pipeline.run.folder import local_folder
from pipeline.storage import Folder
from tests.cluster.test_ray import RECIPE, bytes_of, write_small

LEASE_SECONDS = 4


@pytest.fixture
def small(tmp_path):
    """Write a recipe over 24 splits of documents."""
    return write_small(tmp_path, 6, 100, RECIPE.replace("cpu_seconds = 2", "cpu_seconds = 1"))


@pytest.fixture
def alone(small):
    """Return the bytes of the run that one process makes alone."""
    start(small, str(small / "alone"), sleep=0, join=False).communicate()
    return bytes_of(local_folder(small / "alone"))


def start(small, out: str, *more: str, sleep: float = 0.03, join: bool = True) -> subprocess.Popen:
    """Start tokenmill on the recipe."""
    command = [sys.executable, "-m", "tokenmill", "run", str(small / "recipe.toml"), "--out", out, "--workers", "1"]
    command += ["--join", *more] if join else more
    variables = {"TOKENMILL_LEASE_SECONDS": str(LEASE_SECONDS), "TOKENMILL_TEST_SLEEP": str(sleep)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **variables}
    )


def until(true, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def files(out: Folder, part: str) -> list[str]:
    return [name for name in out.names() if part in name]


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_process_that_joins_works_too_and_one_that_is_killed_costs_nothing(small, alone, place, request):
    out = local_folder(small / "run") if place == "folder" else Folder(f"{request.getfixturevalue('s3')}/run")
    sleep = 0.03 if place == "folder" else 0.12  # in a bucket the status is written every ten seconds
    drives = start(small, out.url, sleep=sleep)
    until(lambda: out.exists("queue/now.json"))
    joins, dies = start(small, out.url, sleep=sleep), start(small, out.url, sleep=sleep)
    until(lambda: len(files(out, "queue/alive/")) == 2)
    status = [sys.executable, "-m", "tokenmill", "status", out.url, "--json"]
    until(lambda: len(files(out, "/done/")) >= 2)
    until(lambda: json.loads(subprocess.run(status, capture_output=True, text=True, check=True).stdout)["running"])
    dies.send_signal(signal.SIGKILL)
    said = [process.communicate(timeout=100)[0] for process in (drives, joins, dies)]
    assert (drives.returncode, joins.returncode) == (0, 0), said
    assert "note: another process drives this run" in said[1]
    assert not said[1].endswith("note: 0 shards were made here\n"), said[1]
    assert bytes_of(out) == alone
    assert not files(out, "queue")


def test_when_the_process_that_drives_is_killed_one_that_has_joined_takes_its_place(small, alone):
    out = local_folder(small / "run")
    drives = start(small, out.url)
    until(lambda: out.exists("queue/now.json"))
    joins = start(small, out.url)
    until(lambda: len(files(out, "/done/")) >= 2)
    drives.send_signal(signal.SIGKILL)
    drives.communicate()
    stood = {name: out.head(name).modified for name in files(out, "/tally/")}
    assert len(stood) >= 2
    said = joins.communicate(timeout=100)[0]
    assert joins.returncode == 0, said
    assert bytes_of(out) == alone
    assert {name: out.head(name).modified for name in stood} == stood  # nothing finished was done again
    again = start(small, out.url)
    assert again.communicate()[0].count("stand already") == 0
    assert again.returncode == 0


def test_another_recipe_does_not_join_and_a_run_that_fails_ends_for_all(small):
    out = local_folder(small / "run")
    (small / "in/5.jsonl").write_text(json.dumps({"text": "this one will KILL whoever reads it"}) * 3 + "\n")
    drives = start(small, out.url, "--set", "limits.failed_share=0.0")
    until(lambda: out.exists("queue/now.json"))
    other, joins = start(small, out.url), start(small, out.url, "--set", "limits.failed_share=0.0")
    said = [process.communicate(timeout=60)[0] for process in (drives, joins, other)]
    assert (drives.returncode, joins.returncode, other.returncode) == (2, 2, 2), said
    assert "give the same command on every machine" in said[2]
    assert "failed_share" in said[0]
    assert "has ended: " in said[1]
    assert not files(out, "queue")
