"""Sampling is seeded, ordered and independent; the tornado names the input that matters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.uncertainty import Empirical, LogNormal, LogUniform, Uniform, draw, interval, tornado

distributions = st.one_of(
    st.tuples(st.floats(0.1, 10), st.floats(1, 5)).map(lambda p: Uniform(p[0], p[0] * p[1])),
    st.tuples(st.floats(0.1, 10), st.floats(1, 5)).map(lambda p: LogUniform(p[0], p[0] * p[1])),
    st.tuples(st.floats(-2, 2), st.floats(0, 2)).map(lambda p: LogNormal(*p)),
    st.lists(st.floats(0.1, 10), min_size=2, max_size=9).map(lambda v: Empirical(tuple(v))),
)


@given(distributions, st.integers(0, 100))
@settings(max_examples=60)
def test_p10_p50_p90_are_in_order_and_the_seed_repeats_them(distribution, seed):
    one = interval(distribution.sample(500, np.random.default_rng(seed)))
    assert one.p10 <= one.p50 <= one.p90
    assert one == interval(distribution.sample(500, np.random.default_rng(seed)))
    assert distribution.text()


def test_adding_an_input_leaves_the_draws_of_the_others_alone():
    alone = draw({"a": Uniform(0, 1)}, 100, 7)
    both = draw({"b": Uniform(0, 1), "a": Uniform(0, 1)}, 100, 7)
    assert np.array_equal(alone["a"], both["a"])
    assert not np.array_equal(both["a"], both["b"])


def test_nothing_outside_what_was_observed_is_drawn():
    values = Empirical((0.2, 0.3, 0.48)).sample(1000, np.random.default_rng(0))
    assert values.min() >= 0.2
    assert values.max() <= 0.48


def test_the_tornado_ranks_by_swing_and_says_what_measuring_would_narrow():
    inputs = {"wide": LogUniform(1, 4), "narrow": LogUniform(1, 1.1), "known": Uniform(2, 2)}
    rows = tornado(lambda d: d["wide"] * d["narrow"] * d["known"], inputs, draw(inputs, 4000, 0))
    assert [r.name for r in rows] == ["wide", "narrow", "known"]
    assert rows[0].narrowing > 0.8
    assert abs(rows[2].narrowing) < 0.01
    assert rows[2].low == rows[2].high


def test_a_range_upside_down_is_refused():
    with pytest.raises(PlanError, match="above high end"):
        Uniform(2, 1)
