"""``tokenmill plan``: price a training run before it is asked for, and hold the plan against the run afterwards."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import tomllib
import webbrowser
from pathlib import Path
from typing import Any

from pipeline.storage import Folder
from planner.errors import PlanError, near
from planner.estimate.inputs import cluster_from, wants_model
from planner.estimate.options import GROUPS, OPTIONS
from planner.estimate.way_back import way_back
from planner.facts.hardware import ACCELERATORS
from planner.model.flops import RECOMPUTE
from planner.model.shapes import presets
from planner.plan import inputs_from, make_plan
from planner.report import compare, comparison, guess, questions, validate
from planner.report import way_back as report_way_back
from planner.report.quantity import Answer
from tokenmill.plan_files import read_object, with_config
from tokenmill.plan_measure import MeasureOptions, measure
from tokenmill.terminal import lines

SUB_QUESTIONS = {
    "fit": "does it fit: memory per GPU by term, the largest model and micro-batch, the smallest change that makes it fit",
    "time": "does it finish, what does it cost: FLOPs, days, bill, the four moves, what to measure first",
    "scale": "compute-optimal sizes with intervals, over-training, epochs, lifetime",
    "layout": "parallel layouts: the Pareto table and what binds each",
    "vocab": "vocabulary size from the budget's measured totals",
    "serving": "decoding speed and price by batch, and when a smaller model repays itself",
    "checkpoint": "failures, best checkpoint interval, goodput",
    "guess": "asks for days, GPU-hours, memory and the optimum before it answers, and keeps both in --write PLAN.json",
    "compare": "PLAN.json MEASURED.json: which term was missed, and what to assume next",
    "measure": "run a few real training steps here (needs torch) and write measured.json",
    "validate": "our estimates against published runs and worked examples",
    "serve": "the planner as a page on this machine, in a browser: sliders, a formula for every number, a link that holds it all",
    "page": "--static FILE: the planner as one file that works offline; not built, and it says why",
    "list": "the models and accelerators known by name",
}
NO_PAGE = (
    "page: there is no version of the planner in one file, for it computes with numpy and the Pyodide package on npm holds none "
    "(docs/pages.md); `tokenmill plan serve` answers on this machine without a network, `--write plan.json` keeps a plan"
)
FLAGS = ("flash", "ema")


def add_parser(commands: Any) -> None:
    """Register the command."""
    listed = "\n".join(f"  {name:<11}{text}" for name, text in SUB_QUESTIONS.items())
    parser = commands.add_parser(
        "plan",
        help="price a training run: does it fit, does it finish, what does it cost",
        description="Without a QUESTION, the whole plan. Questions:\n" + listed,
        epilog="Numbers may be written 7e9, 7B, 300B or 15T; ranges LOW:HIGH. GB is 1e9 bytes, GiB 2^30; peaks are dense.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", nargs="?", metavar="QUESTION", help="one of the questions above")
    parser.add_argument("files", nargs="*", metavar="FILE", help="for compare: plan.json measured.json")
    parser.add_argument("--budget", metavar="FILE", help="token_budget.json of a run, or the folder of the run")
    parser.add_argument("--recipe", metavar="FILE", help="a recipe whose [plan] table is taken; options given here win")
    for title, (example, names) in GROUPS.items():
        group = parser.add_argument_group(title, f"as in: {example}")
        for name in names:
            _add_option(group, name)
    parser.add_argument(
        "--guess", metavar="NAME=NUMBER,...", help="for guess: days, gpu_hours, memory_gib, optimal_parameters"
    )
    parser.add_argument("--port", default=None, help="for serve: port on this machine (8310; 0: any free one)")
    parser.add_argument("--open", action="store_true", help="for serve: open the page in a browser")
    parser.add_argument("--static", metavar="FILE", help="for page: the file")
    parser.add_argument("--steps", default="5", help="for measure: timed steps")
    parser.add_argument("--device", default="auto", help="for measure: auto, cpu or cuda")
    parser.add_argument("--json", action="store_true", help="as JSON, the unit in every key")
    parser.add_argument("--explain", action="store_true", help="formula, inputs and source below every number")
    parser.add_argument("--brief", action="store_true", help="the answer only, without the details")
    parser.add_argument("--write", metavar="FILE", help="write there: plan.json, measured.json or the validation page")
    parser.set_defaults(run=run)


def _add_option(group: Any, name: str) -> None:
    flag = f"--{name.replace('_', '-')}"
    if name in FLAGS:
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=OPTIONS[name].help)
    else:
        group.add_argument(flag, metavar=name.split("_")[-1].upper(), help=OPTIONS[name].help)


def run(given: argparse.Namespace) -> int:
    """Answer the question. Bad input is one line on stderr and 2."""
    try:
        code = _answer(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PlanError as error:
        print(f"tokenmill: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tokenmill: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2


def _answer(given: argparse.Namespace) -> int:
    question = given.question
    if question is not None and question not in SUB_QUESTIONS:
        raise PlanError(f"plan: no question {question!r}{near(question, SUB_QUESTIONS)}")
    if question == "compare":
        return _compare(given)
    if given.files:
        raise PlanError(f"plan {question}: takes no file {given.files[0]!r} (the budget goes behind --budget)")
    if question == "guess":
        return _guess(given)
    if question == "measure":
        return _measure(given)
    if question == "validate":
        return _validate(given)
    if question == "list":
        return _list(given)
    if question == "serve":
        return _serve(given)
    if question == "page":
        raise PlanError(NO_PAGE)
    table, budget = _table(given), _budget(given.budget)
    if question is None and wants_model(table):
        return _print(given, report_way_back.answer(way_back(cluster_from(table, budget))))
    if question is not None:
        return _print(given, questions.answer(question, inputs_from(table, budget)))
    plan = make_plan(inputs_from(table, budget))
    if given.write:
        Path(given.write).write_text(json.dumps(plan.as_dict(), indent=1) + "\n", encoding="utf-8")
    if given.json:
        print(json.dumps(plan.as_dict(), indent=1))
    else:
        print(lines("\n".join(plan.summary_lines() if given.brief else plan.lines(given.explain))))
    return 0


def _table(given: argparse.Namespace) -> dict[str, Any]:
    """The `[plan]` table: a recipe's, overridden by options."""
    table: dict[str, Any] = {}
    if given.recipe:
        try:
            table = dict(tomllib.loads(Path(given.recipe).read_text(encoding="utf-8")).get("plan", {}))
        except tomllib.TOMLDecodeError as error:
            raise PlanError(f"{given.recipe}: {error}") from error
    options = {name: getattr(given, name) for name in OPTIONS if getattr(given, name) is not None}
    if "model" in options:
        table.pop("parameters", None)
    if "parameters" in options:
        table.pop("model", None)
    return with_config({**table, **options})


