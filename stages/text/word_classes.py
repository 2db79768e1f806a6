"""What each code point is to the word scanner: its class, and flags that words take over from their characters.

Classes are Word_Break values of Unicode (UAX #29), as the library `regex` has them, and a few of our own for scripts that
are written without spaces between words.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import regex

from stages.text.punctuation import SENTENCE_ENDS, SYMBOLS

SPACE, OTHER, LETTER, HEBREW, NUMERIC, EXTENDNUMLET, KATAKANA = range(7)
MIDLETTER, MIDNUM, MIDNUMLET, SINGLE_QUOTE, DOUBLE_QUOTE, EXTEND, ZWJ, REGIONAL = range(7, 15)
SOLO, THAI_BEFORE, THAI, THAI_AFTER, KHMER, MYANMAR, STACKER, TSHEG, HIRAGANA = range(15, 24)
"""A letter that is a word of its own; of Thai and Lao: vowels written before, consonants, what follows; letters of Khmer and of
Myanmar, and the signs that stack the next letter below; the mark that ends a syllable of Tibetan; letters of which
a run is a word."""

CLASS = 31
NON_SYMBOL, ALPHABETIC, SENTENCE_END, PUNCTUATION, UNSPACED, PICTOGRAPH = 32, 64, 128, 256, 512, 1024
FLAG_SHIFT = 5
"""A word's flags (`stages.text.word_numbers`) are those of its characters shifted right by this."""

TABLE_SIZE = 0x20000
HAN_BEYOND = np.uint16(SOLO | NON_SYMBOL | ALPHABETIC | UNSPACED)
"""Of code points from U+20000 to U+3FFFF."""

_SHORT = """
    adm ala apr ariz ark aug bros calif co colo conn corp dec del dr feb fla ga gen gov ia ill inc ind jan jr jul jun kan
    kans ky la ltd mar mass messrs mich minn miss mo mont mr mrs ms mt neb nev nov oct okla ore pa ph prof rep rev sen sep
    sept sr st tenn va vs wash wis
"""
ABBREVIATIONS = np.array(sorted(int.from_bytes(word.encode(), "big") for word in _SHORT.split()), np.uint64)
"""English abbreviations that keep their full stop, as spaCy's English rules have them: their letters as one number."""


SCRIPTS_WITHOUT_SPACES = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
THANTHAKHAT, ASAT, MYANMAR_VIRAMA, ZERO_WIDTH_JOINER = 0x0E4C, 0x103A, 0x1039, 0x200D

_WORD_BREAK = {
    "ALetter": LETTER,
    "Hebrew_Letter": HEBREW,
    "Numeric": NUMERIC,
    "ExtendNumLet": EXTENDNUMLET,
    "Katakana": KATAKANA,
    "MidLetter": MIDLETTER,
    "MidNum": MIDNUM,
    "MidNumLet": MIDNUMLET,
    "Single_Quote": SINGLE_QUOTE,
    "Double_Quote": DOUBLE_QUOTE,
    "Extend": EXTEND,
    "Format": EXTEND,
    "ZWJ": ZWJ,
    "Regional_Indicator": REGIONAL,
}
_SEPARATORS = (0x200B, 0x1361)
"""Zero width space, between words of Khmer, Thai, Lao; the wordspace of Ethiopic."""
_TSHEGS = (0x0F0B, 0x0F0C)
"""The marks between syllables of Tibetan: they belong to the syllable before."""


@lru_cache(maxsize=1)
def white_space() -> np.ndarray:
    """Return bool, by code point: whether it is white space; none beyond is."""
    return np.array([chr(code).isspace() for code in range(0x3001)])


@lru_cache(maxsize=1)
def word_table() -> np.ndarray:
    """Return uint16, shape (`TABLE_SIZE`,): class and flags of each code point of the first two planes."""
    text = "".join(map(chr, range(TABLE_SIZE)))
    table = np.full(TABLE_SIZE, OTHER, np.uint16)

    def mark(pattern: str, value: int) -> None:
        for found in regex.finditer(pattern, text, regex.V1):
            table[found.start() : found.end()] = value

    for name, value in _WORD_BREAK.items():
        mark(rf"\p{{Word_Break={name}}}+", value)
    mark(r"[\p{L}&&[\p{Script=Han}\p{Script=Hiragana}\p{LineBreak=SA}]]+", SOLO)
    mark(r"[\p{L}&&\p{Script=Hiragana}]+", HIRAGANA)
    mark(r"[\p{L}&&[\p{Script=Thai}\p{Script=Lao}]]+", THAI)
    table[[*range(0x0E40, 0x0E45), *range(0x0EC0, 0x0EC5)]] = THAI_BEFORE
    table[[0x0E2F, 0x0E30, 0x0E32, 0x0E33, 0x0E45, 0x0E46, 0x0EAF, 0x0EB0, 0x0EB2, 0x0EB3, 0x0EC6]] = THAI_AFTER
    mark(r"[\p{L}&&\p{Script=Khmer}]+", KHMER)
    mark(r"[\p{L}&&\p{Script=Myanmar}]+", MYANMAR)
    table[[MYANMAR_VIRAMA, 0x17D2]] = STACKER
    table[list(_TSHEGS)] = TSHEG
    table[[code for code in range(TABLE_SIZE) if chr(code).isspace()]] = SPACE
    table[list(_SEPARATORS)] = SPACE

    flags = np.full(TABLE_SIZE, NON_SYMBOL, np.uint16)
    flags[[ord(mark) for mark in SYMBOLS if ord(mark) < TABLE_SIZE]] = 0
    flags[[ord(mark) for mark in SENTENCE_ENDS if ord(mark) < TABLE_SIZE]] |= SENTENCE_END
    flags[[code for code in range(TABLE_SIZE) if chr(code).isalpha()]] |= ALPHABETIC
    flags[[code for code in range(TABLE_SIZE) if unicodedata.category(chr(code))[0] == "P"]] |= PUNCTUATION
    unspaced = "".join(rf"\p{{Script={script}}}" for script in SCRIPTS_WITHOUT_SPACES)
    for pattern, flag in ((rf"[{unspaced}&&\p{{L}}]+", UNSPACED), (r"\p{Extended_Pictographic}+", PICTOGRAPH)):
        for found in regex.finditer(pattern, text, regex.V1):
            flags[found.start() : found.end()] |= flag
    return table | flags
