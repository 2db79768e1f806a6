"""Finds stages by name: ours and those of other packages, through one entry-point group."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pipeline.errors import RecipeError
from pipeline.prints import prints_aside
from pipeline.stage import Stage

GROUP = "tokenmill.stages"
OURS = "tokenmill"
"""The distribution whose stages nobody else's take the place of."""


class BrokenStage(LookupError):
    """A stage of another package that cannot be loaded."""


@cache
def _installed() -> tuple[dict[str, EntryPoint], tuple[str, ...]]:
    """Return the entry point of every stage by name, sorted, and what was refused, in words."""
    offers: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        offers.setdefault(point.name, {}).setdefault(_package(point), point)
    points, refused = {}, []
    for name, offered in sorted(offers.items()):
        others = sorted(package for package in offered if package != OURS)
        if OURS in offered:
            points[name] = offered[OURS]
            refused += [
                f"stage {name!r} of package {package}: it is called like one of {OURS}'s own" for package in others
            ]
        elif len(others) == 1:
            points[name] = offered[others[0]]
        else:
            refused.append(f"stage {name!r}: packages {' and '.join(others)} both have one; uninstall all but one")
    return points, tuple(refused)


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else str(point.dist.name).lower().replace("_", "-")


def stage_names() -> dict[str, EntryPoint]:
    """Return the entry point of every installed stage by its name, sorted."""
    return _installed()[0]


def refused_stages() -> tuple[str, ...]:
    """Return what other packages offer under a name that is taken, in words."""
    return _installed()[1]


def stage_class(name: str) -> type[Stage]:
    """Return the stage class called `name`.

    Raises:
        LookupError: no such stage; the message names the nearest.
        BrokenStage: it cannot be loaded; the message names its package.
        TypeError: what the entry point names is no stage.
    """
    points = stage_names()
    if name not in points:
        taken = next((f"; {line}" for line in refused_stages() if line.startswith(f"stage {name!r}")), "")
        near = taken or did_you_mean(name, points)
        raise LookupError(f"unknown stage {name!r}{near}; `tokenmill stages` lists them")
    found = _loaded(points[name])
    if not (isinstance(found, type) and issubclass(found, Stage)):
        raise TypeError(f"the entry point {points[name].value} of stage {name!r} is not a stage class")
    if found.name != name:
        raise TypeError(f"{points[name].value} calls itself {found.name!r} but is registered as {name!r}")
    return found


def _loaded(point: EntryPoint) -> Any:
    try:
        with prints_aside():
            return point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may do anything when it is imported
        raise BrokenStage(
            f"stage {point.name!r} of package {_package(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


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
