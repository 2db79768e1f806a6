"""All distinct pretokens in one array of symbols, and the pairs of neighbours that stand in it.

The pretokens lie one behind the other in `symbols` (int32). A token of L bytes takes L cells: its id in
the first, and, if L > 1, -L in the last; cells between hold a negative number that nobody reads. So both
neighbours of a token are found without links. Before each pretoken lie three cells: two negative numbers that
hold how often it occurs, and `BREAK`. A negative cell ends the array.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import FREE, WHOLE, slot_of

BREAK = -(1 << 31)
HEADER = 3
"""Cells before each pretoken."""

WALK = 48
"""Tokens walked back to the beginning of a pretoken before it is searched for."""


@njit(cache=True, nogil=True)
def lay_out(data, offsets, counts, id_of_byte, symbols, long_starts):  # type: ignore[no-untyped-def]
    """Write the pretokens into `symbols`, and where those of more than `WALK` bytes begin into `long_starts`."""
    at = 0
    number = 0
    for word in range(len(offsets) - 1):
        symbols[at] = -1 - (counts[word] >> 31)
        symbols[at + 1] = -1 - (counts[word] & 0x7FFFFFFF)
        symbols[at + 2] = BREAK
        at += HEADER
        if offsets[word + 1] - offsets[word] > WALK:
            long_starts[number] = at
            number += 1
        for k in range(offsets[word], offsets[word + 1]):
            symbols[at] = id_of_byte[data[k]]
            at += 1
    symbols[at] = -1


@njit(cache=True, nogil=True, inline="always")
def weight_before(symbols, start):  # type: ignore[no-untyped-def]
    """How often the pretoken occurs whose first token is at `start`."""
    return (-1 - np.int64(symbols[start - 3])) << 31 | (-1 - np.int64(symbols[start - 2]))


@njit(cache=True, nogil=True)
def count_pairs(symbols, lengths):  # type: ignore[no-untyped-def]
    """Return all pairs of neighbours as (key = left << 32 | right, count, number of places), unordered."""
    size = 1 << 16
    keys = np.full(size, FREE, np.int64)
    totals = np.zeros(size, np.int64)
    places = np.zeros(size, np.int64)
    byte_totals = np.zeros(1 << 16, np.int64)  # pairs of bytes, most of all at first, need no search
    byte_places = np.zeros(1 << 16, np.int64)
    used = 0
    at = 0
    weight = np.int64(0)
    while at < len(symbols) - 1:
        left = np.int64(symbols[at])
        if left < 0:
            at += HEADER
            weight = weight_before(symbols, at)
            continue
        at += lengths[left]
        right = np.int64(symbols[at])
        if right < 0:
            continue
        if left < 256 and right < 256:
            byte_totals[left << 8 | right] += weight
            byte_places[left << 8 | right] += 1
            continue
        slot = slot_of(keys, left << 32 | right, WHOLE)
        if keys[slot] < 0:
            keys[slot] = left << 32 | right
            used += 1
        totals[slot] += weight
        places[slot] += 1
        if 2 * used > size:
            size *= 2
            new_keys = np.full(size, FREE, np.int64)
            new_totals = np.zeros(size, np.int64)
            new_places = np.zeros(size, np.int64)
            for old in range(len(keys)):
                if keys[old] >= 0:
                    slot = slot_of(new_keys, keys[old], WHOLE)
                    new_keys[slot] = keys[old]
                    new_totals[slot] = totals[old]
                    new_places[slot] = places[old]
            keys, totals, places = new_keys, new_totals, new_places
    kept = np.flatnonzero(keys >= 0)
    of_bytes = np.flatnonzero(byte_places)
    return (
        np.concatenate((of_bytes >> 8 << 32 | of_bytes & 0xFF, keys[kept])),
        np.concatenate((byte_totals[of_bytes], totals[kept])),
        np.concatenate((byte_places[of_bytes], places[kept])),
    )


@njit(cache=True, nogil=True)
def index_pairs(keys, table_keys, table_pairs):  # type: ignore[no-untyped-def]
    """Enter pairs 0, 1, … with `keys` into the empty table."""
    for pair in range(len(keys)):
        slot = slot_of(table_keys, keys[pair], WHOLE)
        table_keys[slot] = keys[pair]
        table_pairs[slot] = pair


@njit(cache=True, nogil=True)
def place_pairs(symbols, lengths, table_keys, table_pairs, firsts, pool):  # type: ignore[no-untyped-def]
    """Write every position of every indexed pair into `pool`, ascending, from ``firsts[pair]`` on."""
    fill = firsts.copy()
    byte_slots = np.full(1 << 16, -1, np.int64)
    at = 0
    while at < len(symbols) - 1:
        left = np.int64(symbols[at])
        if left < 0:
            at += HEADER
            continue
        here = at
        at += lengths[left]
        right = np.int64(symbols[at])
        if right < 0:
            continue
        if left < 256 and right < 256:
            slot = byte_slots[left << 8 | right]
            if slot < 0:
                slot = byte_slots[left << 8 | right] = slot_of(table_keys, left << 32 | right, WHOLE)
        else:
            slot = slot_of(table_keys, left << 32 | right, WHOLE)
        if table_keys[slot] >= 0:
            pair = table_pairs[slot]
            pool[fill[pair]] = here
            fill[pair] += 1
