"""A comparison of two runs as one HTML page."""

from __future__ import annotations

from typing import Any

from tokenmill.compare.runs import Change, Comparison
from tokenmill.compare.text import difference, finding, heads, value
from tokenmill.report import html
from tokenmill.report.escaping import escape

SHOWN = 40


def page(found: Comparison) -> str:
    """Return the page."""
    a, b = found.a.summary, found.b.summary
    title = f"{a.name} against {b.name}" if a.name != b.name else f"{a.name}: two runs"
    body = [
        f"<h1>{escape(title)}</h1>", *map(html.paragraph, heads(found)),
        html.figures([(f"{s.kept:,}", f"documents kept by {n}") for n, s in (("A", a), ("B", b))]
                     + [(difference(a.kept, b.kept), "documents"), (difference(a.bytes_out, b.bytes_out), "bytes of text")]),
        _recipe(found), _funnel(found), _changes(found), _composition(found), _tokens(found),
    ]  # fmt: skip
    return html.document(title, "".join(body))


def _recipe(found: Comparison) -> str:
    if not found.recipe:
        return html.heading("The recipes are the same")
    rows = [[key, value(a), value(b)] for key, a, b in found.recipe[:SHOWN]]
    more = html.paragraph(f"{len(found.recipe) - SHOWN} more settings differ.") if len(found.recipe) > SHOWN else ""
    number = len(found.recipe)
    said = f"{number} setting{'s' if number != 1 else ''} of the recipe differ{'s' if number == 1 else ''}"
    return html.heading(said) + html.table(["setting", "A", "B"], rows, (1, 2)) + more


def _funnel(found: Comparison) -> str:
    most = max(found.a.summary.read, found.b.summary.read, 1)
    rows: list[tuple[str, list[tuple[float, str]], list[str]]] = []
    kinds = []
    for row in found.funnel:
        out = [row[k]["out"] if row[k] else None for k in "ab"]
        gone = [(sum(row[k].get("rules", {}).values()) + row[k].get("failed", 0)) if row[k] else 0 for k in "ab"]
        if row["stage"] != "read" and not any(gone):
            continue
        for place, name in enumerate("AB"):
            parts = [((out[place] or 0) / most, "k" if place == 0 else "o"), (gone[place] / most, "d")]
            cells = [
                f"{out[place]:,}" if row["ab"[place]] else "no such stage",
                f"{gone[place]:,}" if gone[place] else "",
            ]
            rows.append((f"{row['stage']} ({name})", parts, [*cells, difference(*out) if place else ""]))
            kinds.append("")
        rules: dict[str, list[int]] = {}
        for place, k in enumerate("ab"):
            for rule, number in ((row[k] or {}).get("rules") or {}).items():
                rules.setdefault(rule, [0, 0])[place] = number
        for rule, (first, second) in sorted(rules.items(), key=lambda item: (-max(item[1]), item[0])):
            if first != second:
                rows.append((f"{rule}: {first:,} and {second:,}", [], ["", "", difference(first, second)]))
                kinds.append("rule")
    kept = [found.a.summary.kept, found.b.summary.kept]
    said = f"A keeps {html.percent(kept[0], found.a.summary.read)} of what it reads, B {html.percent(kept[1], found.b.summary.read)}"
    lead = (
        "Of each stage what it leaves (solid) and what it removes (hatched); below it the rules that differ, A and B."
    )
    return html.heading(said, lead) + html.bars(
        ["stage", "documents", "left", "removed", "B against A"], rows, classes=kinds
    )


def _changes(found: Comparison) -> str:
    said = finding(found)
    head = html.heading(said[0].upper() + said[1:])
    if not found.changes:
        return head
    rows = [[c.before, c.after, f"{c.documents:,}"] for c in found.changes[:SHOWN]]
    shown = "".join(_change(c) for c in found.changes[:SHOWN] if c.examples)
    rest = len(found.changes) - SHOWN
    more = html.paragraph(f"{rest} more kinds of change, with fewer documents.") if rest > 0 else ""
    return head + html.table(["in A", "in B", "documents"], rows, (1,)) + more + shown


def _change(change: Change) -> str:
    shown = "".join(_example(row) for row in change.examples)
    return html.details(
        f"{change.before} in A, {change.after} in B: {change.documents:,}, such as", shown, printed=True
    )


def _example(row: dict[str, Any]) -> str:
    facts = [] if row["value"] is None else [f"measured {row['value']:.6g}"]
    facts += [] if row["threshold"] is None else [f"threshold {row['threshold']:.6g}"]
    facts += [row["detail"]] if row["detail"] else []
    return (
        f'<div class="example">{escape(str(row["url"] or row["id"]))} <i>{escape("; ".join(facts))}</i>'
        f"{html.excerpt(row['text'], 300)}</div>"
    )


def _composition(found: Comparison) -> str:
    parts = []
    for kind in ("source", "language"):
        counted = found.composition(kind)
        if not counted:
            continue
        most = max(max(a, b) for _, a, b in counted) or 1
        rows = []
        for name, a, b in counted[:SHOWN]:
            rows.append((f"{name} (A)", [(a / most, "k")], [f"{a:,.0f}", ""]))
            rows.append((f"{name} (B)", [(b / most, "o")], [f"{b:,.0f}", difference(a, b)]))
        gone = [f"{n} ({k})" for n, a, b in counted for k, x, y in (("A", a, b), ("B", b, a)) if not x and y]
        note = html.paragraph(f"Not there at all: {', '.join(gone[:30])}.") if gone else ""
        parts.append(note + html.bars([kind, "documents kept", "documents", "B against A"], rows))
    sampled = any(side.counts.files < side.counts.of for side in (found.a, found.b))
    lead = "Told from a sample of the files of each run." if sampled else ""
    return html.heading("What is kept, by source and language", lead) + "".join(parts) if parts else ""


def _tokens(found: Comparison) -> str:
    if not found.tokens():
        return ""
    last = found.tokens()[-1]
    rows = [[f"{v:,}", *(f"{n:,}" if n is not None else "-" for n in (a, b)), difference(a, b)] for v, a, b in found.tokens()]  # fmt: skip
    said = f"Tokens at vocabulary {last[0]:,}: B has {difference(last[1], last[2])} against A" if None not in last else "Tokens by vocabulary size"  # fmt: skip
    return html.heading(said) + html.table(["vocabulary", "tokens of A", "tokens of B", "B against A"], rows)
