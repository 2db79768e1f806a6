"""The run as one HTML page: self-contained, no script; whatever comes from documents is escaped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.run.accounts import need_finished, read_ledger, read_published
from pipeline.storage import Folder
from tokenizer.counting.budget import BUDGET, GroupTokens, SizeCost, SizeTokens, TokenBudget
from tokenmill.report import svg
from tokenmill.report.escaping import escape
from tokenmill.report.funnel import funnel_rows

EXAMPLES = 3
"""Removed documents shown for each rule."""
EXAMPLE_CHARACTERS = 300

STYLE = """
:root{--ink:#1c2024;--soft:#6b7580;--paper:#fff;--line:#e3e6ea;--bar:#4a7fb5;--accent:#b5533c;--third:#4f8a5b;--fourth:#8462a8}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#9aa4ae;--paper:#15181b;--line:#2c3238}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:32px 20px 80px}h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:44px 0 12px}
p.lead{color:var(--soft);margin:0 0 24px}svg text{font:12px system-ui,sans-serif}
.figures{display:flex;flex-wrap:wrap;gap:12px 36px;margin:20px 0}.figures b{display:block;font-size:22px}
.figures span{color:var(--soft);font-size:13px}table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:right;padding:4px 10px;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}
th{color:var(--soft);font-weight:600}th:first-child,td:first-child,td.text,th.text{text-align:left}
.wide{overflow-x:auto}details{margin:6px 0;border-bottom:1px solid var(--line);padding-bottom:6px}
summary{cursor:pointer}summary b{font-weight:600}.example{margin:8px 0 8px 18px;font-size:13.5px;overflow-wrap:anywhere}
.example i{color:var(--soft);font-style:normal}blockquote{margin:4px 0 0;padding-left:10px;border-left:3px solid var(--line);color:var(--soft)}
pre{white-space:pre-wrap;font:13px/1.5 ui-monospace,monospace;border:1px solid var(--line);padding:12px;border-radius:4px}
"""


def page_of(out: Folder, plan_lines: Sequence[str] = ()) -> str:
    """Return the page of the finished run in `out` from its own files."""
    summary = need_finished(out).as_dict()
    budget = TokenBudget.load(out) if out.exists(BUDGET) else None
    unused, plan = read_published(out, "tokenizer/unused.json") or [], read_published(out, "plan.json") or {}
    return page(summary, budget, examples_of(out), plan_lines, unused, plan.get("explain", {}))


def page(
    summary: dict[str, Any],
    budget: TokenBudget | None,
    examples: dict[tuple[str, str], list[dict[str, Any]]],
    plan_lines: Sequence[str],
    unused: Sequence[dict[str, Any]] = (),
    formulas: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the page.

    Args:
        formulas: formula, inputs and source of each number of the plan, by name.
    """
    sections = [_head(summary, budget), _funnel(summary), _removed(summary, examples)]
    if budget is not None:
        sections.append(_tokens(budget) + _unused(unused))
    if plan_lines:
        sections.append(f"<h2>Plan</h2><pre>{escape(chr(10).join(plan_lines))}</pre>{_formulas(formulas or {})}")
    sections.append(_passes(summary))
    title = escape(summary["name"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: tokenmill</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def _formulas(formulas: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how each number of the plan comes about, folded away."""
    if not formulas:
        return ""
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="text">{escape(str(about["formula"]))}</td>'
        f'<td class="text">{escape(", ".join(f"{k} = {v:,}" if isinstance(v, (int, float)) else f"{k} = {v}" for k, v in about["inputs"].items()))}</td>'
        f'<td class="text">{escape(str(about["source"]))}</td></tr>'
        for name, about in formulas.items()
    )
    head = '<tr><th>number</th><th class="text">formula</th><th class="text">with</th><th class="text">source</th></tr>'
    return f'<details><summary><b>Formulas</b> of every number of the plan</summary><div class="wide"><table>{head}{rows}</table></div></details>'


def _head(summary: dict[str, Any], budget: TokenBudget | None) -> str:
    drops = sum(n for rules in summary["dropped"].values() for n in rules.values())
    figures = [
        (f"{summary['read']:,}", "documents read"),
        (f"{summary['kept']:,}", "kept"),
        (f"{drops:,}", "dropped"),
        (f"{summary['failed']:,}", "failed"),
        (f"{summary['bytes_out'] / 1e6:,.2f} MB", "text kept"),
    ]
    if budget is not None:
        largest = budget.largest
        figures.append((f"{largest.tokens:,}", f"tokens at vocabulary {largest.vocab_size:,}"))
    shown = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for value, label in figures)
    state = "every document is accounted for" if summary["balanced"] else "THE ACCOUNTS DO NOT BALANCE"
    law = f"read {summary['read']:,} = kept {summary['kept']:,} + dropped {drops:,} + failed {summary['failed']:,}: {state}"
    said = [f"Try-out: only {summary['tryout']}."] if summary.get("tryout") else []
    said += [f"Not made: {what}: {why}" for what, why in summary.get("faults", {}).items()]
    warnings = "".join(f"<p><b>{escape(line)}</b></p>" for line in said)
    return f'<h1>{escape(summary["name"])}</h1><p class="lead">{law}</p>{warnings}<div class="figures">{shown}</div>'


def _funnel(summary: dict[str, Any]) -> str:
    rows: list[tuple[str, float, str]] = [("read", summary["read"], f"{summary['read']:,}")]
    for row in funnel_rows(summary):
        gone = f"  (−{row['dropped']:,})" if row["dropped"] else ""
        rows.append((row["stage"], row["documents_out"], f"{row['documents_out']:,}{gone}"))
    ignored = sorted(summary["ignored"].items(), key=lambda item: -item[1])
    said = ", ".join(f"{n:,} {escape(reason)}" for reason, n in ignored)
    note = f"<p class='lead'>Records of the crawl that are no pages, not counted above: {said}.</p>" if ignored else ""
    return f"<h2>From documents read to documents kept</h2>{svg.bars(rows)}{note}"


def _removed(summary: dict[str, Any], examples: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    parts = ["<h2>What was removed, and why</h2>"]
    kinds = (
        ("dropped", "document", "documents"),
        ("failed_by", "failed", "failed"),
        ("spans", "span", "spans of text"),
    )
    for key, one, many in kinds:
        for stage, rules in summary[key].items():
            for rule, number in sorted(rules.items(), key=lambda item: -item[1]):
                shown = "".join(_example(row) for row in examples.get((stage, rule), ()))
                parts.append(
                    f"<details><summary><b>{escape(stage)}</b>: {escape(rule)}, {number:,} {one if number == 1 else many}</summary>{shown}</details>"
                )
    return "".join(parts)


def _example(row: dict[str, Any]) -> str:
    measured = "" if row["value"] is None else f"measured {row['value']:.6g}"
    if row["threshold"] is not None:
        measured += f", threshold {row['threshold']:.6g}"
    facts = "; ".join(escape(str(fact)) for fact in (measured, row["detail"]) if fact)
    text = escape(" ".join((row["text"] or "").split())[:EXAMPLE_CHARACTERS])
    return (
        f'<div class="example">{escape(str(row["url"] or row["id"]))} <i>{facts}</i>'
        f"<blockquote>{text or '(no text)'}</blockquote></div>"
    )


def _tokens(budget: TokenBudget) -> str:
    rows = budget.tokenizers
    languages = _largest(rows[-1].by_language, 4)
    return "".join(
        [
            "<h2>Tokens by vocabulary size</h2>",
            _chart(rows, languages, "bytes_per_token", "bytes per token"),
            _sizes(rows),
            "<h2>Tokens per word (fertility)</h2>",
            _chart(rows, languages, "tokens_per_word", "tokens per word"),
            _groups(rows, "source"),
            _groups(rows, "language"),
            _costs(budget.costs),
        ]
    )


def _chart(rows: list[SizeTokens], languages: Sequence[str], key: str, label: str) -> str:
    series = [("all", [(float(row.vocab_size), getattr(row, key)) for row in rows if getattr(row, key)])]
    for name in languages if len(rows[-1].by_language) > 1 else ():
        points = [(row.vocab_size, getattr(row.by_language[name], key)) for row in rows if name in row.by_language]
        series.append((name, [(float(size), value) for size, value in points if value]))
    return svg.lines([line for line in series if line[1]], "vocabulary size", label)


def _sizes(rows: list[SizeTokens]) -> str:
    head = [
        "vocabulary",
        "tokens",
        "bytes/token",
        "characters/token",
        "tokens/word",
        "median/document",
        "90 %/document",
    ]
    body = [
        [
            f"{row.vocab_size:,}",
            f"{row.tokens:,}",
            f"{row.bytes_per_token:.3f}",
            f"{row.characters_per_token:.3f}",
            f"{row.tokens_per_word:.3f}",
            f"{row.quantiles.get('0.5', 0):,.0f}",
            f"{row.quantiles.get('0.9', 0):,.0f}",
        ]
        for row in rows
    ]
    lengths = list(rows[-1].share_over)
    over = [[f"{row.vocab_size:,}", *(f"{100 * row.share_over[n]:.1f} %" for n in lengths)] for row in rows]
    titles = ["documents longer than", *(f"{int(n):,} tokens" for n in lengths)]
    return _table(head, body) + "<p></p>" + _table(titles, over)


def _groups(rows: list[SizeTokens], title: str) -> str:
    groups: list[dict[str, GroupTokens]] = [getattr(row, f"by_{title}") for row in rows]
    largest = groups[-1]
    head = [title, *(f"{row.vocab_size:,}" for row in rows), "bytes/token", "tokens/word"]
    premium = any(group.premium_per_character for group in largest.values())
    head += ["tokens per character against en"] if premium else []
    body = []
    for name in _largest(largest, 40):
        group = largest[name]
        cells = [name, *(f"{by[name].tokens if name in by else 0:,}" for by in groups)]
        cells += [_number(group.bytes_per_token), _number(group.tokens_per_word)]
        body.append([*cells, _number(group.premium_per_character)] if premium else cells)
    return (
        f"<h2>Tokens by {title}</h2>"
        + _table(head, body)
        + "<p class='lead'>The last columns are of the largest vocabulary.</p>"
    )


def _unused(rows: Sequence[dict[str, Any]]) -> str:
    """Return how many tokens of each vocabulary the corpus that it was trained on never uses."""
    if not rows:
        return ""
    body = [
        [
            f"{row['vocab_size']:,}",
            f"{row['unused']:,}",
            f"{row['unused_bytes']:,}",
            f"{row['unused_merges']:,}",
            " ".join(row["examples"][:12]),
        ]
        for row in rows
    ]
    return "<h2>Tokens never used</h2>" + _table(
        ["vocabulary", "never used", "of these bytes", "of these merges", "examples"], body
    )


def _costs(costs: Sequence[SizeCost] | None) -> str:
    """Return what each vocabulary size costs the model that the recipe's [report] names."""
    if not costs:
        return ""
    head = SizeCost.__struct_fields__
    cells = [[getattr(row, key) for key in head] for row in costs]
    body = [[_number(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in cells]
    return "<h2>What a vocabulary costs the model</h2>" + _table(head, body)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _largest(groups: Mapping[str, GroupTokens], number: int) -> list[str]:
    return sorted(groups, key=lambda name: (-groups[name].tokens, name))[:number]


def _passes(summary: dict[str, Any]) -> str:
    head = ["pass", "read", "kept", "seconds", "CPU seconds", "MB in", "MB out"]
    body = [
        [
            step["name"],
            f"{step['read']:,}",
            f"{step['kept']:,}",
            f"{step['seconds']:.2f}",
            f"{step['cpu_seconds']:.2f}",
            f"{step['bytes_in'] / 1e6:,.2f}",
            f"{step['bytes_out'] / 1e6:,.2f}",
        ]
        for step in summary["passes"]
    ]
    stages = [
        [row["stage"], f"{row['documents_in']:,}", f"{row['documents_out']:,}", f"{row['cpu_seconds']:.2f}"]
        for row in summary["stages"]
    ]
    return (
        "<h2>Where the time went</h2>"
        + _table(head, body)
        + "<p></p>"
        + _table(["stage", "documents in", "documents out", "CPU seconds"], stages)
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def examples_of(out: Folder) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the first few ledger rows of each stage and rule."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for batch in read_ledger(out):
        for index, key in enumerate(
            zip(batch.column("stage").to_pylist(), batch.column("rule").to_pylist(), strict=True)
        ):
            if len(found[key]) < EXAMPLES:
                found[key].append(batch.slice(index, 1).to_pylist()[0])
    return found
