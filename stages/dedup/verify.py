"""Candidates compared exactly: shingle sets brought to the blocks that need them, and the pairs alike in each.

Shingle sets are worked out once a document, by tasks that read its shards in order, and sent to the blocks of tiles
(`stages.dedup.tiles`) that asked for them; so a comparison reads what lies in one run of each file, never at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numba import njit

from pipeline.corpus import Corpus
from pipeline.shuffle import Ranges, Shuffle, read_run
from pipeline.storage import Folder
from stages.dedup.buckets import block_file, lists_of
from stages.dedup.tiles import ALONE, LEADING, meet
from stages.text.fold_table import fold_table
from stages.text.shingles import jaccard, shingle_sets
from stages.text.units import utf8_of

ENOUGH = 4
"""In a bucket of many a document is compared no further once it resembles so many: one of them is kept, most likely."""

ASKED = pa.schema([("node", pa.int64()), ("part", pa.int64())])
"""A part that has a document whose fate hangs on that of `node`."""

EDGES = pa.schema(
    [
        ("position", pa.int64()),
        ("first", pa.int64()),  # a document before it in the order of keeping; -1: there is none, but see `crowded`
        ("first_id", pa.large_string()),
        ("similarity", pa.float64()),
    ]
)
"""One row a pair of documents alike. Without `first`: the document was not compared with all of one of its buckets."""


@dataclass(frozen=True)
class SendSets:
    """Work out the shingle sets that blocks asked for of one part's documents, and send them there.

    Attributes:
        first_block: of each range of hashes: blocks are numbered through.
        limit: shingles worked out at a time, at most about; a file each.
    """

    number: int
    writers: int
    asked: Shuffle
    first_block: np.ndarray
    corpus: Corpus
    ngram: int
    sets: Shuffle
    limit: int


def send_sets(task: SendSets) -> int:
    """Return the number of files written."""
    asked = pl.DataFrame(task.asked.read(task.number, task.writers)).sort("position", "partition", "block")
    positions = asked["position"].to_numpy()
    blocks = task.first_block[asked["partition"].to_numpy()] + asked["block"].to_numpy()
    pieces = 0
    for start, end in cut(positions, asked["shingles"].to_numpy(), task.limit):
        unique, back = np.unique(positions[start:end], return_inverse=True)
        bounds, hashes = _sets_of(task.corpus, unique, task.ngram)
        sets = pa.LargeListArray.from_arrays(bounds, hashes)
        rows = pa.table({"position": positions[start:end], "set": sets.take(pa.array(back))})
        task.sets.write(task.number, rows, blocks[start:end], pieces)
        pieces += 1
    return pieces


def _sets_of(corpus: Corpus, positions: np.ndarray, ngram: int) -> tuple[np.ndarray, np.ndarray]:
    texts = corpus.read(positions, ("text",))["text"].combine_chunks()
    return shingle_sets(*utf8_of(texts), ngram, fold_table())


def cut(positions: np.ndarray, weights: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    """Yield runs (start, end) of rows, of at most `limit` weight or of one document; a document's rows stay together."""
    start, weight = 0, 0
    if len(positions) == 0:
        return
    firsts = np.flatnonzero(np.concatenate([[True], positions[1:] != positions[:-1]]))
    for at, total in zip(firsts, np.add.reduceat(weights, firsts), strict=True):
        if at > start and weight + total > limit:
            yield start, int(at)
            start, weight = int(at), 0
        weight += int(total)
    yield start, len(positions)


@dataclass(frozen=True)
class Compare:
    """Compare the documents of one block of tiles, and tell each part what its documents resemble.

    Attributes:
        pieces: files that each of the parts has written to `sets`.
        edges: to the part of the later document, `EDGES`; `interest`: to the part of the earlier one, who asks for it.
    """

    number: int
    partition: int
    block: int
    blocks: Folder
    sets: Shuffle
    pieces: tuple[int, ...]
    threshold: float
    edges: Shuffle
    interest: Shuffle
    ranges: Ranges


def compare(task: Compare) -> int:
    """Return the number of pairs alike."""
    rows = read_run(task.blocks, block_file(task.partition), task.block)
    positions, sets = np.asarray(rows["position"]), task.sets.read(task.number, task.pieces)
    bounds, hashes = lists_of(sets["set"])
    owners = np.asarray(sets["position"])
    order = np.argsort(owners)
    at = order[np.searchsorted(owners, positions, sorter=order)]
    tile, role = np.asarray(rows["tile"]), np.asarray(rows["role"])
    crowded, beyond = (rows[name].to_numpy() for name in ("crowded", "beyond"))
    earlier = lists_of(rows["earlier"])
    later, first, similarity = _alike(
        tile, role, crowded, beyond, *earlier, bounds[at], bounds[at + 1], hashes, task.threshold
    )
    unsure = np.unique(positions[beyond & (role != LEADING)])
    ids = rows["id"].combine_chunks().take(pa.array(first))
    pairs = pa.table([positions[later], positions[first], ids, similarity], schema=EDGES)
    marks = pa.table(
        [unsure, np.full(len(unsure), -1), pa.nulls(len(unsure), pa.large_string()), np.zeros(len(unsure))],
        schema=EDGES,
    )
    edges = pa.concat_tables([pairs, marks])
    home = task.ranges.number(np.asarray(edges["position"]))
    task.edges.write(task.number, edges, home)
    asked = np.unique(np.stack([positions[first], home[: len(first)]], axis=1), axis=0)
    asked = asked[task.ranges.number(asked[:, 0]) != asked[:, 1]]
    needed = pa.table({"node": asked[:, 0], "part": asked[:, 1]})
    task.interest.write(task.number, needed, task.ranges.number(asked[:, 0]))
    return pairs.num_rows


@njit(cache=True, nogil=True)
def _alike(tile, role, crowded, beyond, bounds, earlier, starts, ends, hashes, threshold):
    """Return (later row, earlier row, similarity) of each pair whose sets reach `threshold`."""
    room = np.int64(1024)
    later, first, similarity = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
    count = 0
    begin = 0
    for row in range(len(tile)):
        if tile[row] != tile[begin]:
            begin = row
        if role[row] == LEADING:
            continue
        mine = hashes[starts[row] : ends[row]]
        found = 0
        for other in range(begin, row):
            if role[row] != ALONE and role[other] != LEADING:
                break
            if not crowded[row] and meet(bounds, earlier, other, row):
                continue
            theirs = hashes[starts[other] : ends[other]]
            if min(len(mine), len(theirs)) < threshold * max(len(mine), len(theirs)) - 1e-9:
                continue
            value = jaccard(theirs, mine, threshold)
            if value < threshold:
                continue
            if count == room:
                room *= 2
                later, first, similarity = _grown(later, first, similarity, room)
            later[count], first[count], similarity[count] = row, other, value
            count += 1
            found += 1
            if beyond[row] and found == ENOUGH:
                break
    return later[:count].copy(), first[:count].copy(), similarity[:count].copy()


@njit(cache=True, nogil=True)
def _grown(later, first, similarity, room):
    size = len(later)
    one, other, third = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
    one[:size], other[:size], third[:size] = later, first, similarity
    return one, other, third
