"""Words after UAX #29, found by a kernel over a text's code points.

Two tailorings, which the standard leaves to implementations: a run of the same mark is one word, and so is a syllable of
a script written without spaces (one letter of Chinese and of Hiragana; of Thai, Lao, Khmer and Burmese by the rules of
their spelling). Neither needs a dictionary, so that a word means the same in every installation.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.kernels import BASE
from stages.text.word_classes import (
    ASAT,
    CLASS,
    DOUBLE_QUOTE,
    EXTEND,
    EXTENDNUMLET,
    FLAG_SHIFT,
    HAN_BEYOND,
    HEBREW,
    KATAKANA,
    KHMER,
    LETTER,
    MIDLETTER,
    MIDNUM,
    MIDNUMLET,
    MYANMAR,
    MYANMAR_VIRAMA,
    NUMERIC,
    OTHER,
    PICTOGRAPH,
    REGIONAL,
    SINGLE_QUOTE,
    SOLO,
    SPACE,
    STACKER,
    TABLE_SIZE,
    THAI,
    THAI_AFTER,
    THAI_BEFORE,
    THANTHAKHAT,
    TSHEG,
    ZERO_WIDTH_JOINER,
    ZWJ,
)


@njit(cache=True, nogil=True, inline="always")
def _entry(code, table):
    """Return class and flags of a code point."""
    if code < TABLE_SIZE:
        return table[code]
    if code < 0x40000:
        return HAN_BEYOND
    if 0xE0000 <= code < 0xE1000:
        return np.uint16(EXTEND)
    return np.uint16(OTHER | 32)


@njit(cache=True, nogil=True, inline="always")
def _skip(codes, at, table):
    """Return where the first code point from `at` on lies that extends none before it (rule WB4)."""
    while at < len(codes):
        kind = _entry(codes[at], table) & CLASS
        if kind != EXTEND and kind != ZWJ and kind != STACKER:
            break
        at += 1
    return at


@njit(cache=True, nogil=True)
def _class_at(codes, at, table):
    """Return the class of the first code point from `at` on that extends none before it; `SPACE` at the end."""
    at = _skip(codes, at, table)
    return _entry(codes[at], table) & CLASS if at < len(codes) else SPACE


@njit(cache=True, nogil=True)
def _word_end(codes, at, kind, table):
    """Return the end of the word of letters, digits and what joins them that begins at `at` (rules WB5 to WB13b)."""
    last = kind
    at += 1
    while at < len(codes):
        kind = _entry(codes[at], table) & CLASS
        if kind == LETTER and last == LETTER:
            at += 1
            continue
        letter = last in (LETTER, HEBREW)
        if kind in (EXTEND, ZWJ, STACKER):
            at += 1
            continue
        if kind == TSHEG:
            return _skip(codes, at + 1, table)
        if kind in (LETTER, HEBREW, NUMERIC):
            if last == KATAKANA:
                break
        elif kind == EXTENDNUMLET:
            pass
        elif kind == KATAKANA:
            if last != KATAKANA and last != EXTENDNUMLET:
                break
        elif kind in (MIDLETTER, MIDNUM, MIDNUMLET, SINGLE_QUOTE, DOUBLE_QUOTE):
            after = _skip(codes, at + 1, table)
            follows = _entry(codes[after], table) & CLASS if after < len(codes) else SPACE
            joins = False
            if letter and kind != MIDNUM and kind != DOUBLE_QUOTE:
                joins = follows in (LETTER, HEBREW)
            if last == HEBREW and kind == DOUBLE_QUOTE:
                joins = follows == HEBREW
            if last == NUMERIC and kind != MIDLETTER and kind != DOUBLE_QUOTE:
                joins = follows == NUMERIC
            if not joins:
                if last == HEBREW and kind == SINGLE_QUOTE:
                    at = _skip(codes, at + 1, table)
                break
            at = after
            kind = follows
        else:
            break
        last = kind
        at += 1
    return at


@njit(cache=True, nogil=True)
def _thai_end(codes, at, kind, table):
    """Return the end of the Thai or Lao syllable at `at`: [vowel] consonant marks vowels, and one consonant to close it."""
    if kind == THAI_BEFORE and at + 1 < len(codes) and _entry(codes[at + 1], table) & CLASS == THAI:
        at += 1
    at = _skip(codes, at + 1, table)
    while at < len(codes) and _entry(codes[at], table) & CLASS == THAI_AFTER:
        at = _skip(codes, at + 1, table)
    closed = False
    while at < len(codes) and _entry(codes[at], table) & CLASS == THAI:
        silent = at + 1 < len(codes) and codes[at + 1] == THANTHAKHAT
        if not silent:
            if closed or _skip(codes, at + 1, table) > at + 1:
                break
            if at + 1 < len(codes) and _entry(codes[at + 1], table) & CLASS == THAI_AFTER:
                break
            closed = True
        at = _skip(codes, at + 1, table)
    return at


@njit(cache=True, nogil=True)
def _stacked_end(codes, at, kind, table):
    """Return the end of the Khmer or Burmese syllable at `at`: a letter, its marks, letters stacked below, one to close it."""
    closed = False
    at += 1
    while at < len(codes):
        entry = _entry(codes[at], table) & CLASS
        if entry in (EXTEND, ZWJ, STACKER):
            at += 1
            continue
        if entry != kind:
            break
        if _entry(codes[at - 1], table) & CLASS != STACKER:
            follows = codes[at + 1] if at + 1 < len(codes) else np.uint32(0)
            if kind == MYANMAR:
                if follows != ASAT and follows != MYANMAR_VIRAMA:
                    break
            else:
                after = _entry(follows, table) & CLASS
                if closed or after in (EXTEND, ZWJ, STACKER):
                    break
                closed = True
        at += 1
    return at


@njit(cache=True, nogil=True)
def _mark_end(codes, at, entry, table):
    """Return the end of the mark, the run of one mark, the flag or the pictograph at `at` (WB15, WB16)."""
    kind = entry & CLASS
    code = codes[at]
    at += 1
    if kind == REGIONAL:
        at = _skip(codes, at, table)
        if at < len(codes) and _entry(codes[at], table) & CLASS == REGIONAL:
            at += 1
    elif not entry & PICTOGRAPH and kind != SOLO:
        while at < len(codes) and codes[at] == code:
            at += 1
    return _skip(codes, at, table)


@njit(cache=True, nogil=True)
def word_bounds(codes, table):
    """Return (starts, ends) of the words of a text, int32; white space is no word.

    Args:
        codes: uint32, the text's code points.
        table: see `word_table`.
    """
    starts = np.empty(len(codes), np.int32)
    ends = np.empty(len(codes), np.int32)
    words = 0
    at = 0
    while at < len(codes):
        entry = _entry(codes[at], table)
        kind = entry & CLASS
        if kind == SPACE:
            at += 1
            continue
        starts[words] = at
        if LETTER <= kind <= KATAKANA:
            at = _word_end(codes, at, kind, table)
        elif THAI_BEFORE <= kind <= THAI_AFTER:
            at = _thai_end(codes, at, kind, table)
        elif kind in (KHMER, MYANMAR):
            at = _stacked_end(codes, at, kind, table)
        else:
            at = _mark_end(codes, at, entry, table)
        while at < len(codes) and codes[at - 1] == ZERO_WIDTH_JOINER and _entry(codes[at], table) & PICTOGRAPH:
            at = _skip(codes, at + 1, table)
        ends[words] = at
        words += 1
    return starts[:words], ends[:words]


@njit(cache=True, nogil=True, inline="always")
def _word_flags(flags, first):
    """Return the flags of a word, as `Vocabulary` has them, from those of its characters and the entry of its first."""
    kind = first & CLASS
    found = (flags >> FLAG_SHIFT) & (1 | 2 | 16)
    if kind in (OTHER, TSHEG) or MIDLETTER <= kind <= DOUBLE_QUOTE:
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
            flag |= _entry(code, table)
        characters = ends[word] - starts[word]
        mask = np.uint64(size - 1)
        slot = (h ^ (h >> np.uint64(29))) & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = known
                number = known
                length[known] = characters
                flags[known] = _word_flags(flag, _entry(codes[starts[word]], table))
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
