"""One hash mixer and one open-addressing table for all kernels: what is sought by a number, or by a hash of bytes.

Some tables have a loop of their own. Equal hashes are not enough where what stands in a cell is held against the key itself:
`tokenizer.pretokens.byte_table` has a pretoken of up to 16 bytes in the cell, so that a look-up touches one cache line;
`stages.text.word_numbers` and `stages.text.ngrams` number what lies in one text. And where keys are all 64 bits of a hash
already, which need no mixing and leave no value for a free cell: the index of `stages.decontamination` as it lies in its file,
and `tokenizer.batches.look_kernel`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FREE = -1
"""A cell of a table in which nothing stands. No entry may equal it."""

WHOLE = -1
"""The `bits` of a table that holds keys alone."""

_SHIFT = np.uint64(33)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)


@njit(cache=True, nogil=True, inline="always")
def mix64(value):  # type: ignore[no-untyped-def]
    """Return `value` (uint64) with its bits spread over all 64: the finalizer of MurmurHash3 (Appleby, public domain)."""
    value = (value ^ (value >> _SHIFT)) * _FIRST
    value = (value ^ (value >> _SHIFT)) * _SECOND
    return value ^ (value >> _SHIFT)


@njit(cache=True, nogil=True, inline="always")
def slot_of(table, key, bits):  # type: ignore[no-untyped-def]
    """Return where `key` stands in an open-addressing table, or the free cell where it belongs.

    Args:
        table: int64, a power of two long, never full; free cells hold `FREE`. A cell is a key, or a key in its lower
            bits and what it maps to above them, so that a look-up touches one cache line.
        key: int64, not negative.
        bits: mask of the key's bits in a cell; `WHOLE` where there are no others.
    """
    last = len(table) - 1
    slot = np.int64(mix64(np.uint64(key))) & last
    while table[slot] != FREE and table[slot] & bits != key:
        slot = (slot + 1) & last
    return slot
