"""Finds stages by name: ours and those of other packages, through one entry-point group."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pipeline.errors import RecipeError
from pipeline.stage import Stage

GROUP = "tokenmill.stages"


@cache
def stage_names() -> dict[str, EntryPoint]:
    """Return the entry point of every installed stage by its name, sorted."""
    return dict(sorted((point.name, point) for point in entry_points(group=GROUP)))


def stage_class(name: str) -> type[Stage]:
    """Return the stage class called `name`.

    Raises:
        LookupError: no such stage; the message names the nearest.
        TypeError: what the entry point names is no stage.
    """
    points = stage_names()
    if name not in points:
        raise LookupError(f"unknown stage {name!r}{did_you_mean(name, points)}; `tokenmill stages` lists them")
    found = points[name].load()
    if not (isinstance(found, type) and issubclass(found, Stage)):
        raise TypeError(f"the entry point {points[name].value} of stage {name!r} is not a stage class")
    if found.name != name:
        raise TypeError(f"{points[name].value} calls itself {found.name!r} but is registered as {name!r}")
    return found


def did_you_mean(word: str, known: object) -> str:
    """Return ``; did you mean X?`` for the word in `known` nearest to `word`, or nothing where none is near."""
    near = difflib.get_close_matches(str(word), [str(k) for k in known], n=1, cutoff=0.55)  # type: ignore[attr-defined]
    return f"; did you mean {near[0]}?" if near else ""


def known_keys(place: str, table: Iterable[str], known: Sequence[str]) -> None:
    """Raise RecipeError for a key of `table` that is not among `known`, naming the nearest, or all of them."""
    for key in table:
        if key not in known:
            dotted = f"{place}.{key}" if place else key
            raise RecipeError(dotted, f"unknown{did_you_mean(key, known) or '; known: ' + ', '.join(known)}")
