"""Units as n-grams: runs of units hashed, and sets of hashes compared."""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import mix64
from stages.text.units import fold, room


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
    out, starts, ends = room(offsets)
    scratch = np.empty(len(starts), np.uint64)
    bounds = np.zeros(rows + 1, np.int64)
    size = np.int64(1024)
    hashes = np.empty(size, np.uint64)
    at = 0
    for row in range(rows):
        units = fold(data, offsets[row], offsets[row + 1], table, out, starts, ends)
        count = ngram_hashes(out, starts, ends, units, n, scratch)
        if at + count > size:
            size = max(2 * size, at + count)
            grown = np.empty(size, np.uint64)
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
