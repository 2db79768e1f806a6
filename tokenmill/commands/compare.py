"""``tokenmill compare``: two finished runs side by side, as text, JSON and a page."""

from __future__ import annotations

import argparse
import json
import pathlib
from typing import Any

from pipeline.errors import UserError
from pipeline.run.folder import local_folder


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("compare", help="two finished runs side by side: funnels, documents that changed sides, tokens")  # fmt: skip
    parser.add_argument("run_a", metavar="RUN_A", help="folder of a finished run")
    parser.add_argument("run_b", metavar="RUN_B", help="folder of another")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.add_argument("--out", metavar="PAGE", help="write an HTML page")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Compare, and print the comparison."""
    from tokenmill.compare.page import page
    from tokenmill.compare.runs import compare
    from tokenmill.compare.text import text_of
    from tokenmill.terminal import visible

    found = compare(local_folder(given.run_a), local_folder(given.run_b))
    if given.out:
        write_page(given.out, page(found))
    print(json.dumps(found.as_dict(), indent=1) if given.json else text_of(found))
    if given.out and not given.json:
        print(visible(f"\npage   {given.out}"))
    return 0


def write_page(place: str, text: str) -> None:
    """Write a page to the file `place`. Raises UserError where it cannot be written."""
    try:
        pathlib.Path(place).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {place}: {error.strerror}") from error
