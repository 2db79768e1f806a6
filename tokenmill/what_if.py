"""What other thresholds would have done in a finished run, told from its signals alone.

Exact as far as every document's way is known: through the rule sets that stand in a row, and further, pass after pass, where
nothing comes in that the run had dropped; never past the stage that must see the whole corpus.
"""

from __future__ import annotations

import copy
import pathlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.errors import AccountingError, RecipeError, UserError
from pipeline.recipe import apply_override, build_stage, stage_labels
from pipeline.run.accounts import need_finished
from pipeline.run.folder import Manifest, read_manifest
from pipeline.run.signals import PassSignals, read_signals
from pipeline.storage import Folder
from pipeline.tally import Rules
from stages.quality.rule_stage import KEPT, RuleStage

GONE, FAILED = -2, -3
"""Beside stage numbers, in `Way.left`: not known, for the run had dropped it earlier; failed."""


@dataclass(frozen=True)
class Way:
    """How far each document of a pass comes.

    Attributes:
        left: int, shape (documents,): the stage at which it leaves; -1: none, or `GONE` or `FAILED`.
        rule: int, the same shape: which rule of a rule set it breaks; -1 elsewhere.
        known: stages of the pass through which all ways are known.
    """

    left: np.ndarray
    rule: np.ndarray
    known: int


@dataclass(frozen=True)
class Answer:
    """What a change would have done.

    Attributes:
        kept: documents left behind stage `exact_up_to`.
        dropped: by stage and rule, as far as that stage.
        step: the pass with that stage; the masks below are over its documents.
        there: which would come to it; before, after: which are left behind the stage in the run, and would be.
        later: about how many documents would be left in the end.
    """

    kept: int
    dropped: Rules
    exact_up_to: str
    step: PassSignals
    there: np.ndarray
    before: np.ndarray
    after: np.ndarray
    later: float

    @property
    def into(self) -> np.ndarray:
        """Documents that come in there: a mask."""
        return self.after & ~self.before

    @property
    def out(self) -> np.ndarray:
        """Documents that go."""
        return self.before & ~self.after

    def as_dict(self) -> dict[str, Any]:
        """Return what ``what-if --json`` prints."""
        return {
            "kept": self.kept,
            "dropped": self.dropped,
            "changed": {"in": int(self.into.sum()), "out": int(self.out.sum())},
            "exact_up_to": self.exact_up_to,
        }


