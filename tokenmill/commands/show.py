"""``tokenmill show``: documents of a run or of files, before and after a stage, and pairs of duplicates."""

from __future__ import annotations

import argparse
import difflib
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.errors import UserError
from pipeline.paths import PathFault, find_files, identity_of
from pipeline.readers.names import is_meant
from pipeline.registry import did_you_mean
from pipeline.run.folder import holds_run, local_folder
from pipeline.storage import Folder
from tokenmill.looking import (
    Pair,
    Row,
    Through,
    Wanted,
    chosen,
    documents_in,
    kept_documents,
    pairs,
    plan_of,
    stage_number,
    through,
)
from tokenmill.survey import survey
from tokenmill.terminal import json_line, visible, width

CHARACTERS = 600
SENTENCE = re.compile(r"(?<=[.!?。！？]) +")


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("show", help="show documents of a run or of files, what a stage does, or duplicates")
    parser.add_argument("places", nargs="+", metavar="RUN|FILE", help="the folder of a run, or files and patterns")
    parser.add_argument("--stage", metavar="NAME", help="documents of the input before and after this stage of the run")
    parser.add_argument("--diff", action="store_true", help="duplicates that the run removed, against those it kept")
    parser.add_argument("--id", help="only the document with this id")
    parser.add_argument("--url", help="only documents whose url holds this")
    parser.add_argument("--text", help="only documents whose text holds this, whatever its case")
    parser.add_argument(
        "--seed", type=int, help="documents at random instead of the first; the same seed, the same ones"
    )
    parser.add_argument("--limit", type=int, default=5, help="documents to show (default 5; 0: all)")
    parser.add_argument(
        "--characters", type=int, default=CHARACTERS, help=f"of each text (default {CHARACTERS}; 0: all)"
    )
    parser.add_argument("--columns", help="only these columns, such as url,language,text")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with the whole text")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Show what was asked for."""
    for key in ("limit", "characters"):
        if getattr(given, key) < 0:
            raise UserError(f"--{key} must not be negative; got {getattr(given, key)} (0: all)")
    if given.seed is not None and not -(1 << 63) <= given.seed < 1 << 63:
        raise UserError(f"--seed must fit 64 bits; got {given.seed}")
    wanted = Wanted(given.id, given.url, given.text)
    out = _run_folder(given.places)
    if out is None and (given.stage or given.diff):
        raise UserError(f"--{'stage' if given.stage else 'diff'} needs the folder of a run, not files")
    if given.stage and given.diff:
        raise UserError("give --stage or --diff, not both")
    shown = 0
    for text in _texts(given, out, wanted):
        print(text)
        shown += 1
    if not shown:
        what = "no duplicate was removed, or none" if given.diff else "no document"
        raise UserError(f"{what} is as asked for in {', '.join(given.places)}")
    return 0


def _run_folder(places: Sequence[str]) -> Folder | None:
    """Return the run folder among `places`, which must then be the only one; None where they are files."""
    found = []
    for place in places:
        folder = local_folder(place)
        if holds_run(folder):
            found.append(folder)
    if found and len(places) > 1:
        raise UserError(f"{found[0].url} is the folder of a run: give it alone")
    return found[0] if found else None


def _texts(given: argparse.Namespace, out: Folder | None, wanted: Wanted) -> Iterator[str]:
    if out is not None and given.diff:
        for number, pair in enumerate(pairs(out, wanted), 1):
            yield _pair_json(pair) if given.json else _pair(pair)
            if number == given.limit:
                return
    elif out is not None and given.stage:
        yield from _stage(given, out, wanted)
    else:
        rows = wanted.checked(kept_documents(out)) if out is not None else documents_in(_files(given.places))
        for row in chosen(rows, wanted, given.limit, given.seed):
            row = _columns(row, given.columns)
            yield json_line(row) if given.json else _document(row, given.characters)


def _files(places: Sequence[str]) -> list[Any]:
    files: dict[str, str] = {}
    for place in places:
        try:
            found = find_files(place, pathlib.Path.cwd(), is_meant)
        except PathFault as fault:
            raise UserError(str(fault)) from fault
        for file in found.files:
            files.setdefault(identity_of(file), file)
    surveyed = survey(list(files.values()), pathlib.Path.cwd())
    if not surveyed.files:
        raise UserError("; ".join(f"{name}: {why}" for name, why in surveyed.left_out[:3]))
    for name, why in surveyed.left_out:
        print(visible(f"note: left out {name}: {why}"), file=sys.stderr)
    return surveyed.inputs


