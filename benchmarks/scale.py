"""Seconds and bytes a document of every step of exact and near-duplicate removal and mixing, at several sizes.

    python benchmarks/scale.py steps [--documents 20000 200000 2000000] [--files 100] [--template 0] [--stages exact_dedup]
    python benchmarks/scale.py run   [--documents 20000 200000] [--files 100]

`steps` drives the stages on a pool of processes and prints, by step, wall and CPU time, bytes left on disk, and the largest
process; `run` times whole runs of the program, `tokenmill run`, and prints the seconds of each pass.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow.parquet as pq
from synthetic import write_corpus

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipeline.corpus import Corpus, Observations, Shards  # noqa: E402
from pipeline.corpus_stage import CorpusStage  # noqa: E402
from pipeline.decisions import DropPositions  # noqa: E402
from pipeline.documents import Batch  # noqa: E402
from pipeline.storage import Folder  # noqa: E402
from stages.dedup.exact_dedup import ExactDedup  # noqa: E402
from stages.dedup.minhash_dedup import MinHashDedup  # noqa: E402
from stages.mixing.mix import Mix  # noqa: E402

STAGES: dict[str, CorpusStage] = {
    "exact_dedup": ExactDedup(),
    "minhash_dedup": MinHashDedup(),
    "mix": Mix(fractions={"unknown": 0.5}),
}


def main() -> None:
    """Make the corpora, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("how", choices=["steps", "run"])
    parser.add_argument("--documents", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--files", type=int, nargs="+", default=[100, 2000])
    parser.add_argument(
        "--template", type=float, default=0.0, help="share of documents that are copies of one text, nearly"
    )
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=list(STAGES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", help="where the corpora lie, made where they do not (default: a temporary folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for documents in given.documents:
            for files in given.files:
                at = pathlib.Path(given.folder or name) / f"{documents}-{files}-{given.template}"
                if not at.is_dir():
                    write_corpus(at, documents, files, given.template)
                print(f"\n{documents:,} documents in {files} files")
                if given.how == "steps":
                    steps(at, documents, given.stages, given.workers)
                else:
                    whole_run(at, documents, given.stages, given.workers)


@dataclass
class Pool:
    """Tasks on a pool of processes, measured."""

    pool: ProcessPoolExecutor
    work: pathlib.Path
    documents: int
    lines: list[tuple[str, int, float, float, int, int]] = field(default_factory=list)

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]`` and note what it took."""
        started = time.perf_counter()
        found = list(self.pool.map(partial(_measured, function), items))
        wall = time.perf_counter() - started
        cpu, peak = sum(cpu for _, cpu, _ in found), max((peak for *_, peak in found), default=0)
        self.lines.append((name, len(items), wall, cpu, peak, _bytes_below(self.work)))
        return [value for value, *_ in found]

    def print(self) -> None:
        """Print a line a step."""
        print(
            f"{'step':24}{'tasks':>7}{'wall us/doc':>13}{'CPU us/doc':>12}{'largest MB':>12}{'bytes/doc on disk':>19}"
        )
        lines = [*self.lines, ("total", 0, *(sum(line[n] for line in self.lines) for n in (2, 3)), 0, 0)]
        for name, tasks, wall, cpu, peak, size in lines:
            times = f"{wall / self.documents * 1e6:>13.2f}{cpu / self.documents * 1e6:>12.2f}"
            print(
                f"{name:24}{tasks or '':>7}{times}{peak / 1e6 or '':>12.0f}{size / self.documents or '':>19.1f}"
                if peak
                else f"{name:24}{'':>7}{times}"
            )


def _measured(function: Callable[[Any], Any], item: Any) -> tuple[Any, float, int]:
    started = time.process_time()
    value = function(item)
    return value, time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _bytes_below(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def steps(corpus: pathlib.Path, documents: int, names: Sequence[str], workers: int) -> None:
    """Observe and decide each stage on what those before it left, and print each step."""
    with (
        tempfile.TemporaryDirectory() as name,
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
    ):
        files = sorted(path.stem for path in corpus.glob("*.parquet"))
        rows = [pq.ParquetFile(corpus / f"{file}.parquet").metadata.num_rows for file in files]
        list(pool.map(_warm, range(workers)))
        documents_folder = Folder(str(corpus))
        shards = Shards.write(Folder(name), files, rows)
        gone: list[tuple[DropPositions, Folder]] = []
        for label in names:
            stage, work = STAGES[label], pathlib.Path(name) / label
            observed = Folder(str(work / "observed"))
            tasks = Pool(pool, work, documents)
            tasks.map("observe", partial(_observe, stage, documents_folder, observed), list(enumerate(files)))
            observations = Observations(observed, shards, tuple(gone))
            cpu = time.process_time()
            decided = Folder(str(work / "decision"))
            decision = stage.decide(observations, Corpus(documents_folder, shards), tasks, decided)
            cpu, peak = time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"\n{label}: {decision}")
            tasks.print()
            print(f"deciding process: {cpu / documents * 1e6:.2f} us of CPU a document, {peak:.0f} MB")
            if isinstance(decision, DropPositions):
                gone.append((decision, decided))


def _warm(_: int) -> None:
    MinHashDedup().observe(Batch.of(["one text of a few words"]))
    time.sleep(0.5)


def _observe(stage: CorpusStage, documents: Folder, observed: Folder, shard: tuple[int, str]) -> int:
    _, name = shard
    tables, at = [], 0
    with documents.open(f"{name}.parquet") as file:
        for data in pq.ParquetFile(file).iter_batches(batch_size=5_000):
            batch = Batch(data)
            batch.numbers = batch.numbers + at
            at += len(batch)
            tables.append(stage.observe(batch))
    table = stage.combine(tables)
    observed.put_table(f"{name}.parquet", table)
    return table.num_rows


def whole_run(corpus: pathlib.Path, documents: int, names: Sequence[str], workers: int) -> None:
    """Run the program on the corpus and print what its summary says of each pass."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        use = [f'[[stage]]\nuse = "{n}"\n' + ("fractions = { unknown = 0.5 }\n" if n == "mix" else "") for n in names]
        recipe = f'[input]\npaths = [{json.dumps(str(corpus / "*.parquet"))}]\nsource = "unknown"\n' + "".join(use)
        (folder / "recipe.toml").write_text(recipe)
        command = [sys.executable, "-m", "tokenmill", "run", "recipe.toml", "--out", "out", "--workers", str(workers)]
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
        )
        wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        summary = json.loads((folder / "out" / "summary.json").read_text())
        print(
            f"{wall / documents * 1e6:.1f} us of wall and {cpu / documents * 1e6:.1f} us of CPU a document, "
            f"largest process {after.ru_maxrss / 1024:.0f} MB, on disk {_bytes_below(folder / 'out') / documents:.0f} bytes"
        )
        for step in summary["passes"]:
            print(f"  {step['name']:24}{step['seconds'] / documents * 1e6:8.1f} us")


if __name__ == "__main__":
    main()
