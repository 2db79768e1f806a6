"""Refusals: one exception, and the checks that raise it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable


class PlanError(ValueError):
    """An input the planner refuses; the message says which one, why, and what would be accepted."""


MANY = 60
"""Names that a refusal still lists."""


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean x or y?` for the closest known names, else the list of them all."""
    names = sorted(known)
    folded = {n.lower(): n for n in names}
    close = [folded[n] for n in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)]
    if not close:
        close = [n for n in names if name and n.lower().startswith(name.lower()[:3])][:3]
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; known: {', '.join(names)}" if len(names) <= MANY else f"; {len(names)} are known (tokenmill plan list)"


def finite(name: str, value: object) -> float:
    """`value` as a finite float, or PlanError naming `name`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlanError(f"{name}: {value!r} is not a number")
    if not math.isfinite(value):
        raise PlanError(f"{name}: {value} is not a finite number")
    return float(value)


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero, or PlanError naming `name`."""
    number = finite(name, value)
    if number <= 0:
        raise PlanError(f"{name}: must be above zero, not {value}")
    return number


def not_negative(name: str, value: object) -> float:
    """`value` as a finite float of zero or more, or PlanError naming `name`."""
    number = finite(name, value)
    if number < 0:
        raise PlanError(f"{name}: must not be negative, but is {value}")
    return number


def whole(name: str, value: object, minimum: int = 1) -> int:
    """`value` as an int of at least `minimum`, or PlanError naming `name`."""
    number = finite(name, value)
    if number != int(number):
        raise PlanError(f"{name}: must be a whole number, not {value}")
    if number < minimum:
        raise PlanError(f"{name}: must be at least {minimum}, not {int(number)}")
    return int(number)


def share(name: str, value: object) -> float:
    """`value` as a share in 0 < x <= 1, or PlanError naming `name`."""
    number = positive(name, value)
    if number > 1:
        raise PlanError(f"{name}: is a share of one, so at most 1, not {value} (write 40 % as 0.40)")
    return number


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    """`value` if it is a known name, else PlanError with the nearest ones."""
    names = list(known)
    if value not in names:
        raise PlanError(f"{name}: {value!r} is unknown{near(str(value), names)}")
    return str(value)
