"""What follows the passes: tokenizers, token counts and budget put where people look, the plan, the report page."""

from __future__ import annotations

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
    folders = {step.observes_label: (step.observed, after.decision) for step, after in _steps(plan) if step.observes}
    if TRAIN in folders:
        publish_tree(out / folders[TRAIN][1], out / "tokenizer", below="tokenizer/")
        results.files.append(("tokenizers", f"{place}/tokenizer/"))
    if COUNT in folders:
        observed, decision = folders[COUNT]
        publish_tree(out / observed, out / "token_counts", ending=".parquet", deep=False)
        publish_tree(out / decision, out / "token_report", below="report/")
        budget = (out / decision).get_json("token_budget.json")
        results.budget = {"recipe": plan.recipe.name, **budget, "cpu_seconds": summary["cpu_seconds"]}
        out.put_json("token_budget.json", budget_without_time(results.budget))
        results.files.append(("tokens per document", f"{place}/token_counts/"))
        results.files.append(("token report", f"{place}/token_report/ (CSV, JSON, Parquet)"))
        results.files.append(("token budget", f"{place}/token_budget.json"))
    if "plan" in plan.recipe.tables:
        made = price(plan.recipe.tables["plan"], results.budget)
        out.put_json("plan.json", made.as_dict())
        results.plan_lines = made.summary_lines()
        results.files.append(("plan", f"{place}/plan.json"))
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


def _steps(plan: RunPlan) -> list[tuple[Any, Any]]:
    return list(zip(plan.passes, plan.passes[1:], strict=False))


def budget_without_time(budget: dict[str, Any]) -> dict[str, Any]:
    """Return `budget` without what differs from run to run: the same documents give the same bytes."""
    return {key: value for key, value in budget.items() if key != "cpu_seconds"}


def price(table: dict[str, Any], budget: dict[str, Any] | None) -> Any:
    """Return the plan that a ``[plan]`` table asks for. Raises UserError where it cannot be made."""
    from planner.plan import PlanError, inputs_from, make_plan

    try:
        return make_plan(inputs_from(table, budget))
    except PlanError as error:
        raise UserError(str(error)) from error


def publish_tree(source: Folder, target: Folder, below: str = "", ending: str = "", *, deep: bool = True) -> None:
    """Make `target` hold exactly the files of `source` below `below` that end in `ending`."""
    names = [n[len(below) :] for n in source.names() if n.startswith(below) and n.endswith(ending)]
    if not deep:
        names = [n for n in names if "/" not in n]
    for stale in sorted(set(target.names()) - set(names)):
        target.delete(stale)
    for name in names:
        target.link(source / below.rstrip("/") if below else source, name)


def plan_lines_of(out: Folder, budget: dict[str, Any] | None) -> list[str]:
    """Return the plan of the finished run in `out` in words; empty where its recipe has none."""
    table = out.get_json("manifest.json")["recipe"].get("plan")
    if table is None:
        return []
    seconds = out.get_json("summary.json")["cpu_seconds"]
    return price(table, {**budget, "cpu_seconds": seconds} if budget is not None else None).summary_lines()
