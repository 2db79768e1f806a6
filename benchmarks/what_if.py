"""How long what-if and analyse take, and what signals cost: a run of 100,000 documents, its signals, and the run without.

    python benchmarks/what_if.py [--documents 100000] [--workers 2]

Documents are those of tests/tokenmill/test_what_if.py, about 50 words each, through four rule sets. Seconds are wall time of
whole processes, CPU seconds theirs; the run is made with and without signals.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.tokenmill.test_what_if import document

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGES = "".join(f'[[stage]]\nuse = "{name}"\n' for name in ("gopher_repetition", "gopher_quality", "c4", "fineweb"))
CHANGES = ["--set", "gopher_quality.min_doc_words=30", "--set", "fineweb.char_duplicates_ratio=0.1"]


def timed(*arguments: str) -> tuple[float, float, str]:
    """Return wall and CPU seconds of a tokenmill command, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tokenmill", *arguments], check=True, capture_output=True, text=True, cwd=ROOT
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with open(folder / "in.jsonl", "w") as file:
            file.writelines(json.dumps({"id": str(n), "text": document(n)}) + "\n" for n in range(args.documents))
        (folder / "r.toml").write_text(f'name = "r"\n[input]\npaths = ["in.jsonl"]\n{STAGES}')
        recipe, workers = str(folder / "r.toml"), ["--workers", str(args.workers)]
        for label, more in (("without signals", ["--set", "output.signals=false"]), ("with signals", [])):
            wall, cpu, said = timed("run", recipe, "--out", str(folder / label), "--json", *more, *workers)
            stages = {s["stage"]: round(s["cpu_seconds"], 1) for s in json.loads(said)["stages"]}
            print(f"run {label:16} {wall:7.1f} s  {cpu:7.1f} CPU s  kept {json.loads(said)['kept']:,}  {stages}")
        size = sum(f.stat().st_size for f in (folder / "with signals/signals").glob("*"))
        print(
            f"signals: {size / args.documents:.0f} bytes a document, of text {(folder / 'in.jsonl').stat().st_size / args.documents:.0f}"
        )
        run = str(folder / "with signals")
        for label, command in (
            ("what-if", ["what-if", run, *CHANGES, "--json"]),
            ("what-if, 20 values", ["what-if", run, "--sweep", f"gopher_quality.min_doc_words={','.join(map(str, range(10, 50, 2)))}"]),
            ("what-if --worth", ["what-if", run, "--worth"]),
            ("analyse of 10,000", ["analyse", str(folder / "in.jsonl"), "--json", *workers]),
        ):  # fmt: skip
            times = [timed(*command)[:2] for _ in range(3)]
            walls, cpus = zip(*times, strict=True)
            print(f"{label:20} {statistics.median(walls):6.2f} s  {statistics.median(cpus):6.2f} CPU s")
        answer = json.loads(timed("what-if", run, *CHANGES, "--json")[2])
        truth = json.loads(timed("run", recipe, "--out", str(folder / "changed"), "--json", *CHANGES, *workers)[2])
        print(
            "as a run with the same change:", answer["dropped"] == truth["dropped"] and answer["kept"] == truth["kept"]
        )


if __name__ == "__main__":
    main()
