"""What it costs to change a threshold: CPU time of a run, of the same run again, and of it with one parameter changed.

    python benchmarks/tuning.py RECIPE [--set gopher_quality.min_stop_words=1] [--workers 2]

CPU time is of the whole process tree, start included, and as the summary counts it.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def main() -> None:
    """Run three times and print each one's cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--set", default="gopher_quality.min_stop_words=1")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "run"
        first, _ = measure(given, out)
        again, _ = measure(given, out)
        changed, passes = measure(given, out, "--set", given.set)
        back, _ = measure(given, out)
        print(f"first run             {first[0]:7.2f} s CPU {first[1]:7.2f} s wall")
        print(f"again                 {again[0]:7.2f} s CPU {again[1]:7.2f} s wall")
        share = changed[0] / first[0]
        print(f"{given.set:21} {changed[0]:7.2f} s CPU {changed[1]:7.2f} s wall: {share:.3f} of the first")
        print(f"changed back          {back[0]:7.2f} s CPU {back[1]:7.2f} s wall")
        for step in passes:
            print(
                f"  pass {step['name']:20} {step['cpu_seconds']:8.2f} s CPU, {step['bytes_written'] / 1e6:8.2f} MB written"
            )


def measure(given: argparse.Namespace, out: pathlib.Path, *extra: str) -> tuple[tuple[float, float], list[dict]]:
    """Return (CPU seconds, wall seconds) of one run, and its passes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "tokenmill", "run", given.recipe, "--out", str(out), "--json"]
    done = subprocess.run([*command, "--workers", str(given.workers), *extra], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (cpu, wall), json.loads(done.stdout)["passes"]


if __name__ == "__main__":
    main()
