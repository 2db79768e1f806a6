"""From a recipe to a run plan: the recipe's stages, and behind them those that its other tables mean.

``[tokenizer]`` means two corpus stages at the end: one that counts pretokens and trains the ladder of
tokenizers, one that counts the tokens of every document at every vocabulary size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.errors import RecipeError
from pipeline.readers import InputFile, detect_format
from pipeline.readers.contract import DEFAULT_SOURCE
from pipeline.recipe import Recipe, stage_from
from pipeline.recipe_lines import located
from pipeline.registry import did_you_mean, stage_class
from pipeline.run.plan import RunPlan, plan_run
from pipeline.stage import DocumentStage, Stage
from stages.custom.function import FunctionStage, PythonStage
from stages.language.names import complaint
from stages.mixing.mix import Mix
from tokenmill.token_shards import check_tokens

TRAIN, COUNT = "train_tokenizers", "token_counts"


def assemble(recipe: Recipe) -> RunPlan:
    """Return what running `recipe` means, all of it checked. Raises UserError for any fault."""
    with located(recipe.file, recipe.overridden):
        return _assembled(recipe)


def _assembled(recipe: Recipe) -> RunPlan:
    stages = list(recipe.stages)
    if "tokenizer" in recipe.tables:
        if any(stage.name in (TRAIN, COUNT) for stage in stages):
            raise RecipeError("tokenizer", f"the recipe also names the stage {TRAIN} or {COUNT}; give one of the two")
        stages.append(stage_from(stage_class(TRAIN), recipe.tables["tokenizer"], recipe.folder, "tokenizer"))
        stages.append(stage_from(stage_class(COUNT), recipe.tables.get("report", {}), recipe.folder, "report"))
    elif "report" in recipe.tables:
        raise RecipeError("report", "needs a [tokenizer] table: it reports token counts")
    check_languages(stages)
    if "tokens" in recipe.tables:
        check_tokens(recipe)
    check_mix(recipe, stages)
    if "plan" in recipe.tables:
        check_plan(recipe.tables["plan"], "tokenizer" in recipe.tables)
    return plan_run(dataclasses.replace(recipe, stages=tuple(stages)))


def check_languages(stages: Sequence[Stage]) -> None:
    """Raise RecipeError for a stage that applies `only` to a language that is none."""
    for number, stage in enumerate(stages):
        for language in stage.only if isinstance(stage, DocumentStage) else ():
            problem = complaint(language)
            if problem:
                raise RecipeError(f"stages[{number}].only", problem)


def check_mix(recipe: Recipe, stages: Sequence[Stage]) -> None:
    """Raise RecipeError where a mixture or ``tokens.epochs`` names other sources than the inputs have, as far as the recipe
    tells these."""
    epochs = recipe.tables.get("tokens", {}).get("epochs", {})
    if not epochs and not any(isinstance(stage, Mix) for stage in stages):
        return
    sources = {file.source or _own_source(file) for file in recipe.inputs}
    if None in sources:
        return
    known = sorted(source for source in sources if source)
    for number, stage in enumerate(stages):
        if isinstance(stage, (PythonStage, FunctionStage)) or any(column.name == "source" for column in stage.adds):
            return
        if not isinstance(stage, Mix):
            continue
        key, named = ("weights", stage.weights) if stage.weights else ("fractions", stage.fractions)
        _check_names(f"stages[{number}].{key}", [s for s, value in named.items() if value or stage.fractions], known)
        _check_names(f"stages[{number}].epochs", stage.epochs, known)
        missing = next((source for source in known if source not in named and stage.weights), None)
        if missing is not None:
            problem = f"name no {missing!r}, a source of the inputs: give each a weight (0 leaves it out)"
            raise RecipeError(f"stages[{number}].{key}", problem)
    _check_names("tokens.epochs", epochs, known)


def _check_names(key: str, named: Iterable[str], known: Sequence[str]) -> None:
    unknown = next((source for source in named if source not in known), None)
    if unknown is not None:
        near = did_you_mean(unknown, known)
        raise RecipeError(key, f"no input has the source {unknown!r}{near}; there are: {', '.join(known)}")


def _own_source(file: InputFile) -> str | None:
    """Return the source of documents that the recipe gives none: that of crawls is known; None where the file may say."""
    return DEFAULT_SOURCE if detect_format(file).startswith(("warc", "wet", "arc")) else None


def check_plan(table: dict[str, Any], has_budget: bool) -> None:
    """Raise RecipeError for a ``[plan]`` table that cannot work; a budget is not needed for that."""
    from planner.plan import PlanError, inputs_from  # a fifth of a second that other recipes need not wait
    from tokenmill.plan_files import with_config

    if not has_budget and "tokens" not in table:
        raise RecipeError("plan", "needs tokens: add a [tokenizer] table, or plan.tokens = 15e12")
    try:
        inputs_from(with_config(table), None)
    except PlanError as error:
        text = str(error)
        place, _, problem = text.partition(": ") if text.startswith("plan") else ("plan", "", text)
        raise RecipeError(place, problem) from error
