"""Measures a run that starts from HTML: CPU seconds a stage, MB/s, peak memory, and the peer on the same pages.

    python benchmarks/run.py [--warc 'crawl/warc/*.warc.gz'] [--runs 3] [--workers 2]
        [--peer PYTHON --peer-script peer_datatrove.py --lid lid.176.ftz]

Without --warc the sample crawl is used. With --peer, ours and the peer's run in turn in the same session, whole
processes counted: WARC to filtered text by the same stages with the same thresholds. Prints medians.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import psutil

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGES = """
[[stage]]
use = "extract"
[[stage]]
use = "language"
min_score = 0.5
[[stage]]
use = "gopher_repetition"
[[stage]]
use = "gopher_quality"
[[stage]]
use = "c4"
filter_no_terminal_punct = false
[[stage]]
use = "fineweb"
"""
DEDUP = """
[[stage]]
use = "exact_dedup"
[[stage]]
use = "minhash_dedup"
"""


def main() -> None:
    """Run the measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warc", default=str(ROOT / "sample_data/crawl/*.warc.gz"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dedup", action="store_true", help="exact and MinHash dedup behind the filters")
    parser.add_argument("--peer", help="Python of an environment with datatrove")
    parser.add_argument("--peer-script", help="the script that runs it")
    parser.add_argument("--lid", default=str(ROOT / "stages/models/lid.176.ftz"))
    given = parser.parse_args()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(given.runs):
            ours.append(measure_ours(given, pathlib.Path(folder), turn))
            if given.peer:
                theirs.append(measure_peer(given, pathlib.Path(folder)))
    report(ours, theirs)


def measure_ours(given: argparse.Namespace, folder: pathlib.Path, turn: int) -> dict:
    """Run tokenmill once, whole process, and return its figures."""
    recipe = folder / "recipe.toml"
    paths = json.dumps(sorted(glob.glob(os.path.abspath(given.warc))))
    recipe.write_text(f'name = "bench"\n[input]\npaths = {paths}\n{STAGES}{DEDUP if given.dedup else ""}')
    out = folder / f"out{turn}"
    command = [
        sys.executable,
        "-m",
        "tokenmill",
        "run",
        str(recipe),
        "--out",
        str(out),
        "--workers",
        str(given.workers),
    ]
    seconds, peak, one, _ = watched([*command, "--json"])
    summary = json.loads((out / "summary.json").read_text())
    shutil.rmtree(out)
    return {"seconds": seconds, "peak_mb": peak, "worker_mb": one, "summary": summary}


def measure_peer(given: argparse.Namespace, folder: pathlib.Path) -> dict:
    """Run the peer once, whole process, for the web stages alone."""
    command = [given.peer, given.peer_script, "--warc", given.warc, "--lid", given.lid, "--out", str(folder / "peer")]
    command += ["--workers", str(given.workers), "--what", "web"]
    seconds, peak, _, output = watched(command)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    web = next(line["seconds"] for line in lines if line["stage"] == "web")
    return {"seconds": web, "peak_mb": peak, "stages": lines, "process": seconds}


def watched(command: list[str]) -> tuple[float, float, float, str]:
    """Run `command`; return wall seconds, and peak resident MB of the process tree and of its largest member, and output."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    peak = [0.0, 0.0]
    stop = threading.Event()

    def watch() -> None:
        me = psutil.Process(process.pid)
        while not stop.wait(0.05):
            try:
                sizes = [p.memory_info().rss for p in [me, *me.children(recursive=True)]]
            except psutil.Error:
                continue
            peak[0] = max(peak[0], sum(sizes) / 1e6)
            peak[1] = max(peak[1], max(sizes) / 1e6)

    threading.Thread(target=watch, daemon=True).start()
    output, _ = process.communicate()
    stop.set()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, *peak, output


def report(ours: list[dict], theirs: list[dict]) -> None:
    """Print medians and ratios."""
    seconds = statistics.median(run["seconds"] for run in ours)
    summary = ours[-1]["summary"]
    runs = ", ".join(f"{run['seconds']:.1f}" for run in ours)
    print(f"tokenmill: {seconds:.1f} s (runs: {runs}), whole process")
    print(f"  read {summary['read']}, kept {summary['kept']}, {summary['bytes_in'] / 1e6 / seconds:.1f} MB/s of HTML")
    print(
        f"  peak memory {max(r['peak_mb'] for r in ours):.0f} MB in all, {max(r['worker_mb'] for r in ours):.0f} MB in one process"
    )
    total = statistics.median(run["summary"]["cpu_seconds"] for run in ours)
    print(f"  CPU seconds in the passes: {total:.2f}")
    for index, stage in enumerate(summary["stages"]):
        cpu = statistics.median(run["summary"]["stages"][index]["cpu_seconds"] for run in ours)
        print(
            f"    {stage['stage']:<20} {cpu:8.2f} s  {100 * cpu / total:5.1f} %  {stage['documents_out']:>7} documents out"
        )
    staged = sum(
        statistics.median(r["summary"]["stages"][i]["cpu_seconds"] for r in ours) for i in range(len(summary["stages"]))
    )
    print(f"    {'reading and writing':<20} {total - staged:8.2f} s  {100 * (total - staged) / total:5.1f} %")
    extract = next((i for i, stage in enumerate(summary["stages"]) if stage["stage"] == "extract"), None)
    if extract is not None:
        cpu = statistics.median(run["summary"]["stages"][extract]["cpu_seconds"] for run in ours)
        print(f"  everything but extraction: {100 * (total - cpu) / total:.1f} % of the CPU time")
    if theirs:
        peer = statistics.median(run["seconds"] for run in theirs)
        print(
            f"peer: {peer:.1f} s for its fused web stages alone; whole process {statistics.median(r['process'] for r in theirs):.1f} s"
        )
        for line in theirs[-1]["stages"]:
            print(f"    {line}")
        print(f"ratio, ours as a whole process to the peer's web stages alone: {seconds / peer:.2f}")
        # the peer's script measures a bare extraction first, which is not part of the comparison
        whole = statistics.median(r["process"] - r["stages"][0]["seconds"] for r in theirs)
        print(f"ratio, both as whole processes ({whole:.1f} s of the peer's): {seconds / whole:.2f}")


if __name__ == "__main__":
    main()
