"""Tokens against the model: how far from compute-optimal, how many epochs, what the loss is expected to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.estimate.inputs import PlanInputs
from planner.estimate.repetition import Repetition, epochs_for, repetition
from planner.estimate.scaling import hoffmann, law_reach, rule_of_twenty, sampled
from planner.estimate.uncertainty import Interval, interval
from planner.model.count import count


@dataclass(frozen=True)
class DataAnswer:
    """N, D and U against the laws. Counts are total parameters (active for MoE), as the laws were fitted."""

    parameters: float
    tokens: float
    unique: float
    tokens_per_parameter: float
    rule_tokens: float
    """20 per parameter."""
    optimal_tokens: Interval
    """D for which N is optimal, from the joint samples."""
    optimal_ratio: Interval
    """D/N of the optimum at this run's compute."""
    optimal_parameters: Interval
    """N of the optimum at this run's compute."""
    corpus_model: float
    """N that the unique tokens suffice for, at 20 per parameter: where the corpus is exhausted."""
    loss: Interval | None
    """None where the law may not speak (see `law_reach`)."""
    reach: str
    repetition: Repetition
    epochs_to_optimal: float | None
    """Epochs that make the corpus worth the optimal D; None where repetition cannot."""
    rounding_trap: tuple[tuple[str, float], ...]


def data_answer(i: PlanInputs) -> DataAnswer:
    """Where the planned run stands. Raises PlanError without a token total."""
    n = float(count(i.model).active)
    d = i.training_tokens
    law = sampled(i.samples, np.random.default_rng([i.seed, 1]))
    flops = 6 * n * d
    n_opt, d_opt = law.optimum(flops)
    rep = repetition(i.unique, d)
    wanted = 20 * n
    trap = []
    for name, fit in (("Hoffmann rounded", hoffmann(True)), ("Hoffmann unrounded", hoffmann())):
        a, b = fit.optimum(flops)
        trap.append((name, float(b / a)))
    twenty = rule_of_twenty(flops)
    trap.append(("rule of 20", twenty[1] / twenty[0]))
    return DataAnswer(
        parameters=n, tokens=d, unique=i.unique, tokens_per_parameter=d / n, rule_tokens=wanted,
        optimal_tokens=interval(law.optimal_tokens(n)), optimal_ratio=interval(d_opt / n_opt),
        optimal_parameters=interval(n_opt), corpus_model=i.unique / 20, loss=None if law_reach(n, d) == "outside" else interval(law.loss(n, rep.effective)), reach=law_reach(n, d),
        repetition=rep, epochs_to_optimal=epochs_for(i.unique, wanted) if wanted < 16.3 * i.unique else None,
        rounding_trap=tuple(trap),
    )  # fmt: skip