def _stage(given: argparse.Namespace, out: Folder, wanted: Wanted) -> Iterator[str]:
    plan = plan_of(out)
    number = stage_number(plan, given.stage)
    if any(not hasattr(stage, "apply") for stage in plan.recipe.stages[:number]):
        print(f"note: what corpus stages before {given.stage} removed is shown too", file=sys.stderr)
    found = through(plan, given.stage, wanted)
    if given.seed is not None:
        kept = {}

        def rows() -> Iterator[Row]:
            for place, one in enumerate(found):
                kept[place] = one
                yield {**{k: one.before.get(k) for k in ("id", "file", "offset")}, "place": place}

        ones: Iterator[Through] = (kept[r["place"]] for r in chosen(rows(), lambda r: True, given.limit, given.seed))
    else:
        ones = found
    for count, one in enumerate(ones, 1):
        yield _through_json(one) if given.json else _through(one, given.characters)
        if count == given.limit:
            return


def _columns(row: Row, names: str | None) -> Row:
    if names is None:
        return row
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in row:
            raise UserError(
                f"--columns: there is no column {name!r}{did_you_mean(name, row)}; there are: {', '.join(row)}"
            )
    return {name: row[name] for name in asked}


def _document(row: Row, characters: int) -> str:
    lines = []
    for name, value in row.items():
        if name in ("text", "raw", "id", "url") or value in (None, "", [], {}):
            continue
        lines.append(f"  {name} {_value(value)}")
    head = "  ".join(str(row[name]) for name in ("id", "url") if row.get(name))
    text = row.get("text")
    if text is None and row.get("raw") is not None:
        text = row["raw"].decode("utf-8", "replace")
    body = [_excerpt(text, characters)] if text is not None else []
    return "\n".join([*([visible(head)] if head else []), *map(visible, lines), *body, ""])


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return textwrap.shorten(str(value) if isinstance(value, str) else json_line(value), 300, placeholder=" …")


def _excerpt(text: str, characters: int) -> str:
    """Return the text as a quotation, its lines broken to fit a terminal."""
    cut = text[:characters] if characters else text
    room = (width() or 10**9) - 4
    lines = [part for line in visible(cut).split("\n") for part in (textwrap.wrap(line, room) or [""])]
    more = f"\n  | … {len(text) - len(cut):,} more characters" if len(cut) < len(text) else ""
    return "\n".join(f"  | {line}".rstrip() for line in lines) + more


def _through(one: Through, characters: int) -> str:
    before, after = one.before, one.after
    head = "  ".join(str(before[name]) for name in ("id", "url") if before.get(name))
    parts = [visible(head), "  before", _excerpt(_text(before), characters)]
    for removed in one.removed:
        measured = "" if removed["value"] is None else f", measured {removed['value']:.6g}"
        limit = "" if removed["threshold"] is None else f", threshold {removed['threshold']:.6g}"
        said = f": {removed['text']}" if removed["text"] else f": {removed['detail']}" if removed["detail"] else ""
        what = {"document": "dropped", "failed": "failed", "span": "taken out"}[removed["kind"]]
        parts.append(visible(f"  {what} by {removed['rule']}{measured}{limit}{textwrap.shorten(said, 300)}"))
    if after is not None:
        added = {k: v for k, v in after.items() if k not in before or before[k] != v}
        parts += [visible(f"  {k} {_value(v)}") for k, v in added.items() if k not in ("text", "raw") and v is not None]
        same = _text(after) == _text(before)
        parts += ["  after: the same text"] if same else ["  after", _excerpt(_text(after), characters)]
    return "\n".join([*parts, ""])


def _text(row: Mapping[str, Any]) -> str:
    if row.get("text") is not None:
        return str(row["text"])
    return row["raw"].decode("utf-8", "replace") if row.get("raw") is not None else ""


def _through_json(one: Through) -> str:
    return json_line({"before": _plain(one.before), "after": one.after and _plain(one.after), "removed": one.removed})


def _plain(row: Row) -> Row:
    """Return `row` with a page as text where it has one."""
    return {k: v.decode("utf-8", "replace") if isinstance(v, bytes) and k == "raw" else v for k, v in row.items()}


def _pair(pair: Pair) -> str:
    """Return the difference of a pair: lines, and in them sentences, that only one of the two has."""
    removed, kept = (_sentences(row.get("text") or "") for row in (pair.removed, pair.kept))
    about = pair.ledger
    alike = "" if about["value"] is None else f", similarity {about['value']:.4g}"
    names = [" ".join(str(row[name]) for name in ("id", "url") if row.get(name)) for row in (pair.removed, pair.kept)]
    lines = [f"{about['stage']}: {about['rule']}{alike}", f"--- removed {names[0]}", f"+++ kept    {names[1]}"]
    changes = list(difflib.unified_diff(removed, kept, lineterm="", n=1))[2:]
    room = (width() or 10**9) - 2
    for change in changes or ["  the same text"]:
        lines += textwrap.wrap(change, room, subsequent_indent=change[:1] + "   ") or [change]
    return "\n".join([*map(visible, lines), ""])


def _sentences(text: str) -> list[str]:
    return [part for line in text.split("\n") for part in SENTENCE.split(line)]


def _pair_json(pair: Pair) -> str:
    return json_line({"removed": _plain(pair.removed), "kept": _plain(pair.kept), "ledger": pair.ledger})
