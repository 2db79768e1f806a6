"""Which documents of which bucket are compared with each other, cut into tiles that fit memory.

A tile is a run of documents of one bucket, or two runs of which each document of the second is compared with each of
the first. A pair that shares several buckets of few documents is compared in the least of them only. In a bucket of more
than `first` documents each is compared with the first so many, in the order in which documents are kept: they are most
likely pages of a template, and comparing all with all would take the square of their number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ALONE, LEADING, FOLLOWING = 0, 1, 2
"""Roles of a row in its tile: of one run, compared with those before it; of the first of two runs; of the second."""


@njit(cache=True, nogil=True)
def meet(bounds, earlier, a, b):
    """Return whether rows `a` and `b` share one of their earlier buckets, each row's sorted."""
    i, j = bounds[a], bounds[b]
    while i < bounds[a + 1] and j < bounds[b + 1]:
        if earlier[i] == earlier[j]:
            return True
        if earlier[i] < earlier[j]:
            i += 1
        else:
            j += 1
    return False


@njit(cache=True, nogil=True)
def home_pairs(buckets, bounds, earlier, first):
    """Return bool: whether each row is compared in its bucket with any other. Rows of a bucket stand together."""
    rows = len(buckets)
    paired = np.zeros(rows, np.bool_)
    start = 0
    while start < rows:
        end = start + 1
        while end < rows and buckets[end] == buckets[start]:
            end += 1
        if end - start > first:
            paired[start:end] = True
        else:
            for b in range(start + 1, end):
                for a in range(start, b):
                    if not (paired[a] and paired[b]) and not meet(bounds, earlier, a, b):
                        paired[a] = True
                        paired[b] = True
        start = end
    return paired


def cut_tiles(buckets, shingles, first: int, limit: int) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Cut buckets into tiles and put these into blocks, one a task, of at most about `limit` shingles.

    Args:
        buckets: uint64, shape (rows,): rows of a bucket stand together, in the order in which documents are kept.
        shingles: int64, shape (rows,).

    Returns:
        (rows, columns, counts): the rows of all blocks, one after the other; for each its ``tile``, its ``role``, whether
        its bucket is ``crowded`` (more than `first` rows) and whether it lies ``beyond`` the first; rows of each block.
    """
    tiles = _tiles(buckets, shingles, first, limit)
    runs = np.stack([tiles["i1"] - tiles["i0"], tiles["j1"] - tiles["j0"]], axis=1).reshape(-1)
    starts = np.stack([tiles["i0"], tiles["j0"]], axis=1).reshape(-1)
    rows = np.repeat(starts - np.cumsum(runs) + runs, runs) + np.arange(runs.sum())
    both = tiles["j1"] > tiles["j0"]
    roles = np.stack([np.where(both, LEADING, ALONE), np.full(len(tiles), FOLLOWING)], axis=1).reshape(-1)
    per_tile = runs.reshape(-1, 2).sum(axis=1)
    columns: dict[str, np.ndarray] = {
        "tile": np.repeat(np.arange(len(tiles), dtype=np.int32), per_tile),
        "role": np.repeat(roles, runs).astype(np.int8),
        "crowded": np.repeat(tiles["crowded"], per_tile) > 0,
        "beyond": np.repeat(tiles["beyond"], per_tile) > 0,
    }
    blocks = int(tiles["block"][-1]) + 1 if len(tiles) else 0
    return rows, columns, np.bincount(np.repeat(tiles["block"], per_tile), minlength=blocks)


_TILE = np.dtype([(name, np.int64) for name in ("i0", "i1", "j0", "j1", "crowded", "beyond", "block")])


def _tiles(buckets, shingles, first, limit):
    return _cut(buckets, shingles, first, limit).view(_TILE).reshape(-1)


@njit(cache=True, nogil=True)
def _cut(buckets, shingles, first, limit):
    """Return int64, shape (tiles, 7), fields as in `_TILE`: two runs of rows, the second empty where there is one."""
    rows = len(buckets)
    tiles = np.empty((64, 7), np.int64)
    count = 0
    block, weight = 0, 0
    chunks = np.empty(rows + 1, np.int64)
    weights = np.empty(rows + 1, np.int64)
    start = 0
    while start < rows:
        end = start
        pieces = 0
        total = 0
        while end < rows and buckets[end] == buckets[start]:  # chunks of half a tile, none across the first rows' end
            if end == start or end == start + first or total + shingles[end] > limit // 2:
                chunks[pieces] = end
                pieces += 1
                total = 0
            total += shingles[end]
            weights[pieces - 1] = total
            end += 1
        chunks[pieces] = end
        for j in range(pieces):
            for i in range(j + 1):
                if chunks[i] - start >= first:
                    break
                if i == j and chunks[i + 1] - chunks[i] < 2:
                    continue
                size = weights[i] + (weights[j] if i != j else 0)
                if count and weight + size > limit:
                    block += 1
                    weight = 0
                weight += size
                if count == len(tiles):
                    grown = np.empty((2 * count, 7), np.int64)
                    grown[:count] = tiles
                    tiles = grown
                tiles[count, 0] = chunks[i]
                tiles[count, 1] = chunks[i + 1]
                tiles[count, 2] = chunks[j] if i != j else 0
                tiles[count, 3] = chunks[j + 1] if i != j else 0
                tiles[count, 4] = end - start > first
                tiles[count, 5] = chunks[j] - start >= first
                tiles[count, 6] = block
                count += 1
        start = end
    return tiles[:count].copy()
