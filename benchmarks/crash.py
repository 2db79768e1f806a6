"""Kills a run at random moments and holds what it ends with against a run that was left alone.

    python benchmarks/crash.py RECIPE [--kills 10] [--workers 1 2 4] [--seed 1]

A run is killed, at a moment between its start and about its end, and begun again until it has ended; then the next run begins
in a folder of its own, until so many kills have met one alive. Every third kill is of one process of the tree alone (the fork
server, a worker), and the run is then killed as a whole a moment later, if it still goes on.

Prints whether corpus, signals, ledger and budget have the same bytes with each number of workers, and after the kills; whether
a task whose commit, observation or decision stood before a kill was done again afterwards; and processes left behind. Exit code
1 where anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import psutil


def main() -> int:
    """Run, kill, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found, seconds = {}, 0.0
        for workers in given.workers:
            started = time.perf_counter()
            subprocess.run(command(given.recipe, folder / f"w{workers}", workers), check=True, capture_output=True)
            seconds = time.perf_counter() - started
            found[workers] = digests(folder / f"w{workers}")
            print(f"{workers} workers: {seconds:.1f} s, {len(found[workers])} files")
        reference = found[given.workers[0]]
        same = all(files == reference for files in found.values())
        print(f"same bytes with {given.workers} workers: {same}")
        found_by_kills = Found()
        chance = random.Random(given.seed)
        while found_by_kills.kills < given.kills:
            out = folder / "killed"
            shutil.rmtree(out, ignore_errors=True)
            kill_and_go_on(given, out, seconds, chance, found_by_kills)
            found_by_kills.differ += digests(out) != reference
        print(found_by_kills)
        summary = json.loads((folder / "killed/summary.json").read_text())
        print(
            f"read {summary['read']}, kept {summary['kept']}, failed {summary['failed']}, balanced {summary['balanced']}"
        )
        return 0 if same and not (found_by_kills.differ or found_by_kills.again or found_by_kills.left) else 1


@dataclass
class Found:
    """What the kills have shown: runs that ended, kills that met one alive, runs that ended with other bytes, finished tasks
    done again, processes that outlived their program by two seconds."""

    runs: int = 0
    kills: int = 0
    differ: int = 0
    again: int = 0
    left: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills of {self.runs} runs: ended with other bytes: {self.differ}; finished tasks done again: "
            f"{self.again}; processes left: {self.left}"
        )


def command(recipe: str, out: pathlib.Path, workers: int) -> list[str]:
    """Return the command of one run."""
    return [sys.executable, "-m", "tokenmill", "run", recipe, "--out", str(out), "--workers", str(workers), "--json"]


def kill_and_go_on(
    given: argparse.Namespace, out: pathlib.Path, seconds: float, chance: random.Random, found: Found
) -> None:
    """Begin the run again and again until it has ended, killed each time as long as kills are left."""
    stood: dict[pathlib.Path, int] = {}
    while True:
        process = psutil.Popen(
            command(given.recipe, out, given.workers[-1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if found.kills < given.kills:
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(chance.uniform(0.1, max(1.0, seconds / 3)))
        else:
            process.wait()
        ended = process.poll()
        if ended is None:
            kill(process, chance, found)
        now = finished_tasks(out)
        found.again += sum(now.get(file) != stamp for file, stamp in stood.items() if file.parent.exists())
        stood = now
        if ended is not None:
            if ended:
                sys.exit(f"the run ended with {ended}")
            found.runs += 1
            return


def kill(process: psutil.Popen, chance: random.Random, found: Found) -> None:
    """Kill one process of the tree now and then, and the program; count what outlives it."""
    tree = process.children(recursive=True)
    if tree and found.kills % 3 == 2:
        with contextlib.suppress(psutil.Error):
            chance.choice(tree).kill()
        time.sleep(chance.uniform(0.0, 0.5))
        with contextlib.suppress(psutil.Error):
            tree = process.children(recursive=True)
    process.kill()
    process.wait()
    found.kills += 1
    _, alive = psutil.wait_procs(tree, timeout=2.0)
    found.left += len(alive)


def finished_tasks(out: pathlib.Path) -> dict[pathlib.Path, int]:
    """Return when each commit, record of an observation and decision was written."""
    places = ("tally/*.json", "observed-*/seen/*.json", "observed-*/decision-*/decision.json")
    files = [file for place in places for file in out.glob(f"[0-9]*/{place}") if "#" not in file.name]
    return {file: file.stat().st_mtime_ns for file in files}


def digests(out: pathlib.Path) -> dict[str, str]:
    """Return the SHA-256 of each file of corpus, ledger and budget."""
    files = [
        *out.glob("data/*"),
        *out.glob("signals/*"),
        *out.glob("[0-9]*/ledger/*"),
        *out.glob("token_counts/*"),
        out / "token_budget.json",
    ]
    files += [f for f in (out / "tokenizer").rglob("*") if f.is_file()]
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(files) if f.exists()}


if __name__ == "__main__":
    sys.exit(main())
