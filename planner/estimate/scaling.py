"""Scaling laws: compute-optimal sizes with honest intervals, over-training as an exchange rate, lifetime cost.

Coefficients are sampled jointly from their covariance or not at all: log A and alpha correlate at 0.999.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import PlanError, not_negative, positive
from planner.facts import scaling as facts

Numbers = Any


@dataclass(frozen=True)
class Law:
    """L(N, D) = E + A / N^alpha + B / D^beta. Fields are numbers, or arrays of joint samples."""

    A: Numbers
    B: Numbers
    E: Numbers
    alpha: Numbers
    beta: Numbers
    source: str = ""

    def loss(self, parameters: Numbers, tokens: Numbers) -> Numbers:
        """Loss in nats per token."""
        return self.E + self.A / parameters**self.alpha + self.B / tokens**self.beta

    def optimum(self, flops: Numbers) -> tuple[Numbers, Numbers]:
        """(N, D) of least loss at C = 6 N D: N = G (C/6)^(beta/(alpha+beta)) (Hoffmann 2022, equation 4)."""
        both = self.alpha + self.beta
        g = (self.alpha * self.A / (self.beta * self.B)) ** (1 / both)
        n = g * (flops / 6) ** (self.beta / both)
        return n, flops / (6 * n)

    def tokens_for(self, loss: Numbers, parameters: Numbers) -> Numbers:
        """D that brings a model of N to `loss`: (B / (L - E - A / N^alpha))^(1/beta); inf where N is too small."""
        rest = np.asarray(loss - self.E - self.A / np.asarray(parameters, float) ** self.alpha)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(rest > 0, (self.B / np.maximum(rest, 1e-300)) ** (1 / self.beta), np.inf)

    def smallest(self, loss: Numbers) -> Numbers:
        """Smallest N that can reach `loss` with endless data: (A / (L - E))^(1/alpha)."""
        return (self.A / (loss - self.E)) ** (1 / self.alpha)

    def optimal_tokens(self, parameters: Numbers) -> Numbers:
        """D for which `parameters` is the optimal size, by inverting `optimum`."""
        both = self.alpha + self.beta
        g = (self.alpha * self.A / (self.beta * self.B)) ** (1 / both)
        return (parameters / g) ** (both / self.beta) / parameters

    def optimal_parameters(self, tokens: Numbers) -> Numbers:
        """N whose optimal number of tokens is `tokens`: where a corpus of that size is exhausted."""
        both = self.alpha + self.beta
        g = (self.alpha * self.A / (self.beta * self.B)) ** (1 / both)
        return (tokens * g ** (both / self.beta)) ** (self.beta / self.alpha)


def besiroglu() -> Law:
    """The corrected Approach 3 (Besiroglu 2024)."""
    return _law(facts.BESIROGLU)


def hoffmann(rounded: bool = False) -> Law:
    """The published Approach 3, unrounded or with the paper's two digits (kept to show the trap)."""
    return _law(facts.HOFFMANN_ROUNDED if rounded else facts.HOFFMANN_UNROUNDED)


def _law(t: dict[str, Any]) -> Law:
    if "logA" in t:
        return Law(math.exp(t["logA"]), math.exp(t["logB"]), math.exp(t["logE"]), t["alpha"], t["beta"], t["source"])
    return Law(t["A"], t["B"], t["E"], t["alpha"], t["beta"], t["source"])


def refit() -> Law:
    """The centre of the joint samples."""
    return _from_theta(np.array(facts.REFIT_THETA))


def sampled(samples: int, rng: np.random.Generator) -> Law:
    """`samples` joint draws of the refit's coefficients, arrays of shape (samples,)."""
    factor = np.linalg.cholesky(np.array(facts.REFIT_COVARIANCE))
    theta = np.array(facts.REFIT_THETA) + rng.standard_normal((samples, 5)) @ factor.T
    return _from_theta(theta.T)


