"""What each code point becomes where text is compared as units: the table that `units.fold` reads, and its rules.

Compatibility caseless matching (Unicode D146), less what makes no difference between documents: accents, vowel points,
format characters, punctuation.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np

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


VOICED = _voiced()


def unicode_version() -> dict[str, str]:
    """Return the version of Unicode that decides what units are, as `Stage.resources` names it, and of the rules here."""
    return {"unicode": unicodedata.unidata_version, "units": "3"}
