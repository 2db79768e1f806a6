"""The fit of the step-time factors to published rows, and what it leaves: the width of a forecast.

Rows of one family (a code base, a lab) share what the model does not know of them, so their residuals have a common
part: generalised least squares with a random offset per family. Factors have priors (TimeFactors' defaults), for some
are told by a few rows only. Everything is in logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.estimate.arrangement import Layout
from planner.estimate.forecast import calendar, layout_slack
from planner.estimate.reliability import job_mtbf, planned_goodput, rate_distribution
from planner.estimate.rows import Case, layout_of, options_of
from planner.estimate.step_time import step_times
from planner.facts.step_time import BETWEEN, FITTED, NAMES, PRIOR_SPREAD, SPREAD, WITHIN, TimeFactors
from planner.model.count import count

Array = NDArray[np.float64]

TAIL = 4.0
"""Degrees of freedom: a family far off counts less."""


def predicted(case: Case, layout: Layout, factors: TimeFactors) -> float:
    """GPU-seconds per token of a row."""
    step = float(step_times(case.model, case.device, layout, options_of(case), case.dtype, factors).sum())
    tokens = layout.dp * layout.micro_batch * layout.microbatches * case.seq
    seconds = step * case.gpus / tokens * (1.0 if case.layout_published else layout_slack(case.model, factors))
    if not case.calendar:
        return seconds
    return seconds * calendar(case.device, case.gpus, factors) / typical_goodput(case)


def typical_goodput(case: Case) -> float:
    """Goodput of a row's job by failures alone, at the typical rate."""
    mtbf = float(job_mtbf(math.exp(rate_distribution()[0]), case.gpus))
    return planned_goodput(count(case.model).total, case.gpus, mtbf)


@dataclass(frozen=True)
class Fit:
    """Factors fitted to cases, the residuals (log published over predicted), and the slopes at the fit."""

    cases: tuple[Case, ...]
    layouts: tuple[Layout, ...]
    factors: TimeFactors
    residuals: Array
    slopes: Array
    """Of the log prediction by the log of each factor: rows x factors."""


def vector(factors: TimeFactors) -> Array:
    """Logs of the factors, in the order of NAMES."""
    return np.log([getattr(factors, name) for name in NAMES])


def from_vector(values: Array) -> TimeFactors:
    """Factors from their logs."""
    return TimeFactors(**dict(zip(NAMES, (float(v) for v in np.exp(values)), strict=True)))


def linearise(cases: Sequence[Case], layouts: Sequence[Layout], factors: TimeFactors) -> tuple[Array, Array]:
    """(residuals, slopes) at the factors."""
    base = np.array([math.log(predicted(c, w, factors)) for c, w in zip(cases, layouts, strict=True)])
    actual = np.array([math.log(c.seconds) for c in cases])
    slopes = []
    for name in NAMES:
        moved = replace(factors, **{name: getattr(factors, name) * math.exp(0.02)})
        other = [math.log(predicted(c, w, moved)) for c, w in zip(cases, layouts, strict=True)]
        slopes.append((np.array(other) - base) / 0.02)
    return actual - base, np.column_stack(slopes)


def families(cases: Sequence[Case]) -> dict[str, NDArray[np.int64]]:
    """Indices of the rows of each family."""
    out: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        out.setdefault(case.family, []).append(i)
    return {k: np.array(v) for k, v in out.items()}


def covariance(slopes: Array) -> Array:
    """Of the residuals of one family's rows: a common offset, its own factors, and what is left to each row."""
    own = slopes * np.array([SPREAD.get(name, 0.0) for name in NAMES])
    return WITHIN**2 * np.eye(len(slopes)) + BETWEEN**2 + own @ own.T


def spread(slopes: Array) -> Array:
    """Standard deviation of the log of a forecast of a family never seen; shape (rows,)."""
    return np.sqrt(np.diag(covariance(slopes)))


def step_towards(
    residuals: Array, slopes: Array, groups: dict[str, NDArray[np.int64]], at: Array, without: str = ""
) -> Array:
    """The next logs of the factors: one generalised least-squares step with priors, without one family if named."""
    prior = np.array([1 / PRIOR_SPREAD[name] ** 2 for name in NAMES])
    normal = np.diag(prior)
    right = prior * (vector(TimeFactors()) - at)
    for family, rows in groups.items():
        if family == without:
            continue
        r, j, own = residuals[rows], slopes[rows], covariance(slopes[rows])
        inverse = np.linalg.inv(own)
        weight = (TAIL + 1) / (TAIL + r.mean() ** 2 / own.mean())
        normal += weight * j.T @ inverse @ j
        right += weight * j.T @ inverse @ r
    return at + np.linalg.solve(normal, right)


def fit(cases: Sequence[Case], rounds: int = 6, start: TimeFactors = FITTED) -> Fit:
    """Fits the factors by Gauss-Newton steps; the layouts stay as the planner chooses them at the start."""
    used = tuple(c for c in cases if c.use == "yes")
    layouts = tuple(layout_of(c) for c in used)
    groups, at = families(used), vector(start)
    for _ in range(rounds):
        residuals, slopes = linearise(used, layouts, from_vector(at))
        at = step_towards(residuals, slopes, groups, at)
    residuals, slopes = linearise(used, layouts, from_vector(at))
    return Fit(used, layouts, from_vector(at), residuals, slopes)


def left_out(found: Fit) -> Array:
    """Residual of each row by factors fitted without its family (one linear step from the fit, which is near)."""
    groups, at = families(found.cases), vector(found.factors)
    out = np.empty(len(found.cases))
    for family, rows in groups.items():
        moved = step_towards(found.residuals, found.slopes, groups, at, family)
        out[rows] = found.residuals[rows] - found.slopes[rows] @ (moved - at)
    return out
