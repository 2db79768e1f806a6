"""The files around a plan: the planner itself takes tables and gives tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.storage import local_copy
from planner.errors import PlanError


def read_object(path: str | Path, name: str = "") -> dict[str, Any]:
    """The JSON object in a file. Raises PlanError when it is absent, not JSON, or no object."""
    place = f"{name}: " if name else ""
    try:
        value = json.loads(local_copy(str(path)).read_text(encoding="utf-8"))
    except InputError as error:
        raise PlanError(f"{place}{error}") from error
    except OSError as error:
        raise PlanError(f"{place}cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise PlanError(f"{place}{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise PlanError(f"{place}{path} holds no JSON object")
    return value


def with_config(table: Mapping[str, Any], place: str = "plan") -> dict[str, Any]:
    """A `[plan]` table whose `model = "…/config.json"` is replaced by what that file holds."""
    model = table.get("model")
    if not isinstance(model, str) or not model.endswith(".json"):
        return dict(table)
    path = Path(model)
    config = read_object(model, f"{place}.model")
    name = config.get("_name_or_path") or (path.parent.name if path.name == "config.json" else path.stem)
    return {**table, "model": {**config, "_name_or_path": name or "config"}}
