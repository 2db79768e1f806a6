"""How much of the input a try-out reads: documents by hash, and the first so many of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pipeline.documents import Batch
from pipeline.executors.contract import Death
from pipeline.readers import Fault, Ignored, Item, Mark
from pipeline.worker.task import ShardTask, revise

LEFT_OUT = "not in the sample"
"""What records are counted as that a sample leaves out."""


def tried(items: Iterator[Item], until: int | None, share: float, file: str) -> Iterator[Item]:
    """Return what a try-out reads of `items`, what a reader yields: up to number `until`, and a sample of `share`."""
    return items if until is None and share >= 1 else _some(items, until, share, file)


def _some(items: Iterator[Item], until: int | None, share: float, file: str) -> Iterator[Item]:
    for item in items:
        if until is not None and isinstance(item, Mark) and item.number >= until:
            yield Mark(until)
            return
        if until is not None and isinstance(item, Batch):
            item = item.select(np.flatnonzero(item.numbers < until).tolist())
        if until is not None and isinstance(item, Fault) and item.number >= until:
            continue
        yield from _sampled(item, share, file) if share < 1 else (item,)


def _sampled(item: Item, share: float, file: str) -> Iterator[Item]:
    if isinstance(item, Batch):
        rows = [row for row, fraction in enumerate(_fractions(item)) if fraction < share]
        if len(rows) < len(item):
            yield Ignored(LEFT_OUT, len(item) - len(rows))
        if rows:
            yield item.select(rows)
    elif isinstance(item, Fault) and _fraction(f"{file}#{item.offset}".encode()) >= share:
        yield Ignored(LEFT_OUT, 1)
    else:
        yield item


def _fractions(batch: Batch) -> Iterator[float]:
    """Yield a number in [0, 1), even over documents, for each document: of its url and its page or text."""
    contents = zip(batch.column("url"), batch.column("raw"), batch.column("text"), strict=True)
    for url, raw, text in contents:
        yield _fraction((url or "").encode() + b"\0" + (raw if raw is not None else (text or "").encode()))


def _fraction(data: bytes) -> float:
    """Return a number in [0, 1) from BLAKE2b (RFC 7693) of `data`."""
    return (int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 11) / (1 << 53)


@dataclass(frozen=True)
class Counting:
    """A split whose first documents are counted, `most` of them at most."""

    task: ShardTask
    most: int


def revise_counting(counting: Counting, death: Death) -> Counting | None:
    """Return what to try after a worker died on `counting`; see `pipeline.worker.task.revise`."""
    task = revise(counting.task, death)
    return None if task is None else replace(counting, task=task)
