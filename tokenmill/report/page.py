"""The run as one HTML page to decide by: self-contained, no script; whatever comes from documents is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.storage import Folder
from tokenmill.report import html
from tokenmill.report.ledger_facts import facts_of
from tokenmill.report.run_files import RunFiles, files_of
from tokenmill.report.sections.composition import composition
from tokenmill.report.sections.contamination import contamination
from tokenmill.report.sections.duplicates import duplicates
from tokenmill.report.sections.funnel import funnel
from tokenmill.report.sections.outcome import outcome
from tokenmill.report.sections.plan import plan
from tokenmill.report.sections.rules import rules
from tokenmill.report.sections.time import time
from tokenmill.report.sections.tokens import tokens
from tokenmill.report.since import changed_since

LARGEST = 1_000_000
"""Bytes that a page has at most."""


def page_of(out: Folder, plan_lines: Sequence[str] = (), note: str = "", cpu_price: float | None = None) -> str:
    """Return the page of the finished run in `out` from its own files, and from what its recipe and inputs are now.

    Args:
        note: what a person must know first.
        cpu_price: US dollars of a CPU core's hour; the recipe's where not given.
    """
    files = files_of(out, list(plan_lines), note)
    files.changed = changed_since(files.manifest, out)
    files.cpu_price = files.cpu_price if cpu_price is None else cpu_price
    return page(files)


def page(files: RunFiles) -> str:
    """Return the page of a run: what came out, the funnel, rules, composition, duplicates, tokens, the plan, time."""
    facts = facts_of(files)
    sections = [
        outcome(files), funnel(files), rules(files, facts), composition(files), duplicates(files, facts),
        contamination(files, facts), tokens(files), plan(files), time(files, facts),
    ]  # fmt: skip
    made = html.document(files.summary["name"], "".join(sections))
    while len(made.encode()) > LARGEST:
        longest = max(range(len(sections)), key=lambda n: len(sections[n]))
        title = sections[longest].partition("</h2>")[0] + "</h2>"
        sections[longest] = title + html.paragraph(
            "Left out: the page would be larger than 1 MB. See tokenmill inspect."
        )
        made = html.document(files.summary["name"], "".join(sections))
    return made
