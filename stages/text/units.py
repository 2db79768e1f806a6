"""Text as units: what near-duplicate search and decontamination compare documents by.

A unit is a word, or one character of a script written without spaces between words. Case, punctuation, white space, line
breaks, accents, vowel points and character width make no difference, nor does the normal form (UAX 15). The kernels read
UTF-8 straight from Arrow buffers, so no Python string is made.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

SEPARATOR, IGNORED = np.uint32(0), np.uint32(1)
SOLO, JOINS, EXPANDS = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32(1 << 29)
CODE = np.uint32((1 << 21) - 1)
CLASS_SHIFT = np.uint32(21)
CLASS = np.uint32(0xFF)

COMPATIBILITY = 0x2F800
"""Han compatibility ideographs of the third plane: entries behind those of the first two; the rest there is Han."""
COMPATIBILITY_END = 0x2FA20
TABLE_SIZE = 0x20000 + COMPATIBILITY_END - COMPATIBILITY

SOLO_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul letters that no syllable takes in
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # CJK radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul letters, extension A
    (0xAC00, 0xD7A3),  # Hangul syllables: spacing is optional in much of Korean practice
    (0xD7B0, 0xD7FF),  # Hangul letters, extension B
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1B000, 0x1B16F),  # Kana supplement
)
"""Scripts whose characters are units of their own. Han beyond the second plane (U+20000 and up) is one too."""

HANGUL, KANA = range(0xAC00, 0xD7A4), range(0x3040, 0x3100)
"""Written composed: what comes in pieces is put together. All else is written decomposed."""

UNITS_A_BYTE, FOLDED_A_BYTE = 2, 6
"""What one byte of a text can grow to. Most of all grow symbols that stand for four kana: of three bytes, four units of three
bytes and a space each (16 for 3)."""

MOST_MARKS = 64
"""Marks in a row that are put in order. Text has up to 30 where it is to be exchanged (UAX 15, Stream-Safe Text Format)."""

_IGNORABLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
)
"""Letters and marks that are default ignorable (UAX 44): fillers, variation selectors."""

_WORD_CATEGORIES = frozenset({"L", "N", "M"})
_VOICING = (0x3099, 0x309A)


@lru_cache(maxsize=1)
def fold_table() -> np.ndarray:
    """Return uint32: what each code point becomes, and behind that what more than one is made of.

    0 separates words (space, punctuation, symbol, control), 1 is passed over (format characters, accents, vowel points).
    Else bits 0 to 20 are the code point to write: lower case, without accent, of plain width; bits 21 to 28 its
    canonical combining class; bit 31 says that it is a unit of its own, bit 30 that it may join the one before it.
    With bit 29, bits 0 to 20 are where in the table the number of entries stands, and behind it the entries.
    """
    table = np.zeros(TABLE_SIZE, np.uint32)
    more: list[int] = []
    codes = [*range(0x20000), *range(COMPATIBILITY, COMPATIBILITY_END)]
    for place, code in enumerate(codes):
        entries = folded(code)
        if len(entries) > 1:
            table[place] = int(EXPANDS) | TABLE_SIZE + len(more)
            more += [len(entries), *entries]
        else:
            table[place] = entries[0] if entries else IGNORED
    return np.concatenate([table, np.array(more, np.uint32)])


def folded(code: int) -> list[int]:
    """Return the entries of one code point, what is ignored left out: compatibility caseless matching (Unicode D146)."""
    character = chr(code)
    category = unicodedata.category(character)
    if category[0] in "CZ" and category != "Cf":
        return [int(SEPARATOR)]
    decomposition = unicodedata.decomposition(character)
    if code in HANGUL or (code in KANA and not decomposition.startswith("<")):
        text = character
    elif category[0] in _WORD_CATEGORIES or _is_written_out(character, decomposition):
        text = _decomposed(character)
        if len(text) > LONGEST:
            text = character
    else:
        text = character
    return [entry for entry in map(_entry, text) if entry != IGNORED]


LONGEST = 4
"""Code points that one is made of at most. The few of more (a whole phrase in one) stand for themselves."""


IOTA_BELOW = "\u0345"
"""The one mark whose lower case is a letter. It stays a mark until marks are in order (Unicode D145)."""

_LETTERS_IN_ONE = ("<compat>", "<square>", "<circle>")


def _is_written_out(character: str, decomposition: str) -> bool:
    """Return whether a symbol is letters in another form: Kangxi radicals, which PDF files are full of, ㎏, ㈱, №, Ⓐ.

    A raised one is none of the word it stands behind: Windows™ is Windows.
    """
    if not decomposition.startswith(_LETTERS_IN_ONE):
        return False
    return any(unicodedata.category(c)[0] in _WORD_CATEGORIES for c in unicodedata.normalize("NFKD", character))


def _decomposed(text: str) -> str:
    while (further := unicodedata.normalize("NFKD", _caseless(unicodedata.normalize("NFD", text)))) != text:
        text = further
    return text.replace("ı", "i")  # whose capital is I as well: Turkish in capitals is Turkish


def _caseless(text: str) -> str:
    return "".join(c if c == IOTA_BELOW else c.casefold() for c in text)


def _entry(character: str) -> int:
    """Return what a code point that is not decomposed further becomes."""
    code, category, rank = ord(character), unicodedata.category(character), unicodedata.combining(character)
    if character == IOTA_BELOW:
        return ord("ι") | rank << int(CLASS_SHIFT)
    if category in ("Cf", "Me") or code in _IGNORABLE or rank == 1 or 10 <= rank <= 36 or rank >= 200:
        return int(IGNORED)
    if category[0] not in _WORD_CATEGORIES:
        return int(SEPARATOR)
    entry = code | rank << int(CLASS_SHIFT)
    if any(first <= code <= last for first, last in SOLO_RANGES) or COMPATIBILITY_END > code >= 0x20000:
        entry |= int(SOLO)
    if code in range(0x1161, 0x1176) or code in range(0x11A8, 0x11C3) or code in _VOICING:
        entry |= int(JOINS)
    return entry


def _voiced() -> np.ndarray:
    """Return uint32, shape (2, kana): each with a voicing mark and with a half-voicing mark, 0 where there is none."""
    forms = [[unicodedata.normalize("NFC", chr(code) + chr(mark)) for code in KANA] for mark in _VOICING]
    return np.array([[ord(form) if len(form) == 1 else 0 for form in row] for row in forms], np.uint32)


_VOICED = _voiced()


def unicode_version() -> dict[str, str]:
    """Return the version of Unicode that decides what units are, as `Stage.resources` names it, and of the rules here."""
    return {"unicode": unicodedata.unidata_version, "units": "3"}


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
        return _VOICED[code - np.uint32(0x3099), last - np.uint32(0x3040)]
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
    """Write an entry, behind the unit that is open (`inside`) or as the beginning of the next one.

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
