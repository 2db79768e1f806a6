"""What has changed since a run: its recipe file and its inputs, as they are now, against what the run has read."""

from __future__ import annotations

import json
import pathlib
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import UserError
from pipeline.input_names import without_places
from pipeline.readers import InputFile
from pipeline.recipe_inputs import read_inputs
from pipeline.run.execution import DONE, date
from pipeline.run.folder import Manifest, Unfinished, read_manifest
from pipeline.run.inputs import FILE as MARKS
from pipeline.storage import Folder, digest_file
from pipeline.worker.read import changed_at

NAMED = 3
"""Settings or files named of each kind."""
READ_AGAIN = 256_000_000
"""A file no larger than this whose time alone has changed is read again to tell whether its content has."""


def changed_since(manifest: Manifest, out: Folder) -> list[str]:
    """Return in words what differs now from what the run in `out` has read: settings of the recipe file, input files.

    Empty where nothing does. Only this machine is asked; of a recipe that was built in Python there is nothing to ask.
    """
    if not manifest.recipe_file:
        return []
    file = pathlib.Path(manifest.recipe_file)
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        return [f"the recipe file cannot be read here ({error.strerror}), so what has changed since is not known"]
    except ValueError:
        return ["the recipe file is no longer TOML"]
    return [*_settings(manifest, table), *_inputs(manifest, file.parent, out)]


def superseded(out: Folder, later: Unfinished) -> str:
    """Return what a person must know of a folder in which a run has finished and a `later` one has not: which of them stands."""
    manifest = read_manifest(out)
    assert manifest is not None
    made = next((f" of {date(e.started + e.seconds)}" for e in reversed(manifest.executions) if e.ended == DONE), "")
    why = f" ({later.error})" if later.error else " (it was stopped, or is at work)"
    changed = changed_since(manifest, out)
    of_what = f", of other settings or inputs ({'; '.join(changed)})" if changed else ""
    passes = [step["folder"].rpartition("-")[0] for step in later.passes]
    come = f"it has come to pass {passes[-1]}" if passes else "it has not come to its first pass"
    return (
        f"a later run in this folder{of_what} has not finished{why}: {come}, and nothing of it is published. "
        f"What stands here, and is told below, is what the one before it made{made}"
    )


def _settings(manifest: Manifest, table: dict[str, Any]) -> list[str]:
    now = json.loads(json.dumps(table, default=str))
    now.setdefault("name", manifest.recipe.get("name", manifest.name))
    for place in manifest.overridden:
        _override(now, manifest.recipe, place)
    keys = [key for key, _, _ in differing({**manifest.recipe, "name": manifest.name}, now)]
    return [f"the recipe file differs in {_named(keys)}"] if keys else []


def _override(now: dict[str, Any], then: Mapping[str, Any], place: str) -> None:
    """Give `now` the value at `place` (``stages[2].key`` or ``table.key``) that the command line gave the run."""
    owner, _, key = place.rpartition(".")
    if owner.startswith("stages["):
        at = int(owner[7:-1])
        stages = now.get("stage", [])
        if at < len(stages) and at < len(then.get("stage", [])):
            stages[at][key] = then["stage"][at].get(key)
    elif key in then.get(owner, {}):
        now.setdefault(owner, {})[key] = then[owner][key]


def _inputs(manifest: Manifest, folder: pathlib.Path, out: Folder) -> list[str]:
    try:
        files = read_inputs(manifest.recipe.get("input"), folder).files
    except UserError as error:
        return [f"the inputs are no longer there: {error}"]
    if not (manifest.recipe.get("output") or {}).get("absolute_paths"):
        files = without_places(files)
    marks = out.get_json(MARKS) if out.exists(MARKS) else {}
    then, now = {about["file"] for about in manifest.inputs}, {file.name for file in files}
    other = [file.name for file in files if file.name in then and _differs(file, marks.get(file.name))]
    said = [("new input", sorted(now - then)), ("input gone", sorted(then - now)), ("input changed", other)]
    return [f"{what}: {_named(names)}" for what, names in said if names]


def _differs(file: InputFile, mark: Sequence[Any] | None) -> bool:
    """Return whether `file` is another than at its `mark` (size, time of change, SHA-256); one elsewhere is not looked at."""
    now = changed_at(file.path)
    if now is None or mark is None or list(now) == list(mark[:2]):
        return False
    return now[0] != mark[0] or now[0] > READ_AGAIN or digest_file(file.path) != mark[2]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def differing(a: Any, b: Any, place: str = "") -> list[tuple[str, Any, Any]]:
    """Return (key, value, value) of each leaf in which two recipes differ; stages are told apart by what they use."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        keys = [*a, *(key for key in b if key not in a)]
        return [row for key in keys for row in differing(a.get(key), b.get(key), f"{place}.{key}".lstrip("."))]
    if place == "stage" and isinstance(a, list) and isinstance(b, list):
        return differing(_by_use(a), _by_use(b))
    return [] if a == b else [(place, a, b)]


def _by_use(stages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the stages of a recipe by their labels: a second of the same kind is NAME#2."""
    seen: Counter[str] = Counter()
    found = {}
    for stage in stages:
        name = str(stage.get("use"))
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name}#{seen[name]}"] = stage
    return found
