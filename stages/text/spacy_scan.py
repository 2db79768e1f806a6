"""spaCy's English word splitting as a scanner over code points, for all chunks but those that need spaCy itself.

The order of affixes, special cases and infixes is that of spaCy's `Tokenizer._split_affixes` and `_attach_tokens` (3.8); what its
patterns match is read off the tokenizer by `stages.text.spacy_table`. Chunks, runs without white space, are left to spaCy where
they may be addresses, where special cases may be merged again, and where they are very long.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.kernels import BASE
from stages.text.spacy_table import (
    ALPHA,
    ASIDE,
    BEFORE_CAPITAL,
    BEFORE_STOP,
    CAPITAL,
    DIGIT,
    INFIX,
    LOWER,
    PREFIX,
    SPACE,
    SUFFIX,
    TABLE_SIZE,
    UNIT_END,
    UPPER,
)

DOT, PLUS, HYPHEN, STAR, CARET, COMMA, TILDE, DOLLAR = 46, 43, 45, 42, 94, 44, 126, 36
COLON, LESS, EQUALS, MORE, SLASH = 58, 60, 61, 62, 47
EN_DASH, EM_DASH, ELLIPSIS, DEGREE, APOSTROPHE, RIGHT_QUOTE = 0x2013, 0x2014, 0x2026, 0xB0, 39, 0x2019
LONGEST = 5000
"""Code points of the longest chunk that is scanned."""


@njit(cache=True, nogil=True, inline="always")
def _entry(code, table):
    return table[code] if code < TABLE_SIZE else np.uint32(ASIDE)


@njit(cache=True, nogil=True, inline="always")
def _is(codes, at, lo, hi, wanted, table):
    """Tell whether there is a code point at `at` of ``codes[lo:hi]`` with one of the bits `wanted`."""
    return lo <= at < hi and _entry(codes[at], table) & wanted != 0


@njit(cache=True, nogil=True, inline="always")
def _hash(codes, lo, hi):
    h = np.uint64(0)
    for at in range(lo, hi):
        h = h * BASE + np.uint64(codes[at]) + np.uint64(1)
    return h


@njit(cache=True, nogil=True, inline="always")
def _find(hashes, h):
    """Return the place of `h` among the sorted `hashes`; -1: not there."""
    place = np.searchsorted(hashes, h)
    return place if place < len(hashes) and hashes[place] == h else -1


@njit(cache=True, nogil=True, inline="always")
def _special(codes, lo, hi, first, hashes):
    """Return the number of the special case ``codes[lo:hi]``; -1: it is none."""
    if hi - lo > 31 or codes[lo] >= TABLE_SIZE or not (first[codes[lo]] >> np.uint32(hi - lo)) & np.uint32(1):
        return -1
    return _find(hashes, _hash(codes, lo, hi))


@njit(cache=True, nogil=True, inline="always")
def _is_special(codes, lo, hi, tables):
    return _special(codes, lo, hi, tables.special_first, tables.specials) >= 0


@njit(cache=True, nogil=True)
def _prefix(codes, lo, hi, table):
    """Return the length of the prefix to be split off ``codes[lo:hi]``."""
    code = codes[lo]
    if _entry(code, table) & PREFIX:
        return 1
    if code == DOT:
        at = lo + 1
        while at < hi and codes[at] == DOT:
            at += 1
        return at - lo if at - lo > 1 else 0
    if code == PLUS:
        return 0 if _is(codes, lo + 1, lo, hi, DIGIT, table) else 1
    if (code == 65 or code == 67) and lo + 1 < hi and codes[lo + 1] == DOLLAR:  # A$ C$
        return 2
    if code == 85 and lo + 2 < hi and codes[lo + 1] == 83 and codes[lo + 2] == DOLLAR:  # US$
        return 3
    return 0


@njit(cache=True, nogil=True)
def _suffix(codes, lo, hi, table, units, longest_unit):
    """Return the length of the suffix to be split off ``codes[lo:hi]``: the longest that some pattern matches."""
    if lo >= hi:
        return 0
    code = codes[hi - 1]
    entry = _entry(code, table)
    before = codes[hi - 2] if hi - 2 >= lo else np.uint32(0)
    if code == DOT:
        at = hi - 1
        while at > lo and codes[at - 1] == DOT:
            at -= 1
        if hi - at > 1:
            return hi - at
        if _is(codes, hi - 2, lo, hi, BEFORE_STOP, table):
            return 1
        if _is(codes, hi - 2, lo, hi, UPPER, table) and _is(codes, hi - 3, lo, hi, UPPER, table):
            return 1
        fck = before | np.uint32(32)
        return 1 if (fck == 102 or fck == 99 or fck == 107) and hi - 3 >= lo and codes[hi - 3] == DEGREE else 0
    if code == ELLIPSIS and before == ELLIPSIS:
        return 2
    found = 1 if entry & SUFFIX else 0
    if code in (115, 83) and before in (APOSTROPHE, RIGHT_QUOTE):  # 's 'S
        found = 2
    if code == PLUS and _is(codes, hi - 2, lo, hi, DIGIT, table):
        found = 1
    if entry & UNIT_END:
        at = hi - 1
        while at >= lo and hi - at <= longest_unit + 1 and not _entry(codes[at], table) & DIGIT:
            at -= 1
        length = hi - 1 - at
        if at >= lo and found < length <= longest_unit and _find(units, _hash(codes, at + 1, hi)) >= 0:
            found = length
    return found


@njit(cache=True, nogil=True)
def _infix(codes, at, lo, hi, table):
    """Return the length of the infix at `at` of ``codes[lo:hi]``; 0: none."""
    code = codes[at]
    entry = _entry(code, table)
    if entry & INFIX:
        return 1
    if entry & (ALPHA | DIGIT):
        return 0
    if code == DOT:
        end = at + 1
        while end < hi and codes[end] == DOT:
            end += 1
        if end - at > 1:
            return end - at
        follows = _is(codes, at + 1, lo, hi, CAPITAL, table)
        return 1 if follows and _is(codes, at - 1, lo, hi, BEFORE_CAPITAL, table) else 0
    if code in (PLUS, HYPHEN, STAR, CARET):
        follows = _is(codes, at + 1, lo, hi, DIGIT, table) or (at + 1 < hi and codes[at + 1] == HYPHEN)
        if follows and _is(codes, at - 1, lo, hi, DIGIT, table):
            return 1
    if code == COMMA:
        return 1 if _is(codes, at - 1, lo, hi, ALPHA, table) and _is(codes, at + 1, lo, hi, ALPHA, table) else 0
    if not _is(codes, at - 1, lo, hi, ALPHA | DIGIT, table):
        return 0
    if code in (HYPHEN, EM_DASH):
        most = 3 if code == HYPHEN else 2
        for length in range(1, most + 1):
            if length > 1 and (at + length > hi or codes[at + length - 1] != code):
                return 0
            if _is(codes, at + length, lo, hi, ALPHA, table):
                return length
        return 0
    if code in (EN_DASH, TILDE, COLON, LESS, EQUALS, MORE, SLASH):
        return 1 if _is(codes, at + 1, lo, hi, ALPHA, table) else 0
    return 0


@njit(cache=True, nogil=True)
def _may_be_address(codes, lo, hi, table):
    """Tell whether spaCy's pattern of addresses may match: a dot before two letters of a top-level domain, or three dots."""
    dots = 0
    for at in range(lo + 1, hi):
        if codes[at] == DOT:
            dots += 1
            if dots == 3:
                return True
            if _is(codes, at + 1, lo, hi, LOWER, table) and _is(codes, at + 2, lo, hi, LOWER, table):
                return True
    return False


