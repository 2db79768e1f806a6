"""Words of one text, numbered by themselves."""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.kernels import BASE
from stages.text.scan import entry_of
from stages.text.word_classes import (
    CLASS,
    DOUBLE_QUOTE,
    FLAG_SHIFT,
    KATAKANA,
    LETTER,
    MIDLETTER,
    OTHER,
    TSHEG,
)

NON_SYMBOL = 1  # some character is no punctuation
ALPHABETIC = 2  # some character is a letter
SENTENCE_END = 4  # the word is a mark that ends a sentence
PUNCTUATION = 8  # all characters are punctuation of Unicode
UNSPACED = 16  # some character is a letter of a script written without spaces


@njit(cache=True, nogil=True, inline="always")
def _word_flags(flags, first, last):
    """Return the flags of a word of `unicode`: of its characters; its first's entry; its last's class."""
    kind = first & CLASS
    found = (flags >> FLAG_SHIFT) & (1 | 2 | 16)
    if (kind in (OTHER, TSHEG) or MIDLETTER <= kind <= DOUBLE_QUOTE) and not LETTER <= last <= KATAKANA:
        found |= (first >> FLAG_SHIFT) & (4 | 8)
    return np.uint8(found)


@njit(cache=True, nogil=True)
def number_words(codes, starts, ends, table, marked_by_first):
    """Give equal words equal numbers, in order of first occurrence.

    Args:
        codes: uint32, code points of the text. starts, ends: int32, shape (words,).
        table: of `stages.text.word_classes`.
        marked_by_first: a word of marks ends a sentence, or is punctuation, where its first mark does; else where it is one mark
            that ends sentences, and where all are punctuation. Only with it is anything `UNSPACED`.

    Returns:
        numbers: int32, shape (words,).
        length: int32, of each different word: code points.
        flags: uint8: `NON_SYMBOL`, `ALPHABETIC`, `SENTENCE_END`, `PUNCTUATION`, `UNSPACED`.
        hashes, powers: uint64: polynomial hash of its code points, wrapping, and base ** length, so that
            hash(a + b) = hash(a) * power(b) + hash(b).
        at: int64: where it first lies in `codes`.
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
        every = np.uint16(0xFFFF)
        for at in range(starts[word], ends[word]):
            code = codes[at]
            h = h * BASE + np.uint64(code) + np.uint64(1)
            power *= BASE
            entry = entry_of(code, table)
            flag |= entry
            every &= entry
        characters = ends[word] - starts[word]
        mask = np.uint64(size - 1)
        slot = (h ^ (h >> np.uint64(29))) & mask
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = known
                number = known
                length[known] = characters
                if marked_by_first:
                    flags[known] = _word_flags(
                        flag, entry_of(codes[starts[word]], table), entry_of(codes[ends[word] - 1], table) & CLASS
                    )
                else:
                    single = (every >> FLAG_SHIFT) & (4 | 8 if characters == 1 else 8)
                    flags[known] = np.uint8((flag >> FLAG_SHIFT) & (1 | 2) | single)
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
