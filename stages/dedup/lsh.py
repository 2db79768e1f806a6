"""Locality-sensitive hashing: documents that agree in a band are candidates (Indyk and Motwani 1998).

Candidates are cut into groups that can be verified apart from each other: two documents that share a bucket
are in one group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numba import njit

from pipeline.corpus import Observations
from stages.dedup.duplicates import read_part

BUCKETS = pa.schema([("bucket", pa.int64()), ("position", pa.int64())])


@dataclass(frozen=True)
class Candidates:
    """Documents that share a bucket with another, in the order in which they are kept: by id, then position.

    Attributes:
        positions: int64, shape (documents,).
        shingles: int64, shape (documents,): size of each as observed, repeats counted.
        members: int64, shape (memberships,): a document's row; with `buckets`, sorted by (row, bucket).
        buckets: int64, shape (memberships,).
        groups: int64, shape (documents,): connected component, numbered by first document.
    """

    positions: np.ndarray
    shingles: np.ndarray
    members: np.ndarray
    buckets: np.ndarray
    groups: np.ndarray


def shared_buckets(item: tuple[Observations, str, int, int]) -> pa.Table:
    """Return `BUCKETS` of one part of one band: the documents of each bucket that holds more than one."""
    observations, band, part, parts = item
    frames = list(read_part(observations, ["position", band], band, part, parts))
    if not frames:
        return BUCKETS.empty_table()
    rows = pl.concat(frames)
    rows = rows.filter(pl.len().over(band) > 1).sort(band, "position")
    rows = rows.select(bucket=pl.col(band).rle_id().cast(pl.Int64), position="position")
    return rows.to_arrow().cast(BUCKETS)


def candidates(tables: list[pa.Table], observations: Observations) -> Candidates:
    """Return the documents named in `tables` (`BUCKETS`, numbered in each from 0), ranked and grouped."""
    buckets, offset = [], 0
    for table in tables:
        numbers = np.asarray(table["bucket"])
        buckets.append(numbers + offset)
        offset += int(numbers.max()) + 1 if len(numbers) else 0
    bucket = np.concatenate(buckets) if buckets else np.zeros(0, np.int64)
    position = np.concatenate([np.asarray(t["position"]) for t in tables]) if tables else np.zeros(0, np.int64)
    ranked = _ranked(np.unique(position), observations)
    positions = ranked["position"].to_numpy()
    by_position = np.argsort(positions)
    member = by_position[np.searchsorted(positions, position, sorter=by_position)]
    order = np.lexsort((bucket, member))
    member, bucket = member[order], bucket[order]
    groups = connected(member, bucket, len(positions), offset)
    return Candidates(positions, ranked["shingles"].to_numpy(), member, bucket, groups)


def _ranked(positions: np.ndarray, observations: Observations) -> pl.DataFrame:
    """Return id, position and shingles of `positions` (sorted), in the order in which documents are kept."""
    frames = []
    for shard in range(len(observations.shards)):
        frame = pl.DataFrame(observations.read(shard, ["position", "id", "shingles"]))
        frames.append(frame.filter(pl.Series(np.isin(frame["position"].to_numpy(), positions))))
    none = pl.DataFrame(schema={"position": pl.Int64, "id": pl.String, "shingles": pl.Int64})
    return pl.concat([none, *frames]).sort("id", "position")


@njit(cache=True, nogil=True)
def connected(members, buckets, documents, bucket_count):
    """Return int64, shape (documents,): the connected component of each, numbered by first document.

    Union-find with path halving (Tarjan and van Leeuwen 1984); the root is always the lowest row.

    Args:
        members, buckets: int64, one entry a membership, `members` ascending.
    """
    parent = np.arange(documents)
    first = np.full(bucket_count, -1, np.int64)
    for i in range(len(members)):
        bucket = buckets[i]
        if first[bucket] < 0:
            first[bucket] = members[i]
            continue
        a, b = first[bucket], members[i]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    labels = np.empty(documents, np.int64)
    count = 0
    for i in range(documents):
        root = i
        while parent[root] != root:
            root = parent[root]
        if root == i:
            labels[i] = count
            count += 1
        else:
            labels[i] = labels[root]
    return labels
