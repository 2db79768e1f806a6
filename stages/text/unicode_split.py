"""Words after UAX #29, found by a kernel over a text's code points.

Four tailorings, which the standard leaves to implementations. A run of dots, hyphens and the like is one word. So is a
syllable of a script written without spaces: one letter of Chinese, a run of Hiragana; of Thai, Lao, Khmer and Burmese by the rules of
their spelling. And ASCII marks between letters or digits join them, where spaCy's English rules do not split there:
addresses, formulas and code are not taken for marks. English clitics are words, and abbreviations keep their full stop,
as spaCy has them. None needs a dictionary, so that a word means the same in every installation.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.english import DOT, clitic, keeps_its_stop
from stages.text.scan import entry_of, skip
from stages.text.syllables import stacked_end, thai_end
from stages.text.word_classes import (
    CLASS,
    DOUBLE_QUOTE,
    EXTEND,
    EXTENDNUMLET,
    HEBREW,
    HIRAGANA,
    KATAKANA,
    KHMER,
    LETTER,
    MIDLETTER,
    MIDNUM,
    MYANMAR,
    NUMERIC,
    PICTOGRAPH,
    REGIONAL,
    SINGLE_QUOTE,
    SPACE,
    STACKER,
    THAI_AFTER,
    THAI_BEFORE,
    TSHEG,
    ZERO_WIDTH_JOINER,
    ZWJ,
)

HYPHEN, SLASH, BACKSLASH, AT, CARET, TILDE, BAR = 45, 47, 92, 64, 94, 126, 124
COMMA, COLON, EQUALS, LESS, MORE, PLUS, STAR = 44, 58, 61, 60, 62, 43, 42
ELLIPSIS, PROLONGED = 0x2026, 0x30FC


@njit(cache=True, nogil=True)
def _over_marks(codes, at, table, address):
    """Return where the word goes on behind the ASCII marks at `at`, which stand behind a letter or digit; -1: it ends.

    Args:
        address: the word is one with ``://`` in it, which no mark ends.
    """
    end = at
    hyphens = True
    while end < len(codes) and codes[end] < 128:
        kind = entry_of(codes[end], table) & CLASS
        if kind == SPACE or LETTER <= kind <= KATAKANA:
            break
        hyphens = hyphens and codes[end] == HYPHEN
        end += 1
    if end == len(codes) or end == at:
        return -1
    after = entry_of(codes[end], table) & CLASS
    if not LETTER <= after <= EXTENDNUMLET:
        return -1
    if address:
        return end
    mark = codes[at]
    digits = entry_of(codes[at - 1], table) & CLASS == NUMERIC
    number = after == NUMERIC
    if hyphens and digits == number:
        return -1
    if end == at + 1:
        if (mark in (COMMA, TILDE)) and not digits and not number:
            return -1
        if (mark in (SLASH, COLON, EQUALS, LESS, MORE)) and not number:
            return -1
        if (mark in (PLUS, STAR, CARET)) and digits and number:
            return -1
    return end


@njit(cache=True, nogil=True)
def _lead(codes, at, table):
    """Return where the letter or digit lies that the marks at `at`, of those that open nothing, belong to; -1: none."""
    while at < len(codes) and (
        codes[at] == HYPHEN
        or codes[at] == SLASH
        or codes[at] == BACKSLASH
        or codes[at] == AT
        or codes[at] == CARET
        or codes[at] == TILDE
        or codes[at] == BAR
    ):
        at += 1
    return at if at < len(codes) and LETTER <= entry_of(codes[at], table) & CLASS <= EXTENDNUMLET else -1


@njit(cache=True, nogil=True)
def _word_end(codes, at, kind, table):
    """Return the end of the word of letters, digits and what joins them that begins at `at` (rules WB5 to WB13b)."""
    last = kind
    address = False
    at += 1
    while at < len(codes):
        kind = entry_of(codes[at], table) & CLASS
        if kind == LETTER and last == LETTER:
            at += 1
            continue
        letter = last in (LETTER, HEBREW)
        if kind in (EXTEND, ZWJ, STACKER):
            at += 1
            continue
        if kind == TSHEG:
            return skip(codes, at + 1, table)
        if kind in (LETTER, HEBREW, NUMERIC):
            if last == KATAKANA:
                break
        elif kind == EXTENDNUMLET:
            pass
        elif kind == KATAKANA:
            if last not in (KATAKANA, EXTENDNUMLET):
                break
        else:
            joins = False
            after = at
            follows = SPACE
            if MIDLETTER <= kind <= DOUBLE_QUOTE:
                after = skip(codes, at + 1, table)
                follows = entry_of(codes[after], table) & CLASS if after < len(codes) else SPACE
                if letter and kind != MIDNUM and kind != DOUBLE_QUOTE:
                    joins = follows in (LETTER, HEBREW)
                if last == HEBREW and kind == DOUBLE_QUOTE:
                    joins = follows == HEBREW
                if last == NUMERIC and kind not in (MIDLETTER, DOUBLE_QUOTE):
                    joins = follows == NUMERIC
                if not joins and last == HEBREW and kind == SINGLE_QUOTE:
                    at = skip(codes, at + 1, table)
                    break
            if not joins:
                if codes[at] >= 128 or last == KATAKANA:
                    break
                address = address or (
                    codes[at] == COLON and at + 2 < len(codes) and codes[at + 1] == SLASH and codes[at + 2] == SLASH
                )
                after = _over_marks(codes, at, table, address)
                if after < 0:
                    break
                follows = entry_of(codes[after], table) & CLASS
            at = after
            kind = follows
        last = kind
        at += 1
    return at


@njit(cache=True, nogil=True)
def _mark_end(codes, at, entry, table):
    """Return the end of the mark, the run of one mark, the flag or the pictograph at `at` (WB15, WB16)."""
    kind = entry & CLASS
    code = codes[at]
    at += 1
    if kind == REGIONAL:
        at = skip(codes, at, table)
        if at < len(codes) and entry_of(codes[at], table) & CLASS == REGIONAL:
            at += 1
    elif code in (DOT, HYPHEN, EQUALS, TILDE, SLASH, BACKSLASH, BAR, CARET, AT, PLUS, ELLIPSIS):
        while at < len(codes) and codes[at] == code:
            at += 1
    return skip(codes, at, table)


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
        entry = entry_of(codes[at], table)
        kind = entry & CLASS
        if kind == SPACE:
            at += 1
            continue
        starts[words] = at
        if LETTER <= kind <= KATAKANA:
            at = _word_end(codes, at, kind, table)
            if kind == LETTER:
                cut = clitic(codes, starts[words], at)
                if cut < at:
                    ends[words] = cut
                    words += 1
                    starts[words] = cut
                elif (
                    at < len(codes)
                    and codes[at] == DOT
                    and (at + 1 == len(codes) or codes[at + 1] != DOT)
                    and keeps_its_stop(codes, starts[words], at)
                ):
                    at += 1
        elif THAI_BEFORE <= kind <= THAI_AFTER:
            at = thai_end(codes, at, kind, table)
        elif kind == HIRAGANA:
            while at < len(codes) and (entry_of(codes[at], table) & CLASS == HIRAGANA or codes[at] == PROLONGED):
                at = skip(codes, at + 1, table)
        elif kind in (KHMER, MYANMAR):
            at = stacked_end(codes, at, kind, table)
        else:
            inside = _lead(codes, at, table) if at == 0 or not words or ends[words - 1] < at else -1
            if inside >= 0:
                at = _word_end(codes, inside, entry_of(codes[inside], table) & CLASS, table)
            else:
                at = _mark_end(codes, at, entry, table)
        while at < len(codes) and codes[at - 1] == ZERO_WIDTH_JOINER and entry_of(codes[at], table) & PICTOGRAPH:
            at = skip(codes, at + 1, table)
        ends[words] = at
        words += 1
    return starts[:words], ends[:words]
