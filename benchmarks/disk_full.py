"""Runs a recipe on file systems that are too small, size after size, then with space, and compares with a run elsewhere.

    sudo python benchmarks/disk_full.py RECIPE [--from 4] [--to 4000] [--step 40] (kB)

Needs to mount a tmpfs. Prints each message once, with how often it came; exit code 1 where a message has more than one
line, a traceback, or the bytes differ in the end.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter


def main() -> int:
    """Fill, run, make space, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--from", dest="first", type=int, default=4)
    parser.add_argument("--to", type=int, default=4000)
    parser.add_argument("--step", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(given.recipe, folder / "whole")
        disk = folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)], check=True)
        said: Counter[str] = Counter()
        wrong = 0
        try:
            for size in range(given.first, given.to, given.step):
                subprocess.run(["mount", "-o", f"remount,size={size}k", str(disk)], check=True)
                done = run(given.recipe, disk / "run")
                if done.returncode == 0:
                    break
                last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "(nothing)"
                said[last.replace(str(disk), "DISK")[:160]] += 1
                wrong += "Traceback" in done.stderr or done.returncode != 2
            subprocess.run(["mount", "-o", "remount,size=500m", str(disk)], check=True)
            run(given.recipe, disk / "run")
            same = digests(disk / "run") == digests(folder / "whole")
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=False)
    for line, number in said.most_common():
        print(f"{number:4}  {line}")
    print(
        f"{sum(said.values())} runs on a full disk, {wrong} that did not end with one line; same bytes in the end: {same}"
    )
    return 0 if same and not wrong else 1


def run(recipe: str, out: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Run the recipe in `out`."""
    command = [sys.executable, "-m", "tokenmill", "run", recipe, "--out", str(out), "--workers", "2", "--json"]
    return subprocess.run(command, capture_output=True, text=True)


def digests(out: pathlib.Path) -> dict[str, str]:
    """Return the digest of every file that holds documents, counts or what was removed."""
    files = [
        *out.glob("data/*"),
        *out.glob("[0-9]*/ledger/*"),
        *out.glob("token*/**/*.parquet"),
        *out.glob("token_budget.json"),
    ]
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(files)}


if __name__ == "__main__":
    sys.exit(main())
