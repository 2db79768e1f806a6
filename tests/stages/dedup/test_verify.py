"""How verification is cut into tasks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stages.dedup.verify import cut, pack


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 15))
def test_packing_keeps_order_loses_nothing_and_stays_below_the_limit(weights, limit):
    runs = pack(weights, limit)
    assert [n for start, end in runs for n in range(start, end)] == list(range(len(weights)))
    assert all(end - start == 1 or sum(weights[start:end]) <= limit for start, end in runs)


@given(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=15), st.integers(1, 9))
def test_cuts_stay_inside_a_shard_and_below_the_limit(places, limit):
    positions = np.array(sorted((shard << 32) + row for shard, row in places), np.int64)
    weights = np.arange(len(positions)) % 4
    runs = list(cut(positions, weights, limit))
    assert [p for run in runs for p in run.tolist()] == positions.tolist()
    weight = dict(zip(positions.tolist(), weights.tolist(), strict=True))
    for run in runs:
        assert len({p >> 32 for p in run.tolist()}) == 1
        assert len(run) == 1 or sum(weight[p] for p in run.tolist()) <= limit
