"""What `tokenmill what-if` prints for people: what changes by rule, documents that change sides, a curve of a threshold."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pipeline.corpus import rows_of
from pipeline.errors import UserError
from pipeline.run.signals import read_signals
from pipeline.storage import Folder
from stages.quality.rule_stage import RuleStage
from tokenmill.report.funnel import table
from tokenmill.terminal import visible
from tokenmill.what_if import Answer, FinishedRun

SWEEP = 200
"""Values of one threshold that a sweep may ask for."""


def told(
    run: FinishedRun, answer: Answer, stages: Mapping[str, RuleStage], changes: Sequence[str], examples: int
) -> str:
    """Return the answer, given with rule sets `stages`, in words and tables."""
    was, sizes = run.answer(run.stages), run.bytes_by_rule(answer, stages)
    rows = []
    for label in run.order[: run.order.index(answer.exact_up_to) + 1]:
        before, after = (dropped.get(label, {}) for dropped in (run.summary.dropped, answer.dropped))
        for rule in sorted({*before, *after}, key=lambda r: (-after.get(r, 0), r)):
            change = after.get(rule, 0) - before.get(rule, 0)
            size = sizes.get((label, rule))
            rows.append(
                [label, rule, f"{before.get(rule, 0):,}", f"{after.get(rule, 0):,}", f"{change:+,}" if change else "",
                 "" if size is None else f"{size:,}"]
            )  # fmt: skip
    each = answer.step.column("bytes")
    into, out = (int(each[mask].sum()) for mask in (answer.into, answer.out))
    lines = [
        table(["stage", "rule", "dropped", "what if", "change", "bytes"], rows, left=(0, 1)),
        "",
        f"with {' '.join(changes) or 'nothing changed'}: {int(answer.into.sum()):,} documents come in ({into:,} bytes), "
        f"{int(answer.out.sum()):,} go ({out:,} bytes)",
        f"left behind {answer.exact_up_to}: {answer.kept:,}, exactly what a run would leave there",
    ]
    if answer.exact_up_to != was.exact_up_to:
        kept, coming, going = run.summary.kept, int(answer.into.sum()), int(answer.out.sum())
        lines.append(
            f"in the end {kept:,} become about {answer.later:,.0f}, if later stages drop the share that they did; where they judge each "
            f"document by itself, {kept - min(going, kept):,} to {kept + coming:,}"
        )
    tokens = _tokens(run, into - out)
    lines += [tokens] if tokens else []
    for title, mask in (("comes in", answer.into), ("goes", answer.out)):
        shown = _examples(run, answer, np.flatnonzero(mask)[:examples])
        lines += [f"\n{title}:", *shown] if shown else []
    return "\n".join(lines)


def _tokens(run: FinishedRun, change: int) -> str:
    """Return what `change` bytes are in tokens, by the run's own budget; empty where it has none."""
    if not change or not run.out.exists("token_budget.json"):
        return ""
    largest = run.out.get_json("token_budget.json")["tokenizers"][-1]
    return f"about {change / largest['bytes_per_token']:+,.0f} tokens at vocabulary {largest['vocab_size']:,}"


def _examples(run: FinishedRun, answer: Answer, rows: np.ndarray) -> list[str]:
    """Return the documents `rows` of the pass, with what is left of their text."""
    if not len(rows):
        return []
    step = next(s for s in read_signals(run.out, run.manifest, ("shard",)) if s.name == answer.step.name)
    places = step.table.select(["shard", "number", "row", "ledger", "bytes"]).take(rows)
    about = next(p for p in run.manifest.passes if p["folder"].startswith(f"{step.name}-"))
    found = []
    for place in places.to_pylist():
        text, name = _text(run.out, about, place)
        shown = textwrap.shorten(" ".join(text.split()), 240, placeholder=" …")
        name, shown = visible(name), visible(shown)
        found.append(f"  {name} ({place['bytes']:,} bytes)\n    {shown or '(no text)'}")
    return found


