"""Text as units and units as n-grams: what near-duplicate search and decontamination compare documents by.

A unit is a word, or one character of a script written without spaces between words. Case, punctuation,
white space, line breaks, accents and character width make no difference. The kernels read UTF-8 straight
from Arrow buffers, so no Python string is made.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

SEPARATOR, IGNORED = np.uint32(0), np.uint32(1)
SOLO = np.uint32(1 << 31)
TABLE_SIZE = 0x20000

SOLO_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # CJK radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul syllables: spacing is optional in much of Korean practice
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1B000, 0x1B16F),  # Kana supplement
)
"""Scripts whose characters are units of their own. Han beyond the second plane (U+20000 and up) is one too."""

_IGNORED_CATEGORIES = frozenset({"Cf"})  # soft hyphen, joiners, direction marks: not seen by a reader
_WORD_CATEGORIES = frozenset({"L", "N", "M"})


@lru_cache(maxsize=1)
def fold_table() -> np.ndarray:
    """Return uint32, shape (0x20000,): what each code point becomes.

    0 separates words (space, punctuation, symbol, control), 1 is passed over (format characters, combining
    accents U+0300 to U+036F), any other value is the code point to write: lower case, without accent, of plain
    width; with bit 31 set it is a unit of its own.
    """
    table = np.zeros(TABLE_SIZE, np.uint32)
    for code in range(TABLE_SIZE):
        table[code] = _folded(code)
    return table


def _folded(code: int) -> int:
    if 0xD800 <= code <= 0xDFFF:
        return int(SEPARATOR)
    character = chr(code)
    category = unicodedata.category(character)
    if 0x300 <= code <= 0x36F or category in _IGNORED_CATEGORIES:
        return int(IGNORED)
    if category[0] not in _WORD_CATEGORIES:
        return int(SEPARATOR)
    if any(first <= code <= last for first, last in SOLO_RANGES):
        return code | int(SOLO)
    decomposed = unicodedata.normalize("NFKD", character.lower())
    base = "".join(c for c in decomposed if not 0x300 <= ord(c) <= 0x36F).lower()
    if len(base) != 1 or unicodedata.category(base)[0] not in _WORD_CATEGORIES:
        lower = character.lower()
        base = lower if len(lower) == 1 else character
    solo = any(first <= ord(base) <= last for first, last in SOLO_RANGES)
    return ord(base) | (int(SOLO) if solo else 0)


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
def fold(data, start, end, table, out, starts, ends):
    """Write the units of ``data[start:end]`` (UTF-8) into `out`, separated by single spaces.

    Args:
        out: uint8 of at least ``2 * (end - start) + 4``.
        starts, ends: int32 of at least ``(end - start) // 2 + 2``: where each unit lies in `out`.

    Returns:
        The number of units.
    """
    units = 0
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    # unsigned, or every access would first ask whether the index counts from the end
    i, stop, at = np.uintp(start), np.uintp(end), np.uintp(0)
    inside = False
    while i < stop:
        byte = data[i]
        if byte < 0x80:
            code = table[byte]
            i += one
            if inside and code > np.uint32(1):
                out[at] = code
                at += one
                continue
        else:
            width = two if byte < 0xE0 else three if byte < 0xF0 else np.uintp(4)
            code = np.uint32(0)
            if i + width <= stop:
                code = _code_point(data, i, width)
            i += width
            if code < np.uint32(0x20000):
                code = table[code]
            elif code < np.uint32(0x40000):
                code = code | np.uint32(0x80000000)
            else:
                code = np.uint32(code >= np.uint32(0xE0000))
        if code == np.uint32(1):
            continue
        solo = code >> np.uint32(31)
        code = code & np.uint32(0x7FFFFFFF)
        if inside and (code == np.uint32(0) or solo):
            ends[units - 1] = at
            inside = False
        if code == np.uint32(0):
            continue
        if not inside:
            if units:
                out[at] = 32
                at += one
            starts[units] = at
            units += 1
            inside = True
        at = _write(out, at, code)
        if solo:
            ends[units - 1] = at
            inside = False
    if inside:
        ends[units - 1] = at
    return units


@njit(cache=True, nogil=True)
def mix64(value):
    """Return the 64-bit finalizer of MurmurHash3 (Appleby, public domain) of `value`."""
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@njit(cache=True, nogil=True)
def hash_span(data, start, end):
    """Return a 64-bit hash of ``data[start:end]``: FNV-1a (Fowler, Noll, Vo), finalized by `mix64`."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(start, end):
        value = (value ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
    return mix64(value)


@njit(cache=True, nogil=True)
def unit_hashes(folded, starts, ends, units, hashes):
    """Write a 64-bit hash of each unit into `hashes`."""
    for i in range(units):
        hashes[i] = hash_span(folded, starts[i], ends[i])


@njit(cache=True, nogil=True)
def roll(hashes, units, n, result):
    """Write a 64-bit hash of every run of `n` of the `units` unit hashes into `result`; return how many there are.

    A polynomial over the units' hashes modulo 2^64, rolled along and finalized (Karp and Rabin 1987). Fewer
    than `n` units are one run, hashed with their number, so that short texts differ from each other and from
    a part of a longer one; no units, no hash.

    Args:
        result: uint64 of at least ``max(1, units)``; may be `hashes` itself.
    """
    if units == 0:
        return 0
    base = np.uint64(0x9E3779B97F4A7C15)
    top = np.uint64(1)
    rolling = np.uint64(0)
    for i in range(min(n, units)):
        top *= base
        rolling = rolling * base + hashes[i]
    if units < n:
        result[0] = mix64(rolling + np.uint64(units))
        return 1
    count = units - n + 1
    for i in range(count):
        leaving = hashes[i]
        result[i] = mix64(rolling)
        if i + 1 < count:
            rolling = rolling * base + hashes[i + n] - leaving * top
    return count


@njit(cache=True, nogil=True)
def ngram_hashes(folded, starts, ends, units, n, hashes):
    """Write a hash of every run of `n` units into `hashes`, as `roll` does, and return how many there are."""
    unit_hashes(folded, starts, ends, units, hashes)
    return roll(hashes, units, n, hashes)


@njit(cache=True, nogil=True)
def shingle_sets(data, offsets, n, table):
    """Return the set of shingle hashes of each text.

    Returns:
        (bounds, hashes): int64 of shape (rows + 1,) and uint64; row r's set, sorted and without repeats, is
        ``hashes[bounds[r]:bounds[r + 1]]``.
    """
    rows = len(offsets) - 1
    longest = 0
    for row in range(rows):
        longest = max(longest, offsets[row + 1] - offsets[row])
    out = np.empty(2 * longest + 4, np.uint8)
    starts = np.empty(longest // 2 + 2, np.int32)
    ends = np.empty(longest // 2 + 2, np.int32)
    scratch = np.empty(longest // 2 + 2, np.uint64)
    bounds = np.zeros(rows + 1, np.int64)
    room = np.int64(1024)
    hashes = np.empty(room, np.uint64)
    at = 0
    for row in range(rows):
        units = fold(data, offsets[row], offsets[row + 1], table, out, starts, ends)
        count = ngram_hashes(out, starts, ends, units, n, scratch)
        if at + count > room:
            room = max(2 * room, at + count)
            grown = np.empty(room, np.uint64)
            grown[:at] = hashes[:at]
            hashes = grown
        found = np.sort(scratch[:count])
        for i in range(count):
            if i == 0 or found[i] != found[i - 1]:
                hashes[at] = found[i]
                at += 1
        bounds[row + 1] = at
    return bounds, hashes[:at].copy()


@njit(cache=True, nogil=True)
def jaccard(a, b, least):
    """Return the Jaccard similarity of two sorted sets without repeats; -1 as soon as it cannot reach `least`."""
    total = len(a) + len(b)
    if total == 0:
        return 0.0
    # |A and B| needed: s >= least  <=>  common >= least * total / (1 + least)
    spare = total - np.ceil(least * total / (1.0 + least) - 1e-9) * 2.0
    i = 0
    j = 0
    common = 0
    lonely = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            common += 1
            i += 1
            j += 1
        else:
            if a[i] < b[j]:
                i += 1
            else:
                j += 1
            lonely += 1
            if lonely > spare:
                return -1.0
    return common / (total - common)
