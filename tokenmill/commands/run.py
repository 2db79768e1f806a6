"""``tokenmill run``: a recipe from crawl shards to a token budget and a plan, from wherever the run folder stands."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import sys
import tomllib
from collections import Counter
from typing import Any

from pipeline.errors import UserError
from pipeline.executors.contract import Executor
from pipeline.executors.forks import start_fork_server
from pipeline.imports import arrow_without_pandas, is_own_process
from pipeline.recipe import Recipe, load_recipe
from pipeline.recipe_lines import located
from pipeline.run.accounts import read_summary
from pipeline.run.drive import execute, forecast
from pipeline.run.folder import holds_run, local_folder
from pipeline.run.inputs import sizes_of
from pipeline.run.join import follow
from pipeline.run.plan import RunPlan, check_place, is_ours, loads_of, preload_of
from pipeline.run.publish import Finished
from pipeline.storage import Folder, Held, reach
from tokenmill.places import executors
from tokenmill.products import Results, add_products, beside, results_of
from tokenmill.progress import RunProgress
from tokenmill.report.funnel import funnel_text, tokens_text
from tokenmill.run_log import RunLog
from tokenmill.tables import assemble
from tokenmill.terminal import lines, table, visible
from tokenmill.token_shards import write_tokens

# Parquet written per byte of input as stored: measured over the shards of all passes on real pages in
# WARC.gz (text is a sixth of the stored page after compression) and on text.
PAGES_SHARE, TEXT_SHARE = 0.25, 1.0


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("run", help="run a recipe, or go on with a run that was stopped")
    parser.add_argument("recipe", metavar="RECIPE", help="TOML file")
    parser.add_argument("--out", help="folder of the run (default: runs/NAME)")
    parser.add_argument(
        "--workers", type=int, help="processes, or tasks at a time on a cluster (default: by its cores)"
    )
    parser.add_argument(
        "--executor", choices=("local", "ray"), default="local", help="where tasks run (default: local)"
    )
    parser.add_argument("--address", help="of the Ray cluster, HOST:PORT (default: auto)")
    parser.add_argument(
        "--join",
        action="store_true",
        help="work on this run together with every process that is given the same command",
    )
    parser.add_argument("--set", action="append", default=[], metavar="STAGE.KEY=VALUE", help="change a parameter")
    parser.add_argument(
        "--retry-failed", action="store_true", help="try documents again that failed in this run before"
    )
    parser.add_argument("--limit", metavar="N", help="a try-out: only the first N documents (input.limit)")
    parser.add_argument("--sample", metavar="SHARE", help="a try-out: only this share of the documents (input.sample)")
    told = parser.add_mutually_exclusive_group()
    told.add_argument("--quiet", "-q", action="store_true", help="show no progress, and no tables at the end")
    told.add_argument(
        "--verbose", "-v", action="store_true", help="show each shard that is done, and the slowest stage"
    )
    parser.add_argument("--log", metavar="FILE", help="lines with times go there (default: run.log in the run folder)")
    parser.add_argument("--dry-run", action="store_true", help="check everything and show what would be done")
    parser.add_argument("--json", action="store_true", help="print the summary (or the plan of a dry run) as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Check the recipe, and carry it out unless this is a dry run."""
    if given.workers is not None and given.workers < 1:
        raise UserError(f"--workers must be at least 1; got {given.workers}")
    if given.join and given.executor != "local":
        raise UserError("--join is for machines without Ray: leave out --executor")
    _start_early(given)
    recipe = load_recipe(given.recipe, [*given.set, *_tryout(given)])
    with located(recipe.file, recipe.overridden):
        return _run(given, recipe)


def _start_early(given: argparse.Namespace) -> None:
    """Start the fork server while the recipe's stages are imported here, where all is still to be done as far as is seen."""
    if given.executor != "local" or given.dry_run or "://" in (given.out or ""):
        return
    with contextlib.suppress(Exception):  # what is wrong is said when the recipe is read
        recipe = pathlib.Path(given.recipe)
        name = given.out or pathlib.Path("runs") / tomllib.loads(recipe.read_text("utf-8")).get("name", recipe.stem)
        if not holds_run(local_folder(name)):
            start_fork_server(preload_of(()))


