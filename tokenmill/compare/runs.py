"""Two finished runs held against each other: funnels, documents that changed sides, composition, tokens, recipes."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from pipeline.run.accounts import Summary, need_finished, read_ledger
from pipeline.run.folder import Manifest, read_manifest
from pipeline.storage import Folder
from tokenizer.counting.budget import BUDGET, TokenBudget
from tokenmill.looking import kept_documents
from tokenmill.report.composition import Counts, count
from tokenmill.report.since import differing

KEPT, NOT_READ = "kept", "not read"
EXAMPLES = 3
"""Documents shown of each change."""
CHARACTERS = 300
GROUPS = 40
"""Names of each kind of the composition: the largest."""


@dataclass
class Change:
    """Documents that came to one end in the first run and to another in the second.

    Attributes:
        before, after: ``kept``, ``not read``, or ``STAGE: RULE``.
        examples: id, url, value, threshold, detail and text, as a ledger has them.
    """

    before: str
    after: str
    documents: int
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Side:
    """One of the two runs."""

    out: Folder
    summary: Summary
    manifest: Manifest
    budget: TokenBudget | None
    counts: Counts


@dataclass
class Comparison:
    """All that is told of two runs.

    Attributes:
        funnel: a row for each stage of either run: its name, and of each run that has it documents in, out and by rule.
        changes: those that changed sides first, then most documents first; None where documents cannot be told apart.
        recipe: (key, value in the first run, in the second) of what differs; None: it is not there.
    """

    a: Side
    b: Side
    funnel: list[dict[str, Any]]
    changes: list[Change] | None
    why_not: str
    recipe: list[tuple[str, Any, Any]]

    def sides(self) -> dict[str, int]:
        """Return how many documents are kept by one run alone, or dropped in both by another rule."""
        total: Counter[str] = Counter()
        for change in self.changes or ():
            total[side_of(change)] += change.documents
        return {name: total[name] for name in ("kept_only_by_a", "kept_only_by_b", "other_rule", "read_only_by_a", "read_only_by_b")}  # fmt: skip

    def composition(self, kind: str) -> list[tuple[str, float, float]]:
        """Return (name, documents kept by the first run, by the second), the largest first."""
        a, b = self.a, self.b
        names = set(a.counts.by.get(kind, ())) | set(b.counts.by.get(kind, ()))
        rows = [(n, a.counts.share(kind, n) * a.summary.kept, b.counts.share(kind, n) * b.summary.kept) for n in names]
        return sorted(rows, key=lambda row: (-max(row[1:]), row[0]))

    def tokens(self) -> list[tuple[int, int | None, int | None]]:
        """Return (vocabulary size, tokens of the first run, of the second)."""
        by = [{row.vocab_size: row.tokens for row in side.budget.tokenizers} if side.budget else {} for side in (self.a, self.b)]  # fmt: skip
        return [(v, by[0].get(v), by[1].get(v)) for v in sorted(set(by[0]) | set(by[1]))]

    def as_dict(self) -> dict[str, Any]:
        """Return what ``compare --json`` prints."""
        changes = None
        if self.changes is not None:
            changes = [{"a": c.before, "b": c.after, "documents": c.documents, "examples": c.examples} for c in self.changes]  # fmt: skip
        return {
            "a": _about(self.a),
            "b": _about(self.b),
            "funnel": self.funnel,
            "changed": {**self.sides(), "changes": changes, **({"why_not": self.why_not} if self.why_not else {})},
            "composition": {
                kind: [{"name": n, "a": round(a, 1), "b": round(b, 1)} for n, a, b in self.composition(kind)[:GROUPS]]
                for kind in ("source", "language")
            },
            "tokens": [{"vocab_size": v, "a": a, "b": b} for v, a, b in self.tokens()],
            "recipe": [{"key": key, "a": a, "b": b} for key, a, b in self.recipe],
        }


def side_of(change: Change) -> str:
    """Return which of the names in `Comparison.sides` a change belongs to."""
    if NOT_READ in (change.before, change.after):
        return "read_only_by_b" if change.before == NOT_READ else "read_only_by_a"
    if KEPT in (change.before, change.after):
        return "kept_only_by_a" if change.before == KEPT else "kept_only_by_b"
    return "other_rule"


def compare(a: Folder, b: Folder) -> Comparison:
    """Return the two finished runs side by side. Documents are the same where id and url are.

    Takes about 30 bytes of memory a document read. Raises UserError where a run has not finished.
    """
    first, second = _side(a), _side(b)
    changes, why_not = _changes(first, second)
    stages = funnel(first.summary, second.summary)
    recipe = differing(first.manifest.recipe, second.manifest.recipe)
    return Comparison(first, second, stages, changes, why_not, recipe)


def _side(out: Folder) -> Side:
    summary, manifest = need_finished(out), read_manifest(out)
    assert manifest is not None
    budget = TokenBudget.load(out) if out.exists(BUDGET) else None
    names = [name for name in manifest.files if name.startswith("data/")]
    return Side(out, summary, manifest, budget, count(out, names, ("source", "language")))


def _about(side: Side) -> dict[str, Any]:
    s = side.summary
    return {
        "run": side.out.url, "name": s.name, "identity": side.manifest.identity, "read": s.read, "kept": s.kept,
        "dropped": sum(sum(rules.values()) for rules in s.dropped.values()), "failed": s.failed,
        "bytes_out": s.bytes_out, "cpu_seconds": round(s.cpu_seconds, 3), "tryout": s.tryout,
    }  # fmt: skip


def funnel(a: Summary, b: Summary) -> list[dict[str, Any]]:
    """Return a row a stage, stages of the same name beside each other, in an order that keeps that of both runs."""
    rows = [{line.stage: _stage(s, line) for line in s.stages} for s in (a, b)]
    order = [list(row) for row in rows]
    merged: list[str] = []
    for what, i, j, k, m in difflib.SequenceMatcher(a=order[0], b=order[1], autojunk=False).get_opcodes():
        names = order[0][i:j] if what == "equal" else [*order[0][i:j], *order[1][k:m]]
        merged += [name for name in names if name not in merged]
    read = {"stage": "read", "a": {"out": a.read}, "b": {"out": b.read}}
    return [read, *({"stage": name, "a": rows[0].get(name), "b": rows[1].get(name)} for name in merged)]


def _stage(summary: Summary, line: Any) -> dict[str, Any]:
    failed = sum(summary.failed_by.get(line.stage, {}).values())
    return {
        "in": line.documents_in,
        "out": line.documents_out,
        "rules": summary.dropped.get(line.stage, {}),
        "failed": failed,
    }


# documents that changed sides


def _changes(a: Side, b: Side) -> tuple[list[Change] | None, str]:
    ends: dict[str, int] = {KEPT: 0}
    frames = []
    for side in (a, b):
        frame, why_not = _ends(side, ends)
        if frame is None:
            return None, why_not
        frames.append(frame.sort("key", "end").with_columns(place=pl.int_range(pl.len()).over("key")))
    both = frames[0].join(frames[1], on=["key", "place"], how="full", coalesce=True, suffix="_b")
    both = both.with_columns(pl.col("end", "end_b").fill_null(-1)).filter(pl.col("end") != pl.col("end_b"))
    grouped = both.sort("key").group_by("end", "end_b").agg(pl.len(), pl.col("key").head(EXAMPLES))
    names = {number: name for name, number in ends.items()} | {-1: NOT_READ}
    found, wanted = [], {}
    for end, end_b, number, keys in grouped.iter_rows():
        change = Change(names[end], names[end_b], number)
        found.append(change)
        wanted.update(dict.fromkeys(keys, change))
    _fill(wanted, (a.out, b.out))
    return sorted(found, key=lambda c: (side_of(c) == "other_rule", -c.documents, c.before, c.after)), ""


def _ends(side: Side, ends: dict[str, int]) -> tuple[pl.DataFrame | None, str]:
    """Return key and end of every document that the run has read; `ends` numbers the ends, and grows."""
    parts: list[pl.DataFrame] = []
    for frame in _kept(side):
        if not {"id", "url"} <= set(frame.columns):
            return None, f"the documents of {side.out.url} have no id and url: its recipe's [output] leaves them out"
        parts.append(frame.select(key=_key(), end=pl.lit(0, pl.Int32)))
    for batch in read_ledger(side.out):
        frame = _frame(batch.select(["id", "url", "stage", "rule", "kind"])).filter(pl.col("kind") != "span")
        frame = frame.with_columns(said=pl.concat_str("stage", pl.lit(": "), "rule"))
        for name in frame["said"].unique(maintain_order=True):
            ends.setdefault(name, len(ends))
        end = pl.col("said").replace_strict(ends, return_dtype=pl.Int32) if frame.height else pl.lit(0, pl.Int32)
        parts.append(frame.select(key=_key(), end=end))
    empty = pl.DataFrame(schema={"key": pl.UInt64, "end": pl.Int32})
    return pl.concat([empty, *parts]), ""


def _kept(side: Side) -> Iterator[pl.DataFrame]:
    names = [name for name in side.manifest.files if name.startswith("data/")]
    if all(name.endswith(".parquet") for name in names):
        for name in names:
            with side.out.parquet(name) as parquet:
                columns = [c for c in ("id", "url") if c in parquet.schema_arrow.names]
                for batch in parquet.iter_batches(1 << 16, columns=columns):
                    yield _frame(batch)
        return
    rows: list[dict[str, Any]] = []
    for row in kept_documents(side.out):
        rows.append({name: row[name] for name in ("id", "url") if name in row})
        if len(rows) == 1 << 14:
            yield pl.DataFrame(rows, schema_overrides={"id": pl.String, "url": pl.String})
            rows = []
    if rows:
        yield pl.DataFrame(rows, schema_overrides={"id": pl.String, "url": pl.String})


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(batch))


def _key() -> pl.Expr:
    """Return what stands for a document in both runs, within this process only."""
    columns = [pl.col(name).cast(pl.String).fill_null("") for name in ("id", "url")]
    return pl.concat_str(columns[0], pl.lit("\x00"), columns[1]).hash(seed=7)


def _fill(wanted: dict[int, Change], outs: Sequence[Folder]) -> None:
    """Give each change the ledger lines of some of its documents: of the run that dropped it, the second where both did."""
    keys = pl.Series(list(wanted), dtype=pl.UInt64)
    for which, out in reversed(list(enumerate(outs))):
        if not len(keys):
            return
        for batch in read_ledger(out):
            frame = _frame(batch)
            hits = frame.with_columns(key=_key()).filter(
                pl.col("key").is_in(keys.implode()) & (pl.col("kind") != "span")
            )
            for row in hits.iter_rows(named=True):
                change = wanted[row["key"]]
                end = f"{row['stage']}: {row['rule']}"
                dropped_here = change.after if which else change.before
                if len(change.examples) < EXAMPLES and end == dropped_here:
                    names = ("id", "url", "value", "threshold", "detail")
                    change.examples.append({**{n: row[n] for n in names}, "text": (row["text"] or "")[:CHARACTERS]})
