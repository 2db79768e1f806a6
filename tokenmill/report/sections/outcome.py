"""What came out, and the funnel it came through."""

from __future__ import annotations

import pathlib
from typing import Any

from pipeline.run.folder import Manifest
from pipeline.worker.tryout import LEFT_OUT
from tokenmill.report import html
from tokenmill.report.escaping import escape
from tokenmill.report.funnel import funnel_rows
from tokenmill.report.run_files import RunFiles

RULES = 6
"""Rules below a stage; with more, the rest in one row."""


def outcome(files: RunFiles) -> str:
    """Return the head of the page: what came out of what was read, and whether that is all."""
    s, budget = files.summary, files.budget
    drops = _dropped(s)
    shown = [(f"{s['kept']:,}", f"documents kept of {s['read']:,} ({html.percent(s['kept'], s['read'])})"),
             (html.size(s["bytes_out"]), f"text kept, of {html.size(s['bytes_in'])} read")]  # fmt: skip
    if budget is not None:
        largest = budget.largest
        shown.append((f"{largest.tokens:,}", f"tokens at vocabulary {largest.vocab_size:,}"))
    state = "every document is accounted for" if s["balanced"] else "THE ACCOUNTS DO NOT BALANCE"
    law = f"read {s['read']:,} = kept {s['kept']:,} + dropped {drops:,} + failed {s['failed']:,}: {state}"
    said = [files.note] if files.note else []
    said += [f"Try-out: only {s['tryout']}."] if s.get("tryout") else []
    said += [f"Not made: {what}: {why}" for what, why in s.get("faults", {}).items()]
    warnings = "".join(html.paragraph(line, "warn") for line in said)
    return f'<h1>{escape(s["name"])}: {escape(_finding(files))}</h1><p class="lead">{law}</p>{warnings}{html.figures(shown)}{_about(files)}'


def _finding(files: RunFiles) -> str:
    s = files.summary
    if not s["read"]:
        return "nothing was read"
    tokens = f", {files.budget.largest.tokens:,} tokens" if files.budget is not None else ""
    return f"{html.percent(s['kept'], s['read'])} of the documents kept{tokens}"


def _recipe_name(manifest: Manifest) -> str:
    """Return what the recipe is called: a page that is handed on tells nothing of where a run was made, unless asked."""
    asked = manifest.recipe.get("output", {}).get("absolute_paths", False)
    return manifest.recipe_file if asked else pathlib.PurePath(manifest.recipe_file).name


def _about(files: RunFiles) -> str:
    m, s = files.manifest, files.summary
    versions = ", ".join(f"{name} {version}" for name, version in m.versions.items())
    seconds = sum(step["seconds"] for step in s["passes"])
    rows = [
        ["recipe", _recipe_name(m) or "(built in Python)"],
        ["identity", m.identity],
        ["complete", f"no: a try-out of {s['tryout']}" if s.get("tryout") else "yes: all of its inputs were read"],
        ["inputs", f"{len(m.inputs):,} files, {html.size(s['bytes_in'])} of pages and text"],
        ["time", f"{seconds:,.1f} s, {s['cpu_seconds']:,.1f} s of CPU"],
        ["versions", versions],
    ]
    return html.details("Recipe, versions and time", html.table(["what", "this run"], rows, (1,)))


def funnel(files: RunFiles) -> str:
    """Return the funnel: each stage that removes something, and below it its rules."""
    s = files.summary
    read = s["read"] or 1
    texts = {step["name"]: step["bytes_in"] for step in s["passes"]}
    last = s["passes"][-1]["name"] if s["passes"] else ""
    rows: list[tuple[str, list[tuple[float, str]], list[str]]] = []
    kinds: list[str] = []

    def add(label: str, parts: list[tuple[float, str]], cells: list[str], kind: str = "") -> None:
        rows.append((label, parts, cells))
        kinds.append(kind)

    add("read", [(1.0 if s["read"] else 0.0, "k")], [f"{s['read']:,}", "", "", html.size(s["bytes_in"])])
    for rule, number in s["failed_by"].get("read", {}).items():
        add(
            f"failed: {rule}",
            [(0, "s"), (number / read, "d")],
            ["", f"{number:,}", html.percent(number, s["read"]), ""],
            "rule",
        )
    for row in funnel_rows(s):
        gone = row["dropped"] + row["failed"]
        if not gone and not row["spans"]:
            continue
        text = html.size(texts[row["stage"]]) if row["stage"] in texts and row["stage"] != last else ""
        add(row["stage"], [(row["documents_out"] / read, "k"), (gone / read, "d")],
            [f"{row['documents_out']:,}", f"{gone:,}" if gone else "", html.percent(gone, row["documents_in"]), text])  # fmt: skip
        left = row["documents_out"] / read
        for rule, number in row["rules"][:RULES]:
            add(
                rule,
                [(left, "s"), (number / read, "d")],
                ["", f"{number:,}", html.percent(number, row["documents_in"]), ""],
                "rule",
            )
        rest = sum(number for _, number in row["rules"][RULES:])
        if rest:
            add(f"{len(row['rules']) - RULES} more rules", [(left, "s"), (rest / read, "d")], ["", f"{rest:,}", html.percent(rest, row["documents_in"]), ""], "rule")  # fmt: skip
        for rule, number in s["failed_by"].get(row["stage"], {}).items():
            add(f"failed: {rule}", [(left, "s"), (number / read, "d")], ["", f"{number:,}", html.percent(number, row["documents_in"]), ""], "rule")  # fmt: skip
        for rule, number in s["spans"].get(row["stage"], {}).items():
            add(f"{rule}: {number:,} spans taken out of kept documents", [], ["", "", "", ""], "rule")
    add(
        "kept",
        [(s["kept"] / read, "o")],
        [
            f"{s['kept']:,}",
            f"{_dropped(s) + s['failed']:,}",
            html.percent(read - s["kept"], s["read"]),
            html.size(s["bytes_out"]),
        ],
    )
    lead = "Of each stage what it leaves (solid) and what it removes (hatched); below it its rules, of what came to the stage."
    head = ["stage", "documents", "left", "removed", "of its input", "text before it"]
    return html.heading(_removal(s), lead) + html.bars(head, rows, classes=kinds) + _ignored(s)


def _removal(s: dict[str, Any]) -> str:
    rows = sorted(funnel_rows(s), key=lambda row: -row["dropped"] - row["failed"])
    rows = [row for row in rows if row["dropped"] + row["failed"]][:2]
    if not rows or not s["read"]:
        return "No stage removes a document"
    said = [
        f"{row['stage']} removes {html.percent(row['dropped'] + row['failed'], s['read'])} of the documents read"
        for row in rows[:1]
    ]
    said += [
        f"{row['stage']} {html.percent(row['dropped'] + row['failed'], row['documents_in'])} of what comes to it"
        for row in rows[1:]
    ]
    return "; ".join(said)


def _ignored(s: dict[str, Any]) -> str:
    records = {reason: n for reason, n in s["ignored"].items() if reason != LEFT_OUT}
    if not records:
        return ""
    rows = [[reason, f"{n:,}"] for reason, n in sorted(records.items(), key=lambda item: (-item[1], item[0]))]
    said = f"{sum(records.values()):,} records of the crawl are no pages and not counted above"
    return html.details(said, html.table(["what they are", "records"], rows[:60]))


def _dropped(s: dict[str, Any]) -> int:
    return sum(n for rules in s["dropped"].values() for n in rules.values())
