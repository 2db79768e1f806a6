"""``tokenmill report``: the funnel, the tokens and the page of a run, made again from its files."""

from __future__ import annotations

import argparse
import json
import webbrowser
from typing import Any

from pipeline.errors import UserError
from pipeline.run.accounts import need_finished, read_published
from pipeline.run.folder import local_folder, read_unfinished
from pipeline.run.publish import replace_file
from pipeline.storage import Folder
from tokenmill.products import results_of, shown
from tokenmill.report.funnel import funnel_text, tokens_text
from tokenmill.report.page import page_of
from tokenmill.terminal import lines


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("report", help="show a finished run again, and write its report page anew")
    parser.add_argument("run_folder", metavar="RUN", help="folder of a run")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--json", action="store_true", help="summary, budget and plan as one JSON object")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print what the run's files say."""
    out = local_folder(given.run_folder)
    summary = need_finished(out).as_dict()
    unfinished = read_unfinished(out)
    if given.json:
        parts = {"summary": summary, "unfinished": unfinished is not None}
        found = {name: read_published(out, f"{name}.json") for name in ("token_budget", "plan")}
        parts.update({name: value for name, value in found.items() if value is not None})
        print(json.dumps(parts, indent=1))
        return 0
    results = results_of(out)
    if unfinished is not None:
        why = f" ({unfinished.error})" if unfinished.error else ""
        print(f"note: a later run in this folder has not finished{why}; this is what the one before it made\n")
    else:
        replace_file(out, "report.html", page_of(out, results.plan_lines).encode())
    print(funnel_text(summary))
    if results.budget is not None:
        print(f"\n{tokens_text(results.budget)}")
    if results.plan_lines:
        print("\n" + lines("\n".join(results.plan_lines)))
    print(f"\nreport   {shown(out)}/report.html")
    if given.open:
        open_page(out)
    return 0


def open_page(out: Folder) -> None:
    """Open the page of the run in `out` in a browser. Raises UserError where there is none to open it in."""
    path = out.path("report.html")
    if path is None:
        raise UserError(f"--open needs a run on this machine; fetch {out.url}/report.html and open it")
    if not webbrowser.open(path.as_uri()):
        raise UserError(f"no browser could be started; open {path} yourself")
