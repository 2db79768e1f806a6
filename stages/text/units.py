"""Text as units: what near-duplicate search and decontamination compare documents by.

A unit is a word, or one character of a script written without spaces between words. Case, punctuation, white space, line
breaks, accents, vowel points and character width make no difference, nor does the normal form (UAX 15). The kernels read
UTF-8 straight from Arrow buffers, so no Python string is made.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from stages.text.fold_table import (
    CLASS,
    CLASS_SHIFT,
    CODE,
    COMPATIBILITY,
    COMPATIBILITY_END,
    EXPANDS,
    IGNORED,
    JOINS,
    SEPARATOR,
    SOLO,
    VOICED,
)

UNITS_A_BYTE, FOLDED_A_BYTE = 2, 6
"""What one byte of a text can grow to. Most of all grow symbols that stand for four kana: of three bytes, four units of three
bytes and a space each (16 for 3)."""

MOST_MARKS = 64
"""Marks in a row that are put in order. Text has up to 30 where it is to be exchanged (UAX 15, Stream-Safe Text Format)."""


def utf8_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return an Arrow text array as (bytes uint8, offsets int64 of shape (rows + 1,)), null as the empty text."""
    if not pa.types.is_large_string(texts.type):
        texts = texts.cast(pa.large_string())
    if texts.null_count:
        texts = pc.fill_null(texts, "")
    _, offsets, data = texts.buffers()
    if len(texts) == 0 or data is None:
        return np.frombuffer(b"", np.uint8), np.zeros(len(texts) + 1, np.int64)
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    values = np.frombuffer(data, np.uint8)
    values.flags.writeable = (
        False  # always read-only bytes and writable bounds: other mixtures compile all kernels anew
    )
    return values, bounds.copy()


def utf8_of_text(text: str) -> np.ndarray:
    """Return one text as uint8; a lone surrogate becomes bytes that separate words."""
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


@njit(cache=True, nogil=True)
def _code_point(data, at, width):
    """Return the code point of the `width` bytes (2 to 4) from ``data[at]`` on."""
    code = np.uint32(data[at]) & (np.uint32(0xFF) >> np.uint32(width + np.uintp(1)))
    for k in range(np.uintp(1), width):
        code = (code << np.uint32(6)) | np.uint32(data[at + np.uintp(k)] & 0x3F)
    return code


@njit(cache=True, nogil=True)
def _write(out, at, code):
    """Write `code` as UTF-8 at ``out[at]`` and return where it ends."""
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    low = np.uint32(0x3F)
    if code < np.uint32(0x80):
        out[at] = code
        return at + one
    if code < np.uint32(0x800):
        out[at] = 0xC0 | (code >> np.uint32(6))
        out[at + one] = 0x80 | (code & low)
        return at + two
    if code < np.uint32(0x10000):
        out[at] = 0xE0 | (code >> np.uint32(12))
        out[at + one] = 0x80 | ((code >> np.uint32(6)) & low)
        out[at + two] = 0x80 | (code & low)
        return at + three
    out[at] = 0xF0 | (code >> np.uint32(18))
    out[at + one] = 0x80 | ((code >> np.uint32(12)) & low)
    out[at + two] = 0x80 | ((code >> np.uint32(6)) & low)
    out[at + three] = 0x80 | (code & low)
    return at + np.uintp(4)


@njit(cache=True, nogil=True)
def _join(last, code):
    """Return the syllable that `last` and the Hangul letter or voicing mark `code` make; 0 where they make none."""
    if np.uint32(0x1161) <= code <= np.uint32(0x1175):
        if np.uint32(0x1100) <= last <= np.uint32(0x1112):
            lead, vowel = last - np.uint32(0x1100), code - np.uint32(0x1161)
            return np.uint32(0xAC00) + (lead * np.uint32(21) + vowel) * np.uint32(28)
    elif np.uint32(0x11A8) <= code <= np.uint32(0x11C2):
        if np.uint32(0xAC00) <= last <= np.uint32(0xD7A3) and (last - np.uint32(0xAC00)) % np.uint32(28) == 0:
            return np.uint32(last + (code - np.uint32(0x11A7)))
    elif np.uint32(0x3040) <= last < np.uint32(0x3100):
        return VOICED[code - np.uint32(0x3099), last - np.uint32(0x3040)]
    return np.uint32(0)


@njit(cache=True, nogil=True)
def _put_in_order(marks, waiting, mark):
    """Put `mark` (an entry) behind the `waiting` first of `marks` that are of its class or a lower one (UAX 15).

    It moves past as many as there is room for, or a text of marks alone would cost the square of its length.

    Returns:
        How many wait now.
    """
    rank = (mark >> CLASS_SHIFT) & CLASS
    at = waiting
    while at and (marks[at - 1] >> CLASS_SHIFT) & CLASS > rank:
        marks[at] = marks[at - 1]
        at -= 1
    marks[at] = mark
    return waiting + 1