def _tryout(given: argparse.Namespace) -> list[str]:
    """Return the changes to the recipe that ``--limit`` and ``--sample`` are, held against what these may be."""
    changes = []
    for key, kind, wanted in (("limit", int, "a whole number from 1 on"), ("sample", float, "a share from 0 to 1")):
        text = getattr(given, key)
        if text is None:
            continue
        try:
            number = kind(text.replace("_", "").replace(",", ""))
        except ValueError:
            raise UserError(f"--{key} must be {wanted}; got {text!r}") from None
        if not number > 0 or (key == "sample" and number > 1):
            raise UserError(f"--{key} must be {wanted}; got {text}")
        changes.append(f"input.{key}={number}")
    return changes


def _run(given: argparse.Namespace, recipe: Recipe) -> int:
    out = local_folder(given.out or pathlib.Path("runs") / recipe.name)
    reach(out.url)
    if given.executor == "local" and not given.dry_run and not holds_run(out):  # else what there is to do is seen first
        start_fork_server(preload_of(recipe.stages), loads_of(recipe.stages))  # while inputs are looked at here
    with executors(given.executor, given.address) as executor_of:
        plan = assemble(recipe)
        if is_own_process() and all(map(is_ours, plan.recipe.stages)):
            arrow_without_pandas()
        finished = _carry_out(given, plan, out, executor_of(plan, out)) if not given.dry_run else None
    if given.dry_run:
        described = describe(plan, out)
        print(json.dumps(described, indent=1) if given.json else dry_text(described))
        return 0
    if finished is None:
        return 0  # by another process, which has told
    write_tokens(recipe, out, given.workers or os.cpu_count() or 1)
    summary = finished.summary.as_dict()
    if given.json:
        print(json.dumps(summary, indent=1))
    elif not given.quiet:
        _tell(recipe.name, summary, results_of(out))
    for what, why in finished.summary.faults.items():
        print(visible(f"tokenmill: {what}: {why}"), file=sys.stderr)
    return 2 if finished.summary.faults else 0


def _tell(name: str, summary: dict[str, Any], results: Results) -> None:
    print(f"\n{name}: documents\n\n{funnel_text(summary)}")
    if results.budget is not None:
        print(f"\ntokens\n\n{tokens_text(results.budget)}")
    if results.plan_lines:
        print("\nplan\n\n" + lines("\n".join(results.plan_lines)))
    print("\nfiles\n\n" + table(["what", "where"], [[what, where] for what, where in results.files], left=(0, 1)))


def _carry_out(given: argparse.Namespace, plan: RunPlan, out: Folder, executor: Executor | None) -> Finished | None:
    """Carry out `plan`; return None where that was joined and another process has finished it."""
    progress = RunProgress(
        say="quiet" if given.quiet else "verbose" if given.verbose else "usual",
        log=RunLog(pathlib.Path(given.log))
        if given.log
        else RunLog(out.path("run.log") or (out, "run.log"), waits=True),
    )
    workers = given.workers or (os.cpu_count() or 1 if executor is None else 0)
    try:
        finished = _driven(given, plan, out, executor, workers, progress)
    except BaseException as error:
        progress.failed(error)
        raise
    if finished is not None:
        progress.finished(finished)
    return finished


def _driven(
    given: argparse.Namespace,
    plan: RunPlan,
    out: Folder,
    executor: Executor | None,
    workers: int,
    progress: RunProgress,
) -> Finished | None:
    """Drive the run, or with ``--join`` work for whoever does, and take its place if it dies."""
    try:
        return execute(
            plan,
            out,
            workers=workers,
            progress=progress,
            finish=add_products,
            beside=beside(plan),
            retry_failed=given.retry_failed,
            asked=given.out is not None,
            executor=executor,
            share=given.join,
        )
    except Held:
        if not given.join:
            raise
    if follow(plan, out, workers=workers, progress=progress):
        return None
    return _driven(given, plan, out, executor, workers, progress)


