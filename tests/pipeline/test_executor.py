"""The local executor: what it gives back when tasks raise, die, hang or eat memory."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import psutil
import pytest

from pipeline.executor import WorkerDied, WorkerLimits, run_local
from pipeline.guard import guard

ROOT = pathlib.Path(__file__).resolve().parents[2]


def work(task):
    kind, value = task
    guard.working_on(value)
    if kind == "raise":
        raise ValueError(f"task {value} is wrong")
    if kind == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "exit":
        os._exit(3)
    if kind == "hang":
        while True:
            pass
    if kind == "sleep":
        time.sleep(60)
    if kind == "silent death":
        guard.idle()
        os._exit(9)
    return value * 2


def mend(task, death):
    return ("mended", death.number) if death.number >= 0 else None


def results(tasks, workers=2, revise=mend, **limits):
    found = run_local(work, enumerate(tasks), workers=workers, limits=WorkerLimits(**limits), revise=revise)
    return {result.key: result for result in found}


def test_every_task_is_done_once():
    found = results([("fine", n) for n in range(50)])
    assert {key: result.value for key, result in found.items()} == {n: 2 * n for n in range(50)}
    assert {result.attempts for result in found.values()} == {1}


def test_an_exception_is_given_back_with_its_message():
    found = results([("raise", 4), ("fine", 1)])
    assert found[0].status == "failed"
    assert isinstance(found[0].error, ValueError)
    assert "task 4 is wrong" in str(found[0].error)
    assert found[1].value == 2


@pytest.mark.parametrize(
    ("kind", "rule", "says"),
    [
        ("die", "crash", "SIGSEGV"),
        ("exit", "crash", "exit code 3"),
        ("hang", "cpu_time", "0.3 s"),
        ("sleep", "wall_time", "0.5 s"),
    ],
)
def test_the_cause_of_a_death_is_known_and_the_other_tasks_go_on(kind, rule, says):
    deaths = []

    def note(task, death):
        deaths.append(death)
        return mend(task, death)

    found = results(
        [("fine", 1), (kind, 7), ("fine", 2)], revise=note, cpu_seconds=0.3, wall_seconds=0.5 if kind == "sleep" else 60
    )
    assert [found[n].value for n in range(3)] == [2, 14, 4]
    assert found[1].attempts == 2
    ((number, cause, detail),) = [(d.number, d.rule, d.detail) for d in deaths]
    assert (number, cause) == (7, rule)
    assert says in detail


def test_a_task_whose_workers_keep_dying_for_no_known_document_is_given_up():
    found = results([("silent death", 1), ("fine", 3)])
    assert isinstance(found[0].error, WorkerDied)
    assert found[0].attempts == 3
    assert found[1].value == 6


ORPHANS = """
import pathlib, sys, time
from pipeline.executor import run_local

def work(path):
    pathlib.Path(path).touch()
    while True:
        sum(range(1000))  # busy, as a worker in the middle of a task is

if __name__ == "__main__":
    list(run_local(work, [(0, sys.argv[1])], workers=1))
"""


def test_no_worker_outlives_a_killed_supervisor(tmp_path):
    script, sign = tmp_path / "orphans.py", tmp_path / "started"
    script.write_text(ORPHANS)
    process = subprocess.Popen([sys.executable, str(script), str(sign)], env={**os.environ, "PYTHONPATH": str(ROOT)})
    while not sign.exists():
        time.sleep(0.02)
    workers = [child for child in psutil.Process(process.pid).children(recursive=True) if child.cpu_times().user > 0]
    process.kill()
    process.wait()
    gone, alive = psutil.wait_procs(workers, timeout=5)
    assert gone
    assert alive == []


def test_tasks_are_taken_only_as_workers_become_free():
    taken = []

    def tasks():
        for n in range(100):
            taken.append(n)
            yield n, ("fine", n)

    running = run_local(work, tasks(), workers=2)
    next(running)
    assert len(taken) < 20
    running.close()