class FinishedRun:
    """A finished run with its signals.

    Attributes:
        stages: the rule sets of the run, by label, as its recipe has them.
        order: labels of all stages, in order.
    """

    def __init__(self, out: Folder):
        self.out = out
        self.summary = need_finished(out)
        manifest = read_manifest(out)
        assert manifest is not None
        self.manifest: Manifest = manifest
        self.order = [line.stage for line in self.summary.stages]
        self.passes = read_signals(out, manifest, ("rule",))
        tables = manifest.recipe.get("stage")
        if not tables:
            raise UserError(
                f"the run in {out.url} was not made from a recipe with stages; what-if needs their parameters"
            )
        self._ways: dict[str, Way] = {}
        self._labels = stage_labels([str(table.get("use")) for table in tables])
        measured = {label for step in self.passes for first, end in step.rows for label in step.labels[first:end]}
        self.stages = self._build(manifest.recipe, [label for label in self._labels if label in measured])

    def _build(self, recipe: Mapping[str, Any], labels: Sequence[str]) -> dict[str, RuleStage]:
        """Return the stages `labels` as `recipe`, a parsed recipe, has them."""
        folder = pathlib.Path(self.manifest.recipe_file).parent
        found: dict[str, RuleStage] = {}
        for label in labels:
            at = self._labels.index(label)
            stage = build_stage(recipe["stage"][at], folder, f"stages[{at}]")
            if isinstance(stage, RuleStage):
                found[label] = stage
        return found

    def changed(self, overrides: Sequence[str]) -> dict[str, RuleStage]:
        """Return the rule sets with `overrides` such as ``gopher_quality.min_doc_words=80``.

        Raises:
            UserError: a change that signals cannot answer for.
        """
        recipe = copy.deepcopy(self.manifest.recipe)
        owners = []
        for text in overrides:
            apply_override(recipe, text)
            owners.append(text.partition("=")[0].strip().rpartition(".")[0])
        for text, owner in zip(overrides, owners, strict=True):
            if owner not in self.stages:
                known = ", ".join(self.stages) or "none"
                raise RecipeError(
                    f"--set {text}", f"no signals answer for {owner}; they do for the rule sets of the run: {known}"
                )
        changed = self._build(recipe, list(dict.fromkeys(owners)))
        for label, stage in changed.items():
            if wrong := self.stages[label].unanswered(stage):
                known = ", ".join(sorted(self.stages[label].answerable))
                raise RecipeError(
                    f"--set {label}.{wrong[0]}",
                    f"changes what is measured, or the text; only a run can tell. What-if answers for {known}",
                )
        return {**self.stages, **changed}

    def answer(self, stages: Mapping[str, RuleStage]) -> Answer:
        """Return what the run would have come to with `stages`.

        From the first pass that is changed on, pass by pass, for as long as every document's way is known: to where documents
        come in that a later stage has not seen, or a stage must see the whole corpus.
        """
        dropped = {label: dict(rules) for label, rules in self.summary.dropped.items()}
        touched = {label for label, stage in stages.items() if stage != self.stages[label]}
        there: np.ndarray | None = None
        for number, step in enumerate(self.passes):
            there = np.ones(step.table.num_rows, bool) if there is None else there
            if there.all() and not touched & set(step.labels) and step is not self.passes[-1]:
                there = None
                continue
            before, after = self._before(step), way(step, stages)
            dropped.update(self._counted(step, after, stages, after.known, there))
            was, left = stays(before, after.known), stays(after, after.known) & there
            if after.known == len(step.labels):
                if np.array_equal(was, left):
                    there = None
                    continue
                if not (left & ~was).any() and self._follows(number + 1):
                    there = self._reach(number, left)
                    continue
            upto = step.labels[after.known - 1]
            kept, known = int(left.sum()), self._ordered(dropped, self.order.index(upto))
            later = kept * self.summary.kept / max(1, int(was.sum()))
            return Answer(kept, known, upto, step, there, was, left, later)
        every = self._ordered(dropped, len(self.order))
        stay = before.left == -1
        kept = self.summary.kept
        return Answer(kept, every, self.order[-1], step, np.ones(len(stay), bool), stay, stay, kept)

    def _follows(self, number: int) -> bool:
        """Tell whether pass `number` of those with signals begins where the one before it ends: with no corpus stage between."""
        if number == len(self.passes):
            return False
        before, step = self.passes[number - 1 : number + 1]
        return self.order.index(step.labels[0]) == self.order.index(before.labels[-1]) + 1

    def _reach(self, number: int, left: np.ndarray) -> np.ndarray:
        """Return bool: which documents of the pass behind pass `number` are among those that `left` says this one leaves."""
        steps = read_signals(self.out, self.manifest, ("shard",))[number : number + 2]
        shards: dict[str, int] = {}
        places = []
        for step, name in zip(steps, ("row", "number"), strict=True):
            names, codes = step.codes("shard")
            known = np.array([shards.setdefault(shard, len(shards)) for shard in names], np.int64)
            places.append(known[codes] << 40 | step.column(name).astype(np.int64))
        return np.isin(places[1], places[0][left])

    def _ordered(self, dropped: Rules, upto: int) -> Rules:
        """Return `dropped` in the order of the stages, through number `upto`; stages that drop nothing are not in it."""
        return {label: dropped[label] for label in self.order[: upto + 1] if dropped.get(label)}

    def bytes_by_rule(self, answer: Answer, stages: Mapping[str, RuleStage]) -> dict[tuple[str, str], int]:
        """Return the bytes of text, as it came to the answer's pass, of the documents that each rule of it would drop."""
        step = answer.step
        found, size = way(step, stages), step.column("bytes")
        dropped: dict[tuple[str, str], int] = {}
        for index, label in enumerate(step.labels[: found.known]):
            if label not in stages:
                continue
            here = (found.left == index) & answer.there
            for place, total in enumerate(np.bincount(found.rule[here], size[here])):
                key = label, stages[label].rules[place].name
                dropped[key] = dropped.get(key, 0) + int(total)
        return dropped

    def _counted(
        self,
        step: PassSignals,
        found: Way,
        stages: Mapping[str, RuleStage],
        known: int,
        there: np.ndarray | None = None,
    ) -> Rules:
        """Return the documents that leave at each of the first `known` stages of `step`, by rule, most first; of those `there`."""
        names, codes = step.codes("rule")
        counted: Rules = {}
        for index, label in enumerate(step.labels[:known]):
            here = (found.left == index) if there is None else (found.left == index) & there
            if label in stages and index in _in_rows(step):
                rules = Counter(
                    {stages[label].rules[r].name: int(n) for r, n in enumerate(np.bincount(found.rule[here])) if n}
                )
            else:
                rules = Counter({names[code]: int(n) for code, n in enumerate(np.bincount(codes[here])) if n})
            counted[label] = dict(sorted(rules.items(), key=lambda rule: (-rule[1], rule[0])))
        return counted

    def _before(self, step: PassSignals) -> Way:
        """Return how far each document came in the run, as its signals say: just as the run's own account has it."""
        if step.name not in self._ways:
            found = self._ways[step.name] = way(step, self.stages)
            self._check(step, found)
        return self._ways[step.name]

    def _check(self, step: PassSignals, found: Way) -> None:
        counted = self._counted(step, found, self.stages, len(step.labels))
        for first, end in step.rows:
            for label in step.labels[first:end]:
                if counted[label] != self.summary.dropped.get(label, {}):
                    raise AccountingError(
                        f"the signals of {label} say {counted[label]} where the run dropped {self.summary.dropped.get(label, {})}"
                    )


