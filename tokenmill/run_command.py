"""``tokenmill run``: a recipe from crawl shards to a token budget and a plan, from wherever the run folder stands."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
from collections import Counter
from typing import Any

from pipeline.errors import UserError
from pipeline.executors.forks import start_fork_server
from pipeline.plan import formats
from pipeline.recipe import load_recipe
from pipeline.run import RunPlan, execute, local_folder, preload_of
from tokenmill.assemble import assemble
from tokenmill.finish import finish
from tokenmill.funnel import funnel_text, table, tokens_text
from tokenmill.progress import RunProgress

# Parquet written per byte of input as stored: measured over the shards of all passes on real pages in
# WARC.gz (text is a sixth of the stored page after compression) and on text.
PAGES_SHARE, TEXT_SHARE = 0.25, 1.0


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("run", help="run a recipe, or go on with a run that was stopped")
    parser.add_argument("recipe", metavar="RECIPE", help="TOML file")
    parser.add_argument("--out", help="folder of the run (default: runs/NAME)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--set", action="append", default=[], metavar="STAGE.KEY=VALUE", help="change a parameter")
    parser.add_argument("--dry-run", action="store_true", help="check everything and show what would be done")
    parser.add_argument("--json", action="store_true", help="print the summary (or the plan of a dry run) as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Check the recipe, and carry it out unless this is a dry run."""
    if given.workers < 1:
        raise UserError(f"--workers must be at least 1; got {given.workers}")
    recipe = load_recipe(given.recipe, given.set)
    if not given.dry_run:
        start_fork_server(preload_of(recipe.stages))  # it imports while inputs are looked at here
    plan = assemble(recipe)
    out = local_folder(given.out or pathlib.Path("runs") / recipe.name)
    if given.dry_run:
        described = describe(plan, out.path())
        print(json.dumps(described, indent=1) if given.json else dry_text(described))
        return 0
    summary = execute(plan, out, workers=given.workers, progress=RunProgress())
    results = finish(plan, out, summary)
    if given.json:
        print(json.dumps(summary, indent=1))
        return 0
    print(f"\n{recipe.name}: documents\n\n{funnel_text(summary)}")
    if results.budget is not None:
        print(f"\ntokens\n\n{tokens_text(results.budget)}")
    if results.plan_lines:
        print("\nplan\n\n" + "\n".join(results.plan_lines))
    print("\nfiles\n\n" + table(["what", "where"], [[what, where] for what, where in results.files], left=(0, 1)))
    return 0


def describe(plan: RunPlan, out: pathlib.Path | None) -> dict[str, Any]:
    """Return what running `plan` would do: inputs by format, columns, passes, what stands already, bytes expected."""
    kinds = formats(plan.recipe.inputs)
    sizes = {f.name: os.path.getsize(f.path) for f in plan.recipe.inputs if "://" not in f.path}
    pages = sum(sizes.get(name, 0) for name, kind in kinds.items() if "warc" in kind or "arc" in kind)
    stored = sum(sizes.values())
    estimate = int(pages * PAGES_SHARE + (stored - pages) * TEXT_SHARE) * sum(p.writes for p in plan.passes)
    place = next((p for p in [out, *(out.parents if out else ())] if p is not None and p.exists()), None)
    return {
        "name": plan.recipe.name,
        "inputs": dict(Counter(kinds.values())),
        "input_files": len(kinds),
        "input_bytes": stored,
        "shards": len(plan.splits),
        "columns": {field.name: str(field.type) for field in plan.passes[0].schema_in},
        "columns_out": {field.name: str(field.type) for field in plan.passes[-1].schema_out},
        "passes": [
            {
                "pass": step.number,
                "begins_with": f"decision of {step.decides_label}" if step.decides else "reading the input",
                "stages": list(step.labels),
                "observes": step.observes_label or None,
                "folder": step.documents if step.writes else None,
                "done": bool(out and (out / step.documents / "tally").exists()),
            }
            for step in plan.passes
        ],
        "output_bytes_estimated": estimate,
        "disk_free_bytes": shutil.disk_usage(place).free if place is not None else None,
    }


def dry_text(described: dict[str, Any]) -> str:
    """Return a dry run's findings for a person."""
    inputs = ", ".join(f"{number} {kind}" for kind, number in sorted(described["inputs"].items()))
    lines = [
        f"{described['name']}: nothing is wrong as far as can be told without reading documents",
        "",
        f"input    {described['input_files']} files ({inputs}), {described['input_bytes'] / 1e6:,.1f} MB, "
        f"cut into {described['shards']} shards",
        f"columns  {', '.join(described['columns_out'])}",
        f"output   about {described['output_bytes_estimated'] / 1e6:,.1f} MB over all passes",
        "",
    ]
    free = described["disk_free_bytes"]
    if free is not None and free < described["output_bytes_estimated"]:
        lines.insert(5, f"WARNING  only {free / 1e6:,.1f} MB are free there")
    rows = []
    for step in described["passes"]:
        does = [step["begins_with"], *step["stages"]]
        if step["observes"]:
            does.append(f"observe for {step['observes']}")
        rows.append([str(step["pass"]), "begun" if step["done"] else "to do", " > ".join(does)])
    return "\n".join([*lines, table(["pass", "state", "what"], rows, left=(1, 2))])