def _text(out: Folder, about: dict[str, Any], place: dict[str, Any]) -> tuple[str, str]:
    """Return text and name of a document: as the pass left it, or as its ledger holds it."""
    if place["row"] is not None:
        rows = rows_of(out / about["texts"], place["shard"], np.array([place["row"]]), ["text", "url", "id"])
        line = {name: rows[name][0].as_py() for name in rows.column_names}
    else:
        with (out / about["folder"] / "ledger").open(f"{place['shard']}.parquet") as file:
            line = pq.read_table(file, columns=["text", "url", "id"]).slice(place["ledger"], 1).to_pylist()[0]
    return line["text"] or "", str(line["url"] or line["id"])


def sweep_of(run: FinishedRun, changes: Sequence[str], sweep: str) -> list[dict[str, Any]]:
    """Return what each value of a threshold would do, beside `changes`: value, and what ``what-if --json`` prints."""
    key, equals, values = sweep.partition("=")
    wanted = [value.strip() for value in values.split(",") if value.strip()]
    if not equals or not wanted or len(wanted) > SWEEP:
        raise UserError(
            f"--sweep {sweep}: write STAGE.KEY=V1,V2,… with up to {SWEEP} values, such as c4.min_num_sentences=1,3,5"
        )
    points = []
    for value in wanted:
        answer = run.answer(run.changed([*changes, f"{key.strip()}={value}"]))
        points.append(
            {"value": value, **answer.as_dict(), "bytes": int(answer.step.column("bytes")[answer.after].sum())}
        )
    return points


def sweep_text(points: Sequence[dict[str, Any]], sweep: str) -> str:
    """Return a sweep as a table with a bar a value."""
    key = sweep.partition("=")[0].strip()
    label = key.rpartition(".")[0]
    most = max(1, *(point["kept"] for point in points))
    rows = [
        [
            point["value"],
            f"{point['kept']:,}",
            f"{point['bytes']:,}",
            f"{sum(point['dropped'].get(label, {}).values()):,}",
            f"{point['changed']['in']:,}",
            f"{point['changed']['out']:,}",
            "█" * round(30 * point["kept"] / most),
        ]
        for point in points
    ]
    places = sorted({point["exact_up_to"] for point in points})
    return (
        table([key, "kept", "bytes", f"{label} drops", "in", "out", ""], rows, left=(6,))
        + f"\n\nkept: behind {' or '.join(places)}, exactly what a run would leave there"
    )


def worth_text(found: dict[str, Any]) -> str:
    """Return what each rule is worth as tables."""
    rules = [
        [r["stage"], r["rule"], f"{r['drops']:,}", f"{r['breaks']:,}", f"{r['alone']:,}", f"{100 * r['alone'] / max(1, r['breaks']):.0f} %"]
        for r in found["rules"]
    ]  # fmt: skip
    stages = [
        [s["stage"], f"{s['drops']:,}", f"{s['breaks']:,}", f"{s['alone']:,}", f"{s['cpu_seconds']:.2f}",
         "-" if s["cpu_ms_per_drop"] is None else f"{s['cpu_ms_per_drop']:.2f}",
         "-" if s["cpu_ms_per_alone"] is None else f"{s['cpu_ms_per_alone']:.2f}"]
        for s in found["stages"]
    ]  # fmt: skip
    lines = [
        table(["stage", "rule", "drops", "break it", "nothing else", "of those"], rules, left=(0, 1)),
        "",
        table(["stage", "drops", "break it", "nothing else", "CPU s", "ms per drop", "ms per drop of its own"], stages),
    ]
    for order in found["orders"]:
        lines.append(f"\nthe same documents are left by {' > '.join(order['order'])}: {order['saving']:.0%} less CPU time "
                     f"in these stages, were documents not measured once they are dropped ([output] signals = false)")  # fmt: skip
    return "\n".join(lines)
