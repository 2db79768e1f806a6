"""The built-in patterns as a hand-written scanner over UTF-8 bytes.

`next_end` answers where the pretoken that begins at a position ends; each rule is the published regex of
`patterns.py`, its alternatives tried in their order, with what backtracking would find worked out beforehand.
A byte that is no part of valid UTF-8 is one character of class OTHER.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tokenizer.memory import load8, load64, trailing_zeros
from tokenizer.pretokens.patterns import CL100K, GPT2, O200K
from tokenizer.pretokens.unicode_classes import (
    LETTER,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    OTHER,
    SPACE,
    UPPER,
    class_table,
    two_stage,
)

_TABLE = class_table()
_BLOCK, _CLASS = two_stage(_TABLE)
_ASCII = np.ascontiguousarray(_TABLE[:256].astype(np.int64))

_QUOTE = 0x27
_BLANK = 0x20
_SLASH = 0x2F
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_FROM_A = np.uint64(0x1F1F1F1F1F1F1F1F)  # added to seven bits, sets the eighth from "a" on
_BEHIND_Z = np.uint64(0x0505050505050505)  # and from "{" on

_WIDTH = 8  # a character is told as class + _WIDTH * its length in bytes


@njit(cache=True, nogil=True, inline="always")
def _is_letter(kind):  # type: ignore[no-untyped-def]
    return 1 <= kind <= 3


@njit(cache=True, nogil=True, inline="always")
def is_space(kind):  # type: ignore[no-untyped-def]
    """Whether a class is white space."""
    return kind >= SPACE


@njit(cache=True, nogil=True, inline="always")
def _is_mark_or_other(kind):  # type: ignore[no-untyped-def]
    """[^\\s\\p{L}\\p{N}]"""
    return kind in (OTHER, MARK)


@njit(cache=True, nogil=True, inline="always")
def _is_upper_part(kind):  # type: ignore[no-untyped-def]
    """[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"""
    return kind in (UPPER, LETTER, MARK)


@njit(cache=True, nogil=True, inline="always")
def _is_lower_part(kind):  # type: ignore[no-untyped-def]
    """[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"""
    return 2 <= kind <= 4


@njit(cache=True, nogil=True)
def _wide(data, i, end):  # type: ignore[no-untyped-def]
    """The character of more than one byte at `i`, by the table of well-formed sequences of the Unicode standard."""
    first = load8(data, i)
    if first < 0xC2 or first > 0xF4:
        return _WIDTH + OTHER
    more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
    if i + more >= end:
        return _WIDTH + OTHER
    second = load8(data, i + 1)
    if second & 0xC0 != 0x80:
        return _WIDTH + OTHER
    if more == 1:
        point = (first & 0x1F) << 6 | second & 0x3F
        return 2 * _WIDTH + np.int64(_CLASS[_BLOCK[point >> 8] << 8 | point & 0xFF])
    third = load8(data, i + 2)
    if third & 0xC0 != 0x80:
        return _WIDTH + OTHER
    point = (first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F
    if more == 2:
        if point < 0x800 or 0xD800 <= point < 0xE000:
            return _WIDTH + OTHER
        return 3 * _WIDTH + np.int64(_CLASS[_BLOCK[point >> 8] << 8 | point & 0xFF])
    fourth = load8(data, i + 3)
    point = (point & 0x7FFF) << 6 | fourth & 0x3F
    if fourth & 0xC0 != 0x80 or point < 0x10000 or point > 0x10FFFF:
        return _WIDTH + OTHER
    return 4 * _WIDTH + np.int64(_CLASS[_BLOCK[point >> 8] << 8 | point & 0xFF])


@njit(cache=True, nogil=True, inline="always")
def _char(data, i, end):  # type: ignore[no-untyped-def]
    byte = load8(data, i)
    return _WIDTH + _ASCII[byte] if byte < 0x80 else _wide(data, i, end)


@njit(cache=True, nogil=True, inline="always")
def character_at(data, i, end):  # type: ignore[no-untyped-def]
    """Return (length in bytes, class) of the character at `i` of a text that ends at `end`."""
    char = _char(data, i, end)
    return char // _WIDTH, char % _WIDTH


@njit(cache=True, nogil=True, inline="always")
def _ascii_letters(data, i):  # type: ignore[no-untyped-def]
    """How many of the eight bytes at `i` are ASCII letters before one is not; all eight at once."""
    word = load64(data, i)
    folded = (word | _CASE) & _LOW_BITS
    is_letter = (folded + _FROM_A) & ~(folded + _BEHIND_Z) & ~word
    return trailing_zeros(~is_letter & _HIGH_BITS) >> 3


@njit(cache=True, nogil=True, inline="always")
def _ascii_lowers(data, i):  # type: ignore[no-untyped-def]
    """How many of the eight bytes at `i` are a to z before one is not."""
    word = load64(data, i)
    low = word & _LOW_BITS
    is_lower = (low + _FROM_A) & ~(low + _BEHIND_Z) & ~word
    return trailing_zeros(~is_lower & _HIGH_BITS) >> 3


@njit(cache=True, nogil=True)
def _letters(data, i, end):  # type: ignore[no-untyped-def]
    """The end of \\p{L}* at `i`."""
    while True:
        run = _ascii_letters(data, i)
        i += run
        if i >= end:
            return end
        if run == 8:
            continue
        if load8(data, i) < 0x80:
            return i
        while i < end and load8(data, i) >= 0x80:
            char = _wide(data, i, end)
            if not _is_letter(char % _WIDTH):
                return i
            i += char // _WIDTH
        if i >= end:
            return end


@njit(cache=True, nogil=True)
def _others(data, i, end):  # type: ignore[no-untyped-def]
    """The end of [^\\s\\p{L}\\p{N}]* at `i`."""
    while i < end:
        char = _char(data, i, end)
        if not _is_mark_or_other(char % _WIDTH):
            return i
        i += char // _WIDTH
    return i


@njit(cache=True, nogil=True)
def _numbers(data, i, end, most):  # type: ignore[no-untyped-def]
    """The end of \\p{N}{0,most} at `i`."""
    while i < end and most > 0:
        char = _char(data, i, end)
        if char % _WIDTH != NUMBER:
            return i
        i += char // _WIDTH
        most -= 1
    return i


@njit(cache=True, nogil=True)
def _contraction(data, i, end, folded):  # type: ignore[no-untyped-def]
    """The end of 's, 't, 're, 've, 'm, 'll or 'd at `i`, or `i`; with `folded` in any case, U+017F being an s."""
    if i + 1 >= end or load8(data, i) != _QUOTE:
        return i
    a = load8(data, i + 1)
    if folded and 0x41 <= a <= 0x5A:
        a += 0x20
    if a == 0x73 or a == 0x74 or a == 0x6D or a == 0x64:
        return i + 2
    if i + 2 >= end:
        return i
    b = load8(data, i + 2)
    if folded:
        if a == 0xC5 and b == 0xBF:
            return i + 3
        if 0x41 <= b <= 0x5A:
            b += 0x20
    if (b == 0x65 and (a == 0x72 or a == 0x76)) or (a == 0x6C and b == 0x6C):
        return i + 3
    return i


@njit(cache=True, nogil=True)
def _spaces(data, i, end, lines, whole_at_end):  # type: ignore[no-untyped-def]
    """The end of white space at `i`, which is not empty.

    With `lines` up to the last line break of the run, where it has one (but all of a run that ends the text,
    with `whole_at_end`); else all but its last character, where something follows it.
    """
    last = i
    after_break = -1
    j = i
    while j < end:
        char = _char(data, j, end)
        if not is_space(char % _WIDTH):
            break
        last = j
        j += char // _WIDTH
        if char % _WIDTH == NEWLINE:
            after_break = j
    if j == end and whole_at_end:
        return j
    if lines and after_break >= 0:
        return after_break
    if j == end or last == i:
        return j
    return last


@njit(cache=True, nogil=True)
def _end_gpt2(data, i, end):  # type: ignore[no-untyped-def]
    j = _contraction(data, i, end, False)
    if j > i:
        return j
    start = i + 1 if load8(data, i) == _BLANK and i + 1 < end else i
    char = _char(data, start, end)
    kind = char % _WIDTH
    if is_space(kind):
        return _spaces(data, i, end, False, True)
    after = start + char // _WIDTH
    if _is_letter(kind):
        return _letters(data, after, end)
    if kind == NUMBER:
        return _numbers(data, after, end, end)
    return _others(data, after, end)


@njit(cache=True, nogil=True)
def _end_gpt4(data, i, end, whole_at_end):  # type: ignore[no-untyped-def]
    """cl100k and Llama 3, which differ in white space at the end of the text only."""
    char = _char(data, i, end)
    kind = char % _WIDTH
    after = i + char // _WIDTH
    if _is_letter(kind):
        return _letters(data, after, end)
    if kind == NUMBER:
        return _numbers(data, after, end, 2)
    if kind != NEWLINE:
        j = _contraction(data, i, end, True)
        if j > i:
            return j
        j = _letters(data, after, end)
        if j > after:
            return j
    return _rest(data, i, end, char, False, whole_at_end)


@njit(cache=True, nogil=True)
def _rest(data, i, end, char, slash, whole_at_end):  # type: ignore[no-untyped-def]
    """What begins with `char`, which neither letters nor numbers claim: `` ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*``, or spaces."""
    if is_space(char % _WIDTH):
        j = i + 1
        if load8(data, i) == _BLANK:
            j = _others(data, i + 1, end)
        if j == i + 1:
            return _spaces(data, i, end, True, whole_at_end)
    else:
        j = _others(data, i + char // _WIDTH, end)
    while j < end:
        byte = load8(data, j)
        if byte != 0x0A and byte != 0x0D and not (slash and byte == _SLASH):
            break
        j += 1
    return j


@njit(cache=True, nogil=True)
def _cased_word(data, i, end):  # type: ignore[no-untyped-def]
    """The first two alternatives of o200k at `i` without the optional character before; answers (end of the
    first or -1, end of the second or -1)."""
    j = i
    after_lower = -1  # behind the last character of the capital run that may also end a word
    kind = OTHER
    while j < end:
        char = _char(data, j, end)
        kind = char % _WIDTH
        if not _is_upper_part(kind):
            break
        j += char // _WIDTH
        if kind != UPPER:
            after_lower = j
    if j < end and kind == LOWER:
        while True:
            run = _ascii_lowers(data, j)
            j += run
            if j >= end:
                return end, end
            if run < 8:
                char = _char(data, j, end)
                if not _is_lower_part(char % _WIDTH):
                    return j, j
                j += char // _WIDTH
                if j == end:
                    return j, j
    return after_lower, j if j > i else -1


@njit(cache=True, nogil=True)
def _end_o200k(data, i, end):  # type: ignore[no-untyped-def]
    char = _char(data, i, end)
    kind = char % _WIDTH
    after = i + char // _WIDTH
    if kind == NUMBER:
        return _numbers(data, after, end, 2)
    behind_first, behind_second = -1, -1
    if kind != NEWLINE and not _is_letter(kind) and after < end:
        behind_first, behind_second = _cased_word(data, after, end)
    j = behind_first
    if j < 0:
        first, second = -1, -1
        if _is_letter(kind) or kind == MARK:
            first, second = _cased_word(data, i, end)
        j = first if first >= 0 else behind_second if behind_second >= 0 else second
    if j >= 0:
        return _contraction(data, j, end, True)
    return _rest(data, i, end, char, True, False)


@njit(cache=True, nogil=True)
def next_end(kind, data, i, end):  # type: ignore[no-untyped-def]
    """Return the end of the pretoken at `i` (< `end`) of the text that ends at `end`, by rule `kind`."""
    if kind == GPT2:
        return _end_gpt2(data, i, end)
    if kind == O200K:
        return _end_o200k(data, i, end)
    return _end_gpt4(data, i, end, kind == CL100K)


@njit(cache=True, nogil=True)
def scan(kind, data, start, end, ends):  # type: ignore[no-untyped-def]
    """Write the ends of the pretokens of ``data[start:end]`` into `ends` (int64); return (how many, where it stopped).

    It stops before `end` where `ends` is full; call again from there.
    """
    count = 0
    while start < end and count < len(ends):
        start = next_end(kind, data, start, end)
        ends[count] = start
        count += 1
    return count, start
