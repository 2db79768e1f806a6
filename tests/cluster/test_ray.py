"""The executor on a real Ray cluster: the same bytes as on local workers, whatever happens to nodes and documents."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import ClassVar

import pytest

from pipeline.run.folder import local_folder
from pipeline.storage import Folder
from tests.pipeline.run.toy import Unique
from tests.servers import endpoint, seaweedfs

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = str(ROOT / "sample_data/recipe.toml")
RECIPE = """
name = "small"
[input]
paths = ["in/*.jsonl"]
[limits]
cpu_seconds = 2
split_bytes = 2000
[[stage]]
use = "python"
file = "rules.py"
function = "rule"
[[stage]]
use = "exact_dedup"
"""
RULES = """
import os, time
def rule(document):
    if "KILL" in document.text:
        os.kill(os.getpid(), 9)
    if "HANG" in document.text:
        while True:
            pass
    if "SLOW" in document.text:
        time.sleep(float(os.environ.get("TOKENMILL_TEST_SLEEP", "0")))
    return len(document.text) > 20
"""


def bytes_of(out: Folder) -> dict[str, bytes]:
    kept = ("data/", "token_counts/", "tokenizer/", "token_budget.json")
    return {n: out.get(n) for n in out.names() if n.startswith(kept) or "/ledger/" in n or n.endswith("drops.json")}


@pytest.fixture(scope="session")
def demo_local(tmp_path_factory):
    """Return the demo as two local workers make it."""
    out = tmp_path_factory.mktemp("demo") / "run"
    run = [sys.executable, "-m", "tokenmill", "run", DEMO, "--out", str(out), "--workers", "2"]
    subprocess.run(run, check=True, capture_output=True)
    return local_folder(out)


def write_small(folder, files: int, documents: int, recipe: str):
    """Write `recipe` over files of documents, one of which kills its worker and one of which hangs; return `folder`."""
    (folder / "in").mkdir()
    for number in range(files):
        texts = [f"document {number} {n % 7} of a small crawl that is SLOW to read" for n in range(documents)]
        texts[5] = "this one will KILL whoever reads it" if number == 3 else texts[5]
        texts[7] = "this one will HANG whoever reads it" if number == 5 else texts[7]
        (folder / f"in/{number}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "recipe.toml").write_text(recipe)
    (folder / "rules.py").write_text(RULES)
    return folder


@pytest.fixture
def small(tmp_path):
    """Write a recipe over 40 splits of documents."""
    return write_small(tmp_path, 8, 130, RECIPE)


def test_the_demo_on_ray_leaves_the_bytes_of_local_workers(cluster, demo_local, tmp_path):
    out = tmp_path / "run"
    done = cluster.tokenmill(
        "run", DEMO, "--out", str(out), "--executor", "ray", "--address", cluster.address, "--json"
    )
    assert json.loads(done.stdout)["kept"] == local_folder(demo_local.url).get_json("summary.json")["kept"]
    assert bytes_of(local_folder(out)) == bytes_of(demo_local)
    log = (out / "tasks.log").read_text()
    assert re.search(r"^\d{4}-\d\d-\d\dT\S+Z part-crawl-00000-\S+ done", log, re.MULTILINE)


def test_documents_that_kill_and_hang_end_on_ray_as_they_do_here_and_a_node_that_dies_costs_nothing(cluster, small):
    recipe, address = str(small / "recipe.toml"), ("--executor", "ray", "--address", cluster.address)
    local = [sys.executable, "-m", "tokenmill", "run", recipe, "--out", str(small / "here"), "--workers", "2"]
    subprocess.run(local, check=True, capture_output=True)
    cluster.start(1)
    command = cluster.command("run", recipe, "--out", str(small / "there"), *address)
    # a task tells where it is from its first second on
    environment = {**cluster.environment, "TOKENMILL_TEST_SLEEP": "0.06"}
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    killed, nodes, until = False, set(), time.monotonic() + 200
    while run.poll() is None and time.monotonic() < until:
        time.sleep(0.5)
        if (small / "there/status.json").exists():
            done = cluster.tokenmill("status", str(small / "there"), "--json")
            status = json.loads(done.stdout)
            nodes |= {task["place"] for task in status.get("running", [])}
            if not killed and status.get("tasks_done", 0) >= 3 and "10.77.0.2" in nodes:
                cluster.spaces.kill(1)
                killed = True
    said = run.communicate()[0]
    assert run.returncode == 0, said
    assert killed, said
    assert bytes_of(local_folder(small / "there")) == bytes_of(local_folder(small / "here"))
    failed = local_folder(small / "there").get_json("summary.json")["failed_by"]
    assert {rule for rules in failed.values() for rule in rules} == {"crash", "cpu_time"}


def test_the_demo_on_ray_in_a_bucket_leaves_the_bytes_of_one_in_a_folder(cluster, demo_local, tmp_path):
    with seaweedfs(tmp_path, "10.77.0.1", cluster.spaces.within(0)) as port:
        where = endpoint(port, "10.77.0.1")
        arguments = ("--out", "s3://tests/run", "--executor", "ray", "--address", cluster.address)
        cluster.tokenmill("run", DEMO, *arguments, **where)
        copy = [sys.executable, str(ROOT / "tests/cluster/fetched.py"), "s3://tests/run", str(tmp_path / "run")]
        subprocess.run(cluster.spaces.within(0, *copy), check=True, env={**cluster.environment, **where})
        again = cluster.tokenmill("status", "s3://tests/run", "--json", **where)
        assert json.loads(again.stdout)["state"] == "finished"
    assert bytes_of(local_folder(tmp_path / "run")) == bytes_of(demo_local)


@dataclass(frozen=True, kw_only=True)
class Ponders(Unique):
    """Takes its time over its decision."""

    name: ClassVar[str] = "ponders"

    def decide(self, observations, corpus, tasks, work):
        assert tasks.map("ponder", ponder, list(range(12))) == list(range(12))
        return super().decide(observations, corpus, tasks, work)


def ponder(number: int) -> int:
    time.sleep(float(os.environ.get("TOKENMILL_TEST_SLEEP", "0")))
    return number


def test_a_node_that_dies_in_the_middle_of_a_decision_costs_nothing(cluster, small):
    program = str(ROOT / "tests/cluster/decides.py")
    subprocess.run([sys.executable, program, str(small), "here", "local"], check=True, cwd=ROOT)
    cluster.spaces.kill(1)
    cluster.start(1)
    command = cluster.spaces.within(0, sys.executable, program, str(small), "there", cluster.address)
    environment = {**cluster.environment, "TOKENMILL_TEST_SLEEP": "3"}
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=ROOT
    )
    done, until = lambda: list(small.glob("there/01-*/observed-*/decision-*/tasks/ponder/*")), time.monotonic() + 100
    while len(done()) < 3 and run.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    before = {f: f.stat().st_mtime_ns for f in done()}
    cluster.spaces.kill(1)
    said = run.communicate(timeout=200)[0]
    assert run.returncode == 0, said
    assert len(before) >= 3
    log = (small / "there/tasks.log").read_text()
    assert len(re.findall(r" done on 10\.77\.0\.\d", log)) > 0, log
    assert bytes_of(local_folder(small / "there")) == bytes_of(local_folder(small / "here"))


def test_a_driver_that_is_killed_and_begun_again_does_no_finished_task_twice(cluster, small):
    address = ("--executor", "ray", "--address", cluster.address)
    command = cluster.command("run", str(small / "recipe.toml"), "--out", str(small / "run"), *address)
    environment = {**cluster.environment, "TOKENMILL_TEST_SLEEP": "0.02"}
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    tally, until = next_tally(small / "run"), time.monotonic() + 100
    while not any(tally()) and time.monotonic() < until:
        time.sleep(0.2)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = {f: f.stat().st_mtime_ns for f in tally()}
    assert before
    time.sleep(2)  # what was in work on the nodes ends with its driver
    cluster.tokenmill(*command[len(cluster.command()) :])
    after = {f: f.stat().st_mtime_ns for f in tally()}
    assert all(after[f] == then for f, then in before.items())
    assert len(after) > len(before)


def next_tally(run):
    return lambda: list(run.glob("01-*/tally/*.json"))


LACKS = (
    r"pyarrow is [\d.]+ there and 1\.0 here",
    r"nonesuch is not installed; install 2\.0",
    r"five has 5 bytes there and 6 here",
    r"cannot read .*none .No such file.*put it on a file system that all share",
    r"sign is missing.*put the run folder on a file system that all share",
)


def test_what_a_node_lacks_is_said_by_node_before_any_work(cluster, small):
    command = [sys.executable, str(ROOT / "tests/cluster/lacks.py"), cluster.address, str(small)]
    done = subprocess.run(
        cluster.spaces.within(0, *command), capture_output=True, text=True, env=cluster.environment, timeout=200
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(LACKS), done.stdout + done.stderr
    for line, lack in zip(lines, LACKS, strict=True):
        assert re.match(rf"node 10\.77\.0\.1: .*{lack}", line), line


FAULTS = {
    "no such address": (["--address", "10.77.0.1:1"], "no Ray cluster answers at 10.77.0.1:1"),
    "no address": (["--address", "elsewhere"], "--address must be auto or HOST:PORT"),
    "a client": (["--address", "ray://10.77.0.1:10001"], "ray job submit"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_cluster_that_cannot_be_reached_is_said_within_seconds(cluster, small, case):
    arguments, said = FAULTS[case]
    started = time.monotonic()
    out = str(small / "run")
    done = cluster.tokenmill("run", str(small / "recipe.toml"), "--out", out, "--executor", "ray", *arguments, code=2)
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert time.monotonic() - started < 15
    assert not (small / "run").exists()
