"""How signals are distributed, by source and language, and what each published threshold would remove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stages.quality.rule_stage import KEPT, Rule
from tokenmill.analyse.measure import Measured

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BINS = 48
GROUPS = 12
"""Sources, and languages, told apart: the largest."""
SIDES = 2
"""Documents shown on each side of a threshold: the nearest."""
_EXAMPLE = 400


@dataclass(frozen=True)
class RuleShare:
    """What a rule removes.

    Attributes:
        share: of all documents; by_source, by_language: of those.
        removed, kept: row and value of the documents nearest to the threshold, on both sides.
    """

    rule: Rule
    share: float
    by_source: dict[str, float]
    by_language: dict[str, float]
    removed: list[tuple[int, float]]
    kept: list[tuple[int, float]]


@dataclass(frozen=True)
class Distribution:
    """One signal of one rule set.

    Attributes:
        values: float64, one a document, NaN where nothing is measured.
        quantiles: by `QUANTILES`; the same by source and language.
    """

    stage: str
    signal: str
    values: np.ndarray
    quantiles: dict[str, float]
    by_source: dict[str, dict[str, float]]
    by_language: dict[str, dict[str, float]]
    rules: list[RuleShare] = field(default_factory=list)


@dataclass(frozen=True)
class Analysis:
    """All that is told of a sample."""

    documents: int
    sources: dict[str, int]
    languages: dict[str, int]
    distributions: list[Distribution]
    removed: dict[str, dict[str, Any]]
    measured: Measured

    def as_dict(self) -> dict[str, Any]:
        """Return what ``analyse --json`` prints."""
        return {
            "documents": self.documents,
            "sources": self.sources,
            "languages": self.languages,
            "stages": self.removed,
            "signals": [
                {
                    "stage": d.stage,
                    "signal": d.signal,
                    "quantiles": d.quantiles,
                    "by_source": d.by_source,
                    "by_language": d.by_language,
                    "rules": [
                        {
                            "rule": r.rule.name,
                            "parameter": r.rule.parameter,
                            "side": r.rule.side,
                            "threshold": None if math.isnan(r.rule.threshold) else r.rule.threshold,
                            "removes": r.share,
                            "by_source": r.by_source,
                            "by_language": r.by_language,
                            "examples": {"removed": self._shown(r.removed), "kept": self._shown(r.kept)},
                        }
                        for r in d.rules
                    ],
                }
                for d in self.distributions
            ],
        }

    def _shown(self, rows: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
        return [{"value": value, **self.example(row)} for row, value in rows]

    def example(self, row: int) -> dict[str, str]:
        """Return name and beginning of document `row`."""
        texts = self.measured.texts
        name = texts["url"][row].as_py() or texts["id"][row].as_py() or ""
        return {"name": name, "text": (texts["text"][row].as_py() or "")[:_EXAMPLE]}


def analyse(measured: Measured) -> Analysis:
    """Return the distribution of every signal of `measured`, and what its rule sets would remove as they are set."""
    step = measured.signals
    groups = {name: _groups(step.table[name].to_pylist()) for name in ("source", "language")}
    found: list[Distribution] = []
    removed: dict[str, dict[str, Any]] = {}
    for label, stage in measured.stages.items():
        names, values = step.signals(label)
        broken = stage.each_broken(values, names)
        gone = stage.first_broken(values, names)[0] != KEPT
        removed[label] = {
            "removes": _share(gone),
            "by_source": {name: _share(gone[mask]) for name, mask in groups["source"].items()},
            "by_language": {name: _share(gone[mask]) for name, mask in groups["language"].items()},
        }
        thresholds = stage.thresholds(values, names)
        for place, name in enumerate(names):
            column = values[:, place]
            rules = [
                _rule(rule, column, broken[:, n], thresholds[:, n], groups)
                for n, rule in enumerate(stage.rules)
                if rule.signal == name
            ]
            by = {kind: {g: _quantiles(column[mask]) for g, mask in masks.items()} for kind, masks in groups.items()}
            found.append(Distribution(label, name, column, _quantiles(column), by["source"], by["language"], rules))
    counts = {kind: {g: int(mask.sum()) for g, mask in masks.items()} for kind, masks in groups.items()}
    return Analysis(step.table.num_rows, counts["source"], counts["language"], found, removed, measured)


def _rule(
    rule: Rule, values: np.ndarray, broken: np.ndarray, thresholds: np.ndarray, groups: dict[str, dict[str, np.ndarray]]
) -> RuleShare:
    by = {kind: {name: _share(broken[mask]) for name, mask in masks.items()} for kind, masks in groups.items()}
    distance = np.abs(values - thresholds)
    sides = [_nearest(distance, values, side) for side in (broken, ~broken & ~np.isnan(distance))]
    return RuleShare(rule, _share(broken), by["source"], by["language"], *sides)


def _nearest(distance: np.ndarray, values: np.ndarray, among: np.ndarray) -> list[tuple[int, float]]:
    rows = np.flatnonzero(among)
    chosen = rows[np.argsort(distance[rows], kind="stable")[:SIDES]]
    return [(int(row), float(values[row])) for row in chosen]


def _share(mask: np.ndarray) -> float:
    return float(mask.mean()) if len(mask) else 0.0


def _groups(names: Sequence[str | None]) -> dict[str, np.ndarray]:
    """Return the documents of each of the largest groups, the largest first."""
    kinds, numbers, counts = np.unique([name or "unknown" for name in names], return_inverse=True, return_counts=True)
    order = sorted(range(len(kinds)), key=lambda n: (-counts[n], kinds[n]))[:GROUPS]
    return {str(kinds[n]): numbers == n for n in order}


def _quantiles(values: np.ndarray) -> dict[str, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        return {}
    return {f"{q:g}": float(v) for q, v in zip(QUANTILES, np.quantile(known, QUANTILES), strict=True)}


def edges_of(values: np.ndarray, marks: Sequence[float]) -> tuple[np.ndarray, bool]:
    """Return the edges of the bins of a histogram of `values` that shows `marks`, and whether they grow by a factor.

    The outer hundredths are counted in the outer bins.
    """
    known = values[np.isfinite(values)]
    inside = [m for m in marks if np.isfinite(m)]
    low, high = np.quantile(known, (0.01, 0.99)) if len(known) else (0.0, 1.0)
    low, high = min([low, *inside]), max([high, *inside])
    if high <= low:
        low, high = low - 0.5, high + 0.5
    if low >= 0 and high / max(low, 1.0) > 200:
        return np.concatenate([[0.0], np.geomspace(max(low, 1.0), high, BINS)]), True
    room = (high - low) * 0.03
    return np.linspace(low - (room if low > 0 or low < 0 else 0), high + room, BINS + 1), False