def _from_theta(theta: NDArray[np.float64]) -> Law:
    return Law(np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2]), theta[3], theta[4], facts.REFIT_SOURCE)


def rule_of_twenty(flops: float) -> tuple[float, float]:
    """N = sqrt(C / 120), D = 20 N (Hoffmann 2022, approaches 1 and 2, as a rule of thumb)."""
    n = math.sqrt(positive("flops", flops) / 120)
    return n, 20 * n


def llama3_tokens(flops: float, digits: str = "figure") -> float:
    """D = A C^alpha with the printed or the figure's digits: the same rounding trap, 10.5T against 16.3T at 3.8e25."""
    a, alpha = facts.LLAMA3_LAW[digits]
    return a * positive("flops", flops) ** alpha


def kaplan_parameters(flops: float) -> float:
    """N of Kaplan 2020, non-embedding: 1.3e9 PF-days^0.73. Superseded, kept to compare."""
    size, power, day = facts.KAPLAN
    return size * (positive("flops", flops) / day) ** power


def law_reach(parameters: float, tokens: float) -> str:
    """Whether the law may speak: `` inside the points, `extrapolated` above them, `outside` below them.

    Larger runs have followed the law (Llama 3 405B by its own); far fewer parameters or tokens than any point have not,
    and the formula then gives losses above a uniform guess.
    """
    (small, large), (few, many) = facts.LAW_RANGE["parameters"], facts.LAW_RANGE["tokens"]
    if parameters < small or tokens < few:
        return "outside"
    return "extrapolated" if parameters > large or tokens > many else ""


@dataclass(frozen=True)
class Exchange:
    """A smaller model with the same loss: how much training it costs more, and what that buys in serving."""

    size_ratio: float
    parameters: float
    tokens: float
    training_ratio: float
    break_even_tokens: float
    """Served tokens at which the smaller model's saved 2 N per token repays the extra training; in FLOPs."""


def exchange(law: Law, flops: float, size_ratio: float) -> Exchange:
    """The exchange rate of over-training at the loss of the optimum for `flops`.

    Raises PlanError when no amount of data brings so small a model to that loss.
    """
    n_opt, d_opt = law.optimum(positive("flops", flops))
    n = positive("size ratio", size_ratio) * float(n_opt)
    d = float(law.tokens_for(law.loss(n_opt, d_opt), n))
    if not math.isfinite(d):
        floor = float(law.smallest(law.loss(n_opt, d_opt)) / n_opt)
        raise PlanError(
            f"size ratio: {size_ratio:g} of the optimal size cannot reach that loss; the floor is {floor:.3f}"
        )
    extra = 6 * n * d - flops
    saved = 2 * (float(n_opt) - n)
    return Exchange(size_ratio, n, d, 6 * n * d / flops, extra / saved if saved > 0 else math.inf)


def lifetime_optimum(law: Law, loss: float, served_tokens: float) -> tuple[float, float, float]:
    """(N, D, FLOPs) of least 6 N D + 2 N T_inf at a given loss (Sardana 2023). FLOPs only, not money.

    Raises PlanError when the loss is not above the law's floor.
    """
    not_negative("served tokens", served_tokens)
    if loss <= law.E:
        raise PlanError(f"loss: {loss:g} is at or below the law's irreducible {law.E:.3f}")
    floor = float(law.smallest(loss))
    low, high = math.log(floor * 1.0001), math.log(floor * 1e4)

    def cost(log_n: float) -> float:
        n = math.exp(log_n)
        return n * (6 * float(law.tokens_for(loss, n)) + 2 * served_tokens)

    n = math.exp(golden(cost, low, high))
    return n, float(law.tokens_for(loss, n)), cost(math.log(n))


def golden(function: Any, low: float, high: float, steps: int = 120) -> float:
    """Argument of the minimum of a unimodal function, by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = function(c), function(d)
    for _ in range(steps):
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = function(c)
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = function(d)
    return (a + b) / 2
