"""How fast WARC files are read: tokenmill's reader against FastWARC and warcio, each reading all record bodies.

    python benchmarks/readers.py FILE.warc.gz [FILE …] [--rounds N]

Tokenmill's figure includes what the peers leave to their user: undoing HTTP encodings, telling pages from other
bodies, and building Arrow batches. Each round runs all three, so that the ratios compare the same moments.
"""

from __future__ import annotations

import argparse
import statistics
import time
import zlib
from collections.abc import Callable

import pyarrow as pa
from fastwarc.warc import ArchiveIterator as FastArchive
from warcio.archiveiterator import ArchiveIterator as WarcioArchive

from pipeline.documents import INPUT_FIELDS, Batch
from pipeline.readers import InputFile, ReadOptions, plan_splits, read_split


def read_with_tokenmill(path: str) -> int:
    """Return the number of pages read."""
    options = ReadOptions(pa.schema(INPUT_FIELDS), 8_000_000, {}, 256_000_000)
    items = (item for split in plan_splits(InputFile(path, path), 1 << 40) for item in read_split(split, options))
    return sum(len(item) for item in items if isinstance(item, Batch))


def read_with_fastwarc(path: str) -> int:
    """Return the number of records read."""
    with open(path, "rb") as file:
        return sum(record.reader.read() is not None for record in FastArchive(file))


def read_with_warcio(path: str) -> int:
    """Return the number of records read."""
    with open(path, "rb") as file:
        return sum(record.content_stream().read() is not None for record in WarcioArchive(file))


def inflate_only(path: str) -> int:
    """Return the number of bytes inflated: zlib alone, the floor for a reader in Python."""
    total = 0
    with open(path, "rb") as file:
        rest, inflater = b"", zlib.decompressobj(31)
        while data := rest or file.read(1 << 16):
            total += len(inflater.decompress(data))
            rest = inflater.unused_data
            if inflater.eof:
                inflater = zlib.decompressobj(31)
    return total


READERS: dict[str, Callable[[str], int]] = {
    "tokenmill": read_with_tokenmill,
    "fastwarc": read_with_fastwarc,
    "warcio": read_with_warcio,
    "zlib alone": inflate_only,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    size = sum(inflate_only(path) for path in arguments.files)
    rates: dict[str, list[float]] = {name: [] for name in READERS}
    for _ in range(arguments.rounds):
        for name, read in READERS.items():
            started = time.process_time()
            for path in arguments.files:
                read(path)
            rates[name].append(size / (time.process_time() - started) / 1e6)
    print(f"{len(arguments.files)} files, {size / 1e6:.1f} MB inflated, median of {arguments.rounds} rounds, CPU time")
    ours = statistics.median(rates["tokenmill"])
    for name, values in rates.items():
        middle = statistics.median(values)
        print(
            f"{name:12} {middle:8.0f} MB/s"
            + ("" if name == "tokenmill" else f"   tokenmill / {name}: {ours / middle:.2f}")
        )


if __name__ == "__main__":
    main()
