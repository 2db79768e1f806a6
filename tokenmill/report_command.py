"""``tokenmill report``: the funnel, the tokens and the page of a finished run, made again from its files."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pipeline.errors import UserError
from pipeline.run import local_folder
from tokenmill.finish import plan_lines_of, shown
from tokenmill.funnel import funnel_text, tokens_text
from tokenmill.report_page import write_report


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("report", help="show a finished run again, and write its report page anew")
    parser.add_argument("run_folder", metavar="RUN", help="folder of a run")
    parser.add_argument("--json", action="store_true", help="summary, budget and plan as one JSON object")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print what the run's files say."""
    out = local_folder(given.run_folder)
    if not out.exists("summary.json"):
        raise UserError(f"{out.url} holds no finished run: run its recipe first")
    parts = {
        name: out.get_json(f"{name}.json") for name in ("summary", "token_budget", "plan") if out.exists(f"{name}.json")
    }
    if given.json:
        print(json.dumps(parts, indent=1))
        return 0
    lines = plan_lines_of(out, parts.get("token_budget"))
    write_report(out, lines)
    print(funnel_text(parts["summary"]))
    if "token_budget" in parts:
        print(f"\n{tokens_text(parts['token_budget'])}")
    if lines:
        print("\n" + "\n".join(lines))
    print(f"\nreport   {shown(out)}/report.html")
    return 0
