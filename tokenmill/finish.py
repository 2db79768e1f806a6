"""What follows the passes: tokenizers, token counts and budget put where people look, the plan, the report page."""

from __future__ import annotations

import itertools
import pathlib
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import UserError
from pipeline.run import RunPlan
from pipeline.storage import Folder
from tokenmill.assemble import COUNT, TRAIN
from tokenmill.report_page import write_report


@dataclass
class Results:
    """What a finished run offers beside its summary.

    Attributes:
        budget: content of ``token_budget.json``; None without a tokenizer.
        plan_lines: the plan in words; empty without one.
        files: (what it is, where) for each thing made.
    """

    budget: dict[str, Any] | None = None
    plan_lines: list[str] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)


def finish(plan: RunPlan, out: Folder, summary: dict[str, Any]) -> Results:
    """Publish what the passes made, write ``plan.json`` and ``report.html``, and return what there is."""
    results, place = Results(), shown(out)
    results.files.append(("documents", f"{place}/data/"))
    results.files.append(("ledger", f"{place}/NN-*/ledger/ (tokenmill inspect {place})"))
    folders = {step.observes_label: (step.observed, after.decision) for step, after in itertools.pairwise(plan.passes)}
    if TRAIN in folders:
        ladder = out / folders[TRAIN][1] / "tokenizer"
        (out / "tokenizer").mirror(ladder, ladder.names())
        results.files.append(("tokenizers", f"{place}/tokenizer/"))
    if COUNT in folders:
        observed, decision = (out / name for name in folders[COUNT])
        counts = [name for name in observed.names() if "/" not in name and name.endswith(".parquet")]
        (out / "token_counts").mirror(observed, counts)
        report = decision / "report"
        (out / "token_report").mirror(report, report.names())
        results.budget = {"recipe": plan.recipe.name, **decision.get_json("token_budget.json")}
        out.put_json("token_budget.json", results.budget)
        results.files.append(("tokens per document", f"{place}/token_counts/"))
        results.files.append(("token report", f"{place}/token_report/ (CSV, JSON, Parquet)"))
        results.files.append(("token budget", f"{place}/token_budget.json"))
    if "plan" in plan.recipe.tables:
        made = price(plan.recipe.tables["plan"], results.budget, summary["cpu_seconds"])
        out.put_json("plan.json", made.as_dict())
        results.plan_lines = made.summary_lines()
        results.files.append(("plan", f"{place}/plan.json"))
    _remove_stale(out, TRAIN in folders, COUNT in folders, bool(results.plan_lines))
    results.files.append(("accounts", f"{place}/summary.json"))
    write_report(out, results.plan_lines)
    results.files.append(("report", f"{place}/report.html"))
    return results


def shown(folder: Folder) -> str:
    """Return where `folder` is as a person would write it: relative to the working directory if it lies below it."""
    path = folder.path()
    if path is None or not path.is_relative_to(pathlib.Path.cwd()):
        return folder.url
    return str(path.relative_to(pathlib.Path.cwd()))


def _remove_stale(out: Folder, ladder: bool, counts: bool, plan: bool) -> None:
    """Remove what an earlier form of the recipe made and this one does not: it would be taken for this run's."""
    stale = [] if ladder else out.names("tokenizer")
    if not counts:
        stale += [*out.names("token_counts"), *out.names("token_report"), "token_budget.json"]
    if not plan:
        stale.append("plan.json")
    for name in stale:
        out.delete(name)


def price(table: dict[str, Any], budget: dict[str, Any] | None, cpu_seconds: float) -> Any:
    """Return the plan that a ``[plan]`` table asks for. Raises UserError where it cannot be made.

    Args:
        budget: content of ``token_budget.json``. It does not hold the run's own CPU time, which differs from run to
            run and is a line of the bill.
        cpu_seconds: that time.
    """
    from planner.plan import PlanError, inputs_from, make_plan
    from tokenmill.plan_files import with_config

    measured = None if budget is None else {**budget, "cpu_seconds": cpu_seconds}
    try:
        return make_plan(inputs_from(with_config(table), measured))
    except PlanError as error:
        raise UserError(str(error)) from error


def plan_lines_of(out: Folder, budget: dict[str, Any] | None) -> list[str]:
    """Return the plan of the finished run in `out` in words; empty where its recipe has none."""
    table = out.get_json("manifest.json")["recipe"].get("plan")
    if table is None:
        return []
    return price(table, budget, out.get_json("summary.json")["cpu_seconds"]).summary_lines()
