"""What the tokenizer benchmarks share: benchmark text, time of process and wall, memory of a child."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SIZES = (8192, 32768, 65536, 100352, 131072)


def texts_in(folder: pathlib.Path, megabytes: float) -> pa.Array:
    """Return about `megabytes` of the texts in the Parquet files of `folder`, taken evenly from all of them."""
    files = sorted(folder.glob("*.parquet"))
    pieces, size = [], 0
    for group in range(10**6):
        found = False
        for path in files:
            file = pq.ParquetFile(path)
            if group < file.num_row_groups:
                found = True
                column = file.read_row_group(group, columns=["text"])["text"].cast(pa.large_string())
                pieces += column.chunks
                size += column.nbytes
                if size >= megabytes * 1e6:
                    return pa.concat_arrays(pieces)
        if not found:
            break
    return pa.concat_arrays(pieces)


class Clock:
    """Seconds of wall and of CPU of this process between enter and exit."""

    wall = cpu = 0.0


@contextmanager
def clock() -> Iterator[Clock]:
    result = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    yield result
    result.wall, result.cpu = time.perf_counter() - wall, time.process_time() - cpu


def load() -> str:
    """Return the load of the machine, to judge figures by."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def _measured(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with clock() as took:
        value = function(*arguments)
    pipe.send((value, took.wall, took.cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def in_child(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float, float]:
    """Return (value, wall s, CPU s, peak MiB) of `function` run in a fresh process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_measured, args=(theirs, function, arguments))
    child.start()
    result = ours.recv()
    child.join()
    return result
