"""``tokenmill clean``: removes what a run folder keeps of earlier forms of its recipe, and says what that frees."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import asdict
from typing import Any

from pipeline.errors import UserError
from pipeline.run.folder import local_folder, must_exist, read_unfinished, spare_folders
from pipeline.storage import lease
from tokenmill.terminal import table

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("clean", help="remove passes and decisions that a run's recipe no longer makes")
    parser.add_argument("run_folder", metavar="RUN", help="folder of a run")
    parser.add_argument(
        "--older-than", metavar="AGE", help="only what nothing was written to for AGE, such as 12h or 7d"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Remove the spare folders of a run, or only list them."""
    out = local_folder(given.run_folder)
    must_exist(out)
    age = seconds_of(given.older_than) if given.older_than else 0.0
    with lease(out):
        if read_unfinished(out) is not None:
            raise UserError(f"the run in {out.url} has not finished; run its recipe again before cleaning")
        spare = [folder for folder in spare_folders(out) if folder.age_seconds >= age]
        if not given.dry_run:
            for folder in spare:
                out.remove_tree(folder.name)
    if given.json:
        print(json.dumps({"removed": not given.dry_run, "folders": [asdict(folder) for folder in spare]}, indent=1))
        return 0
    if spare:
        rows = [[f.name, f"{f.bytes / 1e6:,.1f}", f"{f.files:,}"] for f in spare]
        print(table(["folder", "MB", "files"], rows) + "\n")
    freed = sum(folder.bytes for folder in spare) / 1e6
    print(f"{'would free' if given.dry_run else 'freed'} {freed:,.1f} MB in {len(spare)} folders")
    return 0


def seconds_of(age: str) -> float:
    """Return the seconds in an age such as ``90m`` or ``7d``.

    >>> seconds_of("2h")
    7200.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", age.strip())
    if found is None:
        raise UserError(f"--older-than must be a number and one of s, m, h, d, w, such as 12h or 7d; got {age!r}")
    return float(found[1]) * SECONDS[found[2]]