@njit(cache=True, nogil=True)
def _may_merge(codes, starts, ends, first, end, tables):
    """Tell whether two neighbours of the words from number `first` to `end` begin a special case taken apart."""
    for at in range(first, end - 1):
        if not (tables.pair_first[codes[starts[at]]] and tables.pair_second[codes[starts[at + 1]]]):
            continue
        if max(ends[at] - starts[at], ends[at + 1] - starts[at + 1]) <= tables.longest:
            left = _hash(codes, starts[at], ends[at])
            right = _hash(codes, starts[at + 1], ends[at + 1])
            if _find(tables.pairs, left * np.uint64(31) ^ right) >= 0:
                return True
    return False


@njit(cache=True, nogil=True)
def scan(codes, tables):
    """Return the words of a text, and which of them are chunks that are left to spaCy.

    Args:
        codes: uint32, code points, without lone surrogates.
        tables: `stages.text.spacy_table.Tables`.

    Returns:
        starts, ends: int32, shape (words,): where each word begins and ends.
        aside: int32: numbers of words that are whole chunks, left to spaCy.
    """
    table = tables.table
    starts = np.empty(len(codes), np.int32)
    ends = np.empty(len(codes), np.int32)
    aside = np.empty(len(codes) // 2 + 1, np.int32)
    behind = np.empty(LONGEST + 1, np.int32)  # where each suffix begins
    words = 0
    left = 0
    end = 0
    while True:
        begin = end
        while begin < len(codes) and _entry(codes[begin], table) & SPACE:
            begin += 1
        if begin == len(codes):
            break
        end = begin
        seen = np.uint32(0)
        every = np.uint32(ALPHA)
        while end < len(codes):
            entry = _entry(codes[end], table)
            if entry & SPACE:
                break
            seen |= entry
            every &= entry
            end += 1
        first = words
        if seen & ASIDE or end - begin > LONGEST:
            pass
        elif every and not seen & (PREFIX | SUFFIX | INFIX) and not _is_special(codes, begin, end, tables):
            starts[words], ends[words] = begin, end
            words += 1
            continue
        else:
            words = _split(codes, begin, end, tables, starts, ends, words, behind)
        if words == first or _may_merge(codes, starts, ends, first, words, tables):
            starts[first], ends[first] = begin, end
            words = first + 1
            aside[left] = first
            left += 1
    return starts[:words], ends[:words], aside[:left]


@njit(cache=True, nogil=True)
def _split(codes, begin, end, tables, starts, ends, words, behind):
    """Write the words of the chunk ``codes[begin:end]`` from number `words` on; return how many there are now.

    None are written where the chunk may be an address.
    """
    table = tables.table
    first = words
    lo, hi = begin, end
    suffixes = 0
    special = -1
    while lo < hi:
        special = _special(codes, lo, hi, tables.special_first, tables.specials)
        if special >= 0:
            break
        before = _prefix(codes, lo, hi, table)
        if before and lo + before < hi:
            special = _special(codes, lo + before, hi, tables.special_first, tables.specials)
            if special >= 0:
                starts[words], ends[words] = lo, lo + before
                words += 1
                lo += before
                break
        after = _suffix(codes, lo + before, hi, table, tables.units, tables.longest_unit)
        if after and lo < hi - after:
            special = _special(codes, lo, hi - after, tables.special_first, tables.specials)
            if special >= 0:
                hi -= after
                behind[suffixes] = hi
                suffixes += 1
                break
        if not before and not after:
            break
        if before:
            starts[words], ends[words] = lo, lo + before
            words += 1
            lo += before
        if after:
            hi -= after
            behind[suffixes] = hi
            suffixes += 1
    if special >= 0:
        at = lo
        for k in range(tables.special_at[special], tables.special_at[special + 1]):
            starts[words], ends[words] = at, at + tables.special_lengths[k]
            at = ends[words]
            words += 1
    elif lo < hi:
        if _may_be_address(codes, lo, hi, table):
            return first
        words = _split_core(codes, lo, hi, table, starts, ends, words)
    last = end
    for k in range(suffixes):
        starts[words + suffixes - 1 - k], ends[words + suffixes - 1 - k] = behind[k], last
        last = behind[k]
    return words + suffixes


@njit(cache=True, nogil=True)
def _split_core(codes, lo, hi, table, starts, ends, words):
    """Write what infixes cut ``codes[lo:hi]`` into; return how many words there are now."""
    start = at = lo
    while at < hi:
        length = _infix(codes, at, lo, hi, table)
        if length and at > lo:
            if at != start:
                starts[words], ends[words] = start, at
                words += 1
            starts[words], ends[words] = at, at + length
            words += 1
            start = at + length
        at += max(1, length)
    if start < hi:
        starts[words], ends[words] = start, hi
        words += 1
    return words


@njit(cache=True, nogil=True)
def fill(starts, ends, aside, counts, lengths):
    """Return (starts, ends) with the words numbered `aside` cut into `counts` words of `lengths`, one after another."""
    total = len(starts) - len(aside) + len(lengths)
    new_starts = np.empty(total, np.int32)
    new_ends = np.empty(total, np.int32)
    to = piece = next_aside = 0
    for word in range(len(starts)):
        if next_aside < len(aside) and aside[next_aside] == word:
            at = starts[word]
            for _ in range(counts[next_aside]):
                new_starts[to], new_ends[to] = at, at + lengths[piece]
                at += lengths[piece]
                piece += 1
                to += 1
            next_aside += 1
        else:
            new_starts[to], new_ends[to] = starts[word], ends[word]
            to += 1
    return new_starts, new_ends
