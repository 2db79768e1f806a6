"""What the local executor costs a task and a document, beside the pools of the standard library, in turns.

    python benchmarks/executor.py

A pool knows neither which document a worker is at nor what it takes, and loses results when a worker dies: the
difference is the price of that. CPU time is that of the parent, of its children and theirs.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import statistics
import time
from collections.abc import Callable

from pipeline.executors.forks import start_fork_server
from pipeline.executors.local import run_local
from pipeline.guard import guard

ROUNDS, TASKS, DOCUMENTS, WORKERS = 7, 2000, 300_000, 2


def task(argument: dict) -> dict:
    """Do nothing; argument and answer are of the size of a small task's."""
    return {"read": argument["shard"], "kept": 1}


def documents(number: int) -> float:
    """Return the CPU seconds that saying which document is in work takes, `number` times."""
    cpu = time.process_time()
    for document in range(number):
        guard.working_on(document)
    said = time.process_time() - cpu
    cpu = time.process_time()
    for document in range(number):
        abs(document)
    return said - (time.process_time() - cpu)


ARGUMENTS = [{"shard": n, "name": "a" * 100} for n in range(TASKS)]


def ours() -> None:
    """Run the tasks on the local executor."""
    assert sum(1 for _ in run_local(task, enumerate(ARGUMENTS), workers=WORKERS)) == TASKS


def futures() -> None:
    """Run them on concurrent.futures, one task a message as ours."""
    context = multiprocessing.get_context("forkserver")
    with concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        assert len(list(pool.map(task, ARGUMENTS))) == TASKS


def pool() -> None:
    """Run them on multiprocessing.Pool."""
    with multiprocessing.get_context("forkserver").Pool(WORKERS) as workers:
        assert sum(1 for _ in workers.imap_unordered(task, ARGUMENTS)) == TASKS


def measure(run: Callable[[], None]) -> tuple[float, float]:
    """Return (wall, parent's CPU) microseconds a task, workers' start and end included."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return (time.perf_counter() - wall) / TASKS * 1e6, (time.process_time() - cpu) / TASKS * 1e6


def main() -> None:
    """Print the medians."""
    began = time.perf_counter()
    start_fork_server([])
    next(iter(run_local(abs, [(0, 0)], workers=1)))
    print(f"server up and first answer, nothing preloaded: {time.perf_counter() - began:.3f} s")
    found: dict[str, list[tuple[float, float]]] = {}
    for turn in range(ROUNDS + 1):
        for run in (ours, futures, pool):
            times = measure(run)
            if turn:  # the first starts the servers
                found.setdefault(run.__name__, []).append(times)
    for name, times in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name:8} {wall:7.0f} us wall, {cpu:6.0f} us CPU of the parent a task")
    results = run_local(documents, [(n, DOCUMENTS) for n in range(ROUNDS)], workers=1)
    seconds = statistics.median(result.value for result in results)
    print(f"documents: {seconds / DOCUMENTS * 1e6:.2f} us each")


if __name__ == "__main__":
    main()
