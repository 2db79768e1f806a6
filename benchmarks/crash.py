"""Kills a run at random moments and holds what it ends with against a run that was left alone.

    python benchmarks/crash.py RECIPE [--kills 10] [--workers 1 2 4] [--seed 1]

Prints whether corpus, ledger and budget have the same bytes with each number of workers, and after the kills; and
whether a task whose tally stood before a kill was done again afterwards. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time


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
        again, kills = kill_and_go_on(given, folder / "killed", seconds)
        killed = digests(folder / "killed")
        print(f"killed {kills} times: same bytes: {killed == reference}; finished tasks done again: {again}")
        summary = json.loads((folder / "killed/summary.json").read_text())
        print(
            f"read {summary['read']}, kept {summary['kept']}, failed {summary['failed']}, balanced {summary['balanced']}"
        )
        return 0 if same and killed == reference and not again else 1


def command(recipe: str, out: pathlib.Path, workers: int) -> list[str]:
    """Return the command of one run."""
    return [sys.executable, "-m", "tokenmill", "run", recipe, "--out", str(out), "--workers", str(workers), "--json"]


def kill_and_go_on(given: argparse.Namespace, out: pathlib.Path, seconds: float) -> tuple[int, int]:
    """Kill the run at random moments, then let it end; return tasks done again, and kills that met it alive."""
    chance = random.Random(given.seed)
    stood: dict[pathlib.Path, int] = {}
    again = kills = 0
    for _ in range(given.kills):
        process = subprocess.Popen(
            command(given.recipe, out, given.workers[-1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.3, max(1.0, seconds / 4)))
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += alive
        now = {f: f.stat().st_mtime_ns for f in out.glob("[0-9]*/tally/*.json") if "#" not in f.name}
        again += sum(now.get(file) != stamp for file, stamp in stood.items())
        stood = now
    subprocess.run(command(given.recipe, out, given.workers[-1]), check=True, capture_output=True)
    now = {f: f.stat().st_mtime_ns for f in out.glob("[0-9]*/tally/*.json")}
    return again + sum(now.get(file) != stamp for file, stamp in stood.items()), kills


def digests(out: pathlib.Path) -> dict[str, str]:
    """Return the SHA-256 of each file of corpus, ledger and budget."""
    files = [*out.glob("data/*"), *out.glob("[0-9]*/ledger/*"), *out.glob("token_counts/*"), out / "token_budget.json"]
    files += [f for f in (out / "tokenizer").rglob("*") if f.is_file()]
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(files) if f.exists()}


if __name__ == "__main__":
    sys.exit(main())
