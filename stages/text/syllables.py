"""Syllables of scripts written without spaces, by the rules of their spelling."""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.scan import entry_of, skip
from stages.text.word_classes import (
    ASAT,
    CLASS,
    EXTEND,
    MYANMAR,
    MYANMAR_VIRAMA,
    STACKER,
    THAI,
    THAI_AFTER,
    THAI_BEFORE,
    THANTHAKHAT,
    ZWJ,
)


@njit(cache=True, nogil=True)
def thai_end(codes, at, kind, table):
    """Return the end of the Thai or Lao syllable at `at`: [vowel] consonant marks vowels, and one consonant to close it."""
    if kind == THAI_BEFORE and at + 1 < len(codes) and entry_of(codes[at + 1], table) & CLASS == THAI:
        at += 1
    at = skip(codes, at + 1, table)
    while at < len(codes) and entry_of(codes[at], table) & CLASS == THAI_AFTER:
        at = skip(codes, at + 1, table)
    closed = False
    while at < len(codes) and entry_of(codes[at], table) & CLASS == THAI:
        silent = at + 1 < len(codes) and codes[at + 1] == THANTHAKHAT
        if not silent:
            if closed or skip(codes, at + 1, table) > at + 1:
                break
            if at + 1 < len(codes) and entry_of(codes[at + 1], table) & CLASS == THAI_AFTER:
                break
            closed = True
        at = skip(codes, at + 1, table)
    return at


@njit(cache=True, nogil=True)
def stacked_end(codes, at, kind, table):
    """Return the end of the Khmer or Burmese syllable at `at`: a letter, its marks, letters stacked below, one to close it."""
    closed = False
    at += 1
    while at < len(codes):
        entry = entry_of(codes[at], table) & CLASS
        if entry in (EXTEND, ZWJ, STACKER):
            at += 1
            continue
        if entry != kind:
            break
        if entry_of(codes[at - 1], table) & CLASS != STACKER:
            follows = codes[at + 1] if at + 1 < len(codes) else np.uint32(0)
            if kind == MYANMAR:
                if follows != ASAT and follows != MYANMAR_VIRAMA:
                    break
            else:
                after = entry_of(follows, table) & CLASS
                if closed or after in (EXTEND, ZWJ, STACKER):
                    break
                closed = True
        at += 1
    return at
