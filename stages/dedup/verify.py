"""Candidates of a near-duplicate search compared exactly, and who of them is kept.

A document leaves only if the Jaccard similarity of its shingle set with that of a document *that is kept*
reaches the threshold. So similarity is never passed on along a chain: where A resembles B and B resembles C
but A does not resemble C, dropping B for A leaves C.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from pipeline.corpus import Corpus
from pipeline.documents import POSITION_BITS
from pipeline.storage import Folder
from stages.dedup.duplicates import PAIRS
from stages.text.shingles import fold_table, jaccard, shingle_sets, utf8_of

REPRESENTATIVES = 128
"""A document is compared with the first so many kept documents of each of its buckets. A bucket in which more
are kept holds look-alikes below the threshold (a template); more comparisons would make the work quadratic."""

CACHE_HASHES = 16_000_000
"""Shingle hashes that one task keeps in memory, 128 MB."""


@dataclass(frozen=True)
class SetsTask:
    """Work out the shingle sets of documents of one shard and keep them as file `name` of `work`."""

    corpus: Corpus
    positions: np.ndarray
    ngram: int
    work: Folder
    name: str


def write_sets(task: SetsTask) -> pa.Table:
    """Return how many hashes each document's set has, in the order of `task.positions`; the file holds them in turn."""
    texts = task.corpus.read(task.positions, ("text",))["text"].combine_chunks()
    data, offsets = utf8_of(texts)
    bounds, hashes = shingle_sets(data, offsets, task.ngram, fold_table())
    task.work.put(task.name, hashes.tobytes())
    return pa.table({"count": np.diff(bounds)})


@dataclass(frozen=True)
class Group:
    """Candidates to be verified together, in the order in which documents are kept.

    Attributes:
        files: names of the files that hold shingle sets.
        positions, file, start, count: int64, one entry a document: where it is and where its set lies.
        bounds, buckets: document d is in ``buckets[bounds[d]:bounds[d + 1]]``.
    """

    work: Folder
    files: tuple[str, ...]
    positions: np.ndarray
    file: np.ndarray
    start: np.ndarray
    count: np.ndarray
    bounds: np.ndarray
    buckets: np.ndarray
    threshold: float


def verify_group(group: Group) -> pa.Table:
    """Return `PAIRS` of the documents to drop. A row without `kept` is a document that stays, but was in a bucket
    with more kept documents than it was compared with."""
    with contextlib.ExitStack() as stack:
        return _verdicts(group, _Sets(group, [stack.enter_context(group.work.open(name)) for name in group.files]))


def _verdicts(group: Group, sets: _Sets) -> pa.Table:
    kept_in: dict[int, list[int]] = {}
    found: list[tuple[int, int | None, float | None]] = []
    for document in range(len(group.positions)):
        buckets = group.buckets[group.bounds[document] : group.bounds[document + 1]].tolist()
        rivals = sorted({rival for bucket in buckets for rival in kept_in.get(bucket, ())})
        for rival in rivals:
            similarity = sets.compare(rival, document)
            if similarity >= group.threshold:
                found.append((int(group.positions[document]), int(group.positions[rival]), similarity))
                break
        else:
            full = [len(kept_in.setdefault(bucket, [])) >= REPRESENTATIVES for bucket in buckets]
            if any(full):
                found.append((int(group.positions[document]), None, None))
            for bucket, is_full in zip(buckets, full, strict=True):
                if not is_full:
                    kept_in[bucket].append(document)
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return pa.table([pa.array(c, t) for c, t in zip(columns, PAIRS.types, strict=True)], schema=PAIRS)


class _Sets:
    """Shingle sets of a group, read when asked for; the last used stay in memory up to `CACHE_HASHES`."""

    def __init__(self, group: Group, files: Sequence[BinaryIO]):
        self._group = group
        self._files = files
        self._cache: OrderedDict[int, np.ndarray] = OrderedDict()
        self._held = 0

    def compare(self, a: int, b: int) -> float:
        """Return the similarity of documents `a` and `b`, or -1 where it cannot reach the threshold."""
        sizes = int(self._group.count[a]), int(self._group.count[b])
        if min(sizes) < self._group.threshold * max(sizes) - 1e-9:
            return -1.0
        return float(jaccard(self[a], self[b], self._group.threshold))

    def __getitem__(self, document: int) -> np.ndarray:
        cached = self._cache.get(document)
        if cached is not None:
            self._cache.move_to_end(document)
            return cached
        group = self._group
        file, size = self._files[int(group.file[document])], int(group.count[document])
        file.seek(8 * int(group.start[document]))
        values = np.frombuffer(bytes(file.read(8 * size)), np.uint64)
        self._cache[document] = values
        self._held += size
        while self._held > CACHE_HASHES and len(self._cache) > 2:
            self._held -= len(self._cache.popitem(last=False)[1])
        return values


def cut(positions: np.ndarray, weights: np.ndarray, limit: int) -> Iterator[np.ndarray]:
    """Yield `positions` (ascending) in runs of one shard, each of at most `limit` weight, or of one document."""
    shards = positions >> POSITION_BITS
    start, weight = 0, 0
    for at in range(len(positions)):
        if at > start and (shards[at] != shards[start] or weight + weights[at] > limit):
            yield positions[start:at]
            start, weight = at, 0
        weight += int(weights[at])
    if len(positions):
        yield positions[start:]


def pack(weights: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Return runs (start, end) of consecutive items, each of at most `limit` weight, or of one item."""
    runs, start, total = [], 0, 0
    for at, weight in enumerate(weights):
        if at > start and total + weight > limit:
            runs.append((start, at))
            start, total = at, 0
        total += int(weight)
    if len(weights):
        runs.append((start, len(weights)))
    return runs
