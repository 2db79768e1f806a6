"""Scaling laws, over-training and repetition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.repetition import (
    CEILING,
    effective_parameters,
    effective_tokens,
    epochs_for,
    repeated_loss,
    repetition,
)
from planner.estimate.scaling import besiroglu, exchange, hoffmann, lifetime_optimum, llama3_tokens, refit, sampled
from planner.facts.scaling import INTERVAL_80, REFIT_COVARIANCE


@given(st.floats(1e19, 1e26))
@settings(max_examples=30)
def test_the_closed_form_is_the_minimum_by_brute_force(flops):
    law = refit()
    n, d = law.optimum(flops)
    grid = n * np.geomspace(0.05, 20, 4001)
    losses = law.loss(grid, flops / (6 * grid))
    assert grid[int(np.argmin(losses))] == pytest.approx(n, rel=0.01)
    assert 6 * n * d == pytest.approx(flops)


@given(st.floats(1e7, 1e12))
def test_optimal_tokens_and_parameters_are_inverse(n):
    law = besiroglu()
    d = law.optimal_tokens(n)
    assert law.optimal_parameters(d) == pytest.approx(n)
    assert law.optimum(6 * n * d)[0] == pytest.approx(n)


@pytest.mark.parametrize(("flops", "interval"), list(INTERVAL_80.items()))
def test_the_sampled_interval_of_tokens_per_parameter_is_the_published_one(flops, interval):
    n, d = sampled(20_000, np.random.default_rng(0)).optimum(flops)
    low, high = np.quantile(d / n, [0.1, 0.9])
    assert low == pytest.approx(interval[0], rel=0.12)
    assert high == pytest.approx(interval[1], rel=0.12)


def test_coefficients_are_drawn_jointly():
    law = sampled(5000, np.random.default_rng(1))
    assert np.corrcoef(np.log(law.A), law.alpha)[0, 1] > 0.99
    assert np.corrcoef(np.log(law.B), law.beta)[0, 1] > 0.99
    theta = np.stack([np.log(law.A), np.log(law.B), np.log(law.E), law.alpha, law.beta])
    assert np.allclose(np.cov(theta), REFIT_COVARIANCE, rtol=0.15, atol=1e-4)


def test_rounding_the_published_coefficients_moves_the_optimum():
    ratios = []
    for law in (hoffmann(rounded=True), hoffmann(), besiroglu()):
        n, d = law.optimum(1e23)
        ratios.append(d / n)
    assert ratios == pytest.approx([78.2, 50.6, 19.2], rel=3e-3)


def test_the_printed_llama_3_law_has_the_same_trap():
    assert llama3_tokens(3.8e25, "printed") == pytest.approx(10.46e12, rel=1e-3)
    assert llama3_tokens(3.8e25) == pytest.approx(16.29e12, rel=1e-3)


@pytest.mark.parametrize(("ratio", "cost"), [(0.75, 1.03), (0.5, 1.26), (0.3, 2.61)])
def test_a_smaller_model_of_equal_loss_costs_what_is_known(ratio, cost):
    law = besiroglu()
    x = exchange(law, 1e23, ratio)
    assert x.training_ratio == pytest.approx(cost, rel=0.01)
    n, d = law.optimum(1e23)
    assert law.loss(x.parameters, x.tokens) == pytest.approx(law.loss(n, d))


def test_a_model_below_the_floor_is_refused():
    with pytest.raises(PlanError, match=r"the floor is 0\.146"):
        exchange(besiroglu(), 1e23, 0.14)


@given(st.floats(1e9, 1e14))
@settings(max_examples=15)
def test_the_lifetime_optimum_is_the_minimum_by_brute_force(served):
    law = besiroglu()
    n, d = law.optimum(1e22)
    loss = float(law.loss(n, d))
    best, _, cost = lifetime_optimum(law, loss, served)
    grid = float(law.smallest(loss)) * np.geomspace(1.001, 100, 5000)
    costs = grid * (6 * law.tokens_for(loss, grid) + 2 * served)
    assert cost <= costs.min() * (1 + 1e-9)
    assert best == pytest.approx(grid[int(np.argmin(costs))], rel=0.01)


def test_more_serving_wants_a_smaller_model():
    law = besiroglu()
    n, d = law.optimum(1e22)
    sizes = [lifetime_optimum(law, float(law.loss(n, d)), t)[0] for t in (0, 1e12, 1e13, 1e14)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(n, rel=1e-3)


@given(st.floats(0.1, 200), st.floats(0.1, 200))
def test_more_epochs_are_worth_more_but_never_as_much_as_fresh_text_or_the_ceiling(a, b):
    low, high = sorted((a, b))
    assert effective_tokens(1, low) <= effective_tokens(1, high) <= min(high, CEILING)


@given(st.floats(1.01, 15))
def test_epochs_for_inverts_effective_tokens(worth):
    assert effective_tokens(1, epochs_for(1, worth)) == pytest.approx(worth)


def test_beyond_the_ceiling_no_number_of_epochs_will_do():
    with pytest.raises(PlanError, match="the ceiling is"):
        epochs_for(1, 17)


def test_the_last_epoch_is_worth_the_slope():
    r = repetition(1.0, 8.0)
    slope = (effective_tokens(1, 8 + 1e-6) - effective_tokens(1, 8)) / 1e-6
    assert r.last_epoch_value == pytest.approx(slope, rel=1e-4)
    assert repetition(1.0, 4.0).share_of_fresh == pytest.approx(0.931, abs=1e-3)


def test_repeating_helps_the_loss_less_than_fresh_text():
    fresh = repeated_loss(1e9, 2e10, 2e10)
    once, four = repeated_loss(1e9, 5e9, 5e9), repeated_loss(1e9, 5e9, 2e10)
    assert fresh < four < once
    assert effective_parameters(1e9, 1e8) < 1e9


def test_too_small_a_model_never_reaches_a_loss():
    assert math.isinf(float(besiroglu().tokens_for(1.9, 1e6)))
