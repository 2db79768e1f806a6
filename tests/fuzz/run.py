"""Reads damaged files of every format in worker processes, as a run does: ``python -m tests.fuzz.run --files 20000``.

The same number gives the same files. A file on which a worker dies is then read by a whole run, beside a sound one: dying
is a reader's right, as the run leaves out what killed it; that the run ends with 0 or 2 and keeps the sound file is the law.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from pipeline.executors.contract import Death, WorkerLimits
from pipeline.executors.local import run_local
from tests.fuzz.targets import SOUND, damaged_file, read_damaged

CPU_SECONDS = 10.0
SOUND_ROWS = 120


def main() -> int:
    """Fuzz, print what was found, and return 1 where that is a defect."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000, help="damaged files, spread over the formats")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no more after so long")
    parser.add_argument("--kind", choices=sorted(SOUND), action="append", help="formats; all if not given")
    parser.add_argument("--workers", type=int, default=2)
    said = parser.parse_args()
    return 1 if fuzz(said.kind or sorted(SOUND), said.first, said.files, said.seconds, said.workers) else 0


def fuzz(kinds: list[str], first: int, files: int, seconds: float, workers: int) -> list[str]:
    """Return the defects found, one line each."""
    until = time.monotonic() + seconds
    numbers = range(first, first + -(-files // len(kinds)))
    tasks = (((kind, n), (kind, n)) for n in numbers for kind in kinds if time.monotonic() < until)
    counts: collections.Counter[str] = collections.Counter()
    died: dict[tuple[str, int], str] = {}
    defects = []

    def revise(task: tuple[str, int], death: Death) -> None:
        died[task] = f"{death.rule}: {death.detail}"

    limits = WorkerLimits(cpu_seconds=CPU_SECONDS, wall_seconds=60.0, task_seconds=60.0)
    for result in run_local(read_damaged, tasks, workers=workers, limits=limits, revise=revise):
        outcome = result.value if result.status == "done" else f"{type(result.error).__name__}: {result.error}"
        outcome = "died" if result.key in died else outcome
        counts[f"{result.key[0]} {outcome}"] += 1
        if outcome not in ("read", "refused", "died"):
            defects.append(f"{result.key}: {outcome}")
    for key, cause in died.items():
        wrong = run_on(*key)
        print(f"{key} ended a worker ({cause})" + (f"; its run: {wrong}" if wrong else "; its run ended well"))
        if wrong:
            defects.append(f"{key}: {wrong}")
    for line, count in sorted(counts.items()):
        print(f"{line}: {count}")
    print(f"{sum(counts.values())} files, {len(died)} of them ended a worker, {len(defects)} defects")
    for defect in defects:
        print("DEFECT", defect)
    return defects


def run_on(name: str, number: int) -> str:
    """Run a recipe over a damaged file and a sound one; return what is wrong with that, empty for nothing."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / name).write_bytes(damaged_file(name, number))
        rows = [json.dumps({"id": str(n), "text": f"Sound text {n}."}) for n in range(SOUND_ROWS)]
        (folder / "sound.jsonl").write_text("\n".join(rows) + "\n")
        recipe = f'[input]\npaths = ["{name}", "sound.jsonl"]\n[limits]\nfailed_share = 1.0\ncpu_seconds = 5\n'
        if "warc" in name or "arc" in name.split("."):
            recipe += '[[stage]]\nuse = "extract"\n'
        (folder / "recipe.toml").write_text(recipe)
        command = [sys.executable, "-m", "tokenmill", "run", "recipe.toml", "--out", "out", "--json"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "it takes more than two minutes"
        if done.returncode == 2 and name in done.stderr and "Traceback" not in done.stderr:
            return ""
        if done.returncode != 0:
            return f"exit code {done.returncode}: {done.stderr[-500:]}"
        kept = json.loads((folder / "out" / "summary.json").read_text())["kept"]
        return "" if kept >= SOUND_ROWS else f"only {kept} documents are kept"


if __name__ == "__main__":
    sys.exit(main())
