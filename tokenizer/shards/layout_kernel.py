"""Kernels that hash documents and lay their tokens out in an order, with what stands around each."""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import mix64
from tokenizer.memory import hash_bytes

_SALT = np.uint64(0x9E3779B97F4A7C15)
_ROW = np.uint64(32)


@njit(cache=True, nogil=True)
def hash_texts(data, offsets):  # type: ignore[no-untyped-def]
    """Return a 64-bit hash of each text (uint64); the same on every machine."""
    found = np.empty(len(offsets) - 1, np.uint64)
    for k in range(len(found)):
        found[k] = mix64(hash_bytes(data, offsets[k], offsets[k + 1] - offsets[k]))
    return found


@njit(cache=True, nogil=True)
def shuffle_keys(seed, piece, first, number):  # type: ignore[no-untyped-def]
    """Return what documents `first` … of `piece` are ordered by in the shuffle of `seed`: uint64, evenly spread."""
    keys = np.empty(number, np.uint64)
    start = mix64(mix64(np.uint64(seed) + _SALT) ^ mix64(np.uint64(piece) * _SALT + np.uint64(1)))
    for k in range(number):
        keys[k] = mix64(start + np.uint64(first + k) * _SALT)
    return keys


@njit(cache=True, nogil=True)
def lay_out(ids, starts, lengths, order, bos, eod, out):  # type: ignore[no-untyped-def]
    """Write documents ``ids[starts[d] : starts[d] + lengths[d]]`` in `order` into `out`; return how many tokens.

    Args:
        bos, eod: ids in front of and behind each; -1: none.
    """
    at = 0
    for document in order:
        if bos >= 0:
            out[at] = bos
            at += 1
        start = starts[document]
        for k in range(start, start + lengths[document]):
            out[at] = ids[k]
            at += 1
        if eod >= 0:
            out[at] = eod
            at += 1
    return at
