"""The page of a run that has never come to its end: why, how far it has come, and what it has removed and failed on so far."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field

from pipeline.run.execution import since_published
from pipeline.run.folder import EDITION, Manifest, Unfinished
from pipeline.run.status import read_status
from pipeline.storage import Folder
from pipeline.tally import Tally
from tokenmill.report import html
from tokenmill.report.escaping import escape
from tokenmill.report.ledger_facts import facts_of
from tokenmill.report.run_files import RunFiles
from tokenmill.report.sections.outcome import executions_table
from tokenmill.report.sections.time import failures

RULES = 60
"""Rules told, those that removed most."""


@dataclass
class SoFar:
    """What stands of one pass: its shards that are whole, and the sum of their tallies."""

    name: str
    shards: int
    tally: Tally


@dataclass
class Standing:
    """What stands of a run that has not finished.

    Attributes:
        why: why it has not, in words.
        tasks: (pass or decision, tasks done, tasks in all) of the last one that was begun, where that was written down.
    """

    why: str
    passes: list[SoFar] = field(default_factory=list)
    tasks: tuple[str, int, int] | None = None


def standing_of(out: Folder, state: Unfinished) -> Standing:
    """Return what stands of the run in `out`, from what its tasks have committed."""
    why = f"it ended with: {state.error}" if state.error else "it was stopped without a word, or is at work"
    found = Standing(why)
    for name in dict.fromkeys(step["folder"] for step in state.passes):
        folder = out / name / "tally"
        tallies = [Tally.from_dict(folder.get_json(file)["tally"]) for file in folder.names()]
        if tallies:
            found.passes.append(SoFar(name.rpartition("-")[0], len(tallies), Tally.sum(tallies)))
    status = read_status(out)
    if status is not None and status.passes:
        last = status.passes[-1]
        found.tasks = (last.name, last.stood + last.done, last.tasks)
    return found


def lines_of(standing: Standing, state: Unfinished) -> list[str]:
    """Return what stands in words, for a terminal."""
    said = [f"{state.name} has not finished: {standing.why}"]
    for step in standing.passes:
        t = step.tally
        said.append(f"{step.name}: shards whole: {step.shards:,}; read {t.read:,} = kept {t.kept:,} + dropped {t.drops:,} + failed {t.failures:,}")  # fmt: skip
    if not standing.passes:
        said.append("no shard is whole yet")
    if standing.tasks:
        name, done, tasks = standing.tasks
        said.append(f"at work last: {name}, {done:,} of {tasks:,} tasks done")
    said.append("run its recipe again to go on from there; tokenmill inspect shows what left so far")
    return said


def page(out: Folder, state: Unfinished) -> str:
    """Return the page of the run in `out`, which has not finished."""
    standing = standing_of(out, state)
    manifest = Manifest(EDITION, state.name, state.recipe_file, state.state, "", {}, [], list(state.passes), [], {})
    failed = sum(step.tally.failures for step in standing.passes)
    body = [
        f"<h1>{escape(state.name)}: not finished</h1>",
        html.paragraph(f"This run has not finished: {standing.why}. Nothing of it is published.", "warn"),
        html.paragraph(f"Recipe {pathlib.Path(state.recipe_file).name or '(built in Python)'}. Run it again to go on from what stands.", "lead"),
        _passes(standing), executions_table(since_published(state.executions)), _removed(standing),
    ]  # fmt: skip
    if failed:
        by: dict[str, dict[str, int]] = {}
        for step in standing.passes:
            for stage, rules in step.tally.failed.items():
                by.setdefault(stage, {}).update(rules)
        facts = facts_of(RunFiles(out, out, manifest, {}))
        body.append(failures({"failed_by": by, "failed": failed}, facts))
    return html.document(f"{state.name}, not finished", "".join(body))


def _passes(standing: Standing) -> str:
    if not standing.passes:
        return html.heading("No shard is whole yet")
    most = max(step.tally.read for step in standing.passes) or 1
    rows = []
    for step in standing.passes:
        t = step.tally
        parts = [(t.kept / most, "k"), ((t.drops + t.failures) / most, "d")]
        rows.append((step.name, parts, [f"{step.shards:,}", f"{t.read:,}", f"{t.kept:,}", f"{t.drops:,}", f"{t.failures:,}", f"{t.cpu_seconds:,.1f}"]))  # fmt: skip
    head = ["pass", "kept and removed", "shards whole", "read", "kept", "dropped", "failed", "CPU seconds"]
    last = standing.passes[-1]
    where = ""
    if standing.tasks:
        name, done, tasks = standing.tasks
        where = html.paragraph(f"At work last: {name}, {done:,} of {tasks:,} tasks done.")
    return html.heading(f"It has come to {last.name}: {last.tally.read:,} documents read in it, {last.tally.kept:,} kept") + html.bars(head, rows) + where  # fmt: skip


def _removed(standing: Standing) -> str:
    counts = [(n, stage, rule) for step in standing.passes for stage, rules in step.tally.dropped.items() for rule, n in rules.items()]  # fmt: skip
    counts.sort(key=lambda row: (-row[0], row[1:]))
    if not counts:
        return html.heading("No document was dropped so far")
    rows = [(f"{stage}: {rule}", [(n / counts[0][0], "d")], [f"{n:,}"]) for n, stage, rule in counts[:RULES]]
    more = html.paragraph(f"{len(counts) - RULES:,} more rules.") if len(counts) > RULES else ""
    said = f"Most was dropped by {counts[0][2]} of {counts[0][1]} so far: {counts[0][0]:,} documents"
    return html.heading(said) + html.bars(["rule", "dropped", "documents"], rows) + more
