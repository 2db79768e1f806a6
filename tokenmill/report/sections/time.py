"""Where the time went: CPU by stage, passes, slowest files, and what failed where."""

from __future__ import annotations

from typing import Any

from tokenmill.report import html
from tokenmill.report.composition import spread
from tokenmill.report.ledger_facts import LedgerFacts
from tokenmill.report.run_files import RunFiles

TALLIES = 200
"""Shards of each pass whose time is looked at where there are more."""
SLOWEST = 8


def time(files: RunFiles, facts: LedgerFacts) -> str:
    """Return the section."""
    s = files.summary
    stages = sorted(s["stages"], key=lambda row: -row["cpu_seconds"])
    total = s["cpu_seconds"] or 1
    said = (
        f"{stages[0]['stage']} took {html.percent(stages[0]['cpu_seconds'], total)} of {s['cpu_seconds']:,.1f} s of CPU"
        if stages and s["cpu_seconds"]
        else "No time was measured"
    )
    most = stages[0]["cpu_seconds"] or 1 if stages else 1
    drawn = [(row["stage"], [(row["cpu_seconds"] / most, "k")],
              [f"{row['cpu_seconds']:.2f}", html.percent(row["cpu_seconds"], total), f"{1e6 * row['cpu_seconds'] / row['documents_in']:,.0f}" if row["documents_in"] else "-"]) for row in stages]  # fmt: skip
    by_stage = html.bars(["stage", "CPU", "CPU seconds", "share", "µs a document"], drawn)
    head = ["pass", "read", "kept", "seconds", "CPU seconds", "text in", "text out", "written"]
    body = [[p["name"], f"{p['read']:,}", f"{p['kept']:,}", f"{p['seconds']:.2f}", f"{p['cpu_seconds']:.2f}", html.size(p["bytes_in"]), html.size(p["bytes_out"]),
             html.size(p["bytes_written"])] for p in s["passes"]]  # fmt: skip
    return (
        html.heading(said)
        + by_stage
        + "<h3>Passes</h3>"
        + html.table(head, body)
        + _slowest(files)
        + failures(s, facts)
    )


def _slowest(files: RunFiles) -> str:
    rows: list[tuple[float, list[str]]] = []
    for name in dict.fromkeys(step["folder"] for step in files.manifest.passes):
        folder = files.out / name / "tally"
        for file in spread(folder.names(), TALLIES):
            tally: dict[str, Any] = folder.get_json(file).get("tally") or {}
            if tally.get("seconds"):
                shard = file.removesuffix(".json").removeprefix("part-")
                rows.append(
                    (
                        tally["seconds"],
                        [
                            shard,
                            name.rpartition("-")[0],
                            f"{tally['seconds']:.2f}",
                            f"{tally['cpu_seconds']:.2f}",
                            html.size(tally["bytes_in"]),
                        ],
                    )
                )
    if not rows:
        return ""
    rows.sort(key=lambda row: (-row[0], row[1]))
    return "<h3>Slowest shards</h3>" + html.table(
        ["shard", "pass", "seconds", "CPU seconds", "in"], [row for _, row in rows[:SLOWEST]], (1,)
    )


def failures(s: dict[str, Any], facts: LedgerFacts) -> str:
    """Return what failed, by cause, with the file and offset of some; `s` holds `failed_by` and `failed` of a summary."""
    rows = []
    for stage, causes in s["failed_by"].items():
        for rule, number in causes.items():
            shown = facts.examples.get((stage, rule), ())
            where = "; ".join(str(row["detail"] or row["url"] or row["id"] or "")[:160] for row in shown[:2])
            rows.append([rule, stage, f"{number:,}", where])
    if not rows:
        return ""
    number = s["failed"]
    return f"<h3>{number:,} documents failed</h3>" + html.table(
        ["cause", "stage", "documents", "such as"], rows, (1, 3)
    )
