"""What each rule of a run is worth: what it removes that nothing else would, and what that costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.run.signals import PassSignals
from stages.quality.rule_stage import RuleStage
from tokenmill.what_if import FinishedRun, way

MOST_STAGES = 7
"""Stages whose orders are all tried: 5,040 of them."""
WORTH_TELLING = 0.02
"""Share of the CPU time that another order has to save."""


def worth_of(run: FinishedRun, stages: Mapping[str, RuleStage]) -> dict[str, Any]:
    """Return what each rule, and each rule set, of the run is worth.

    By rule and by stage: ``drops``, documents that leave by it; ``breaks``, those that enter the row of rule sets and break
    it, whatever else they break; ``alone``, those that break nothing else. ``orders``: of rule sets that no other stage
    stands between, one that leaves the same documents and takes less time. A document's outcome is the same in any order
    where no stage edits texts.
    """
    found: dict[str, Any] = {"rules": [], "stages": [], "orders": []}
    cpu = {line.stage: line.cpu_seconds for line in run.summary.stages}
    for step in run.passes:
        taken = way(step, stages)
        for first, end in step.rows:
            labels = [label for label in step.labels[first:end] if label in stages]
            entered = (taken.left == -1) | (taken.left >= first)
            broken = {label: _broken(step, label, stages[label]) & entered[:, None] for label in labels}
            total = np.sum([b.sum(axis=1) for b in broken.values()], axis=0)
            for label in labels:
                index, rules = step.labels.index(label), stages[label].rules
                by_rule = broken[label]
                for place, rule in enumerate(rules):
                    alone = by_rule[:, place] & (total == 1)
                    drops = int(((taken.left == index) & (taken.rule == place)).sum())
                    if by_rule[:, place].any():
                        found["rules"].append(
                            {
                                "stage": label,
                                "rule": rule.name,
                                "drops": drops,
                                "breaks": int(by_rule[:, place].sum()),
                                "alone": int(alone.sum()),
                            }
                        )
                any_here = by_rule.any(axis=1)
                elsewhere = np.any(
                    [broken[other].any(axis=1) for other in labels if other != label]
                    or [np.zeros(len(any_here), bool)],
                    axis=0,
                )
                drops, alone_ = int((taken.left == index).sum()), int((any_here & ~elsewhere).sum())
                found["stages"].append(
                    {
                        "stage": label,
                        "drops": drops,
                        "breaks": int(any_here.sum()),
                        "alone": alone_,
                        "cpu_seconds": cpu[label],
                        "cpu_ms_per_drop": 1e3 * cpu[label] / drops if drops else None,
                        "cpu_ms_per_alone": 1e3 * cpu[label] / alone_ if alone_ else None,
                    }
                )
            for part in _free_runs(labels, stages):
                order = cheaper(part, {label: broken[label].any(axis=1)[entered] for label in part}, cpu)
                if order is not None:
                    found["orders"].append(order)
    return found


def _broken(step: PassSignals, label: str, stage: RuleStage) -> np.ndarray:
    """Return bool, shape (documents, rules): which rules each document breaks, each asked by itself."""
    names, values = step.signals(label)
    if stage.mode == "annotate":
        return np.zeros((len(values), len(stage.rules)), bool)
    return stage.each_broken(values, names)


def _free_runs(labels: Sequence[str], stages: Mapping[str, RuleStage]) -> list[list[str]]:
    """Return runs of at least two neighbours that may change places: none edits texts."""
    runs = [list(run) for edits, run in itertools.groupby(labels, key=lambda label: stages[label].edits) if not edits]
    return [run for run in runs if 2 <= len(run) <= MOST_STAGES]


def cheaper(labels: Sequence[str], breaks: Mapping[str, np.ndarray], cpu: Mapping[str, float]) -> dict[str, Any] | None:
    """Return the order of `labels` that takes the least CPU time, and its saving; None where it saves next to nothing.

    A stage costs what it cost per document in the run; a document costs nothing in stages behind the one that drops it.

    Args:
        breaks: by label, bool of shape (documents,): whether the stage drops it.
        cpu: seconds by label, for all documents.
    """
    documents = len(next(iter(breaks.values())))
    if not documents:
        return None

    def cost(order: Sequence[str]) -> float:
        left, total = np.ones(documents, bool), 0.0
        for label in order:
            total += cpu[label] * left.sum() / documents
            left &= ~breaks[label]
        return float(total)

    best = min(itertools.permutations(labels), key=cost)
    saving = 1 - cost(best) / (cost(labels) or 1.0)
    return {"order": list(best), "saving": saving} if saving > WORTH_TELLING else None
