"""The stage contract: what a stage is, what it answers, and how it is told apart from another.

A stage is a frozen dataclass whose fields are its parameters and nothing else. Stages are pure: no files,
no counters, no state that changes, no randomness but what is seeded by the document itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch, Document, clean_text, text_array
from pipeline.errors import is_environment, place_of
from pipeline.guard import guard


class StageFault(ValueError):
    """A parameter of a stage that cannot work, found before any document is read.

    Args:
        key: name of the parameter.
        problem: what is wrong and what to do.
    """

    def __init__(self, key: str, problem: str):
        self.key = key
        self.problem = problem
        super().__init__(f"{key}: {problem}")


@dataclass(frozen=True, slots=True)
class Drop:
    """A document's verdict: it leaves the corpus, because `rule` measured `value` against `threshold`.

    `signals` are all values that the stage `measures`, in that order.
    """

    rule: str
    value: float | None = None
    threshold: float | None = None
    detail: str = ""
    signals: Sequence[float] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text removed from a document that stays."""

    rule: str
    text: str
    value: float | None = None
    threshold: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Keep:
    """A document's verdict: it stays, perhaps with a new `text`, more `columns`, or `spans` taken out of it.

    `signals` are all values that the stage `measures`, in that order.
    """

    text: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    spans: Sequence[Span] = ()
    signals: Sequence[float] | None = field(default=None, compare=False, repr=False)


Verdict = Drop | Keep | None
"""What `judge` answers; None keeps the document as it is."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One line of the ledger before it is written.

    Attributes:
        row: row of the document in the batch that the stage was given.
        kind: ``document`` (dropped), ``span`` (removed from a document that stays) or ``failed``.
        text: the removed span; for documents the engine fills in the text.
        partner, partner_id: position and id of the document kept in this one's place.
    """

    row: int
    rule: str
    kind: str = "document"
    value: float | None = None
    threshold: float | None = None
    detail: str = ""
    text: str | None = None
    partner: int | None = None
    partner_id: str | None = None


@dataclass(slots=True)
class Outcome:
    """What a map stage made of a batch: the documents kept, in their order, and everything removed.

    `signals`, float64 of shape (documents given, signals), holds what the stage `measures` of each document it was given,
    kept or not; NaN where nothing was measured. None: the stage measures nothing.
    """

    kept: Batch
    removed: list[Removal] = field(default_factory=list)
    signals: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Base of all stages.

    Class attributes:
        name: how recipes call it.
        published: the paper, system or standard its rule comes from.
        version: raised by whoever changes what the stage does to the same documents; belongs to the fingerprint.
        path_fields: parameters that hold file globs relative to the recipe. The recipe turns each into the
            sorted absolute paths found; the fingerprint takes their content, not their place.
        needs: columns without which the stage cannot work.
        adds: columns it adds, with their types.
        removes: columns that it takes away.
        preload: modules, beside its own, that are imported once for all workers instead of by each.
        shares_load: what `load` leaves in memory is good in forks too (no threads, no open files): it is done once
            for all workers.
        runs_code: it runs code that a recipe or a caller gives, which may use whatever is installed.
        libraries: distributions whose installed version decides what the stage makes of a document; belongs to the
            fingerprint, so that an upgrade never mixes with what was made before.
    """

    name: ClassVar[str] = ""
    published: ClassVar[str] = ""
    version: ClassVar[int] = 1
    path_fields: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ("text",)
    removes: ClassVar[tuple[str, ...]] = ()
    preload: ClassVar[tuple[str, ...]] = ()
    shares_load: ClassVar[bool] = False
    runs_code: ClassVar[bool] = False
    libraries: ClassVar[tuple[str, ...]] = ()

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        """Columns that this stage adds to each document."""
        return ()

    @property
    def measures(self) -> tuple[pa.Field, ...]:
        """Signals: numbers that this stage measures of each document and says in `Outcome.signals`, in this order."""
        return ()

    @property
    def counted_as(self) -> str:
        """The name that ledger and tallies count under; a decision answers the corpus stage it comes from."""
        return self.name

    def check(self) -> None:
        """Raise `StageFault` for parameters that cannot work: ranges, files, models. Called before any work."""

    def resources(self) -> Mapping[str, str]:
        """Digests of what the stage loads beside its parameters (models, word lists, evaluation files)."""
        return {}

    def notes(self) -> list[str]:
        """Return what the user should hear of this stage before it works: one line each."""
        return []

    def load(self) -> None:
        """Load models, indexes and compiled code. Called once in each worker, or once for all of them, before the first document: what it raises
        is a fault of the environment and ends the run, never a document's."""

    def identity(self) -> dict[str, Any]:
        """What tells this stage from another: name, version, every parameter, the digests of its resources and the
        versions of its libraries."""
        parameters = {k: v for k, v in dataclasses.asdict(self).items() if k not in self.path_fields}
        return {
            "stage": self.name,
            "version": self.version,
            "parameters": parameters,
            "resources": dict(sorted(self.resources().items())),
            "libraries": {name: installed_version(name) for name in sorted(self.libraries)},
        }

    def fingerprint(self) -> str:
        """Return 16 hex digits of SHA-256 over `identity`."""
        return digest_of(self.identity())


