"""Buckets cut into tiles: every pair that is to be compared is, in one of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.dedup.tiles import ALONE, FOLLOWING, LEADING, cut_tiles, home_pairs

SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def rows_of(sizes: list[int]) -> np.ndarray:
    return np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)


def pairs_in(rows: np.ndarray, columns: dict[str, np.ndarray]) -> list[tuple[int, int]]:
    found = []
    for tile in np.unique(columns["tile"]).tolist():
        here = np.flatnonzero(columns["tile"] == tile)
        role = columns["role"][here]
        if (role == ALONE).all():
            found += list(combinations(rows[here].tolist(), 2))
        else:
            found += [
                (a, b) for a in rows[here[role == LEADING]].tolist() for b in rows[here[role == FOLLOWING]].tolist()
            ]
    return found


@settings(deadline=None)
@given(SIZES, st.data(), st.integers(2, 4), st.integers(2, 30))
def test_each_is_compared_with_the_first_of_its_bucket_once_whatever_the_limit(sizes, data, first, limit):
    buckets = rows_of(sizes)
    shingles = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(buckets), max_size=len(buckets))), np.int64)
    rows, columns, counts = cut_tiles(buckets, shingles, first, limit)
    starts = {b: int(np.flatnonzero(buckets == b)[0]) for b in np.unique(buckets).tolist()}
    expected = [
        (a, b)
        for a, b in combinations(range(len(buckets)), 2)
        if buckets[a] == buckets[b] and a - starts[int(buckets[a])] < first
    ]
    assert sorted(pairs_in(rows, columns)) == expected
    assert counts.sum() == len(rows)
    for row, crowded, beyond in zip(rows.tolist(), columns["crowded"], columns["beyond"], strict=True):
        assert crowded == (sizes[int(buckets[row])] > first)
        assert not beyond or crowded
    behind = rows[columns["beyond"] & (columns["role"] == FOLLOWING)]
    assert set(behind.tolist()) == {r for r in range(len(buckets)) if r - starts[int(buckets[r])] >= first}


@settings(deadline=None)
@given(SIZES, st.integers(2, 30))
def test_blocks_hold_whole_tiles_and_no_more_shingles_than_one_tile_or_the_limit(sizes, limit):
    buckets = rows_of(sizes)
    _, columns, counts = cut_tiles(buckets, np.full(len(buckets), 2, np.int64), 100, limit)
    block = np.repeat(np.arange(len(counts)), counts)
    for tile in np.unique(columns["tile"]):
        assert len(np.unique(block[columns["tile"] == tile])) == 1
    for number, count in enumerate(counts.tolist()):
        assert 2 * count <= max(limit, 4) or len(np.unique(columns["tile"][block == number])) == 1


def test_a_pair_that_shares_an_earlier_bucket_is_compared_there():
    buckets = np.array([5, 5, 5, 9, 9], np.uint64)
    lists = [[], [], [], [5], [5]]
    bounds = np.cumsum([0, *map(len, lists)])
    earlier = np.array([b for row in lists for b in row], np.uint64)
    assert home_pairs(buckets, bounds, earlier, 128).tolist() == [True, True, True, False, False]


def test_in_a_crowded_bucket_all_stay():
    buckets = np.array([5, 9, 9, 9], np.uint64)
    bounds, earlier = np.array([0, 0, 1, 2, 3]), np.array([5, 5, 5], np.uint64)
    assert home_pairs(buckets, bounds, earlier, 2).tolist() == [False, True, True, True]
