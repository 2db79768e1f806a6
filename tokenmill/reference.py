"""The page ``docs/recipe.md``, made from the code: every table of a recipe, its keys, their defaults and meanings.

python -m tokenmill.reference > docs/recipe.md
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterable, Sequence

from pipeline.recipe import LedgerOptions, Limits, OutputOptions, in_words
from pipeline.recipe_inputs import InputOptions
from pipeline.registry import stage_class, stage_names
from planner.estimate.options import GROUPS, OPTIONS
from tokenmill.commands.stages import default_of
from tokenmill.documentation import field_documents
from tokenmill.recipes import recipe_names, recipe_text
from tokenmill.token_shards import TokensTable

HEAD = """# The recipe

A recipe is a TOML file. This page is made from the code (`python -m tokenmill.reference > docs/recipe.md`) and held against
it by a test. `tokenmill init FILES` writes a recipe for files of yours; `tokenmill stages NAME` shows a stage in a terminal.
A value can be changed for one run by `--set TABLE.KEY=VALUE` or `--set STAGE.KEY=VALUE`. Paths are relative to the recipe.

| table | |
|---|---|
| `name` | What the run is called, and its folder below `runs/`; the file's name if not given |
| [`[input]`](#input) | What is read |
| [`[[stage]]`](#stage) | What becomes of the documents: one table a stage, in order |
| [`[tokenizer]`](#tokenizer) | Tokenizers that are trained on what is kept |
| [`[report]`](#report) | How their tokens are counted; needs `[tokenizer]` |
| [`[tokens]`](#tokens) | Token shards of the final corpus; needs `[tokenizer]` or a `tokenizer` |
| [`[plan]`](#plan) | What a training run on the corpus takes |
| [`[output]`](#output) | What the final corpus looks like |
| [`[ledger]`](#ledger) | What is kept of the text of documents that leave |
| [`[limits]`](#limits) | What a document and a worker may take, and how input is cut |
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, _table("input", InputOptions), _stages()]
    parts += [_of_stage("tokenizer", "train_tokenizers"), _of_stage("report", "token_counts")]
    parts += [_table("tokens", TokensTable), _plan()]
    parts += [_table("output", OutputOptions), _table("ledger", LedgerOptions), _table("limits", Limits), _published()]
    return "\n".join(parts)


def _table(name: str, kind: type) -> str:
    about = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    return f"## [{name}]\n\n{about}\n\n{_keys(kind)}"


def _keys(kind: type) -> str:
    hints, documents = typing.get_type_hints(kind), field_documents(kind)
    rows = []
    for field in dataclasses.fields(kind):
        default = default_of(field)
        given = "must be given" if not default else "" if default == "null" else f"`{default}`"
        rows.append((f"`{field.name}`", in_words(hints[field.name]), given, documents.get(field.name, "")))
    return markdown(("key", "value", "default", "meaning"), rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(" ".join(c.replace("|", "\\|").split()) for c in line) + " |\n" for line in lines)


def _stages() -> str:
    parts = ["## [[stage]]\n\nA stage is named by `use`; the other keys are its parameters.\n"]
    ours = [name for name, point in stage_names().items() if point.value.startswith("stages.")]
    for name in ours:
        if name in ("train_tokenizers", "token_counts"):
            continue
        kind = stage_class(name)
        about = inspect.getdoc(kind) or ""
        published = f"\nPublished: {kind.published}.\n" if kind.published else ""
        parts.append(f"### `{name}`\n\n{about}\n{published}\n{_keys(kind)}")
    return "\n".join(parts)


def _of_stage(table: str, stage: str) -> str:
    kind = stage_class(stage)
    keys = _keys(kind)
    return f"## [{table}]\n\n{inspect.getdoc(kind)}\n\n{keys}"


def _plan() -> str:
    rows = []
    for title, (_, names) in GROUPS.items():
        rows += [(f"`{name}`", title, OPTIONS[name].help) for name in names]
    about = (
        "A model, a GPU and their number are enough to begin with; `tokenmill plan list` names those that are known."
    )
    return f"## [plan]\n\n{about}\n\n{markdown(('key', 'about', 'meaning'), rows)}"


def _published() -> str:
    """Return the published recipes, as `tokenmill init --like` takes them."""
    parts = ["## Published recipes\n\n`tokenmill init --like NAME` begins with one of these."]
    for name in recipe_names():
        parts.append(f"### {name}\n\n```toml\n{recipe_text(name).strip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
