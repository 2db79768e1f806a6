"""Soft inputs as distributions, results as p10, p50 and p90, and which input to measure next.

Sampling is seeded: the same inputs give the same numbers. Inputs that correlate are drawn jointly by their owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.errors import PlanError, finite
from planner.units import big, plain

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """p10, p50 and p90 of a sampled result, in the unit of the quantity that holds it."""

    p10: float
    p50: float
    p90: float


class Distribution(Protocol):
    """Anything that can be drawn from; `text` says what it is."""

    def sample(self, samples: int, rng: np.random.Generator) -> Samples:
        """Draws of shape (samples,)."""

    def text(self) -> str:
        """The distribution in words."""


@dataclass(frozen=True)
class Uniform:
    """Anything between low and high, equally likely: all that a stated range says. low == high is a known number."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if finite("low", self.low) > finite("high", self.high):
            raise PlanError(f"range: low end {self.low:g} is above high end {self.high:g}")

    def sample(self, samples: int, rng: np.random.Generator) -> Samples:
        """Draws of shape (samples,)."""
        return rng.uniform(self.low, self.high, samples)

    def text(self) -> str:
        """The range in words."""
        return plain(self.low) if self.low == self.high else f"uniform {plain(self.low)} to {plain(self.high)}"


@dataclass(frozen=True)
class LogUniform:
    """A positive factor between low and high, equally likely per octave."""

    low: float
    high: float

    def sample(self, samples: int, rng: np.random.Generator) -> Samples:
        """Draws of shape (samples,)."""
        return np.exp(rng.uniform(np.log(self.low), np.log(self.high), samples))

    def text(self) -> str:
        """The range in words."""
        return f"log-uniform {big(self.low)} to {big(self.high)}"


@dataclass(frozen=True)
class Empirical:
    """Observed values; draws invert their empirical distribution with interpolation, so nothing lies outside them."""

    values: tuple[float, ...]
    source: str = ""

    def sample(self, samples: int, rng: np.random.Generator) -> Samples:
        """Draws of shape (samples,)."""
        return np.quantile(np.asarray(self.values), rng.random(samples))

    def text(self) -> str:
        """The values in words."""
        low, middle, high = np.quantile(np.asarray(self.values), [0.1, 0.5, 0.9])
        return f"{len(self.values)} observed, p10 {low:.2f}, median {middle:.2f}, p90 {high:.2f}"


@dataclass(frozen=True)
class LogNormal:
    """exp of a normal: a factor of spread around a median."""

    log_mean: float
    log_spread: float

    def sample(self, samples: int, rng: np.random.Generator) -> Samples:
        """Draws of shape (samples,)."""
        return np.exp(self.log_mean + self.log_spread * rng.standard_normal(samples))

    def text(self) -> str:
        """Median and 80 % range in words."""
        reach = 1.2816 * self.log_spread
        low, high = np.exp(self.log_mean - reach), np.exp(self.log_mean + reach)
        return f"lognormal, median {big(float(np.exp(self.log_mean)))}, p10 {big(low)}, p90 {big(high)}"


@dataclass(frozen=True)
class TornadoRow:
    """How much narrower the answer gets when one input is known to be its median."""

    name: str
    distribution: str
    low: float
    high: float
    """The answer at the input's p10 and p90 with every other input at its median, smaller first."""
    narrowing: float
    """Share of the p90 - p10 width that measuring this input removes."""


def interval(values: Samples) -> Interval:
    """p10, p50 and p90 of draws."""
    p10, p50, p90 = np.quantile(values, [0.1, 0.5, 0.9])
    return Interval(float(p10), float(p50), float(p90))


def draw(inputs: Mapping[str, Distribution], samples: int, seed: int) -> dict[str, Samples]:
    """Draws of every input, each from its own stream so that adding one input leaves the others as they were."""
    out = {}
    for name, distribution in inputs.items():
        stream = np.random.default_rng([seed, *name.encode()])
        out[name] = distribution.sample(samples, stream)
    return out


def tornado(
    model: Callable[[Mapping[str, Samples]], Samples], inputs: Mapping[str, Distribution], draws: Mapping[str, Samples]
) -> tuple[TornadoRow, ...]:
    """Rows sorted by how much measuring each input would narrow `model`'s answer, the most telling first."""
    medians = {k: np.median(v) for k, v in draws.items()}
    base = interval(model(draws))
    width = max(base.p90 - base.p10, 1e-300)
    rows = []
    for name, values in draws.items():
        known = interval(model({**draws, name: np.full_like(values, medians[name])}))
        ends = [float(model({**{k: np.array([m]) for k, m in medians.items()}, name: np.array([q])})[0])
                for q in np.quantile(values, [0.1, 0.9])]  # fmt: skip
        rows.append(TornadoRow(name, inputs[name].text(), min(ends), max(ends), 1 - (known.p90 - known.p10) / width))
    return tuple(sorted(rows, key=lambda r: -(r.high - r.low)))
