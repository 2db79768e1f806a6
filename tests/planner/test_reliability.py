"""Failures, intervals and goodput."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.reliability import (
    best_interval,
    checkpoint_plan,
    goodput,
    job_mtbf,
    mean_lost_work,
    poisson_interval,
    rate_distribution,
    sample_rates,
)
from planner.facts.failures import LLAMA3_INTERRUPTIONS, RATES


@given(st.floats(0.1, 3600), st.floats(600, 1e7), st.floats(0, 3600))
@settings(max_examples=60)
def test_the_best_interval_is_the_best_by_brute_force(stall, mtbf, restart):
    best = float(best_interval(stall, mtbf))
    grid = np.geomspace(best / 100, best * 100, 5001)
    values = goodput(grid, stall, mtbf, restart)
    assert goodput(best, stall, mtbf, restart) >= np.nanmax(values) * (1 - 1e-9)
    assert 0 < best < mtbf


@given(st.floats(1, 600), st.floats(1e4, 1e7), st.floats(0, 1800))
@settings(max_examples=40)
def test_goodput_is_a_share_and_falls_with_stall_and_restart(stall, mtbf, restart):
    best = float(best_interval(stall, mtbf))
    value = float(goodput(best, stall, mtbf, restart))
    assert 0 < value < 1
    assert float(goodput(best, stall * 2, mtbf, restart)) < value
    assert float(goodput(best, stall, mtbf, restart + 60)) < value


def test_goodput_agrees_with_a_simulation():
    rng = np.random.default_rng(0)
    interval, stall, mtbf, restart = 1200.0, 60.0, 6000.0, 300.0
    useful = clock = 0.0
    for _ in range(20_000):
        while True:
            failure = rng.exponential(mtbf)
            if failure >= interval + stall:
                clock += interval + stall
                break
            clock += failure
            while (failure := rng.exponential(mtbf)) < restart:
                clock += failure
            clock += restart
        useful += interval
    assert useful / clock == pytest.approx(float(goodput(interval, stall, mtbf, restart)), rel=0.03)


def test_young_and_daly_are_near_the_exact_optimum_when_stalls_are_short():
    plan = checkpoint_plan(30, 100_000, 600)
    assert plan.young == pytest.approx(plan.best, rel=0.02)
    assert plan.daly == pytest.approx(plan.best, rel=0.001)
    assert plan.flat_low < plan.best < plan.flat_high


def test_more_gpus_fail_more_often():
    assert job_mtbf(2000, 1000) == 10 * job_mtbf(2000, 10_000)


def test_spread_between_runs_is_wider_than_any_poisson_interval():
    mean, spread = rate_distribution()
    low, high = poisson_interval(419, 54 * 16384)
    assert (round(low), round(high)) == (1919, 2329)
    assert math.exp(2 * 1.28 * spread) > 5 > high / low
    draws = sample_rates(20_000, np.random.default_rng(0))
    assert np.median(np.log(draws)) == pytest.approx(mean, abs=0.05)


def test_the_interruption_table_sums_to_its_total():
    assert sum(LLAMA3_INTERRUPTIONS.values()) == RATES[0].events == 419
    assert round(LLAMA3_INTERRUPTIONS["Faulty GPU"] / 419, 3) == 0.353


def test_a_failure_in_a_long_interval_loses_less_than_half_of_it():
    assert mean_lost_work(6, 3) < 3
    assert mean_lost_work(0.01, 3) == pytest.approx(0.005, rel=1e-3)


@pytest.mark.parametrize(("stall", "mtbf", "restart"), [(0, 1, 1), (1, 0, 1), (1, 1, -1), (float("nan"), 1, 1)])
def test_times_that_cannot_be_are_refused(stall, mtbf, restart):
    with pytest.raises(PlanError):
        checkpoint_plan(stall, mtbf, restart)
