"""How much of each source a corpus holds: sampling to weights, a byte budget, or fractions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.corpus import Corpus, LocalTasks, Observations, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch, clean_text
from pipeline.guard import guard
from pipeline.shuffle import SMALL, parts_of
from pipeline.stage import MapStage, Outcome, Removal, StageFault
from pipeline.storage import Folder
from stages.dedup.duplicates import write_notes
from stages.mixing.shares import Share, shares, totals

NO_SOURCE = "unknown"
"""What documents without a source are called."""

PART_ROWS = 2_000_000
"""Documents of one task, about 100 MB."""


ACCOUNT = "mix.json"
"""File of a decision that holds what each source came to; see `Mix._account`."""

SHORT = 0.05
"""A share that lacks more than this part of itself is told of."""


def fraction_of(id: str, text: str, seed: int) -> float:
    """Return a number in [0, 1), even over documents, that depends on the document and `seed` alone.

    BLAKE2b (RFC 7693) over id and text, so that documents that share an id are not taken or left together, and
    a document is judged alike wherever it lies.
    """
    key = seed.to_bytes(8, "little", signed=True)
    data = id.encode("utf-8", "surrogatepass") + b"\0" + text.encode("utf-8", "surrogatepass")
    return (int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little") >> 11) / (1 << 53)


@dataclass(frozen=True, kw_only=True)
class SampleByRate(MapStage):
    """Keep a document if its fraction lies below the rate of its source and it fits what was left there of the share."""

    name: ClassVar[str] = "sample_by_rate"
    only_drops: ClassVar[bool] = True
    published: ClassVar[str] = "hash sampling"
    stage: str = "sample_by_rate"
    """Label of the corpus stage that decided."""
    rates: dict[str, float] = field(default_factory=dict)
    """Source to rate in [0, 1]; a source that is not named is kept whole."""
    limits: dict[str, tuple[tuple[float, int], ...]] = field(default_factory=dict)
    """Source to (fraction, bytes), ascending: from that fraction on a document of more bytes is too large."""
    seed: int = 0
    """Seed of the fractions."""

    @property
    def counted_as(self) -> str:
        return self.stage

    def apply(self, batch: Batch) -> Outcome:
        """Drop the documents of `batch` whose fraction reaches the rate, and those too large for their share."""
        rows: list[int] = []
        removed: list[Removal] = []
        texts = batch.texts
        for row, (source, fraction) in enumerate(zip(_sources(batch), _fractions(batch, self.seed), strict=True)):
            rate = self.rates.get(source, 1.0)
            limit = next((most for start, most in reversed(self.limits.get(source, ())) if fraction >= start), None)
            if fraction >= rate:
                removed.append(Removal(row, "not_sampled", "document", fraction, rate, f"source {source}"))
            elif limit is not None and (size := _size(texts[row])) > limit:
                removed.append(Removal(row, "larger_than_share", "document", size, limit, f"source {source}"))
            else:
                rows.append(row)
        return Outcome(batch.select(rows), removed)


@dataclass(frozen=True, kw_only=True)
class Mix(CorpusStage):
    """Sample documents so that each source has its share of the text, by bytes of UTF-8, none repeated.

    Documents of a source are taken in the order of a hash of id and text until its share is full, so the sample
    depends neither on shards nor on workers, and a larger one holds a smaller one. A document that does not fit ends
    the share, or, where that would leave more than a fiftieth of it empty, is passed over. Give `weights` or `fractions`. With weights and no `target_bytes` the result is the largest in
    which every source meets its weight; a source too small for a target is taken whole, and the run says so.
    """

    name: ClassVar[str] = "mix"
    decides: ClassVar[type[MapStage]] = SampleByRate
    published: ClassVar[str] = "weights by source as in The Pile, arXiv:2101.00027, without its repetition"
    weights: dict[str, float] = field(default_factory=dict)
    """Source to its part of the result; any positive numbers, taken in proportion; 0 leaves a source out. Every
    source of the corpus must be named."""
    target_bytes: int = 0
    """Bytes of text of the result; 0: as much as the weights allow. Needs `weights`."""
    fractions: dict[str, float] = field(default_factory=dict)
    """Source to the fraction of its text that is kept, 0 to 1. A source that is not named is kept whole."""
    epochs: dict[str, float] = field(default_factory=dict)
    """Source to how often a training reads what is kept of it, at least 1; once where not named. Its text counts as
    often toward `weights` and `target_bytes`, is kept once, and token shards by source carry the weight."""
    seed: int = 0
    """Another seed samples other documents."""

    def check(self) -> None:
        """Raise `StageFault` for values out of range, and for weights and fractions together or neither."""
        if bool(self.weights) == bool(self.fractions):
            problem = "not both" if self.weights else "one of them is needed"
            raise StageFault(
                "weights", f"give weights = {{ web = 0.7, books = 0.3 }} or fractions = {{ web = 0.5 }}: {problem}"
            )
        for source, weight in self.weights.items():
            if not 0 <= weight < float("inf"):
                raise StageFault("weights", f"{source!r} must be a number from 0 on; got {weight}")
        if self.weights and not any(self.weights.values()):
            raise StageFault("weights", "are all 0: nothing would be left")
        for source, fraction in self.fractions.items():
            if not 0 <= fraction <= 1:
                raise StageFault(
                    "fractions", f"{source!r} must be from 0 to 1; got {fraction}; documents are not repeated"
                )
        for source, number in self.epochs.items():
            if not 1 <= number < float("inf"):
                raise StageFault(
                    "epochs",
                    f"{source!r} must be at least 1; got {number}; less of a source is a smaller weight or fraction",
                )
        if self.target_bytes < 0:
            raise StageFault("target_bytes", f"must not be negative; got {self.target_bytes}")
        if self.target_bytes and not self.weights:
            raise StageFault("target_bytes", "needs weights")
        if not -(1 << 63) <= self.seed < 1 << 63:
            raise StageFault("seed", f"must fit 64 bits; got {self.seed}")

    def observation_identity(self) -> dict[str, object]:
        """The seed alone: weights, target and fractions are looked at only by `decide`."""
        return {**self.identity(), "parameters": {"seed": self.seed}}

    def observe(self, batch: Batch) -> pa.Table:
        """Return position, source, bytes of text and fraction of every document."""
        return pa.table(
            {
                "position": pa.array(batch.positions, pa.int64()),
                "source": pa.array(_sources(batch), pa.large_string()),
                "bytes": pa.array([_size(text) for text in batch.texts], pa.int64()),
                "fraction": pa.array(_fractions(batch, self.seed), pa.float64()),
            }
        )

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> SampleByRate:
        """Find how much of each source is wanted, and the rate at which it is reached.

        Raises:
            StageFault: weights or fractions do not name the sources that the corpus has.
        """
        between, small = work / "between", observations.rows <= SMALL
        task = _Task(observations, between)
        (available,) = tasks.map("sources", _totals, [task]) if small else (_totals(task, tasks),)
        wanted, notes = self.wanted(available, observations.tryout)
        task = _Task(observations, between, tuple(available.items()), tuple(wanted.items()))
        if small:
            found = {name: Share.of(values) for name, values in tasks.map("cuts", _shares_alone, [task])[0].items()}
        else:
            found = _shares(task, tasks)
        write_notes(work, [*notes, *_shortfalls(found, wanted)])
        work.put_json(ACCOUNT, self._account(available, wanted, found))
        rates = {source: share.rate for source, share in found.items()}
        limits = {source: share.limits for source, share in found.items() if share.limits}
        return SampleByRate(stage=self.counted_as, rates=rates, limits=limits, seed=self.seed)

    def _account(
        self, available: Mapping[str, int], wanted: Mapping[str, int], found: Mapping[str, Share]
    ) -> list[dict[str, Any]]:
        """Return for each source what was asked of it (its weight, or its fraction), and its bytes: there, wanted, taken."""
        asked = self.weights or {source: self.fractions.get(source, 1.0) for source in available}
        return [
            {"source": s, "asked": asked.get(s, 0.0), "available": size, "wanted": wanted[s], "taken": found[s].taken}
            for s, size in available.items()
        ]

    def wanted(self, available: Mapping[str, int], tryout: bool = False) -> tuple[dict[str, int], list[str]]:
        """Return how many bytes of each source are wanted, and what the user should hear.

        Args:
            available: source to bytes of text in the corpus.
            tryout: the corpus is a part of a larger one, so that sources may be missing.
        Raises:
            StageFault: weights or fractions do not name the sources that the corpus has.
        """
        notes = self._check_sources(available, tryout)
        if self.fractions:
            return {s: round(size * self.fractions.get(s, 1.0)) for s, size in available.items()}, notes
        if not any(self.weights[source] for source in available):
            return dict.fromkeys(available, 0), notes
        total_weight = sum(self.weights[source] for source in available)
        # of text that is kept, for each byte that is read
        weights = {source: self.weights[source] / total_weight / self.epochs.get(source, 1.0) for source in available}
        if self.target_bytes:
            goals = {source: round(self.target_bytes * weight) for source, weight in weights.items()}
            short = {source: goal for source, goal in goals.items() if goal > available[source]}
            notes += [
                f"source {source!r} is too small: {goal:,} bytes wanted, all {available[source]:,} taken; "
                f"lower target_bytes to {_largest(available, weights):,} to meet the weights"
                for source, goal in short.items()
            ]
            return {source: min(goal, available[source]) for source, goal in goals.items()}, notes
        total = _largest(available, weights)
        wanted = {source: min(round(total * weight), available[source]) for source, weight in weights.items()}
        scarcest = min((s for s in weights if weights[s]), key=lambda s: available[s] / weights[s], default=None)
        if scarcest is not None and sum(wanted.values()) < sum(available[s] for s in weights if weights[s]):
            times = self.epochs.get(scarcest, 1.0)
            notes.append(
                f"source {scarcest!r} limits the mixture: all its {available[scarcest]:,} bytes"
                f"{f', {times:g} times,' if times != 1 else ''} are {weights[scarcest] * times:.3g} of {total:,}; "
                "a smaller weight for it, or target_bytes, takes more of the others"
            )
        return wanted, notes

    def _check_sources(self, available: Mapping[str, int], tryout: bool) -> list[str]:
        key = "weights" if self.weights else "fractions"
        named: Mapping[str, float] = getattr(self, key)
        have = ", ".join(f"{source} ({size:,} bytes)" for source, size in available.items()) or "none"
        unknown = [s for s, value in named.items() if not available.get(s) and (value or self.fractions)]
        missing = [source for source in available if source not in named]
        if unknown and tryout:
            return [f"no text of source {', '.join(map(repr, unknown))} is in this try-out: the mixture is of: {have}"]
        if unknown and available:
            raise StageFault(
                key,
                f"no text of source {', '.join(map(repr, unknown))} has come this far; there are: {have}; mend the name, "
                "give it 0, or see by `tokenmill inspect` what took its documents",
            )
        if not tryout and available and (strange := [s for s in self.epochs if s not in available]):
            raise StageFault("epochs", f"name {', '.join(map(repr, strange))}, which has no text; there are: {have}")
        if missing and self.weights:
            raise StageFault(
                key,
                f"name no {', '.join(map(repr, missing))}; give each source a weight (0 leaves it out); there are: {have}",
            )
        return []


@dataclass(frozen=True)
class _Task:
    observations: Observations
    between: Folder
    available: tuple[tuple[str, int], ...] = ()
    wanted: tuple[tuple[str, int], ...] = ()


def _totals(task: _Task, tasks: Tasks | None = None) -> dict[str, int]:
    return totals(parts_of(task.observations, PART_ROWS), tasks or LocalTasks(), task.between)


def _shares(task: _Task, tasks: Tasks) -> dict[str, Share]:
    parts = parts_of(task.observations, PART_ROWS)
    return shares(parts, dict(task.available), dict(task.wanted), tasks, task.between)


def _shares_alone(task: _Task) -> dict[str, Any]:
    return {name: asdict(share) for name, share in _shares(task, LocalTasks()).items()}


def _largest(available: Mapping[str, int], weights: Mapping[str, float]) -> int:
    """Return the bytes of the largest mixture in which every source meets its weight without repetition."""
    return round(min((available[source] / weight for source, weight in weights.items() if weight), default=0))


def _shortfalls(found: Mapping[str, Share], wanted: Mapping[str, int]) -> list[str]:
    """Return what the user should hear of shares that stay empty in part."""
    return [
        f"source {source!r}: no document is small enough for its share of {goal:,} bytes"
        if found[source].taken == 0
        else f"source {source!r}: {found[source].taken:,} of {goal:,} bytes are taken; no other document is small enough"
        for source, goal in wanted.items()
        if goal - found[source].taken > SHORT * goal
    ]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _sources(batch: Batch) -> list[str]:
    return [source or NO_SOURCE for source in batch.column("source")]


def _fractions(batch: Batch, seed: int) -> list[float]:
    guard.working_on(int(batch.numbers[0]) if len(batch) else -1, batch=True)
    return [
        fraction_of(id or "", clean_text(text), seed) for id, text in zip(batch.column("id"), batch.texts, strict=True)
    ]
