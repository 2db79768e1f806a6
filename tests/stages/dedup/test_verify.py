"""How the making of shingle sets is cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stages.dedup.verify import cut


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=15), st.integers(1, 15))
def test_a_document_stays_in_one_run_and_runs_stay_below_the_limit(rows, limit):
    positions = np.array(sorted(p for p, _ in rows), np.int64)
    weights = np.array([w for _, w in rows], np.int64)
    runs = list(cut(positions, weights, limit))
    assert [n for start, end in runs for n in range(start, end)] == list(range(len(rows)))
    for start, end in runs:
        inside = positions[start:end]
        assert len(set(inside.tolist())) == 1 or weights[start:end].sum() <= limit
        assert (positions == inside[0]).sum() == (inside == inside[0]).sum()