def _budget(path: str | None) -> dict[str, Any] | None:
    """The budget, with the CPU time of the run beside it when the budget itself does not carry one."""
    if path is None:
        return None
    if Path(path).is_dir() or ("://" in path and not path.endswith(".json")):
        path = f"{path.rstrip('/')}/token_budget.json"
    budget = read_object(path)
    folder = Folder(path.rpartition("/")[0] or ".")
    if "cpu_seconds" not in budget and folder.exists("summary.json"):
        tally = read_object(f"{folder.url}/summary.json")
        passes = [p for p in tally.get("passes", []) if isinstance(p, dict)]
        seconds = tally.get("cpu_seconds") or sum(p.get("cpu_seconds") or 0.0 for p in passes)
        if seconds:
            budget["cpu_seconds"] = seconds
    return budget


def _print(given: argparse.Namespace, answer: Answer) -> int:
    if given.json:
        out = answer.as_dict()
        if given.explain:
            out["explain"] = answer.explanations()
        print(json.dumps(out, indent=1))
    else:
        print(lines("\n".join(answer.headline if given.brief else answer.lines(given.explain))))
    return 0


def _guess(given: argparse.Namespace) -> int:
    """The builder's test: the guesses first, then the plan, both kept."""
    plan = make_plan(inputs_from(_table(given), _budget(given.budget)))
    if given.guess:
        pairs = [pair.partition("=") for pair in given.guess.split(",")]
        guesses = guess.read({name.strip(): text.strip() for name, _, text in pairs})
    else:
        guesses = guess.read(_ask())
    if not guesses:
        raise PlanError("guess: nothing was guessed; write days=20,gpu_hours=31k behind --guess, or answer when asked")
    if given.write:
        kept = {**plan.as_dict(), **guess.record(plan, guesses)}
        Path(given.write).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return _print(given, guess.answer(plan, guesses))