@cache
def installed_version(distribution: str) -> str:
    """Return the version of `distribution` that is installed here, or ``""`` where there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def digest_of(value: Any) -> str:
    """Return the first 16 hex digits of the SHA-256 of `value` as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class MapStage(Stage):
    """A stage that needs to see no more than a batch at a time; any split into batches gives the same result.

    Class attributes:
        costly: its outcome is kept on disk (the pass ends behind it), so that a change of a later stage reads that and
            never pays for this stage again.
        only_drops: it takes documents out and changes nothing in those that stay. A pass of such stages writes which
            rows are left instead of their texts.
        edits: it may change the text of a document that stays.
    """

    costly: ClassVar[bool] = False
    only_drops: ClassVar[bool] = False
    edits: ClassVar[bool] = True

    def without_rules(self) -> MapStage:
        """Return the stage that measures and changes documents as this one does, and drops none that this one might keep if
        a threshold were another. Asked of stages that measure."""
        return self

    def apply(self, batch: Batch) -> Outcome:
        """Return what is kept of `batch` and what was removed from it, with reasons."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DocumentStage(MapStage):
    """A map stage that judges one document at a time."""

    only: tuple[str, ...] = ()
    """Languages (ISO 639-1 codes, as column `language`) that the stage applies to; empty: all. Others pass unchanged."""

    def judge(self, document: Document) -> Verdict:
        """Return what becomes of one document."""
        raise NotImplementedError

    def apply(self, batch: Batch) -> Outcome:
        """Judge each document; one whose judging raises is counted as failed, with the error, and the others go on."""
        rows: list[int] = []
        keeps: list[Keep | None] = []
        removed: list[Removal] = []
        signals = np.full((len(batch), len(self.measures)), np.nan) if self.measures else None
        languages = batch.column("language") if self.only else None
        for row, document in enumerate(batch.documents):
            if languages is not None and languages[row] not in self.only:
                verdict: Verdict = None
            else:
                guard.working_on(int(batch.numbers[row]))
                text = document.text
                try:
                    verdict = self.judge(document)
                    if verdict is not None or document.text is not text:
                        self._check_verdict(verdict, document.text is text)
                except BaseException as error:  # one document's fault is one counted outcome
                    document.text = text
                    if is_environment(error) or (isinstance(error, KeyboardInterrupt) and not guard.is_watched):
                        raise
                    removed.append(failure(row, error))
                    continue
            if signals is not None and verdict is not None and verdict.signals is not None:
                signals[row] = verdict.signals
            if isinstance(verdict, Drop):
                removed.append(Removal(row, verdict.rule, "document", verdict.value, verdict.threshold, verdict.detail))
                continue
            rows.append(row)
            keeps.append(verdict)
            if verdict is not None:
                removed.extend(
                    Removal(row, s.rule, "span", s.value, s.threshold, s.detail, s.text) for s in verdict.spans
                )
        return Outcome(self._changed(batch.select(rows), keeps), removed, signals)

    def _check_verdict(self, verdict: Any, same: bool) -> None:
        """Raise unless `verdict` is one; `same`: the document's text is as it was."""
        if not same:
            raise TypeError(f"{self.counted_as} changed document.text; answer Keep(text=...) instead")
        if isinstance(verdict, Keep):
            if verdict.text is not None and not isinstance(verdict.text, str):
                raise TypeError(f"{self.counted_as}: Keep.text is a {type(verdict.text).__name__}, not a text")
            unknown = set(verdict.columns) - {column.name for column in self.adds} if verdict.columns else ()
            if unknown:
                raise ValueError(
                    f"{self.counted_as} gives columns that it does not declare in adds: {', '.join(map(str, unknown))}"
                )
            if not all(isinstance(span, Span) and isinstance(span.text, str) for span in verdict.spans):
                raise TypeError(f"{self.counted_as}: Keep.spans must hold Spans of text")
        elif not isinstance(verdict, Drop):
            raise TypeError(f"{self.counted_as} judged a {type(verdict).__name__}; answer Keep, Drop or None")
        elif not isinstance(verdict.rule, str) or not verdict.rule:
            raise TypeError(f"{self.counted_as} drops without a rule: {verdict!r:.200}")

    def _changed(self, kept: Batch, keeps: list[Keep | None]) -> Batch:
        """Return `kept` with the texts and columns that the verdicts in `keeps` ask for."""
        if any(keep is not None and keep.text is not None for keep in keeps):
            kept = kept.with_texts(
                [
                    document.text if keep is None or keep.text is None else keep.text
                    for document, keep in zip(kept.documents, keeps, strict=True)
                ]
            )
        columns: dict[str, pa.Array] = {}
        for column in self.adds:
            old = kept.column(column.name)
            values = [
                before if keep is None else keep.columns.get(column.name, before)
                for before, keep in zip(old, keeps, strict=True)
            ]
            is_text = pa.types.is_large_string(column.type)
            columns[column.name] = text_array(values) if is_text else pa.array(values, column.type)
        if columns:
            kept = kept.with_columns(columns)
        return kept.without(self.removes) if self.removes else kept


def failure(row: int, error: BaseException) -> Removal:
    """Return the ledger line of a document whose processing raised `error`: what it says, and where it was raised."""
    try:
        said = str(error)[:1000]
    except Exception as another:  # an error of somebody's own that cannot even say what it is
        said = f"(its message cannot be had: {type(another).__name__})"
    place = place_of(error)
    detail = clean_text(f"{said}{f' ({place})' if place else ''}")
    return Removal(row, type(error).__name__, "failed", detail=detail)
