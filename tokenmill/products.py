"""What a run makes beside the corpus, published with it: tokenizers, token counts, budget, plan and report page."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from pipeline.errors import UserError, is_environment, said_of
from pipeline.run.accounts import read_summary
from pipeline.run.folder import read_manifest
from pipeline.run.plan import RunPlan
from pipeline.run.publish import Finished, Publication
from pipeline.storage import Folder
from tokenizer.counting.budget import BUDGET, TokenBudget
from tokenmill.tables import COUNT, TRAIN

LADDER, REPORT = "tokenizer", "report"


def beside(plan: RunPlan) -> dict[str, str]:
    """Return the folders in which observations are published, row for row beside the texts, by the stage observed."""
    return {"token_counts": COUNT} if COUNT in plan.labels else {}


def add_products(finished: Finished, publication: Publication) -> None:
    """Add tokenizers, budget, token report, plan and report page to what is published."""
    from tokenmill.report.page import page  # half a second that a run which finds everything done need not wait
    from tokenmill.report.run_files import RunFiles, Staged

    summary = finished.summary.as_dict()
    budget: TokenBudget | None = None
    unused: list[dict[str, Any]] = []
    if TRAIN in finished.decided:
        ladder = finished.decided[TRAIN].folder / LADDER
        publication.copy(ladder, "tokenizer")
        unused = ladder.get_json("unused.json")
        if finished.decided[TRAIN].notes:
            finished.summary.faults[TRAIN] = "; ".join(finished.decided[TRAIN].notes)
    if COUNT in finished.decided:
        decision = finished.decided[COUNT].folder
        publication.copy(decision / REPORT, "token_report")
        named = TokenBudget.load(decision)
        budget = msgspec.structs.replace(named, recipe=finished.plan.recipe.name, tryout=finished.summary.tryout)
        publication.put_json(BUDGET, msgspec.to_builtins(budget))
    lines: list[str] = []
    plan: dict[str, Any] = {}
    if "plan" in finished.plan.recipe.tables:
        try:
            made = _plan(finished, budget)
            plan = made.as_dict()
            lines = list(made.summary_lines())
            publication.put_json("plan.json", plan)
        except Exception as error:  # whatever it is, the corpus is made and must be had
            if is_environment(error):
                raise
            finished.summary.faults["plan"] = said_of(error)
    summary = finished.summary.as_dict()
    about = replace(publication.manifest, files=publication.files)
    made_of = RunFiles(finished.out, Staged(finished.out.url), about, summary, budget, unused, plan, lines)
    try:
        publication.put("report.html", page(made_of).encode())
    except Exception as error:
        if is_environment(error):
            raise
        finished.summary.faults["report"] = said_of(error)


def _plan(finished: Finished, budget: TokenBudget | None) -> Any:
    """Return the plan that the recipe asks for. Raises UserError where it cannot be made."""
    table = finished.plan.recipe.tables["plan"]
    if COUNT in finished.summary.faults and "tokens" not in table:
        raise UserError("needs the token budget, which could not be made")
    return price(table, budget, finished.summary.as_dict()["cpu_seconds"])


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
    manifest, summary = read_manifest(out), read_summary(out)
    table = manifest.recipe.get("plan") if manifest else None
    if table is None or summary is None or not out.exists("plan.json"):
        return []
    return list(price(table, budget, summary.cpu_seconds).summary_lines())
