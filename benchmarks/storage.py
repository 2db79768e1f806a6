"""What it costs to wait for the disk: files written with and without fsync, in turns, beside obstore's own writing.

python benchmarks/storage.py [FOLDER]
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile
import time
from functools import partial

import obstore
from obstore.store import LocalStore

from pipeline.storage import Folder, local

ROUNDS = 7


def measure(write, names, data) -> tuple[float, float]:
    """Return (wall, CPU) milliseconds a file."""
    wall, cpu = time.perf_counter(), time.process_time()
    for name in names:
        write(name, data)
    return (time.perf_counter() - wall) / len(names) * 1e3, (time.process_time() - cpu) / len(names) * 1e3


def main() -> None:
    """Print the medians."""
    where = sys.argv[1] if len(sys.argv) > 1 else None
    for size, number in ((2_000, 100), (1_000_000, 20), (20_000_000, 4)):
        found: dict[str, list[tuple[float, float]]] = {}
        with tempfile.TemporaryDirectory(dir=where) as place:
            writers = {"obstore": partial(obstore.put, LocalStore(prefix=pathlib.Path(place)))}
            writers["fsync"] = writers["no fsync"] = Folder(place).put
            for turn in range(ROUNDS):
                for kind, write in writers.items():
                    local.FSYNC = kind == "fsync"
                    names = [f"{kind}/{turn}-{n}" for n in range(number)]
                    found.setdefault(kind, []).append(measure(write, names, bytes(size)))
        for kind, times in found.items():
            wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{size:>10,} bytes  {kind:9}  {wall:8.2f} ms wall  {cpu:6.2f} ms CPU a file")


if __name__ == "__main__":
    main()
