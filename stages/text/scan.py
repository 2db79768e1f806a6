"""What every scanner of words asks of a code point."""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.word_classes import (
    CLASS,
    EXTEND,
    HAN_BEYOND,
    OTHER,
    STACKER,
    TABLE_SIZE,
    ZWJ,
)


@njit(cache=True, nogil=True, inline="always")
def entry_of(code, table):
    """Return class and flags of a code point."""
    if code < TABLE_SIZE:
        return table[code]
    if code < 0x40000:
        return HAN_BEYOND
    if 0xE0000 <= code < 0xE1000:
        return np.uint16(EXTEND)
    return np.uint16(OTHER | 32)


@njit(cache=True, nogil=True, inline="always")
def skip(codes, at, table):
    """Return where the first code point from `at` on lies that extends none before it (rule WB4)."""
    while at < len(codes):
        kind = entry_of(codes[at], table) & CLASS
        if kind != EXTEND and kind != ZWJ and kind != STACKER:
            break
        at += 1
    return at
