"""The funnel: of each stage what it leaves and what it removes, in documents and in text, and below it its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.registry import stage_names
from pipeline.worker.tryout import LEFT_OUT
from tokenmill.report import html
from tokenmill.report.funnel import funnel_rows
from tokenmill.report.run_files import RunFiles

RULES = 6
"""Rules below a stage; with more, the rest in one row."""
FAMILIES = {
    "extraction": ("Extraction", "removes", "k"), "language": ("Language", "removes", "p"),
    "quality": ("Quality rules", "remove", "a"), "dedup": ("Duplicate removal", "takes out", "t"),
    "decontamination": ("Decontamination", "removes", "p"), "mixing": ("Mixing", "leaves out", "o"),
}  # fmt: skip
"""Folder of a stage's class -> what such stages are called in a heading, and the colour of their bars."""
OTHERS = ("Other stages", "remove", "k")
Bar = tuple[str, Sequence[tuple[float, str]], Sequence[str]]


def funnel(files: RunFiles) -> str:
    """Return the section. Documents or text are chosen without a script; on paper both stand."""
    s = files.summary
    lead = "Of each stage what it leaves (solid, a colour for each kind of stage) and what it removes (hatched); below it its rules, as shares of what came to the stage."
    documents, texts = _documents(s), _texts(s)
    if not texts:
        return html.heading(finding(s), lead) + documents + _ignored(s)
    switch = html.switch("flow", [("documents", documents), ("bytes of text", texts)])
    return html.heading(finding(s), lead) + switch + _ignored(s)


def finding(s: dict[str, Any]) -> str:
    """Return which kinds of stages remove most, in words."""
    removed: dict[tuple[str, str, str], int] = {}
    came: dict[tuple[str, str, str], int] = {}
    for row in funnel_rows(s):
        kind = family(row["stage"])
        removed[kind] = removed.get(kind, 0) + row["dropped"] + row["failed"]
        came.setdefault(kind, row["documents_in"])
    most = sorted((kind for kind in removed if removed[kind]), key=lambda kind: -removed[kind])[:2]
    if not most or not s["read"]:
        return "No stage removes a document"
    order = [kind for kind in removed if kind in most]
    said = [f"{order[0][0]} {order[0][1]} {html.percent(removed[order[0]], s['read'])} of the documents read"]
    said += [f"{name.lower()} {verb} {html.percent(removed[name, verb, colour], came[name, verb, colour])} of what comes to it" for name, verb, colour in order[1:]]  # fmt: skip
    return "; ".join(said)


def family(label: str) -> tuple[str, str, str]:
    """Return what stages such as the one of this label are called, the verb behind it, and the class of their bars."""
    point = stage_names().get(label.partition("#")[0])
    parts = point.value.split(".") if point is not None else []
    return FAMILIES.get(parts[1], OTHERS) if len(parts) > 1 and parts[0] == "stages" else OTHERS


def _documents(s: dict[str, Any]) -> str:
    read = s["read"] or 1
    rows: list[tuple[Bar, str]] = [(("read", [(1.0 if s["read"] else 0.0, "k")], [f"{s['read']:,}", "", ""]), "")]
    rows += [(_rule(f"failed: {rule}", 0.0, n, read, read), "rule") for rule, n in s["failed_by"].get("read", {}).items()]  # fmt: skip
    for row in funnel_rows(s):
        gone = row["dropped"] + row["failed"]
        if gone or row["spans"]:
            cells = [f"{row['documents_out']:,}", f"{gone:,}" if gone else "", html.percent(gone, row["documents_in"])]
            bar = [(row["documents_out"] / read, family(row["stage"])[2]), (gone / read, "d")]
            rows += [((row["stage"], bar, cells), ""), *((bar, "rule") for bar in _rules(row, s, read))]
    lost = s["read"] - s["kept"]
    cells = [f"{s['kept']:,}", f"{lost:,}", html.percent(lost, s["read"])]
    rows.append((("kept", [(s["kept"] / read, "o"), (lost / read, "s")], cells), ""))
    head = ["stage", "documents", "left", "removed", "of its input"]
    return html.bars(head, [bar for bar, _ in rows], classes=[kind for _, kind in rows])


def _rules(row: dict[str, Any], s: dict[str, Any], read: int) -> list[Bar]:
    """Return the rows below a stage: its rules, what it failed on, and what it took out of documents that stay."""
    left, came = row["documents_out"] / read, row["documents_in"]
    found = [_rule(rule, left, number, read, came) for rule, number in row["rules"][:RULES]]
    rest = row["rules"][RULES:]
    if rest:
        found.append(_rule(f"{len(rest)} more rule{'s' if len(rest) > 1 else ''}", left, sum(n for _, n in rest), read, came))  # fmt: skip
    found += [_rule(f"failed: {rule}", left, n, read, came) for rule, n in s["failed_by"].get(row["stage"], {}).items()]
    for rule, number in s["spans"].get(row["stage"], {}).items():
        found.append((f"{rule}: {number:,} span{'s' if number != 1 else ''} taken out of kept documents", [], ["", "", ""]))  # fmt: skip
    return found


def _rule(name: str, left: float, number: int, read: int, came: int) -> Bar:
    return name, [(left, "s"), (number / read, "d")], ["", f"{number:,}", html.percent(number, came)]


def _texts(s: dict[str, Any]) -> str:
    """Return the funnel in bytes of text; empty where the run has not counted them by stage.

    Pages become text where they are extracted, so bars are shares of the most text that any stage hands on.
    """
    lines = funnel_rows(s)
    if not lines or any(row["documents_out"] and not row.get("bytes_out") for row in lines):
        return ""
    extracts = family(lines[0]["stage"])[0] == "Extraction"
    most = max([row["bytes_out"] for row in lines] + ([] if extracts else [s["bytes_in"]])) or 1
    before = s["bytes_in"]
    rows: list[Bar] = [("read, pages and text" if extracts else "read", [(0.0 if extracts else before / most, "k")], [html.size(before), "", ""])]  # fmt: skip
    for row in lines:
        after = row["bytes_out"]
        pages = extracts and row is lines[0]
        if after != before:
            gone = 0 if pages else max(0, before - after)
            cells = [html.size(after), html.size(gone) if gone else "", html.percent(gone, before) if gone else "from pages to text" if pages else "-"]  # fmt: skip
            rows.append((row["stage"], [(after / most, family(row["stage"])[2]), (gone / most, "d")], cells))
        before = after
    rows.append(("kept", [(s["bytes_out"] / most, "o")], [html.size(s["bytes_out"]), "", ""]))
    return html.bars(["stage", "text", "left", "removed", "of its input"], rows)


def _ignored(s: dict[str, Any]) -> str:
    records = {reason: n for reason, n in s["ignored"].items() if reason != LEFT_OUT}
    if not records:
        return ""
    rows = [[reason, f"{n:,}"] for reason, n in sorted(records.items(), key=lambda item: (-item[1], item[0]))]
    said = f"{sum(records.values()):,} records of the crawl are no pages and not counted above"
    more = html.paragraph(f"{len(rows) - 60:,} more kinds.") if len(rows) > 60 else ""
    return html.details(said, html.table(["what they are", "records"], rows[:60]) + more)
