"""The mixture: of each source what was wanted, what was reached, what limited it, and how often training would read it."""

from __future__ import annotations

from typing import Any

from pipeline.recipe import stage_labels
from stages.mixing.mix import ACCOUNT, SHORT
from tokenmill.report import html
from tokenmill.report.escaping import escape
from tokenmill.report.run_files import RunFiles

SHOWN = 60
"""Sources of a mixture in the table: those with most text."""


def mix(files: RunFiles) -> str:
    """Return what each mixing stage came to; empty without one."""
    return "".join(_stage(files, label) for label in stage_labels([str(t.get("use")) for t in files.manifest.recipe.get("stage") or []]) if label.partition("#")[0] == "mix")  # fmt: skip


def _stage(files: RunFiles, label: str) -> str:
    rows = account(files, label)
    notes = [note for step in files.summary["passes"] for note in step.get("notes", []) if "source" in note]
    told = "".join(map(html.paragraph, notes))
    if not rows:
        return f"<h3>The mixture ({escape(label)})</h3>{told}" if told else ""
    shown = sorted(rows, key=lambda row: -row["available"])[:SHOWN]
    asked, taken = (sum(row[key] for row in rows) or 1 for key in ("asked", "taken"))
    weights = bool(_table(files, label).get("weights"))
    most = max(max(row["available"], row["wanted"]) for row in rows) or 1
    epochs = (files.plan.get("data") or {}).get("epochs")
    drawn = []
    for row in shown:
        part = row["taken"] / row["available"] if row["available"] else 0.0
        cells = [
            html.percent(row["asked"], asked) if weights else f"{row['asked']:.3g} of it",
            html.size(row["available"]), html.size(row["wanted"]), html.size(row["taken"]),
            html.percent(row["taken"], taken), f"{part:.2f}", *([f"{part * epochs:.2f}"] if epochs else []), limited(row),
        ]  # fmt: skip
        drawn.append((row["source"], [(row["taken"] / most, "o"), (max(0, row["available"] - row["taken"]) / most, "d")], cells))  # fmt: skip
    head = ["source", "taken and left out", "share wanted" if weights else "fraction wanted", "text there", "text wanted", "reached",
            "share reached", "epochs", *(["in the plan"] if epochs else []), "limited by"]  # fmt: skip
    more = html.paragraph(f"{len(rows) - SHOWN:,} more sources, with less text.") if len(rows) > SHOWN else ""
    said = "Epochs: how often the corpus holds the text of a source, once at most, for documents are not repeated"
    said += (
        f"; in the plan: how often training reads it, with {epochs:.3g} epoch{'s' if epochs != 1 else ''} of the corpus."
        if epochs
        else "."
    )
    return f"<h3>The mixture ({escape(label)}): {_finding(rows)}</h3>{html.bars(head, drawn, text=(len(head) - 3,))}{more}{html.paragraph(said, 'lead')}{told}"


def account(files: RunFiles, label: str) -> list[dict[str, Any]]:
    """Return what the stage has written down of each source; empty where the decision is of an earlier version."""
    begin = f"/observed-{label.replace('#', '-')}-"
    for step in files.manifest.passes:
        for place in step.get("decisions", ()):
            if begin in f"/{place}" and (files.out / place).exists(ACCOUNT):
                return list((files.out / place).get_json(ACCOUNT))
    return []


def limited(row: dict[str, Any]) -> str:
    """Return what kept a source from more text, in words."""
    if not row["available"]:
        return "no text came this far"
    if row["taken"] < (1 - SHORT) * row["wanted"]:
        return "its documents: none fits what is left"
    if row["taken"] >= row["available"]:
        return "its text: all is taken"
    return "its share" if row["wanted"] else "left out"


def _finding(rows: list[dict[str, Any]]) -> str:
    whole = [row["source"] for row in rows if row["available"] and row["taken"] >= row["available"]]
    left = sum(row["available"] - row["taken"] for row in rows)
    said = f"{html.size(left)} left out" if left else "nothing is left out"
    return escape(f"{said}; all is taken of {', '.join(whole[:3])}{'' if len(whole) <= 3 else f' and {len(whole) - 3} more'}" if whole and left else said)  # fmt: skip


def _table(files: RunFiles, label: str) -> dict[str, Any]:
    tables = files.manifest.recipe.get("stage") or []
    labels = stage_labels([str(table.get("use")) for table in tables])
    return dict(tables[labels.index(label)])
