"""What a score is worth on labelled documents: area under the curve, precision at keep rates, thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

KEEP_RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def _midranks(values: np.ndarray) -> np.ndarray:
    """Return the rank, from 1, of each value; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[inverse] / 2)


def auc(scores: np.ndarray, good: np.ndarray) -> tuple[float, float, float]:
    """Return the area under the ROC curve and the ends of its 95 % interval (DeLong et al. 1988).

    The area is the probability that a good document has a higher score than a bad one, equal scores half counted.

    Args:
        scores: float, shape (documents,).
        good: bool, the same shape. NaN for all three where one kind is missing.
    """
    good = np.asarray(good, bool)
    above, below = np.asarray(scores, float)[good], np.asarray(scores, float)[~good]
    if not len(above) or not len(below):
        return math.nan, math.nan, math.nan
    ranks = _midranks(np.concatenate([above, below]))
    beaten = (ranks[: len(above)] - _midranks(above)) / len(below)
    beating = 1 - (ranks[len(above) :] - _midranks(below)) / len(above)
    area = float(beaten.mean())
    spread = sum(float(v.var(ddof=1)) / len(v) for v in (beaten, beating) if len(v) > 1)
    wide = 1.96 * math.sqrt(spread)
    return area, max(0.0, area - wide), min(1.0, area + wide)


@dataclass(frozen=True)
class AtRate:
    """What keeping the best `rate` of all documents does.

    Attributes:
        threshold: of the score; documents of just this score are kept.
        kept: share kept in fact, for equal scores are not parted.
        precision: share of good ones among those kept.
        good_kept, bad_kept: share of the good, and of the bad, that is kept.
    """

    rate: float
    threshold: float
    kept: float
    precision: float
    good_kept: float
    bad_kept: float


def threshold_for(scores: np.ndarray, rate: float) -> float:
    """Return the threshold from which on at least `rate` of `scores` lies, as little more as equal scores allow."""
    order = np.sort(np.asarray(scores, float))[::-1]
    return float(order[max(0, math.ceil(rate * len(order) - 1e-9) - 1)])


def at_rates(scores: np.ndarray, good: np.ndarray, rates: tuple[float, ...] = KEEP_RATES) -> list[AtRate]:
    """Return what each of `rates` does on labelled documents."""
    good = np.asarray(good, bool)
    found = []
    for rate in rates:
        threshold = threshold_for(scores, rate)
        kept = np.asarray(scores) >= threshold
        found.append(
            AtRate(
                rate,
                threshold,
                float(kept.mean()),
                float(good[kept].mean()),
                float(kept[good].mean()) if good.any() else math.nan,
                float(kept[~good].mean()) if (~good).any() else math.nan,
            )
        )
    return found
