"""Rules over signals: what every rule set shares.

A rule set measures a fixed row of numbers of each document, its signals, and drops a document because of the first
rule whose signal is beyond its threshold. So the verdict follows from signals and thresholds alone, and a threshold can
be reconsidered without reading a text again.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, Span, StageFault, Verdict
from stages.quality import fineweb2
from stages.text.words import Unit

Mode = Literal["drop", "annotate"]
Variant = Literal["datatrove", "dolma", "dclm", "fineweb2"]
Side = Literal["below", "above"]

KEPT = -1
"""What `RuleStage.first_broken` says of a document that breaks no rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A document whose `signal` is below (or above) `threshold` breaks the rule; one whose signal is NaN does not.

    Attributes:
        name: the ledger's name of it.
        signal: the signal's name, without the stage's.
        side: ``below``: broken by a smaller value; ``above``: by a larger one.
        parameter: where the threshold comes from; empty: it is fixed.
        threshold: NaN: the rule is switched off.
        spares_zero: a value of 0 does not break it.
        column: where FineWeb-2's table has the threshold for the document's language; empty: it is the same for all.
        unless: a signal; where it is above one half, the rule is not asked.
    """

    name: str
    signal: str
    side: Side
    parameter: str
    threshold: float
    spares_zero: bool = False
    column: str = ""
    unless: str = ""


def off_at(value: float, *off: float) -> float:
    """Return `value` as a threshold: NaN, which nothing is beyond, where it is one of `off`."""
    return float("nan") if value in off else float(value)


@dataclass(frozen=True, kw_only=True)
class RuleStage(DocumentStage):
    """Base of rule sets: signals in, the first broken rule out.

    A rule set defines `signal_names`, `rules` and `measure`. It lists in `rule_parameters` what changes no signal and no
    text but only verdicts: those that rules name, and what else `rules` reads.
    """

    libraries: ClassVar[tuple[str, ...]] = ("regex", "spacy")
    shares_load: ClassVar[bool] = True

    rule_parameters: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Variant -> parameters whose default is the variant's. A parameter left at None takes it; one that stays None is looked
    up by language."""

    edits: ClassVar[bool] = False
    shares: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    """Parameters that are shares, from 0 to 1, with what else switches their rule off."""
    least: ClassVar[Mapping[str, float]] = {}
    """The least value of other numbers."""

    mode: Mode = "drop"
    """drop: documents that break a rule leave. annotate: none leaves and no text changes; signals are measured alone."""
    signals: bool = False
    """Also write the signals of what stays into the corpus, as columns <stage>.<signal>."""
    variant: Variant = "datatrove"
    """Whose form of the rules: datatrove 0.10.1 (FineWeb's code), dolma (its tagger at 669f534, the mixer's thresholds of v1.5),
    dclm (its RefinedWeb baseline at 361714b), fineweb2 (thresholds by the document's language and script)."""
    words: Unit | None = None
    """What a word is: unicode (UAX #29, with rules for scripts without spaces), spacy (as datatrove), whitespace. By default
    unicode; with variant dolma, whitespace."""

    def __post_init__(self) -> None:
        for name, value in {"words": "unicode", **self.defaults.get(self.variant, {})}.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if self.words == "spacy":
            object.__setattr__(self, "preload", ("stages.text.spacy_ready",))
        if self.variant == "fineweb2":
            object.__setattr__(self, "needs", (*self.needs, "language"))

    def check(self) -> None:
        if self.variant not in self.defaults:
            known = ", ".join(self.defaults)
            raise StageFault("variant", f"{self.variant} has no rules of this kind; {self.name} has {known}")
        for key, off in self.shares.items():
            value = getattr(self, key)
            if value is not None and not 0 <= value <= 1 and value not in off:
                raise StageFault(key, f"must be a share from 0 to 1; got {value:g}")
        for key, least in self.least.items():
            value = getattr(self, key)
            if value is not None and value < least:
                raise StageFault(key, f"must be at least {least:g}; got {value:g}")

    def resources(self) -> Mapping[str, str]:
        found = {"unicode": unicodedata.unidata_version} if self.words != "spacy" else {}
        return found | ({"thresholds": fineweb2.digest()} if self.variant == "fineweb2" else {})

    def load(self) -> None:
        self.measure(Document("The first sentence loads what is needed for those that follow.", language="en"))

    @property
    def signal_names(self) -> tuple[str, ...]:
        """Names of the signals, in the order that `measure` gives them."""
        raise NotImplementedError

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they are asked; those switched off are among them."""
        raise NotImplementedError

    def measure(self, document: Document) -> tuple[float, ...]:
        """Return every signal of `document`, in the order of `signal_names`; NaN: it says nothing of this text."""
        raise NotImplementedError

    @property
    def measures(self) -> tuple[pa.Field, ...]:
        return tuple(pa.field(f"{self.name}.{name}", pa.float64()) for name in self.signal_names)

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        return self.measures if self.signals else ()

    def without_rules(self) -> RuleStage:
        """Return the stage that measures and changes texts as this one does, and keeps every document."""
        if not self.edits:
            return dataclasses.replace(self, mode="annotate")
        raise NotImplementedError(f"{self.name} edits texts: it has to say what it is without its rules")

    @property
    def answerable(self) -> frozenset[str]:
        """Parameters whose change leaves signals and texts as they are, so that `first_broken` tells what it would do."""
        return frozenset(self.rule_parameters) | ({"signals"} if self.edits else {"mode", "signals"})

    def unanswered(self, other: RuleStage) -> list[str]:
        """Return the parameters in which `other` differs and that this one's signals cannot answer for.

        A rule of `other` on a signal that is not measured here makes its parameter one of them.
        """
        changed = [f.name for f in dataclasses.fields(self) if getattr(self, f.name) != getattr(other, f.name)]
        missing = {rule.parameter for rule in other.rules if rule.signal not in self.signal_names}
        return [name for name in changed if name not in self.answerable or name in missing]

    def thresholds(self, signals: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
        """Return float64, shape (documents, rules): each rule's threshold for each document; NaN where it is off."""
        names = list(names or self.signal_names)
        rules = self.rules
        limits = np.tile(np.array([rule.threshold for rule in rules], np.float64), (len(signals), 1))
        for place, rule in enumerate(rules):
            if rule.column:
                values = fineweb2.table().values[:, fineweb2.COLUMNS.index(rule.column)]
                rows = np.nan_to_num(signals[:, names.index("language")], nan=len(values) - 1).astype(np.int64)
                limits[:, place] = values[rows]
            if rule.unless:
                limits[signals[:, names.index(rule.unless)] > 0.5, place] = np.nan
        return limits

    def first_broken(
        self, signals: np.ndarray, names: Sequence[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which rule each document breaks first, from its signals alone.

        Args:
            signals: float64, shape (documents, signals).
            names: what the columns of `signals` are, where they are not this stage's `signal_names`: those of a stage
                with other parameters, say.

        Returns:
            Index into `rules` (int64; `KEPT`: none), the value and the threshold (float64, NaN where none is broken),
            each of shape (documents,).
        """
        broken, values, thresholds = self._broken_each(signals, names)
        first = self._first(broken, values)
        rows, hit = np.arange(len(signals)), first != KEPT
        return (
            first,
            np.where(hit, values[rows, first], np.nan),
            np.where(hit, thresholds[rows, first], np.nan),
        )

    def each_broken(self, signals: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
        """Return bool, shape (documents, rules): which rules each document breaks, whatever comes before them."""
        return self._broken_each(signals, names)[0]

    def _broken_each(
        self, signals: np.ndarray, names: Sequence[str] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which rules are broken, the values they look at and their thresholds: (documents, rules) each."""
        names = list(names or self.signal_names)
        rules = self.rules
        thresholds = self.thresholds(signals, names)
        values = signals[:, [names.index(rule.signal) for rule in rules]]
        below = np.array([rule.side == "below" for rule in rules], bool)
        spares = np.array([rule.spares_zero for rule in rules], bool)
        broken = np.where(below, values < thresholds, values > thresholds) & ~(spares & (values == 0))
        return broken, values, thresholds

    def _first(self, broken: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return int64: which of the rules `broken`, bool of shape (documents, rules), names each document's verdict."""
        return np.where(broken.any(axis=1), broken.argmax(axis=1), KEPT)

    @cached_property
    def _asked(self) -> tuple[tuple[Rule, int, bool, float, int], ...]:
        """The rules that are on: with the place of the signal, whether smaller values break it, the threshold, and the place
        of the signal by which it is not asked (-1: there is none)."""
        places = {name: place for place, name in enumerate(self.signal_names)}
        return tuple(
            (rule, places[rule.signal], rule.side == "below", rule.threshold, places.get(rule.unless, -1))
            for rule in self.rules
            if rule.column or rule.threshold == rule.threshold
        )

    def broken(self, values: Sequence[float]) -> tuple[Rule, float, float] | None:
        """Return (rule, value, threshold) of the rule that one document with the signals `values` breaks first."""
        for rule, place, below, threshold, unless in self._asked:
            value = values[place]
            if rule.column:
                threshold = self._by_language(values, rule.column)
            if (value < threshold if below else value > threshold) and not (rule.spares_zero and value == 0):
                if unless >= 0 and values[unless] > 0.5:
                    continue
                return rule, value, threshold
        return None

    def _by_language(self, values: Sequence[float], column: str) -> float:
        row = values[self.signal_names.index("language")]
        table = fineweb2.table().values
        return float(table[-1 if row != row else int(row), fineweb2.COLUMNS.index(column)])

    def judge(self, document: Document) -> Verdict:
        values = self.measure(document)
        if self.mode == "drop" and (broken := self.broken(values)) is not None:
            rule, value, threshold = broken
            return Drop(rule.name, value, threshold, signals=values)
        return self.keep(values)

    def keep(self, values: Sequence[float], text: str | None = None, spans: Sequence[Span] = ()) -> Keep:
        """Return the verdict on a document that stays."""
        columns: dict[str, Any] = {}
        if self.signals:
            columns = {field.name: value for field, value in zip(self.measures, values, strict=True)}
        return Keep(text=text, columns=columns, spans=spans, signals=values)
