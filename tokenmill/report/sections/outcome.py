"""What came out: of what, when, where, for how much, and whether it still holds."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from pipeline.run.execution import Execution, date, since_published
from tokenizer.counting.budget import SizeTokens
from tokenmill.report import html
from tokenmill.report.escaping import escape
from tokenmill.report.funnel import total
from tokenmill.report.run_files import RunFiles


def outcome(files: RunFiles) -> str:
    """Return the head of the page: what came out of what was read, and whether that is all."""
    s = files.summary
    drops = total(s["dropped"])
    state = "every document is accounted for" if s["balanced"] else "THE ACCOUNTS DO NOT BALANCE"
    law = f"read {s['read']:,} = kept {s['kept']:,} + dropped {drops:,} + failed {s['failed']:,}: {state}"
    said = [files.note] if files.note else []
    said += [f"Try-out: only {s['tryout']}."] if s.get("tryout") else []
    said += [f"Not made: {what}: {why}" for what, why in s.get("faults", {}).items()]
    said += [f"Changed since this run: {what}." for what in files.changed]
    warnings = "".join(html.paragraph(line, "warn") for line in said)
    return (
        f'<h1>{escape(s["name"])}: {escape(_finding(files))}</h1><p class="lead">{law}</p>{warnings}'
        f"{html.figures(_figures(files))}{_about(files)}"
    )


def _finding(files: RunFiles) -> str:
    s = files.summary
    if not s["read"]:
        return "nothing was read"
    tokens = f", {files.budget.largest.tokens:,} tokens" if files.budget is not None else ""
    return f"{html.percent(s['kept'], s['read'])} of the documents kept{tokens}"


def _figures(files: RunFiles) -> list[tuple[str, str]]:
    s = files.summary
    shown = [(f"{s['kept']:,}", f"documents kept of {s['read']:,} ({html.percent(s['kept'], s['read'])})"),
             (html.size(s["bytes_out"]), f"text kept, of {html.size(s['bytes_in'])} read")]  # fmt: skip
    shown += [(f"{row.tokens:,}", f"tokens at vocabulary {row.vocab_size:,}") for row in _vocabularies(files)]
    seconds = sum(e.seconds for e in since_published(files.manifest.executions))
    return [*shown, *([(duration(seconds), "from start to end")] if seconds else []), _cost(files)]


def _vocabularies(files: RunFiles) -> list[SizeTokens]:
    """Return the ends of the ladder, the largest first."""
    rows = files.budget.tokenizers if files.budget is not None else []
    return [rows[-1], rows[0]] if len(rows) > 1 else list(rows)


def _cost(files: RunFiles) -> tuple[str, str]:
    hours = files.summary["cpu_seconds"] / 3600
    told = f"{hours:,.2g} CPU hours" if hours < 10 else f"{hours:,.0f} CPU hours"
    if files.cpu_price is None:
        return told, "no price of an hour was given"
    return money_of(hours * files.cpu_price), f"{told} at ${files.cpu_price:,.4g} an hour"


def money_of(usd: float) -> str:
    """Return an amount of dollars to the cent."""
    return f"${usd:,.2f}" if usd >= 0.01 or not usd else "under $0.01"


def duration(seconds: float) -> str:
    """Return a time as a person says it.

    >>> duration(9.87), duration(125), duration(7300), duration(200_000)
    ('9.9 s', '2 min 5 s', '2 h 1 min', '2 d 7 h')
    """
    for unit, name, lower, below in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= unit:
            whole, rest = divmod(int(seconds), unit)
            return f"{whole:,} {name} {rest // lower} {below}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _about(files: RunFiles) -> str:
    m, s = files.manifest, files.summary
    versions = ", ".join(f"{name} {version}" for name, version in m.versions.items())
    tried = since_published(m.executions)
    last = tried[-1] if tried else None
    seconds = sum(e.seconds for e in tried)
    times = f" in {len(tried)} executions, {len(tried) - 1} of which did not come to the end" if len(tried) > 1 else ""
    named = m.recipe_file if (m.recipe.get("output") or {}).get("absolute_paths") else pathlib.Path(m.recipe_file).name
    rows = [
        ["recipe", named or "(built in Python)"],
        ["complete", f"no: a try-out of {s['tryout']}" if s.get("tryout") else "yes: all of its inputs were read"],
        ["changed since", "; ".join(files.changed) or "no: recipe and inputs are as they were read"],
        ["inputs", f"{len(m.inputs):,} files, {html.size(s['bytes_in'])} of pages and text"],
        ["date", " to ".join(dict.fromkeys(date(at) for at in (last.started, last.started + last.seconds))) if last else "not recorded"],
        ["duration", f"{duration(seconds)}{times}" if tried else "not recorded"],
        ["machine", machine(last) if last else "not recorded"],
        ["CPU time", f"{duration(s['cpu_seconds'])} of all that stands" + (f"; {duration(sum(e.cpu_seconds for e in tried))} in these executions" if tried else "")],
        ["cost", ": ".join(_cost(files)) if files.cpu_price is not None else f"{_cost(files)[0]}; a price comes from cpu_price in [plan], or from tokenmill report RUN --cpu-price USD"],
        ["versions", versions],
        ["identity", m.identity],
    ]  # fmt: skip
    lead = f"Made on {date(last.started)} in {duration(seconds)} on {machine(last)}." if last else ""
    kept = html.table(["what", "this run"], rows, (1,))
    return (html.paragraph(lead, "lead") if lead else "") + html.details("Recipe, machine, cost and versions", kept, printed=True) + executions_table(m.executions)  # fmt: skip


def executions_table(executions: Sequence[Execution]) -> str:
    """Return the table of executions, where there were several."""
    if len(executions) < 2:
        return ""
    rows = [[date(e.started), e.ended, duration(e.seconds), duration(e.cpu_seconds), f"{e.workers:,}", machine(e)] for e in executions]  # fmt: skip
    head = ["began", "ended", "time", "CPU time", "workers", "machine"]
    return html.details(f"Executions in this folder: {len(rows)}", html.table(head, rows, (1, 5)), printed=True)


def machine(execution: Execution) -> str:
    """Return the machine of an execution in words; it has no name here."""
    memory = f", {execution.memory_bytes / 1e9:.0f} GB of memory" if execution.memory_bytes else ""
    return f"{execution.cores:,} core{'s' if execution.cores != 1 else ''}{memory}, {execution.system}"
