"""A comparison of two runs in words and tables, for a terminal."""

from __future__ import annotations

import json
from typing import Any

from tokenmill.compare.runs import Comparison
from tokenmill.report.html import percent, size
from tokenmill.terminal import lines, table

SHOWN = 12


def text_of(found: Comparison) -> str:
    """Return the comparison as text."""
    parts = [lines("\n".join(heads(found))), _recipe(found), _funnel(found), _changes(found)]
    for kind in ("source", "language"):
        rows = found.composition(kind)[:SHOWN]
        if rows:
            cells = [[n, f"{a:,.0f}", f"{b:,.0f}", difference(a, b)] for n, a, b in rows]
            parts.append(table([kind, "kept by A", "kept by B", "B against A"], cells))
    if found.tokens():
        cells = [[f"{v:,}", *(f"{n:,}" if n is not None else "-" for n in (a, b)), difference(a, b)] for v, a, b in found.tokens()]  # fmt: skip
        parts.append(table(["vocabulary", "tokens of A", "tokens of B", "B against A"], cells))
    return "\n\n".join(part for part in parts if part)


def heads(found: Comparison, named: bool = False) -> list[str]:
    """Return a line for each run; one to be read elsewhere has it `named` by its folder's name, not by where that is."""
    said = []
    for name, side in (("A", found.a), ("B", found.b)):
        s, place = side.summary, side.out.url
        place = place.rstrip("/").rpartition("/")[2] if named else place
        more = f"  TRY-OUT: only {s.tryout}" if s.tryout else ""
        said.append(f"{name}  {place} ({s.name}): {s.kept:,} of {s.read:,} documents kept ({percent(s.kept, s.read)}), {size(s.bytes_out)}{more}")  # fmt: skip
    return said


def finding(found: Comparison) -> str:
    """Return in one sentence what became of documents."""
    if found.changes is None:
        return f"which documents changed sides cannot be told: {found.why_not}"
    n = found.sides()
    if not any(n.values()):
        return "every document came to the same end in both runs"
    said = [f"documents that A alone keeps: {n['kept_only_by_a']:,}, B alone: {n['kept_only_by_b']:,}"]
    said += [f"dropped by another rule: {n['other_rule']:,}"] if n["other_rule"] else []
    said += [f"read by {k.upper()} alone: {n[f'read_only_by_{k}']:,}" for k in "ab" if n[f"read_only_by_{k}"]]
    return "; ".join(said)


def difference(a: float | None, b: float | None) -> str:
    """Return by how much `b` is more or less than `a`."""
    if a is None or b is None:
        return "-"
    if not a:
        return "new" if b else "same"
    return f"{100 * (b - a) / a:+.1f} %" if round(a, 6) != round(b, 6) else "same"


def value(of: Any) -> str:
    """Return a value of a recipe as it could stand there."""
    if of is None:
        return "not set"
    said = of if isinstance(of, str) else json.dumps(of, ensure_ascii=False, default=str)
    return said if len(said) <= 80 else f"{said[:77]}..."


def _recipe(found: Comparison) -> str:
    if not found.recipe:
        return lines("the recipes are the same")
    rows = [[key, value(a), value(b)] for key, a, b in found.recipe[:SHOWN]]
    more = f"\n{len(found.recipe) - SHOWN} more settings differ" if len(found.recipe) > SHOWN else ""
    return table(["recipe", "A", "B"], rows, left=(0, 1, 2)) + more


def _funnel(found: Comparison) -> str:
    rows = []
    for row in found.funnel:
        out = [row[k]["out"] if row[k] else None for k in "ab"]
        gone = [sum(row[k].get("rules", {}).values()) if row[k] else 0 for k in "ab"]
        if row["stage"] != "read" and not any(gone) and not any((row[k] or {}).get("failed") for k in "ab"):
            continue
        cells = [f"{n:,}" if n is not None else "no such stage" for n in out]
        rows.append([row["stage"], *cells, *(f"{n:,}" if n else "" for n in gone), difference(*out)])
    return table(["stage", "left in A", "left in B", "dropped by A", "dropped by B", "B against A"], rows)


def _changes(found: Comparison) -> str:
    said = lines(finding(found))
    if not found.changes:
        return said
    rows = [[c.before, c.after, f"{c.documents:,}", _name(c.examples)] for c in found.changes[:SHOWN]]
    more = f"\n{len(found.changes) - SHOWN} more kinds of change (--json has all)" if len(found.changes) > SHOWN else ""
    return f"{said}\n\n" + table(["in A", "in B", "documents", "such as"], rows, left=(0, 1, 3)) + more


def _name(examples: list[dict[str, Any]]) -> str:
    if not examples:
        return ""
    row = examples[0]
    measured = "" if row["value"] is None else f" ({row['value']:.4g}; threshold {row['threshold']:.4g})" if row["threshold"] is not None else f" ({row['value']:.4g})"  # fmt: skip
    name = str(row["url"] or row["id"] or "")
    return (name if len(name) <= 60 else f"{name[:57]}...") + measured
