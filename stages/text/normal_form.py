"""Normal forms of Unicode (UAX 15) in time that grows with the length of a text.

Python puts the marks of a run in order by insertion, which costs the square of the run's length.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Literal

_STRIDE = 32


@lru_cache(maxsize=1)
def _marks() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a code point that has a combining class, and what finds a long run of them."""
    codes = [code for code in range(0x300, 0x20000) if unicodedata.combining(chr(code))]
    runs = [[code for _, code in group] for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    some = "[" + "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs) + "]"
    return re.compile(some), re.compile(f"{some}{{{2 * _STRIDE},}}")


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return what ``unicodedata.normalize(form, text)`` returns."""
    if not text.isascii():
        mark, run = _marks()
        if mark.search(text[::_STRIDE]):  # a long run has one of these places
            text = run.sub(_in_order, text)
    return unicodedata.normalize(form, text)


def _in_order(found: re.Match[str]) -> str:
    """Return a run of marks decomposed and in canonical order: the same text, which Python need not sort."""
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in found[0])
    return "".join(sorted(marks, key=unicodedata.combining))
