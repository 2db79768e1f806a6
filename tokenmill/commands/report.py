"""``tokenmill report``: the funnel, the tokens and the page of a run, made again from its files."""

from __future__ import annotations

import argparse
import json
import webbrowser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from pipeline.errors import UserError
from pipeline.run.accounts import need_finished, read_published, read_summary
from pipeline.run.folder import Unfinished, local_folder, must_exist, read_manifest, read_unfinished
from pipeline.run.publish import replace_file
from pipeline.storage import Folder, Held, lease
from pipeline.visible import visible_json
from planner.errors import PlanError
from tokenmill.products import results_of, shown
from tokenmill.report.funnel import funnel_text, tokens_text
from tokenmill.report.page import page_of
from tokenmill.report.run_files import price_of
from tokenmill.report.since import superseded
from tokenmill.report.unfinished import lines_of, standing_of
from tokenmill.report.unfinished import page as unfinished_page
from tokenmill.terminal import lines


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("report", help="show a finished run again, and write its report page anew")
    parser.add_argument("run_folder", metavar="RUN", help="folder of a run")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--cpu-price", metavar="USD", help="US dollars of a CPU core's hour, for the cost on the page")
    parser.add_argument("--json", action="store_true", help="summary, budget and plan as one JSON object")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print what the run's files say."""
    out = local_folder(given.run_folder)
    price = _price(given.cpu_price)
    must_exist(out)
    later = read_unfinished(out)
    if later is not None and read_summary(out) is None:
        return _unfinished(out, later, given)
    summary = need_finished(out).as_dict()
    if given.json:
        return _json(out, summary, later)
    results, note = results_of(out), "" if later is None else superseded(out, later)
    if note:
        print(f"note: {note}\n")
    _write(out, lambda: replace_file(out, "report.html", page_of(out, results.plan_lines, note, price).encode()))
    print(funnel_text(summary))
    if results.budget is not None:
        print(f"\n{tokens_text(results.budget)}")
    if results.plan_lines:
        print("\n" + lines("\n".join(results.plan_lines)))
    print(f"\nreport   {shown(out)}/report.html")
    if given.open:
        open_page(out)
    return 0


def _unfinished(out: Folder, state: Unfinished, given: argparse.Namespace) -> int:
    """Tell what stands of a run that has never finished, which is 1: there is no corpus to report on."""
    standing = standing_of(out, state)
    if given.json:
        passes = [{"name": step.name, "shards": step.shards, **step.tally.as_dict()} for step in standing.passes]
        print(visible_json({"unfinished": True, "error": state.error, "passes": passes}, indent=1))
        return 1
    print(lines("\n".join(lines_of(standing, state))))
    _write(out, lambda: out.put("report.html", unfinished_page(out, state).encode()))
    print(f"\nreport   {shown(out)}/report.html")
    if given.open:
        open_page(out)
    return 1


def _price(text: str | None) -> float | None:
    try:
        return None if text is None else price_of(text)
    except PlanError as error:
        raise UserError(str(error).replace("cpu_price", "--cpu-price", 1)) from error


def _json(out: Folder, summary: dict[str, Any], later: Unfinished | None) -> int:
    manifest = read_manifest(out)
    executions = [asdict(execution) for execution in manifest.executions] if manifest else []
    parts = {"summary": summary, "unfinished": later is not None, "executions": executions}
    found = {name: read_published(out, f"{name}.json") for name in ("token_budget", "plan")}
    parts.update({name: value for name, value in found.items() if value is not None})
    print(json.dumps(parts, indent=1))
    return 0


def _write(out: Folder, make: Callable[[], None]) -> None:
    """Make the page anew, unless a run is at work in the folder: what stands there may be replaced any moment."""
    try:
        with lease(out):
            make()
    except Held:
        print("note: a run is at work in this folder, so the page is left as it is\n")


def open_page(out: Folder) -> None:
    """Open the page of the run in `out` in a browser. Raises UserError where there is none to open it in."""
    path = out.path("report.html")
    if path is None:
        raise UserError(f"--open needs a run on this machine; fetch {out.url}/report.html and open it")
    if not webbrowser.open(path.as_uri()):
        raise UserError(f"no browser could be started; open {path} yourself")
