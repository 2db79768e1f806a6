"""What a run makes beside the corpus, published with it: tokenizers, token counts, budget, plan and report page."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pipeline.errors import UserError
from pipeline.run.plan import RunPlan
from pipeline.run.publish import Finished, Publication
from pipeline.storage import Folder
from tokenizer.counting.budget import BUDGET, TokenBudget
from tokenmill.report.page import examples_of, page
from tokenmill.tables import COUNT, TRAIN

LADDER, REPORT = "tokenizer", "report"


def beside(plan: RunPlan) -> dict[str, str]:
    """Return the folders in which observations are published, row for row beside the texts, by the stage observed."""
    return {"token_counts": COUNT} if COUNT in plan.labels else {}


def add_products(finished: Finished, publication: Publication) -> None:
    """Add tokenizers, budget, token report, plan and report page to what is published."""
    summary = finished.summary.as_dict()
    budget: TokenBudget | None = None
    unused: list[dict[str, Any]] = []
    if TRAIN in finished.decided:
        ladder = finished.decided[TRAIN].folder / LADDER
        publication.copy(ladder, "tokenizer")
        unused = ladder.get_json("unused.json")
    if COUNT in finished.decided:
        decision = finished.decided[COUNT].folder
        publication.copy(decision / REPORT, "token_report")
        budget = msgspec.structs.replace(TokenBudget.load(decision), recipe=finished.plan.recipe.name)
        publication.put_json(BUDGET, msgspec.to_builtins(budget))
    lines: list[str] = []
    formulas: dict[str, Any] = {}
    if "plan" in finished.plan.recipe.tables:
        made = price(finished.plan.recipe.tables["plan"], budget, summary["cpu_seconds"])
        plan = made.as_dict()
        publication.put_json("plan.json", plan)
        lines, formulas = made.summary_lines(), plan["explain"]
    html = page(summary, budget, examples_of(finished.out), lines, unused, formulas)
    publication.put("report.html", html.encode())


@dataclass
class Results:
    """What a finished run offers, read from its folder.

    Attributes:
        budget: None without a tokenizer.
        plan_lines: the plan in words; empty without one.
        files: (what it is, where) for each thing made.
    """

    budget: TokenBudget | None = None
    plan_lines: list[str] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)


WHERE = (
    ("documents", "data/", "data"),
    ("ledger", "NN-*/ledger/ (tokenmill inspect {place})", ""),
    ("signals", "signals/ (tokenmill what-if {place})", "signals"),
    ("tokenizers", "tokenizer/", "tokenizer"),
    ("tokens per document", "token_counts/", "token_counts"),
    ("token report", "token_report/ (CSV, JSON, Parquet)", "token_report"),
    ("token budget", BUDGET, BUDGET),
    ("token shards", "tokens/", "tokens/manifest.json"),
    ("plan", "plan.json", "plan.json"),
    ("accounts", "summary.json", "summary.json"),
    ("report", "report.html", "report.html"),
)
"""What is published: name, place shown to people, and the file or folder that tells whether it is there."""


def results_of(out: Folder) -> Results:
    """Return what the finished run in `out` offers."""
    place = shown(out)
    results = Results()
    for what, where, needed in WHERE:
        if not needed or out.exists(needed) or out.names(needed):
            results.files.append((what, f"{place}/{where.format(place=place)}"))
    if out.exists(BUDGET):
        results.budget = TokenBudget.load(out)
    results.plan_lines = plan_lines_of(out, results.budget)
    return results


def shown(folder: Folder) -> str:
    """Return where `folder` is as a person would write it: relative to the working directory if it lies below it."""
    path = folder.path()
    if path is None or not path.is_relative_to(pathlib.Path.cwd()):
        return folder.url
    return str(path.relative_to(pathlib.Path.cwd()))


def price(table: dict[str, Any], budget: TokenBudget | None, cpu_seconds: float) -> Any:
    """Return the plan that a ``[plan]`` table asks for. Raises UserError where it cannot be made.

    Args:
        budget: it does not hold the run's own CPU time, which differs from run to run and is a line of the bill.
        cpu_seconds: that time.
    """
    from planner.plan import PlanError, inputs_from, make_plan  # a fifth of a second that other recipes need not wait
    from tokenmill.plan_files import with_config

    measured = None if budget is None else {**msgspec.to_builtins(budget), "cpu_seconds": cpu_seconds}
    try:
        return make_plan(inputs_from(with_config(table), measured))
    except PlanError as error:
        raise UserError(str(error)) from error


def plan_lines_of(out: Folder, budget: TokenBudget | None) -> list[str]:
    """Return the plan of the finished run in `out` in words; empty where its recipe has none."""
    table = out.get_json("manifest.json")["recipe"].get("plan")
    if table is None:
        return []
    return list(price(table, budget, out.get_json("summary.json")["cpu_seconds"]).summary_lines())