@njit(cache=True, nogil=True)
def _add(entry, out, at, starts, ends, units, inside):
    """Write an entry, behind the unit that is open (`inside`) or as the beginning of the next one: `fold` does the same for
    what is no mark, written out, for by this call all text would be folded at three fifths of the speed.

    Returns:
        (where it ends in `out`, the number of units, whether the last of them is open).
    """
    solo = entry >> np.uint32(31)
    if inside and solo:
        ends[units - 1] = at
        inside = False
    if not inside:
        if units:
            out[at] = 32
            at += np.uintp(1)
        starts[units] = at
        units += 1
    at = _write(out, at, entry & CODE)
    if solo:
        ends[units - 1] = at
    return at, units, not solo


@njit(cache=True, nogil=True)
def room(offsets):
    """Return (out, starts, ends) that `fold` can write the longest of the texts into."""
    longest = 0
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    most = UNITS_A_BYTE * longest + 4
    return np.empty(FOLDED_A_BYTE * longest + 8, np.uint8), np.empty(most, np.int32), np.empty(most, np.int32)


@njit(cache=True, nogil=True)
def fold(data, start, end, table, out, starts, ends):
    """Write the units of ``data[start:end]`` (UTF-8) into `out`, separated by single spaces.

    Args:
        out: uint8 of at least ``FOLDED_A_BYTE * (end - start) + 8``.
        starts, ends: int32 of at least ``UNITS_A_BYTE * (end - start) + 4``: where each unit lies in `out`.

    Returns:
        The number of units.
    """
    units = 0
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    # unsigned, or every access would first ask whether the index counts from the end
    i, stop, at = np.uintp(start), np.uintp(end), np.uintp(0)
    more, more_end = np.uintp(0), np.uintp(0)  # entries of a character of several, in the table
    last, place = np.uint32(0), np.uintp(0)  # the unit of its own before, and where it lies, for what joins it
    marks, waiting = np.empty(MOST_MARKS, np.uint32), 0  # those behind the last letter, in order
    inside = False
    while i < stop or more < more_end or waiting:
        if more < more_end:
            code = table[more]
            more += one
        elif i >= stop:
            code = SEPARATOR
        elif data[i] < 0x80:
            code = table[data[i]]
            i += one
            while inside and code > np.uint32(1) and not waiting:
                out[at] = code
                at += one
                if i == stop or data[i] >= 0x80:
                    code = IGNORED
                else:
                    code = table[data[i]]
                    i += one
        else:
            # written out here: a call would cost a third of the speed of text that is not ASCII
            byte = data[i]
            width = two if byte < 0xE0 else three if byte < 0xF0 else np.uintp(4)
            code = np.uint32(0)
            if i + width <= stop:
                code = _code_point(data, i, width)
            i += width
            if code < np.uint32(0x20000):
                code = table[code]
            elif np.uint32(COMPATIBILITY) <= code < np.uint32(COMPATIBILITY_END):
                code = table[code - np.uint32(COMPATIBILITY - 0x20000)]
            elif code < np.uint32(0x40000):
                code = code | SOLO
            else:
                code = np.uint32(code >= np.uint32(0xE0000))
        if code == np.uint32(1):
            continue
        if code & EXPANDS:
            more = np.uintp(code & CODE)
            more_end = more + one + np.uintp(table[more])
            more += one
            continue
        if code & JOINS:
            # a voicing mark joins over marks between: nothing of its class or of none blocks it (UAX 15)
            voicing = code & CODE == np.uint32(0x3099) or code & CODE == np.uint32(0x309A)
            joined = _join(last, code & CODE) if voicing or not waiting else np.uint32(0)
            if joined:
                _write(out, place, joined)
                last = joined
                continue
            if voicing:
                last = np.uint32(0)
                continue
        rank = (code >> CLASS_SHIFT) & CLASS
        if waiting and (not rank or waiting == MOST_MARKS):
            for k in range(waiting):
                at, units, inside = _add(marks[k], out, at, starts, ends, units, inside)
            waiting = 0
        if rank:
            waiting = _put_in_order(marks, waiting, code)
            continue
        solo = code >> np.uint32(31)
        code = code & CODE
        if inside and (code == np.uint32(0) or solo):
            ends[units - 1] = at
            inside = False
        if code == np.uint32(0):
            last = np.uint32(0)
            continue
        if not inside:
            if units:
                out[at] = 32
                at += one
            starts[units] = at
            units += 1
            inside = True
        last, place = code if solo else np.uint32(0), at
        at = _write(out, at, code)
        if solo:
            ends[units - 1] = at
            inside = False
    if inside:
        ends[units - 1] = at
    return units
