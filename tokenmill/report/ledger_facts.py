"""What the ledger of a run says beyond its counts: documents nearest to each threshold, duplicates, contamination, failures."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tokenmill.report.composition import spread
from tokenmill.report.run_files import RunFiles

EXAMPLES = 3
"""Removed documents shown for each rule: the nearest to its threshold, or the first where there is none."""
FILES = 64
"""Files of the ledger read in each pass where there are more: spread evenly."""
CHARACTERS = 4000
SIMILARITIES = 200_000
Key = tuple[str, str]
Row = dict[str, Any]


@dataclass
class Leak:
    """What was found of one evaluation set. An example is a line of the ledger, and the pass and shard that it is of."""

    documents: int = 0
    items: Counter[str] = field(default_factory=Counter)
    examples: list[Row] = field(default_factory=list)


@dataclass
class LedgerFacts:
    """See the module.

    Attributes:
        examples: by stage and rule.
        copies: documents removed for the one kept at a place, by stage and place.
        similarities: of each stage that finds pairs, with its threshold.
        leaks: by evaluation set.
        read, of: files.
    """

    examples: dict[Key, list[Row]] = field(default_factory=dict)
    copies: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    copied: dict[tuple[str, str], Row] = field(default_factory=dict)
    sources: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    similarities: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    thresholds: dict[str, float] = field(default_factory=dict)
    leaks: dict[str, Leak] = field(default_factory=lambda: defaultdict(Leak))
    read: int = 0
    of: int = 0


def facts_of(files: RunFiles) -> LedgerFacts:
    """Return the facts of the ledger of a run."""
    found = LedgerFacts()
    nearest: dict[Key, list[tuple[float, int, Row]]] = defaultdict(list)
    number = 0
    for place, batch in _batches(files, found):
        stages, rules = batch.column("stage").to_pylist(), batch.column("rule").to_pylist()
        values, limits = batch.column("value").to_pylist(), batch.column("threshold").to_pylist()
        for row, key in enumerate(zip(stages, rules, strict=True)):
            far = abs(values[row] - limits[row]) if values[row] is not None and limits[row] is not None else 0.0
            best = nearest[key]
            number += 1
            if len(best) < EXAMPLES or far < -best[0][0]:
                entry = (-far, -number, batch.slice(row, 1).to_pylist()[0])
                (heapq.heappush if len(best) < EXAMPLES else heapq.heapreplace)(best, entry)
        _pairs(found, batch)
        _leaks(found, batch, place)
    found.examples = {
        key: [row for _, _, row in sorted(best, key=lambda e: (-e[0], -e[1]))] for key, best in nearest.items()
    }
    return found


def _batches(files: RunFiles, found: LedgerFacts) -> Iterator[tuple[tuple[str, str], pa.RecordBatch]]:
    for name in dict.fromkeys(step["folder"] for step in files.manifest.passes):
        folder = files.out / name / "ledger"
        names = folder.names()
        found.of += len(names)
        for file in spread(names, FILES):
            found.read += 1
            with folder.parquet(file) as parquet:
                for batch in parquet.iter_batches(8192):
                    yield (name, file), batch


def _pairs(found: LedgerFacts, batch: pa.RecordBatch) -> None:
    if batch.column("partner").null_count == batch.num_rows:
        return
    columns = [batch.column(name).to_pylist() for name in ("partner", "stage", "value", "threshold")]
    for row, (partner, stage, value, threshold) in enumerate(zip(*columns, strict=True)):
        if partner is None:
            continue
        found.copies[stage][partner] += 1
        if (stage, partner) not in found.copied and len(found.copied) < 2000:
            found.copied[stage, partner] = batch.slice(row, 1).to_pylist()[0]
        if value is not None and len(found.similarities[stage]) < SIMILARITIES:
            found.similarities[stage].append(value)
            found.thresholds[stage] = threshold


def _leaks(found: LedgerFacts, batch: pa.RecordBatch, place: tuple[str, str]) -> None:
    columns = [batch.column(name).to_pylist() for name in ("rule", "detail")]
    for row, (rule, detail) in enumerate(zip(*columns, strict=True)):
        if rule != "contaminated" or not detail:
            continue
        name, _, rest = detail.partition(", item ")
        leak = found.leaks[name]
        leak.documents += 1
        leak.items[rest.partition(",")[0]] += 1
        if len(leak.examples) < EXAMPLES:
            leak.examples.append({**batch.slice(row, 1).to_pylist()[0], "pass": place[0], "shard": place[1]})
