"""``tokenmill stages``: what stages there are, and each one's parameters, from the code itself."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import sys
import textwrap
import typing
from typing import Any

from pipeline.corpus_stage import CorpusStage
from pipeline.errors import UserError
from pipeline.registry import refused_stages, stage_class, stage_names
from tokenmill.documentation import class_of, field_documents
from tokenmill.terminal import lines


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("stages", help="list the stages, or show one: parameters, defaults, documentation")
    parser.add_argument("name", nargs="?", help="stage to show; without it, all are listed")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print one stage, or the list of all."""
    if given.name is None:
        described = described_stages()
        if given.json:
            print(json.dumps(described, indent=1))
        else:
            print(lines(listing(described)))
        return 0
    one = describe(given.name)
    print(json.dumps(one, indent=1) if given.json else lines(page(one)))
    return 0


def described_stages() -> list[dict[str, Any]]:
    """Return `describe` of every stage that can be loaded, and name on standard error those that are left out."""
    described = []
    left_out = list(refused_stages())
    for name in stage_names():
        try:
            described.append(describe(name))
        except Exception as error:  # what a package of others declares may be anything
            said = str(error) if isinstance(error, UserError) else f"stage {name!r}: {type(error).__name__}: {error}"
            left_out.append(said)
    for said in left_out:
        print(f"left out: {said}", file=sys.stderr)
    return described


def describe(name: str) -> dict[str, Any]:
    """Return what the code says of stage `name`: kind, documentation, source, parameters."""
    try:
        kind = stage_class(name)
    except (LookupError, TypeError) as error:
        raise UserError(str(error)) from error
    hints = typing.get_type_hints(kind)
    documented = field_documents(kind)
    documentation = ast.get_docstring(class_of(kind)) or inspect.getdoc(kind) or ""  # python -OO drops the second
    parameters = [
        {
            "name": f.name,
            "type": _type_name(hints[f.name]),
            "default": default_of(f),
            "documentation": documented.get(f.name, ""),
        }
        for f in dataclasses.fields(kind)
    ]
    return {
        "name": name,
        "kind": "corpus" if issubclass(kind, CorpusStage) else "map",
        "summary": documentation.split("\n")[0],
        "documentation": documentation,
        "published": kind.published,
        "needs": list(kind.needs),
        "parameters": parameters,
        "source": f"{kind.__module__}:{kind.__qualname__}",
    }


def _type_name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")


def default_of(field: dataclasses.Field) -> str:
    """Return the default as a recipe would write it; empty where a value must be given."""
    if field.default is not dataclasses.MISSING:
        value = field.default
    elif field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    else:
        return ""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def listing(described: list[dict[str, Any]]) -> str:
    """Return one line per stage."""
    width = max(len(stage["name"]) for stage in described)
    lines = [f"{stage['name']:<{width}}  {stage['kind']:<6}  {stage['summary']}" for stage in described]
    return "\n".join([*lines, "", "`tokenmill stages NAME` shows parameters and sources."])


def page(stage: dict[str, Any]) -> str:
    """Return the page of one stage."""
    lines = [f"{stage['name']} ({stage['kind']} stage, {stage['source']})", ""]
    lines += [stage["documentation"], ""]
    if stage["published"]:
        lines += [f"Published: {stage['published']}", ""]
    lines.append(f"Needs columns: {', '.join(stage['needs']) or 'none'}")
    lines += ["", "Parameters:"]
    for parameter in stage["parameters"]:
        default = f" = {parameter['default']}" if parameter["default"] else " (must be given)"
        lines.append(f"  {parameter['name']}: {parameter['type']}{default}")
        lines += textwrap.wrap(parameter["documentation"], 100, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(lines)