def _forecast(plan: RunPlan, out: Folder) -> list[dict[str, Any]]:
    """Return each pass, what it does, what is left of it, and what it cost when it was last done."""
    began = holds_run(out)
    summary = read_summary(out) if began else None
    cost = {step.name: step.cpu_seconds for step in summary.passes} if summary else {}
    ahead = forecast(plan, out) if began else []
    rows = []
    for number, step in enumerate(plan.passes):
        found = ahead[number] if ahead else None
        state = "to do"
        if found is not None and found.todo == 0:
            state = "stands"
        elif found is not None and found.todo is not None and found.total and found.todo < found.total:
            state = f"{found.total - found.todo} of {found.total} shards stand"
        begins = ", ".join(label for label, _ in step.decides)
        rows.append(
            {
                "pass": step.number,
                "name": step.name,
                "begins_with": f"deciding {begins}"
                if begins
                else "reading the input"
                if number == 0
                else "reading text",
                "stages": [label for label, _ in step.maps],
                "observes": [label for label, _ in step.observes],
                "writes": "text" if step.writes else "rows left" if step.maps or step.decides else "nothing",
                "state": state,
                "cpu_seconds_last_time": cost.get(step.name),
            }
        )
    return rows


def describe(plan: RunPlan, out: Folder) -> dict[str, Any]:
    """Return what running `plan` would do: inputs by format, columns, passes, what stands already, bytes expected."""
    check_place(plan.recipe, out)
    kinds = dict(zip((file.name for file in plan.recipe.inputs), plan.kinds, strict=True))
    sizes = sizes_of(plan.recipe.inputs)
    pages = sum(sizes.get(name, 0) for name, kind in kinds.items() if "warc" in kind or "arc" in kind)
    stored = sum(sizes.values())
    estimate = int(pages * PAGES_SHARE + (stored - pages) * TEXT_SHARE) * sum(p.writes for p in plan.passes)
    path = out.path()
    place = next((p for p in [path, *(path.parents if path else ())] if p is not None and p.exists()), None)
    return {
        "name": plan.recipe.name,
        "inputs": dict(Counter(kinds.values())),
        "input_files": len(kinds),
        "input_bytes": stored,
        "shards": len(plan.splits),
        "columns": {field.name: str(field.type) for field in plan.passes[0].schema_in},
        "columns_out": {field.name: str(field.type) for field in plan.passes[-1].schema_out},
        "passes": _forecast(plan, out),
        "tryout": str(plan.recipe.tryout),
        "notes": [*plan.recipe.notes, *plan.notes],
        "output_bytes_estimated": estimate,
        "disk_free_bytes": shutil.disk_usage(place).free if place is not None else None,
    }


def dry_text(described: dict[str, Any]) -> str:
    """Return a dry run's findings for a person."""
    inputs = ", ".join(f"{number} {kind}" for kind, number in sorted(described["inputs"].items()))
    text = [
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
        text.insert(-1, f"WARNING  only {free / 1e6:,.1f} MB are free there")
    if described["tryout"]:
        text.insert(2, f"TRY-OUT  only {described['tryout']}")
    text[2:2] = [f"note     {note}" for note in described["notes"]]
    rows = []
    for step in described["passes"]:
        does = [step["begins_with"], *step["stages"], *(f"observe for {label}" for label in step["observes"])]
        cost = step["cpu_seconds_last_time"]
        rows.append([str(step["pass"]), step["state"], "" if cost is None else f"{cost:.1f}", " > ".join(does)])
    return "\n".join(
        [lines(visible("\n".join(text))), table(["pass", "state", "CPU s last time", "what"], rows, left=(1, 3))]
    )
