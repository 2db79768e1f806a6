"""``tokenmill inspect``: looks at what a run removed, and why."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections import Counter
from typing import Any

from pipeline.errors import UserError
from pipeline.registry import did_you_mean
from pipeline.run.accounts import partner_url, read_ledger
from pipeline.run.folder import local_folder, must_exist, read_manifest, read_unfinished
from pipeline.storage import Folder
from tokenmill.terminal import json_line, table, visible


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("inspect", help="look at what was dropped, by stage and rule, and why")
    parser.add_argument("run_folder", metavar="RUN", help="folder of a run")
    parser.add_argument("--stage", help="only what this stage removed")
    parser.add_argument("--rule", help="only what this rule removed")
    parser.add_argument("--id", help="only the document with this id or url")
    parser.add_argument("--kind", choices=("document", "span", "failed"), help="only this kind of removal")
    parser.add_argument("--limit", type=int, default=10, help="rows to show (default 10; 0: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, the whole row")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print counts by stage and rule, or the rows asked for."""
    out = local_folder(given.run_folder)
    must_exist(out)
    if given.limit < 0:
        raise UserError(f"--limit must not be negative; got {given.limit} (0 shows all)")
    unfinished = read_unfinished(out)
    if unfinished is not None:
        why = f": {unfinished.error}" if unfinished.error else ""
        print(visible(f"note: this run has not finished{why}; the ledger holds what has left so far"), file=sys.stderr)
    asked = given.stage or given.rule or given.id or given.kind
    if not asked and not given.json:
        return _overview(out)
    shown = 0
    for row in _rows(out, given):
        print(json_line(row) if given.json else visible(_shown(row, out)))
        shown += 1
        if given.limit and shown >= given.limit:
            break
    if not shown:
        raise UserError(_nothing(out, given))
    return 0


def _nothing(out: Folder, given: argparse.Namespace) -> str:
    """Return why nothing was found: a stage or rule that removed nothing, or one that there is not."""
    known: dict[str, set[str]] = {"stage": set(), "rule": set()}
    for batch in read_ledger(out):
        for key, names in known.items():
            names.update(batch.column(key).unique().to_pylist())
    manifest = read_manifest(out)
    stages = [str(stage["stage"]) for stage in manifest.stages] if manifest else []
    for key, more in (("stage", stages), ("rule", [])):
        asked, there = getattr(given, key), sorted({*known[key], *more})
        if asked and asked not in there:
            near = did_you_mean(asked, there)
            return f"--{key}: nothing was removed by a {key} {asked!r}{near}; there are: {', '.join(there) or 'none'}"
    return f"nothing in the ledger of {out.url} matches; `tokenmill inspect {given.run_folder}` lists what is there"


def _rows(out: Any, given: argparse.Namespace) -> Any:
    for batch in read_ledger(out, given.stage, given.rule):
        for row in batch.to_pylist():
            if given.kind and row["kind"] != given.kind:
                continue
            if given.id and given.id not in (row["id"], row["url"]):
                continue
            yield row


def _overview(out: Any) -> int:
    counts: Counter[tuple[str, str, str]] = Counter()
    for batch in read_ledger(out):
        columns = (batch.column(name).to_pylist() for name in ("stage", "rule", "kind"))
        counts.update(zip(*columns, strict=True))
    rows = [
        [stage, rule, kind, f"{n:,}"]
        for (stage, rule, kind), n in sorted(counts.items(), key=lambda c: (c[0][0], -c[1]))
    ]
    print(table(["stage", "rule", "kind", "removed"], rows, left=(0, 1, 2)))
    print("\n--stage S --rule R shows the documents, with what was measured.")
    return 0


def _shown(row: dict[str, Any], out: Any) -> str:
    measured = ""
    if row["value"] is not None:
        measured = f"  measured {row['value']:.6g}"
        if row["threshold"] is not None:
            measured += f", threshold {row['threshold']:.6g}"
    head = f"{row['stage']}: {row['rule']} ({row['kind']}){measured}"
    where = "  ".join(str(row[name]) for name in ("id", "url", "source") if row[name])
    text = textwrap.shorten(" ".join((row["text"] or "").split()), 240, placeholder=" …")
    lines = [head, f"  {where}"]
    if row["detail"]:
        url = partner_url(out, row["stage"], row["partner"]) if row["partner"] else None
        lines.append(f"  {row['detail']}" + (f" <{url}>" if url else ""))
    return "\n".join([*lines, f"  | {text}" if text else "  | (no text)", ""])
