"""Wall time of a run that starts from text, 8 files: four rule sets and near-duplicate removal, 2 workers.

    python benchmarks/text_start.py [--megabytes 16] [--runs 3] [--workers 2]

The texts are those of text_run.py. Printed are, as medians: seconds until a worker has the input open,
wall time, CPU of all stages and decisions, and what the wall time is held against: 1.3 x CPU / workers + 1.5 s. Everything is
installed and compiled before. Wall time says something on a quiet machine only.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

import psutil
from text_run import write_texts

RULES = ("gopher_quality", "gopher_repetition", "c4", "fineweb", "minhash_dedup")
RECIPE = 'name = "text"\n[input]\npaths = ["texts/*.parquet"]\n' + "".join(
    f'[[stage]]\nuse = "{use}"\n' for use in RULES
)
LOOK_SECONDS = 0.005


def main() -> None:
    """Write the corpus, run, print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=16)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        count = write_texts(folder / "texts", int(given.megabytes * 1e6))
        (folder / "recipe.toml").write_text(RECIPE)
        found = [measure(folder, f"run-{number}", given.workers) for number in range(given.runs)]
    first, wall, cpu = (statistics.median(values) for values in zip(*found, strict=True))
    limit = 1.3 * cpu / given.workers + 1.5
    print(f"{count:,} documents, {given.megabytes:g} MB, {given.workers} workers")
    print(f"until a worker has the input open  {first:6.2f} s (wanted: below 1.5)")
    print(f"wall                               {wall:6.2f} s (wanted: at most {limit:.2f}: 1.3 x {cpu:.2f} s of CPU")
    print("                                                   / workers + 1.5)")


def measure(folder: pathlib.Path, out: str, workers: int) -> tuple[float, float, float]:
    """Return seconds until a worker has the input open, until the end, and CPU seconds as the summary counts them."""
    command = [
        sys.executable,
        "-m",
        "tokenmill",
        "run",
        "recipe.toml",
        "--out",
        out,
        "--workers",
        str(workers),
        "--quiet",
    ]
    started = time.perf_counter()
    run = psutil.Popen(command, cwd=folder)
    first = 0.0
    while run.poll() is None:
        if not first and _is_open(run, str(folder / "texts")):
            first = time.perf_counter() - started
        time.sleep(LOOK_SECONDS if not first else 0.02)
    wall = time.perf_counter() - started
    if run.returncode:
        sys.exit(f"the run ended with {run.returncode}")
    return first, wall, json.loads((folder / out / "summary.json").read_text())["cpu_seconds"]


def _is_open(run: psutil.Popen, begin: str) -> bool:
    """Tell whether a worker, a child of a child of the run, has a file open whose path begins with `begin`."""
    try:
        workers = [worker for child in run.children() for worker in child.children()]
        return any(file.path.startswith(begin) for worker in workers for file in worker.open_files())
    except psutil.Error:
        return False


if __name__ == "__main__":
    main()
