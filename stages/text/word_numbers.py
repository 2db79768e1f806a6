"""Words of one text, numbered by themselves."""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.kernels import BASE
from stages.text.scan import entry_of
from stages.text.word_classes import (
    CLASS,
    DOUBLE_QUOTE,
    FLAG_SHIFT,
    KATAKANA,
    LETTER,
    MIDLETTER,
    OTHER,
    TSHEG,
)


@njit(cache=True, nogil=True, inline="always")
def _word_flags(flags, first, last):
    """Return the flags of a word, as `Vocabulary` has them: of its characters; its first's entry; its last's class."""
    kind = first & CLASS
    found = (flags >> FLAG_SHIFT) & (1 | 2 | 16)
    if (kind in (OTHER, TSHEG) or MIDLETTER <= kind <= DOUBLE_QUOTE) and not LETTER <= last <= KATAKANA:
        found |= (first >> FLAG_SHIFT) & (4 | 8)
    return np.uint8(found)


@njit(cache=True, nogil=True)
def number_words(codes, starts, ends, table):
    """Give equal words equal numbers, in order of first occurrence.

    Returns:
        numbers: int32, shape (words,).
        length, flags, hashes, powers, at: of each different word, as `Vocabulary` has them; `at` counts in `codes`.
    """
    words = len(starts)
    numbers = np.empty(words, np.int32)
    length = np.empty(words, np.int32)
    flags = np.empty(words, np.uint8)
    hashes = np.empty(words, np.uint64)
    powers = np.empty(words, np.uint64)
    first = np.empty(words, np.int64)
    size = 1024
    slots = np.full(size, -1, np.int32)
    known = 0
    for word in range(words):
        h = np.uint64(0)
        power = np.uint64(1)
        flag = np.uint16(0)
        for at in range(starts[word], ends[word]):
            code = codes[at]
            h = h * BASE + np.uint64(code) + np.uint64(1)
            power *= BASE
            flag |= entry_of(code, table)
        characters = ends[word] - starts[word]
        mask = np.uint64(size - 1)
        slot = (h ^ (h >> np.uint64(29))) & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = known
                number = known
                length[known] = characters
                flags[known] = _word_flags(
                    flag, entry_of(codes[starts[word]], table), entry_of(codes[ends[word] - 1], table) & CLASS
                )
                hashes[known] = h
                powers[known] = power
                first[known] = starts[word]
                known += 1
                break
            if hashes[number] == h and length[number] == characters:
                same = True
                for k in range(characters):
                    if codes[first[number] + k] != codes[starts[word] + k]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        numbers[word] = number
        if 2 * known > size:
            size *= 2
            mask = np.uint64(size - 1)
            slots = np.full(size, -1, np.int32)
            for number in range(known):
                slot = (hashes[number] ^ (hashes[number] >> np.uint64(29))) & mask
                while slots[slot] >= 0:
                    slot = (slot + np.uint64(1)) & mask
                slots[slot] = number
    return numbers, length[:known], flags[:known], hashes[:known], powers[:known], first[:known]
