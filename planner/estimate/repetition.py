"""Repeated data: what epochs are worth, and when a corpus is exhausted (Muennighoff 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.errors import PlanError, positive
from planner.estimate.scaling import Law
from planner.facts.scaling import MUENNIGHOFF

R_DATA = float(MUENNIGHOFF["R_D"])
R_SIZE = float(MUENNIGHOFF["R_N"])
CEILING = 1 + R_DATA
"""No number of epochs makes a corpus worth more than this many copies of itself."""


@dataclass(frozen=True)
class Repetition:
    """What `epochs` passes over `unique` tokens are worth."""

    unique: float
    epochs: float
    effective: float
    share_of_fresh: float
    last_epoch_value: float
    """A token of the last epoch against a fresh one."""


def effective_tokens(unique: float, epochs: float) -> float:
    """D_eff = U (1 + R (1 - exp(-(ep - 1) / R))) for ep >= 1, else U x ep (Muennighoff 2023, equation 5)."""
    positive("unique tokens", unique)
    positive("epochs", epochs)
    if epochs <= 1:
        return unique * epochs
    return unique * (1 + R_DATA * (1 - math.exp(-(epochs - 1) / R_DATA)))


def repetition(unique: float, tokens: float) -> Repetition:
    """`tokens` seen in training from a corpus of `unique` ones."""
    epochs = positive("tokens", tokens) / positive("unique tokens", unique)
    worth = effective_tokens(unique, epochs)
    value = 1.0 if epochs <= 1 else math.exp(-(epochs - 1) / R_DATA)
    return Repetition(unique, epochs, worth, worth / tokens, value)


def epochs_for(unique: float, effective: float) -> float:
    """Epochs that make `unique` tokens worth `effective`. Raises PlanError above the ceiling of 16.4 corpora."""
    ratio = positive("effective", effective) / positive("unique tokens", unique)
    if ratio <= 1:
        return ratio
    if ratio >= CEILING:
        raise PlanError(
            f"tokens: {ratio:.3g} corpora's worth cannot be had by repetition; the ceiling is {CEILING:.4g}"
        )
    return 1 - R_DATA * math.log(1 - (ratio - 1) / R_DATA)


def datablations_law() -> Law:
    """The law these constants belong to (alpha = beta)."""
    m = {k: float(v) for k, v in MUENNIGHOFF.items() if k != "source"}
    return Law(math.exp(m["a"]), math.exp(m["b"]), math.exp(m["e"]), m["alpha"], m["beta"], str(MUENNIGHOFF["source"]))


def effective_parameters(parameters: float, unique: float) -> float:
    """N_eff = U_N (1 + R_N (1 - exp(-(N / U_N - 1) / R_N))), U_N = min(N, optimal N for U tokens)."""
    base = min(parameters, float(datablations_law().optimal_parameters(unique)))
    return base * (1 + R_SIZE * (1 - math.exp(-(parameters / base - 1) / R_SIZE)))


def repeated_loss(parameters: float, unique: float, tokens: float) -> float:
    """Loss of a model of N on `tokens` drawn from `unique`, by the datablations law with effective N and D."""
    law = datablations_law()
    return float(law.loss(effective_parameters(parameters, unique), effective_tokens(unique, tokens / unique)))
