"""Kernels that leave of a text what is language: code points in, code points out."""

from __future__ import annotations

import numpy as np
from numba import njit

LONGEST_TAG = 1000
"""Code points between < and > of a tag; what is longer is no tag."""
MOST_OF_A_RUN = 20
"""Letters of one run that count as code: an encoded picture in an article makes it no code."""
_SPACE, _NOTHING, _DIGIT, _LETTER, _UPPER = 1, 2, 3, 4, 5  # stages.language.characters


@njit(cache=True, nogil=True)
def _letter(code):
    return 65 <= code <= 90 or 97 <= code <= 122


@njit(cache=True, nogil=True)
def _small(code):
    return 97 <= code <= 122


@njit(cache=True, nogil=True)
def _name(code):
    return _letter(code) or 48 <= code <= 57


@njit(cache=True, nogil=True)
def _markup_end(codes, at):
    """Return where the tag, entity or token in brackets that begins at `at` ends; `at` where there is none."""
    size = len(codes)
    first = codes[at]
    if first == 60 and at + 1 < size:  # <a …>  </s>  <!-- … -->  <|end|>  <?xml …>
        after = codes[at + 1]
        if _letter(after) or after == 47 or after == 33 or after == 124 or after == 63:
            for end in range(at + 2, min(size, at + 2 + LONGEST_TAG)):
                if codes[end] == 60:
                    break
                if codes[end] == 62:
                    return end + 1
    elif first == 38:  # &nbsp;  &#160;
        start = at + 1
        if start < size and codes[start] == 35:
            start += 1
        end = start
        while end < min(size, start + 10) and _name(codes[end]):
            end += 1
        if start < end < size and codes[end] == 59:
            return end + 1
    elif first == 91:  # [SEP]
        end = at + 1
        while end < min(size, at + 13) and 65 <= codes[end] <= 90:
            end += 1
        if end > at + 2 and end < size and codes[end] == 93:
            return end + 1
    return at


@njit(cache=True, nogil=True)
def blank_markup(codes):
    """Put spaces in the place of tags, entities and special tokens in brackets, in `codes` (uint32) itself."""
    at = 0
    while at < len(codes):
        end = at
        if codes[at] == 60 or codes[at] == 38 or codes[at] == 91:
            end = _markup_end(codes, at)
        if end == at:
            at += 1
        else:
            codes[at:end] = 32
            at = end


@njit(cache=True, nogil=True)
def _is_address(codes, start, end):
    """Tell whether a run of ASCII is an address, a handle or an identifier: :// @ \\ www. __ a_b."""
    for i in range(start, end):
        code = codes[i]
        after = codes[i + 1] if i + 1 < end else 32
        if code == 64 or code == 92:
            return True
        if code == 58 and after == 47 and i + 2 < end and codes[i + 2] == 47:
            return True
        if code == 95 and (after == 95 or (i > start and _name(codes[i - 1]) and _name(after))):
            return True
        if code == 46 and i >= start + 3 and codes[i - 1] == codes[i - 2] == codes[i - 3] == 119:
            return True
    return False


@njit(cache=True, nogil=True)
def _is_code(codes, start, end):
    """Tell whether a run of ASCII holds marks that do not stand around a word ({ } = ; < before it, { } = ( [ behind it)
    or in it (all but ' - . , / ! ? `, and a full stop between small letters, as in names of hosts and members)."""
    while start < end and not _name(codes[start]):
        if codes[start] in (123, 125, 61, 59, 60):
            return True
        start += 1
    while start < end and not _name(codes[end - 1]):
        if codes[end - 1] in (123, 125, 61, 40, 91):
            return True
        end -= 1
    for i in range(start, end):
        code = codes[i]
        if not _name(code) and code not in (39, 45, 46, 44, 47, 33, 63, 96):
            return True
        if code == 46 and i >= start + 2 and _small(codes[i - 2]) and _small(codes[i - 1]) and _small(codes[i + 1]):
            return True
    return False


@njit(cache=True, nogil=True)
def blank_code(codes):
    """Put spaces in the place of addresses, numbers and code, in `codes` (uint32) itself; return the letters of the code.

    Looks at each run of ASCII without space. A run of marks that are code counts as four letters.
    """
    letters_of_code = 0
    at = 0
    size = len(codes)
    while at < size:
        if not 33 <= codes[at] <= 126:
            at += 1
            continue
        end = at
        letters = 0
        names = 0
        while end < size and 33 <= codes[end] <= 126:
            letters += _letter(codes[end])
            names += _name(codes[end])
            end += 1
        if _is_address(codes, at, end) or (names and not letters):
            codes[at:end] = 32
        elif _is_code(codes, at, end):
            letters_of_code += min(letters, MOST_OF_A_RUN) if names else 4
            codes[at:end] = 32
        at = end
    return letters_of_code


@njit(cache=True, nogil=True)
def words(codes, kinds, scripts, number_of_scripts):
    """Return what remains of `codes` (uint32): each space, or what reads as one, single; nothing that is not seen.

    Returns:
        (uint32 code points; int64, shape (number_of_scripts,): letters of each; capitals; letters that have a case
        and are small, or have none).
    """
    out = np.empty(len(codes), np.uint32)
    letters = np.zeros(number_of_scripts, np.int64)
    upper = 0
    total = 0
    size = 0
    gap = False
    for code in codes:
        kind = kinds[code] if code < len(kinds) else _NOTHING
        if kind == _NOTHING:
            continue
        if kind in (_SPACE, _DIGIT):
            gap = True
            continue
        if gap and size:
            out[size] = 32
            size += 1
        gap = False
        out[size] = code
        size += 1
        if kind in (_LETTER, _UPPER):
            letters[scripts[code]] += 1
            total += 1
            upper += kind == _UPPER
    return out[:size], letters, upper, total - upper
