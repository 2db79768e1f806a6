"""Published pipelines as recipes: order and thresholds, each with its source."""

from __future__ import annotations

import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def recipe_names() -> list[str]:
    """Return the names of the published recipes."""
    return sorted(file.stem for file in HERE.glob("*.toml"))


def recipe_text(name: str) -> str:
    """Return the recipe `name`, a TOML text."""
    return (HERE / f"{name}.toml").read_text("utf-8")
