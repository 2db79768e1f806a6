"""``tokenmill analyse``: how signals are distributed before a filter is chosen, and what published thresholds would remove."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from pipeline.errors import UserError
from tokenmill.report.funnel import table
from tokenmill.terminal import visible
from tokenmill.text_options import add_text_options

SAMPLE = 10_000


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("analyse", help="look at documents before filters are chosen: signals and thresholds")
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT",
        help="files of documents, folders, globs; or one recipe, whose inputs and rule sets are looked at",
    )  # fmt: skip
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"documents to look at ({SAMPLE:,})")
    parser.add_argument("--out", metavar="PAGE", help="write an HTML page with the distributions and examples")
    add_text_options(parser)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Take a sample, measure it and tell."""
    from tokenmill.analyse.distributions import analyse
    from tokenmill.analyse.measure import measure
    from tokenmill.analyse.page import page
    from tokenmill.analyse.sample import take

    for name in ("sample", "workers"):
        if getattr(given, name) < 1:
            raise UserError(f"--{name} must be at least 1; got {getattr(given, name)}")
    title, files, stages = _inputs(given.inputs, given.text_column, given.documents)
    sample = take(files, given.sample)
    found = analyse(measure(sample, stages, given.workers))
    said = f"{found.documents:,} documents, sampled from {sample.read:,} in {sample.pieces:,} of {sample.of:,} pieces of {len(files):,} files"
    if sample.unreadable:
        said += f"; {sample.unreadable:,} records could not be read"
    if found.measured.lost:
        said += f"; {found.measured.lost:,} gave no text"
    if given.out:
        try:
            pathlib.Path(given.out).write_text(page(found, title, said), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {given.out} ({error.strerror})") from error
    if given.json:
        print(json.dumps(found.as_dict(), indent=1))
        return 0
    print(said, visible(_stages_text(found)), _rules_text(found), sep="\n\n")
    if given.out:
        print(f"\npage: {given.out}")
    return 0


def _inputs(given: Sequence[str], column: str, documents: str) -> tuple[str, Sequence[Any], Sequence[Any]]:
    """Return a title, the files and the stages."""
    from pipeline.recipe import load_recipe
    from tokenizer.files import file_at, files_named

    if given[0].endswith(".toml"):
        if len(given) > 1:
            raise UserError("give one recipe, or files of documents")
        recipe = load_recipe(given[0])
        return recipe.name, recipe.inputs, recipe.stages
    paths = list(dict.fromkeys(path for name in given for path in files_named(name)))
    return "documents", [file_at(path, column, documents) for path in paths], ()


def _stages_text(found: Any) -> str:
    head = ["would be removed by", "all", *(f"source {name}" for name in found.sources), *found.languages]
    rows = [
        [label, *(f"{100 * share:.1f} %" for share in (about["removes"], *about["by_source"].values(), *about["by_language"].values()))]
        for label, about in found.removed.items()
    ]  # fmt: skip
    documents = [f"{n:,}" for n in (found.documents, *found.sources.values(), *found.languages.values())]
    return table(head, [["(documents)", *documents], *rows])


def _rules_text(found: Any) -> str:
    head = ["signal", "1 %", "median", "99 %", "rule", "threshold", "removes"]
    rows = []
    for d in found.distributions:
        middle = [f"{d.quantiles[q]:.4g}" if d.quantiles else "-" for q in ("0.01", "0.5", "0.99")]
        name = f"{d.stage}.{d.signal}"
        if not d.rules:
            rows.append([name, *middle, "", "", ""])
        for n, r in enumerate(d.rules):
            limit = (
                f"{'<' if r.rule.side == 'below' else '>'} {r.rule.threshold:g}"
                if r.rule.threshold == r.rule.threshold
                else "off"
            )
            rows.append([*([name, *middle] if n == 0 else [""] * 4), r.rule.name, limit, f"{100 * r.share:.2f} %"])
    return table(head, rows, left=(0, 4))