def _ask() -> dict[str, str]:
    """Answers from the terminal, an empty line for none; what is typed so that the answer on stdout stays clean."""
    out = {}
    for name, question in guess.QUESTIONS.items():
        print(f"{question} ", end="", file=sys.stderr, flush=True)
        text = sys.stdin.readline().strip()
        if text:
            out[name] = text
    return out


def _compare(given: argparse.Namespace) -> int:
    if len(given.files) != 2:
        raise PlanError("plan compare: takes two files, plan.json and measured.json")
    found = compare.compare(read_object(given.files[0]), read_object(given.files[1]))
    return _print(given, comparison.answer(found))


def _measure(given: argparse.Namespace) -> int:
    table = {**_table(given), "gpu": "custom", "peak": "1", "memory": "1", "gpus": "1"}
    inputs = inputs_from(table, None)
    options = MeasureOptions(
        seq=inputs.seq, micro_batch=inputs.micro_batch or 1, steps=int(_whole(given.steps)), device=given.device,
        dtype=given.dtype or "fp32",
    )  # fmt: skip
    found = measure(inputs.model, options)
    text = json.dumps(found, indent=1)
    if given.write:
        Path(given.write).write_text(text + "\n", encoding="utf-8")
    if given.json or not given.write:
        print(text)
    else:
        speed, best = found["tokens_per_second"], found["matmul_flop_per_s"]
        print(
            f"{found['step_seconds']:.3f} s per step, {speed:,.0f} tokens/s on {found['device']}; best matmul {best / 1e12:.3g} TFLOP/s"
        )
        print(f"written to {given.write}")
    return 0


def _serve(given: argparse.Namespace) -> int:
    """Answer in a browser until interrupted."""
    from tokenmill.plan_serve import PORT, serve  # the page's parts, which other questions need not wait for

    port = PORT if given.port is None else int(given.port) if given.port.isdigit() else -1
    if not 0 <= port < 65536:
        raise PlanError(f"port: must be a number from 0 to 65535, not {given.port!r}")

    def ready(address: str) -> None:
        print(f"the planner is at {address} (Ctrl-C ends it)", flush=True)
        if given.open:
            webbrowser.open(address)

    try:
        serve(_budget(given.budget), port, ready)
    except OSError as error:
        raise PlanError(f"port {port}: {error.strerror}; choose another with --port") from error
    return 0


def _whole(text: str) -> float:
    if not text.isdigit() or text == "0":
        raise PlanError(f"steps: must be a whole number above zero, not {text!r}")
    return int(text)


def _validate(given: argparse.Namespace) -> int:
    if given.write:
        Path(given.write).write_text(validate.markdown(), encoding="utf-8")
    _print(given, validate.answer())
    return 1 if validate.failures() else 0


def _list(given: argparse.Namespace) -> int:
    found = {"models": presets(), "gpus": list(ACCELERATORS), "recompute": list(RECOMPUTE)}
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for name, values in found.items():
            print(textwrap.fill(f"{name}: {', '.join(values)}", 100, subsequent_indent="  "))
    return 0
