"""MinHash signatures of shingles (Broder 1997), bit for bit those of datasketch 2 with its default scheme.

A shingle is `n` units (see `stages.text.units`) joined by single spaces, as UTF-8, hashed with xxh32 (Collet,
seed 0); a text of fewer units is one shingle of all of them. Each 32-bit hash is finalized by MurmurHash3's
fmix32 and permuted by ``a * h + b`` modulo 2^32, `a` odd; a signature holds the least value under each of
``bands * rows`` permutations. A band is hashed to 64 bits: documents that agree in one are candidates.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from pipeline.hashing import mix64
from stages.text.units import fold, room


@lru_cache(maxsize=8)
def permutations(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (a, b), each uint32 of shape (count,): the permutations datasketch 2 draws for `seed` (affine32)."""
    generator = np.random.RandomState(seed)
    a = generator.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    b = generator.randint(0, 1 << 32, count, dtype=np.uint32)
    return a, b


@njit(cache=True, nogil=True)
def _word32(data, at):
    return (
        np.uint32(data[at])
        | np.uint32(data[at + np.uintp(1)]) << np.uint32(8)
        | np.uint32(data[at + np.uintp(2)]) << np.uint32(16)
        | np.uint32(data[at + np.uintp(3)]) << np.uint32(24)
    )


@njit(cache=True, nogil=True)
def _rotate32(value, by):
    return (value << np.uint32(by)) | (value >> np.uint32(32 - by))


@njit(cache=True, nogil=True)
def xxh32(data, start, end):
    """Return the xxh32 hash (Collet's published specification, seed 0) of ``data[start:end]``."""
    p1, p2, p3 = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77), np.uint32(0xC2B2AE3D)
    p4, p5 = np.uint32(0x27D4EB2F), np.uint32(0x165667B1)
    # unsigned, or every access would first ask whether the index counts from the end
    at, stop = np.uintp(start), np.uintp(end)
    size = stop - at
    if size >= np.uintp(16):
        one, two, three, four = np.uint32(p1 + p2), p2, np.uint32(0), np.uint32(np.uint32(0) - p1)
        while at + np.uintp(16) <= stop:
            one = np.uint32(_rotate32(np.uint32(one + _word32(data, at) * p2), 13) * p1)
            two = np.uint32(_rotate32(np.uint32(two + _word32(data, at + np.uintp(4)) * p2), 13) * p1)
            three = np.uint32(_rotate32(np.uint32(three + _word32(data, at + np.uintp(8)) * p2), 13) * p1)
            four = np.uint32(_rotate32(np.uint32(four + _word32(data, at + np.uintp(12)) * p2), 13) * p1)
            at += np.uintp(16)
        value = np.uint32(_rotate32(one, 1) + _rotate32(two, 7) + _rotate32(three, 12) + _rotate32(four, 18))
    else:
        value = p5
    value = np.uint32(value + np.uint32(size))
    while at + np.uintp(4) <= stop:
        value = np.uint32(_rotate32(np.uint32(value + _word32(data, at) * p3), 17) * p4)
        at += np.uintp(4)
    while at < stop:
        value = np.uint32(_rotate32(np.uint32(value + np.uint32(data[at]) * p5), 11) * p1)
        at += np.uintp(1)
    value = np.uint32((value ^ (value >> np.uint32(15))) * p2)
    value = np.uint32((value ^ (value >> np.uint32(13))) * p3)
    return value ^ (value >> np.uint32(16))


