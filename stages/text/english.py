"""What spaCy's English rules know of abbreviations and clitics, for the scanner of words."""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.word_classes import ABBREVIATIONS

DOT, APOSTROPHE, RIGHT_QUOTE = 46, 39, 0x2019


@njit(cache=True, nogil=True)
def keeps_its_stop(codes, start, end):
    """Tell whether the word of ASCII letters ``codes[start:end]`` is an abbreviation to which a full stop belongs."""
    length = end - start
    if length > 6:
        return False
    letters = np.uint64(0)
    dotted = length > 1
    for at in range(start, end):
        code = codes[at] | np.uint32(32)
        letter = 97 <= code <= 122 and codes[at] >= 65
        dotted = dotted and codes[at] == DOT if (at - start) % 2 else dotted and letter
        if not letter:
            letters = np.uint64(0)
            if not dotted:
                return False
        letters = letters * np.uint64(256) + np.uint64(code)
    if length == 1 or (dotted and length % 2):
        return True
    place = np.searchsorted(ABBREVIATIONS, letters)
    return place < len(ABBREVIATIONS) and ABBREVIATIONS[place] == letters


@njit(cache=True, nogil=True)
def clitic(codes, start, end):
    """Return where an English clitic at the end of ``codes[start:end]`` begins ('s 'd 'm 're 've 'll n't); `end`: none."""
    for back in (2, 3):
        at = end - back
        if at <= start or (codes[at] != APOSTROPHE and codes[at] != RIGHT_QUOTE):
            continue
        first = codes[at + 1] | np.uint32(32)
        if back == 2:
            if first == 116 and at - 1 > start and codes[at - 1] | np.uint32(32) == 110:
                return at - 1
            return at if first == 115 or first == 100 or first == 109 else end
        second = codes[at + 2] | np.uint32(32)
        if (second == 101 and (first == 114 or first == 118)) or (first == 108 and second == 108):
            return at
    return end
