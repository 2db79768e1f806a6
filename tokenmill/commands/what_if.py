"""``tokenmill what-if``: what other thresholds would have done in a finished run, in seconds, without running it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pipeline.run.folder import local_folder


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "what-if", help="what other thresholds would have done in a finished run, from its signals"
    )
    parser.add_argument("run_folder", metavar="RUN", help="folder of a finished run")
    parser.add_argument("--set", action="append", default=[], metavar="STAGE.KEY=VALUE", help="change a threshold")
    parser.add_argument(
        "--sweep", metavar="STAGE.KEY=V1,V2,…", help="a curve: what each of these values of one threshold would do"
    )
    parser.add_argument(
        "--worth", action="store_true", help="what each rule removes alone, and what nothing else would"
    )
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="documents to show that change sides (3)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Answer, and print the answer."""
    from tokenmill.what_if import FinishedRun
    from tokenmill.what_if_text import sweep_of, sweep_text, told, worth_text
    from tokenmill.worth import worth_of

    finished = FinishedRun(local_folder(given.run_folder))
    stages = finished.changed(given.set)
    if given.sweep:
        points = sweep_of(finished, given.set, given.sweep)
        print(json.dumps(points, indent=1) if given.json else sweep_text(points, given.sweep))
    elif given.worth:
        found = worth_of(finished, stages)
        print(json.dumps(found, indent=1) if given.json else worth_text(found))
    else:
        answer = finished.answer(stages)
        print(
            json.dumps(answer.as_dict(), indent=1)
            if given.json
            else told(finished, answer, stages, given.set, given.examples)
        )
    return 0
