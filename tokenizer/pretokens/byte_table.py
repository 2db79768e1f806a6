"""A hash table from pretokens to one number each, in one array of slots: a lookup touches one cache line.

A slot is four uint64: two words of key, the length in bytes (0: free), and the value. Up to 16 bytes the key
is the pretoken itself; of a longer one it is its hash and where its bytes lie in `arena`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import mix64
from tokenizer.memory import FIRST_BYTES, M1, M2, SECOND_BYTES, hash_bytes, load64, prefetch, same_bytes

KEY, KEY2, LENGTH, VALUE = range(4)
INLINE = 16
"""Pretokens up to this many bytes lie in their slot."""


@njit(cache=True, nogil=True, inline="always")
def key_of(data, start, length):  # type: ignore[no-untyped-def]
    """Return the two key words of a pretoken; of one longer than `INLINE`, its hash and 0."""
    if length <= INLINE:
        key = load64(data, start) & FIRST_BYTES[min(length, 8)]
        key2 = load64(data, start + 8) & SECOND_BYTES[length]
    else:
        key = hash_bytes(data, start, length)
        key2 = np.uint64(0)
    return key, key2


@njit(cache=True, nogil=True, inline="always")
def place_of(key, key2, length):  # type: ignore[no-untyped-def]
    """Return the hash by which a pretoken's slot is sought."""
    return mix64(key * M1 ^ key2 * M2 ^ np.uint64(length))


@njit(cache=True, nogil=True)
def seek(slots, data, start, ends, number, keys):  # type: ignore[no-untyped-def]
    """Write key words and first slot of `number` pretokens, from `start` to each of `ends`, into `keys`.

    The slots are asked for from memory meanwhile, so that `find` need not wait for them.

    Args:
        keys: uint64, shape (at least number, 3).
    """
    mask = np.uint64(len(slots) - 1)
    for k in range(number):
        length = ends[k] - start
        key, key2 = key_of(data, start, length)
        slot = place_of(key, key2, length) & mask
        prefetch(slots, np.int64(slot))
        keys[k, 0] = key
        keys[k, 1] = key2
        keys[k, 2] = slot
        start = ends[k]


@njit(cache=True, nogil=True, inline="always")
def find(slots, arena, data, start, length, key, key2, slot):  # type: ignore[no-untyped-def]
    """Return the slot of the pretoken, or the free slot where it belongs, from its first `slot` on."""
    mask = len(slots) - 1
    number = np.uint64(length)
    while True:
        held = slots[slot, LENGTH]
        if held == 0:
            break
        if held == number and slots[slot, KEY] == key:
            if length <= INLINE:
                if slots[slot, KEY2] == key2:
                    break
            elif same_bytes(arena, np.int64(slots[slot, KEY2]), data, start, length):
                break
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def enter(slots, slot, key, key2, length, value, arena, used, data, start):  # type: ignore[no-untyped-def]
    """Fill the free `slot` that `find` answered; return the bytes of `arena` in use afterwards."""
    slots[slot, KEY] = key
    slots[slot, KEY2] = key2
    slots[slot, LENGTH] = length
    slots[slot, VALUE] = value
    if length > INLINE:
        slots[slot, KEY2] = used
        for k in range(length):
            arena[used + k] = data[start + k]
        used += length
    return used


@njit(cache=True, nogil=True)
def move(old, new):  # type: ignore[no-untyped-def]
    """Enter all of `old` into the empty, larger table `new`."""
    mask = len(new) - 1
    for at in range(len(old)):
        length = old[at, LENGTH]
        if length == 0:
            continue
        place = place_of(old[at, KEY], old[at, KEY2] if length <= INLINE else np.uint64(0), length)
        slot = np.int64(place) & mask
        while new[slot, LENGTH]:
            slot = (slot + 1) & mask
        new[slot] = old[at]


@njit(cache=True, nogil=True)
def unload(slots, arena, data, offsets, values):  # type: ignore[no-untyped-def]
    """Write all pretokens one behind the other into `data`, their bounds into `offsets`, what they map to into `values`."""
    number = 0
    offsets[0] = 0
    for at in range(len(slots)):
        length = np.int64(slots[at, LENGTH])
        if length == 0:
            continue
        to = offsets[number]
        if length > INLINE:
            source = np.int64(slots[at, KEY2])
            for k in range(length):
                data[to + k] = arena[source + k]
        else:
            for k in range(length):
                data[to + k] = np.uint8(slots[at, k >> 3] >> np.uint64(8 * (k & 7)))
        values[number] = slots[at, VALUE]
        number += 1
        offsets[number] = to + length
