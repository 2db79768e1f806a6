"""What adding up costs by the number of shards: the same documents in few files and in many, seconds and peak memory.

    python benchmarks/tokenizer_shards.py [--documents 200000] [--shards 100 2000]

Documents are synthetic. Each number of shards is added up in a process of its own, in one process without workers: pretoken
counts (`merge_parts`) and token totals (`sum_parts`), as the stages do.
"""

from __future__ import annotations

import argparse
import tempfile

import numpy as np
import pyarrow as pa
from tokenizer_common import clock, in_child, load

from pipeline.corpus import LocalTasks, Observations, Shards
from pipeline.storage import Folder

WORDS = 200_000
SOURCES, LANGUAGES = ("web", "books", "code"), ("en", "de", "zh", "fi")


def write(root: str, documents: int, shards: int) -> None:
    """Write the observations of `shards` shards into `root`."""
    from tokenizer.pretokens.merging import ordered

    rng = np.random.default_rng(1)
    each = documents // shards
    for number in range(shards):
        ranks = np.minimum(rng.zipf(1.2, each * 100), WORDS)
        words, counts = np.unique(ranks, return_counts=True)
        pretokens = pa.table(
            {"pretoken": pa.array([b" w%d" % w for w in words.tolist()], pa.large_binary()), "count": counts}
        )
        Folder(f"{root}/pretokens").put_table(f"part-{number}.parquet", ordered(pretokens))
        lengths = rng.lognormal(6, 1, each).astype(np.int64)
        table = pa.table(
            {"source": rng.choice(SOURCES, each), "language": rng.choice(LANGUAGES, each), "bytes": 4 * lengths,
             "characters": 4 * lengths, "words": lengths, **{f"tokens_{k}": lengths + k for k in range(4)}}
        )  # fmt: skip
        Folder(f"{root}/tokens").put_table(f"part-{number}.parquet", table)


def observed(root: str, kind: str, documents: int, shards: int) -> Observations:
    """Return what `write` wrote."""
    names, rows = [f"part-{n}" for n in range(shards)], [documents // shards] * shards
    folder = Folder(f"{root}/{kind}")
    return Observations(folder, Shards.write(folder, names, rows))


def add_up(root: str, documents: int, shards: int) -> tuple[float, float]:
    """Return CPU seconds for pretokens and for tokens."""
    from stages.tokens.train_tokenizers import MOST_PARTS, PART_ROWS
    from tokenizer.counting.totals import sum_parts
    from tokenizer.pretokens.merging import merge_parts

    rows = max(PART_ROWS, documents // MOST_PARTS)
    with clock() as pretokens:
        merge_parts(observed(root, "pretokens", documents, shards).parts(rows), Folder(f"{root}/a"), LocalTasks(), 1)
    with clock() as tokens:
        parts = observed(root, "tokens", documents, shards).parts(rows)
        sum_parts(parts, [f"tokens_{k}" for k in range(4)], Folder(f"{root}/b"), LocalTasks())
    return pretokens.cpu, tokens.cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--shards", type=int, nargs="+", default=[100, 2000])
    options = parser.parse_args()
    print(load())
    for shards in options.shards:
        with tempfile.TemporaryDirectory() as root:
            write(root, options.documents, shards)
            (pretokens, tokens), _, _, memory = in_child(add_up, root, options.documents, shards)
            print(f"{options.documents:,} documents in {shards:,} shards: pretokens {pretokens:.2f} s, tokens {tokens:.2f} s, "
                  f"peak {memory:.0f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
