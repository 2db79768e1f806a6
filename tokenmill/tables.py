"""From a recipe to a run plan: the recipe's stages, and behind them those that its other tables mean.

``[tokenizer]`` means two corpus stages at the end: one that counts pretokens and trains the ladder of
tokenizers, one that counts the tokens of every document at every vocabulary size.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from pipeline.errors import RecipeError
from pipeline.recipe import Recipe, stage_from
from pipeline.registry import stage_class
from pipeline.run.plan import RunPlan, plan_run
from tokenmill.token_shards import check_tokens

TRAIN, COUNT = "train_tokenizers", "token_counts"


def assemble(recipe: Recipe) -> RunPlan:
    """Return what running `recipe` means, all of it checked. Raises UserError for any fault."""
    stages = list(recipe.stages)
    if "tokenizer" in recipe.tables:
        if any(stage.name in (TRAIN, COUNT) for stage in stages):
            raise RecipeError("tokenizer", f"the recipe also names the stage {TRAIN} or {COUNT}; give one of the two")
        stages.append(stage_from(stage_class(TRAIN), recipe.tables["tokenizer"], recipe.folder, "tokenizer"))
        stages.append(stage_from(stage_class(COUNT), recipe.tables.get("report", {}), recipe.folder, "report"))
    elif "report" in recipe.tables:
        raise RecipeError("report", "needs a [tokenizer] table: it reports token counts")
    if "tokens" in recipe.tables:
        check_tokens(recipe)
    if "plan" in recipe.tables:
        check_plan(recipe.tables["plan"], "tokenizer" in recipe.tables)
    return plan_run(dataclasses.replace(recipe, stages=tuple(stages)))


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
