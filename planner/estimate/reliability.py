"""Failures, checkpoints and goodput: how much of the calendar trains.

Spread between published runs is five-fold, wider than any one run's Poisson interval, so the failure rate is a
distribution over runs and not a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import not_negative, positive
from planner.facts.failures import RATES, STORAGE_PER_GPU

Numbers = Any


@dataclass(frozen=True)
class CheckpointPlan:
    """The checkpoint interval for a job, and what it leaves. Times in seconds."""

    mtbf: float
    stall: float
    restart: float
    young: float
    daly: float
    best: float
    goodput: float
    flat_low: float
    flat_high: float
    """Intervals in between cost at most half a percent of goodput more than the best."""
    first_order_waste: float
    interval: float
    """Between checkpoints: the one that was given, else the best."""
    goodput_at_interval: float
    lost_per_failure: float
    """Work lost by a failure inside an interval, on average: M - tau / (e^(tau/M) - 1)."""


def job_mtbf(gpu_days_per_failure: Numbers, gpus: Numbers) -> Numbers:
    """Seconds between interruptions of a job: GPU MTBF / GPUs (independent, Poisson)."""
    return gpu_days_per_failure * 86400.0 / gpus


def young(stall: Numbers, mtbf: Numbers) -> Numbers:
    """sqrt(2 delta M) (Young 1974), for delta << M."""
    return np.sqrt(2 * np.asarray(stall) * mtbf)


def daly(stall: float, mtbf: float) -> float:
    """Daly 2006: sqrt(2 delta M) (1 + sqrt(delta/2M)/3 + delta/18M) - delta below delta = 2M, else M."""
    if stall >= 2 * mtbf:
        return mtbf
    ratio = stall / (2 * mtbf)
    return math.sqrt(2 * stall * mtbf) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - stall


def goodput(interval: Numbers, stall: Numbers, mtbf: Numbers, restart: Numbers) -> Numbers:
    """Share of time that trains, exact for Poisson failures: tau / (M exp(R/M) (exp((tau + delta)/M) - 1))."""
    return interval / (mtbf * np.exp(restart / mtbf) * np.expm1((interval + stall) / mtbf))


def first_order_waste(interval: float, stall: float, mtbf: float, restart: float) -> float:
    """delta / tau + (tau/2 + R) / M (Young 1974): good while tau << M."""
    return stall / interval + (interval / 2 + restart) / mtbf


def mean_lost_work(interval: float, mtbf: float) -> float:
    """Work lost by a failure that falls inside an interval: M - tau / (exp(tau/M) - 1).

    Two hours of six at an MTBF of three, where half the interval would be three and a popular note says 1.5.
    """
    return mtbf - interval / math.expm1(interval / mtbf)


def best_interval(stall: Numbers, mtbf: Numbers) -> Numbers:
    """The interval of most goodput: the root of exp((tau + delta)/M) (1 - tau/M) = 1, by Newton steps. Vectorised.

    It lies in (0, M) for any stall above zero, and does not depend on the restart time.
    """
    delta = np.maximum(np.asarray(stall, float) / mtbf, 1e-12)
    x = np.minimum(np.sqrt(2 * delta), 0.9)
    low, high = np.zeros_like(x), np.ones_like(x)
    for _ in range(40):
        value = np.log1p(-np.minimum(x, 1 - 1e-15)) + x + delta
        low, high = np.where(value > 0, x, low), np.where(value > 0, high, x)
        step = x - value * (1 - x) / -x
        x = np.where((step > low) & (step < high), step, (low + high) / 2)
    return x * mtbf


def checkpoint_plan(stall: float, mtbf: float, restart: float, hours: float | None = None) -> CheckpointPlan:
    """Best interval, its flat region and goodput, and what a given interval of `hours` does.

    Raises PlanError for a time that is not positive.
    """
    positive("stall", stall)
    positive("mtbf", mtbf)
    not_negative("restart", restart)
    best = float(best_interval(stall, mtbf))
    top = float(goodput(best, stall, mtbf, restart))
    grid = np.geomspace(best / 50, min(best * 50, mtbf * 20), 4000)
    near = grid[goodput(grid, stall, mtbf, restart) >= top - 0.005]
    taken = best if hours is None else 3600 * positive("checkpoint_hours", hours)
    return CheckpointPlan(
        mtbf=mtbf, stall=stall, restart=restart, young=float(young(stall, mtbf)), daly=daly(stall, mtbf), best=best,
        goodput=top, flat_low=float(near[0]), flat_high=float(near[-1]),
        first_order_waste=first_order_waste(best, stall, mtbf, restart), interval=taken,
        goodput_at_interval=float(goodput(taken, stall, mtbf, restart)), lost_per_failure=mean_lost_work(taken, mtbf),
    )  # fmt: skip


def rate_distribution() -> tuple[float, float]:
    """Mean and standard deviation of log GPU-days per interruption over runs, widened for there being three only."""
    logs = [math.log(r.gpu_days) for r in RATES]
    mean = sum(logs) / len(logs)
    variance = sum((v - mean) ** 2 for v in logs) / (len(logs) - 1)
    return mean, math.sqrt(variance * (1 + 1 / len(logs)))


def sample_rates(samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """GPU-days per interruption, lognormal between published runs; shape (samples,)."""
    mean, spread = rate_distribution()
    return np.exp(mean + spread * rng.standard_normal(samples))


def poisson_interval(events: int, exposure: float) -> tuple[float, float]:
    """95 % interval of exposure per event from a count, by the Wilson-Hilferty chi-squared approximation."""
    low = events * (1 - 1 / (9 * events) - 1.96 / (3 * math.sqrt(events))) ** 3
    high = (events + 1) * (1 - 1 / (9 * (events + 1)) + 1.96 / (3 * math.sqrt(events + 1))) ** 3
    return exposure / high, exposure / low


def planned_goodput(parameters: float, gpus: float, mtbf: float, restart: float = 600.0) -> float:
    """Goodput at the best checkpoint interval: 14 bytes a parameter, storage as BLOOM had, ten minutes to restart."""
    stall = 14 * parameters / (STORAGE_PER_GPU * gpus)
    return float(goodput(best_interval(stall, mtbf), stall, mtbf, restart))
