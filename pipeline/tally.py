"""Tallies: how many documents each stage was given, kept, dropped and failed on; and the law that they balance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import AccountingError

READ = "read"
"""Stage name under which the ledger and the tallies count records that could not be read."""

OTHER = "other"
ENOUGH = 100
"""Documents from which on a pass that goes on is held to `failed_share`, and at its end to the letter."""
MOST_REASONS = 500
"""Different reasons, or rules of one stage, that are counted by name. A crawl has a few dozen media types and statuses."""

Rules = dict[str, dict[str, int]]  # stage -> rule -> documents


_COUNTS = {"document": "dropped", "span": "spans", "failed": "failed"}


@dataclass
class StageTally:
    """The counts of one stage in one shard or in several; `bytes_out` of the text that it handed on."""

    stage: str
    documents_in: int = 0
    documents_out: int = 0
    cpu_seconds: float = 0.0
    bytes_out: int = 0


@dataclass
class Tally:
    """The counts of one shard of one pass, or the sum of several.

    Attributes:
        read: documents and records given to the pass, those that could not be read included.
        kept: documents in the shard that was written.
        failed, dropped, spans: by stage and rule.
        ignored: records of the input that are no documents, by reason; they are not in `read`.
        bytes_in, bytes_out: bytes of page or text read, and of text kept.
        cpu_seconds: of the worker, reading and writing included; seconds: wall time.
    """

    read: int = 0
    kept: int = 0
    failed: Rules = field(default_factory=dict)
    dropped: Rules = field(default_factory=dict)
    spans: Rules = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    stages: list[StageTally] = field(default_factory=list)
    bytes_in: int = 0
    bytes_out: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def failures(self) -> int:
        """Documents failed, all stages and rules together."""
        return _total(self.failed)

    @property
    def drops(self) -> int:
        """Documents dropped, all stages and rules together."""
        return _total(self.dropped)

    def worst(self) -> str:
        """Return the stage and rule under which most documents failed, in words."""
        counts = [(n, f"{stage}: {rule}") for stage, rules in self.failed.items() for rule, n in rules.items()]
        return "most by " + max(counts)[1] if counts else "none"

    def count(self, kind: str, stage: str, rule: str, number: int = 1) -> None:
        """Count `number` documents, spans or failures (`kind` as in the ledger) under `stage` and `rule`."""
        counts: Rules = getattr(self, _COUNTS[kind])
        rules = counts.get(stage)
        if rules is None:
            rules = counts[stage] = {}
        count_reason(rules, rule, number)

    def check(self, place: str) -> None:
        """Raise AccountingError unless read = kept + dropped + failed, and each stage hands on what the next is given."""
        if self.read != self.kept + self.drops + self.failures:
            raise AccountingError(
                f"{place} does not balance: read {self.read} != kept {self.kept} + dropped {self.drops} "
                f"+ failed {self.failures}"
            )
        for before, after in itertools.pairwise(self.stages):
            if before.documents_out != after.documents_in:
                raise AccountingError(
                    f"{place}: {before.stage} handed on {before.documents_out} documents but {after.stage} "
                    f"was given {after.documents_in}"
                )

    def as_dict(self) -> dict[str, Any]:
        """Return the tally as JSON can hold it."""
        return {**vars(self), "stages": [vars(stage) for stage in self.stages]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Tally:
        """Return the tally that `as_dict` gave."""
        return cls(**{**values, "stages": [StageTally(**stage) for stage in values["stages"]]})

    def add(self, tally: Tally) -> None:
        """Add the counts of another shard of the same pass."""
        for name in ("read", "kept", "bytes_in", "bytes_out", "cpu_seconds", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(tally, name))
        merge_rules(self.failed, tally.failed)
        merge_rules(self.dropped, tally.dropped)
        merge_rules(self.spans, tally.spans)
        for reason, number in tally.ignored.items():
            count_reason(self.ignored, reason, number)
        if not self.stages:
            self.stages = [StageTally(stage.stage) for stage in tally.stages]
        for into, stage in zip(self.stages, tally.stages, strict=bool(tally.stages)):
            into.documents_in += stage.documents_in
            into.documents_out += stage.documents_out
            into.cpu_seconds += stage.cpu_seconds
            into.bytes_out += stage.bytes_out

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """Return the sum of `tallies` of one pass."""
        total = cls()
        for tally in tallies:
            total.add(tally)
        return total


def merge_rules(into: Rules, rules: Rules) -> None:
    """Add the counts of `rules` to `into`."""
    for stage, counts in rules.items():
        target = into.setdefault(stage, {})
        for rule, number in counts.items():
            count_reason(target, rule, number)


def count_reason(into: dict[str, int], reason: str, number: int = 1) -> None:
    """Add `number` under `reason`, and under `OTHER` where `MOST_REASONS` others have been counted: inputs invent them."""
    if reason not in into and len(into) >= MOST_REASONS:
        reason = OTHER
    into[reason] = into.get(reason, 0) + number


def _total(rules: Rules) -> int:
    return sum(sum(counts.values()) for counts in rules.values())


def too_many(failed: int, read: int, share: float) -> bool:
    """Return whether more than `share` of the documents fail, beyond what a few might by chance.

    Looked at while a run goes on, and for small inputs: the lower end of Wilson's interval at 95 % (Wilson 1927) must
    be above `share`, which it nears as `read` grows.
    """
    if failed == 0 or failed <= share * read:
        return False
    z, p = 1.96, failed / read
    middle = p + z * z / (2 * read)
    spread = z * math.sqrt(p * (1 - p) / read + z * z / (4 * read * read))
    return (middle - spread) / (1 + z * z / read) > share
