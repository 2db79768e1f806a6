"""The kernel that weighs what engines and scripts say, held against the formula in numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.language.pooling import IMPOSSIBLE, pool


def pooled(scores, looked_at, label_of, labels, percents, reliable, known, size, letters, written_in, macro_of, c):
    """Return probabilities, by the sum of three log terms a label."""
    number, length = len(macro_of), np.log((size + 20) / 120)
    own = np.full(number, -np.inf)
    for score, label in zip(scores, label_of, strict=True):
        if label >= 0:
            own[label] = max(own[label], c[0] * score / looked_at ** c[1])
    first = np.isfinite(own)
    with np.errstate(divide="ignore"):
        shares = np.log(np.where(written_in, letters[:, None], 0).max(0) / letters.sum())
    shares = np.maximum(shares, IMPOSSIBLE)
    z = np.where(known, -c[2] - c[3] * length, np.where(shares > IMPOSSIBLE, 0.0, -30.0))
    if len(scores):
        z = np.where(first, np.maximum(own - np.log(np.exp(own[first] - own.max()).sum()) - own.max(), -30), z)
    z = z + c[14] * shares
    if labels.max() >= 0:
        z = z + np.where(known, 0, (c[12] if reliable else c[11]) + c[13] * length)
    for label, percent in zip(labels, percents, strict=True):
        if label >= 0:
            base, sure, slope = c[4:7] if first[label] else c[7:10]
            weight = c[10] if first[label] else c[15]
            z[label] += max(0.0, base + sure * reliable + slope * length + weight * np.log(percent / 100))
    p = np.exp(z - z.max())
    return p / p.sum()


@st.composite
def cases(draw):
    floats = st.floats(-50, 0)
    labels = 7
    label_of = draw(st.sampled_from([[], [0, 1, 2, -1], [3, 3, 1, 0]]))
    found = draw(st.permutations(range(labels)))[:3]
    percents = draw(st.lists(st.integers(1, 99), min_size=3, max_size=3))
    named = draw(st.integers(0, 3))
    return (
        np.array([draw(floats) for _ in label_of], np.float32),
        draw(st.integers(1, 768)),
        np.array(label_of, np.int64),
        np.array([label if n < named else -1 for n, label in enumerate(found)], np.int64),
        np.array(percents, np.int64),
        draw(st.booleans()),
        np.array(draw(st.lists(st.booleans(), min_size=labels, max_size=labels))),
        draw(st.integers(1, 10_000)),
        np.array(draw(st.lists(st.integers(1, 50), min_size=3, max_size=3)))
        * np.array([1, *draw(st.sampled_from([(0, 0), (1, 0), (1, 1)]))]),
        np.array(draw(st.lists(st.booleans(), min_size=3 * labels, max_size=3 * labels))).reshape(3, labels),
        np.array([0, 0, 2, 2, 4, 5, 5]),
        np.array(draw(st.lists(st.floats(-2, 6), min_size=16, max_size=16))),
    )


@settings(max_examples=100, deadline=None)
@given(cases())
def test_probabilities_are_those_of_the_formula(case):
    best, score, p = pool(*case)
    expected = pooled(*case)
    assert p == pytest.approx(expected, abs=1e-6)
    macro_of = case[10]
    whole = [expected[macro_of == group].sum() for group in macro_of]
    assert score == pytest.approx(max(whole), abs=1e-6)
    assert whole[best] == pytest.approx(max(whole), abs=1e-6)
