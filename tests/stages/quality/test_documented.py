"""The recipe that the documentation gives is one."""

import pathlib
import re
import tomllib

from pipeline.recipe import build_stage

FILTERS = (pathlib.Path(__file__).resolve().parents[3] / "docs/filters.md").read_text("utf-8")


def test_the_recipe_of_fineweb2_can_be_built():
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", FILTERS, re.DOTALL)]
    recipe = next(block for block in blocks if block.get("name") == "fineweb2")
    stages = [build_stage(table, pathlib.Path("/"), "here") for table in recipe["stage"]]
    assert [stage.variant for stage in stages[3:6]] == ["fineweb2"] * 3
    assert "c4" not in {stage.name for stage in stages}