def _in_rows(step: PassSignals) -> set[int]:
    return {index for first, end in step.rows for index in range(first, end)}


def way(step: PassSignals, stages: Mapping[str, RuleStage]) -> Way:
    """Return how far each document of `step` comes with the rule sets `stages`."""
    run_left, fails = step.column("left"), step.column("fails")
    left, rule = np.full(len(run_left), -1, np.int64), np.full(len(run_left), -1, np.int64)
    alive = np.ones(len(run_left), bool)
    inside = _in_rows(step)
    for index, label in enumerate(step.labels):
        if not (index in inside and label in stages) and bool((alive & (run_left != -1) & (run_left < index)).any()):
            left[alive & (run_left != -1) & (run_left < index)] = GONE
            return Way(left, rule, index)
        fail = alive & (fails == index)
        left[fail], alive = FAILED, alive & ~fail
        if index in inside and label in stages:
            broken = _broken(step, label, stages[label])
            hit = alive & (broken != KEPT)
            rule[hit] = broken[hit]
        else:
            hit = alive & (run_left == index)
        left[hit], alive = index, alive & ~hit
    return Way(left, rule, len(step.labels))


def _broken(step: PassSignals, label: str, stage: RuleStage) -> np.ndarray:
    names, values = step.signals(label)
    if stage.mode == "annotate":
        return np.full(len(values), KEPT)
    return stage.first_broken(values, names)[0]


def stays(found: Way, known: int) -> np.ndarray:
    """Return bool: which documents are left behind the first `known` stages of the pass."""
    return (found.left == -1) | (found.left >= known) | (found.left == GONE)