@njit(cache=True, nogil=True)
def _mix32(value):
    value = np.uint32((value ^ (value >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    value = np.uint32((value ^ (value >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return value ^ (value >> np.uint32(16))


@njit(cache=True, nogil=True)
def _sign(folded, starts, ends, units, n, a, b, least):
    """Write the signature of one folded text into `least` and return its number of shingles."""
    least[:] = np.uint32(0xFFFFFFFF)
    if units == 0:
        return 0
    count = max(1, units - n + 1)
    for i in range(count):
        value = _mix32(xxh32(folded, starts[i], ends[min(i + n, units) - 1]))
        for k in range(len(a)):
            least[k] = min(least[k], np.uint32(a[k] * value + b[k]))
    return count


@njit(cache=True, nogil=True)
def signatures(data, offsets, n, a, b, table):
    """Return the signature of each text, and its number of shingles, repeats counted.

    Args:
        data, offsets: the texts, as `stages.text.units.utf8_of` gives them.
        a, b: `permutations`.
        table: `stages.text.fold_table.fold_table`.

    Returns:
        (uint32 of shape (rows, len(a)), int64 of shape (rows,)); a text without units has 0 shingles, and its
        signature, all ones, says nothing.
    """
    rows = len(offsets) - 1
    out, starts, ends = room(offsets)
    result = np.empty((rows, len(a)), np.uint32)
    counts = np.empty(rows, np.int64)
    for row in range(rows):
        units = fold(data, offsets[row], offsets[row + 1], table, out, starts, ends)
        counts[row] = _sign(out, starts, ends, units, n, a, b, result[row])
    return result, counts


@njit(cache=True, nogil=True)
def banded_signatures(data, offsets, n, a, b, table, bands):
    """Return what `signatures` and `band_hashes` return, without keeping the signatures, and a digest of each text.

    Returns:
        (uint64 of shape (bands, rows), int64 of shape (rows,): shingles of each text, uint64 of shape (rows, 2):
        `digest_span` of its units joined by spaces: texts of one digest have the same shingles).
    """
    rows = len(offsets) - 1
    out, starts, ends = room(offsets)
    least = np.empty(len(a), np.uint32)
    result = np.empty((bands, rows), np.uint64)
    counts = np.empty(rows, np.int64)
    digests = np.empty((rows, 2), np.uint64)
    for row in range(rows):
        units = fold(data, offsets[row], offsets[row + 1], table, out, starts, ends)
        counts[row] = _sign(out, starts, ends, units, n, a, b, least)
        _hash_bands(least, bands, result, row)
        digests[row] = digest_span(out, 0, ends[units - 1] if units else 0)
    return result, counts, digests


@njit(cache=True, nogil=True)
def digest_span(data, start, end):
    """Return 128 bits, as two uint64, that stand for ``data[start:end]``: two chains of `mix64` over words of 8 bytes."""
    size = end - start
    one = np.uint64(0x9E3779B97F4A7C15) + np.uint64(size)
    two = np.uint64(0xC2B2AE3D27D4EB4F) ^ np.uint64(size)
    at = np.uintp(start)
    for _ in range(size // 8):
        word = np.uint64(_word32(data, at)) | np.uint64(_word32(data, at + np.uintp(4))) << np.uint64(32)
        one = mix64(one ^ word)
        two = mix64(two + word * np.uint64(0x9FB21C651E98DF25))
        at += np.uintp(8)
    word = np.uint64(0)
    for k in range(size % 8):
        word |= np.uint64(data[at + np.uintp(k)]) << np.uint64(8 * k)
    return mix64(one ^ word), mix64(two + word * np.uint64(0x9FB21C651E98DF25))


@njit(cache=True, nogil=True)
def _hash_bands(signature, bands, result, row):
    rows = len(signature) // bands
    for band in range(bands):
        value = np.uint64(band)
        for k in range(band * rows, (band + 1) * rows):
            value = mix64(value * np.uint64(0x9E3779B97F4A7C15) + np.uint64(signature[k]))
        result[band, row] = value


@njit(cache=True, nogil=True)
def band_hashes(signature, bands):
    """Return uint64 of shape (bands, rows of `signature`): a hash of each band of each signature."""
    result = np.empty((bands, len(signature)), np.uint64)
    for row in range(len(signature)):
        _hash_bands(signature[row], bands, result, row)
    return result
