"""Peak memory of training a 128k ladder on more and more text: it grows with the distinct pretokens only.

    python benchmarks/tokenizer_memory.py FOLDER [--gigabytes 1 2 4] [--floor 1]

FOLDER holds Parquet files with a column `text`. Each amount is trained on in a process of its own; less is taken where
the folder holds less. `--floor` is the least frequency of a pretoken that takes part.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from tokenizer_common import in_child, load


def train(paths: list[str], out: str, floor: int) -> dict[str, object]:
    """Train a ladder and return what its card says."""
    from tokenizer import train_ladder

    return dict(train_ladder(paths, [8192, 32768, 131072], out=out, min_pretoken_count=floor).training)


def take(folder: pathlib.Path, out: pathlib.Path, size: float) -> list[str]:
    """Write about `size` bytes of text from `folder` to `out` as Parquet files; return their paths."""
    paths, taken = [], 0
    for number, path in enumerate(sorted(folder.glob("*.parquet"))):
        file, target = pq.ParquetFile(path), out / f"{number:05d}.parquet"
        writer: pq.ParquetWriter | None = None
        for batch in file.iter_batches(1000, columns=["text"]):
            table = pa.Table.from_batches([batch])
            writer = writer or pq.ParquetWriter(target, table.schema)
            writer.write_table(table)
            taken += table.nbytes
            if taken >= size:
                break
        if writer is not None:
            writer.close()
            paths.append(str(target))
        if taken >= size:
            break
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 2, 4])
    parser.add_argument("--floor", type=int, default=1)
    options = parser.parse_args()
    print(load())
    for size in options.gigabytes:
        with tempfile.TemporaryDirectory() as name:
            paths = take(options.folder, pathlib.Path(name), size * 1e9)
            facts, wall, cpu, memory = in_child(train, paths, f"{name}/ladder", options.floor)
            print(f"{facts['bytes'] / 1e9:.2f} GB of text, {facts['pretokens']:,} distinct pretokens "
                  f"({facts['pretoken_occurrences']:,} in all): {memory:.0f} MiB peak, {wall:.0f} s wall, {cpu:.0f} s CPU")  # fmt: skip
    print(load())


if __name__ == "__main__":
    main()
