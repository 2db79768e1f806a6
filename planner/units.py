"""Units, kept apart by name, and how numbers are written for people.

GB is 10^9 bytes and GiB is 2^30. FLOP is a count and FLOP/s a rate. A token is never a document.
"""

from __future__ import annotations

import math
import re

from planner.errors import PlanError

GB = 1e9
GIB = float(2**30)
HOUR = 3600.0
DAY = 86400.0
TERA = 1e12

_SUFFIX = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_NUMBER = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([kmbt]?)$", re.IGNORECASE)


def number(text: str, name: str = "value") -> float:
    """Reads `7e9`, `1_000`, `15T`, `300B`, `4M` or `64k` (decimal suffixes).

    >>> number("15T"), number("7e9"), number("64k")
    (15000000000000.0, 7000000000.0, 64000.0)
    """
    match = _NUMBER.match(text.strip().replace("_", "").replace(",", ""))
    if match is None:
        raise PlanError(f"{name}: {text!r} is not a number (write 7e9, 7B, 300B or 15T)")
    return float(match[1]) * _SUFFIX.get(match[2].lower(), 1.0)


def big(value: float) -> str:
    """A count with a decimal suffix: `8.03 B`, `15 T`; small counts are written out.

    >>> big(8_030_261_248), big(15e12), big(950)
    ('8.03 B', '15 T', '950')
    """
    for size, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            if suffix == "T" and value >= 1e16:
                return f"{value:.3g}"
            return f"{_three(value / size)} {suffix}"
    return _three(value)


def _three(value: float) -> str:
    """Three significant digits without exponent or trailing zeros."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}" if math.isfinite(value) else str(value)
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plain(value: float) -> str:
    """Three significant digits, thousands grouped, exponent only where it must be.

    >>> plain(12345.678), plain(0.04567), plain(3.79e25)
    ('12,346', '0.0457', '3.79e+25')
    """
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 1e15 else f"{value:.4g}"
    if value and (abs(value) >= 1e9 or abs(value) < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else _three(value)


def money(usd: float) -> str:
    """US dollars: `$0.0031`, `$12.40`, `$91,000`, `$61.7 M`."""
    if usd >= 1e6:
        return f"${big(usd)}"
    if usd >= 1000:
        return f"${usd:,.0f}"
    return f"${usd:.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.2g}"


def duration(seconds: float) -> str:
    """Seconds as the unit a person would choose.

    >>> duration(0.31), duration(4000), duration(3 * 86400)
    ('0.31 s', '1.11 hours', '3 days')
    """
    for size, name in ((DAY, "days"), (HOUR, "hours"), (60.0, "minutes")):
        if seconds >= size * (1.5 if name == "days" else 1.0):
            return f"{_three(seconds / size)} {name}"
    return f"{_three(seconds)} s"
