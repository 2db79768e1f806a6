"""N-grams of a document's words that come again: all sizes that a rule set asks for, in one reading."""

from __future__ import annotations

import numpy as np
from numba import njit

from stages.text.kernels import MIX

_GRAM = np.uint64(0xD6E8FEB86659FD93)
_FINGERPRINT = np.uint64(0xFFFFFFFF00000000)
_PLACE = np.uint64(0xFFFFFFFF)
_ONE, _HALF = np.uint64(1), np.uint64(29)

DOLMA, DCLM = 0, 1


@njit(cache=True, nogil=True)
def _inverse(odd):
    """Return the inverse of `odd` modulo 2^64 (Newton's iteration: each step doubles the bits that are right)."""
    inverse = odd
    for _ in range(5):
        inverse *= np.uint64(2) - odd * inverse
    return inverse


@njit(cache=True, nogil=True)
def _same_string(words, a, b, n, length, at, code):
    """Tell whether the n-grams at `a` and `b` are the same string when written without spaces."""
    same = True
    for k in range(n):
        if words[a + k] != words[b + k]:
            same = False
            break
    if same:
        return True
    left, right = 0, 0
    i, j = 0, 0
    while True:
        while left < n and i == length[words[a + left]]:
            left += 1
            i = 0
        while right < n and j == length[words[b + right]]:
            right += 1
            j = 0
        if left == n or right == n:
            return left == n and right == n
        if code[at[words[a + left]] + i] != code[at[words[b + right]] + j]:
            return False
        i += 1
        j += 1


@njit(cache=True, nogil=True)
def _top(words, n, sums, length, table, base, counts):
    """Return the code points that the most frequent n-gram takes up; `sums`: see `ngram_characters`."""
    total = len(words) - n + 1
    mask = np.uint64(len(table) - 1)
    power = _ONE
    for _ in range(n):
        power *= _GRAM
    best, most = np.int64(0), np.int32(1)
    for i in range(total):
        h = (sums[i + n] - sums[i] * power) * MIX
        slot = (h ^ (h >> _HALF)) & mask
        mark = h & _FINGERPRINT
        while True:
            entry = table[slot]
            place = entry & _PLACE
            if place <= base:
                table[slot] = mark | (base + np.uint64(i) + _ONE)
                counts[i] = 1
                break
            if entry & _FINGERPRINT == mark:
                first = np.int64(place - base - _ONE)
                same = True
                for k in range(n):
                    if words[first + k] != words[i + k]:
                        same = False
                        break
                if same:
                    counts[first] += 1
                    if counts[first] > most or (counts[first] == most and first < best):
                        best, most = first, counts[first]
                    break
            slot = (slot + _ONE) & mask
    characters = n - 1
    for k in range(n):
        characters += length[words[best + k]]
    return characters * most


@njit(cache=True, nogil=True)
def _repeated(words, n, sums, powers, inverses, length, at, code, table, base):
    """Return the code points in n-grams seen before, from left to right and jumping over each one found."""
    total = len(words) - n + 1
    mask = np.uint64(len(table) - 1)
    repeated = 0
    i = 0
    while i < total:
        h = (sums[i + n] - sums[i] * (powers[i + n] * inverses[i])) * MIX
        slot = (h ^ (h >> _HALF)) & mask
        mark = h & _FINGERPRINT
        seen = False
        while True:
            entry = table[slot]
            place = entry & _PLACE
            if place <= base:
                table[slot] = mark | (base + np.uint64(i) + _ONE)
                break
            if entry & _FINGERPRINT == mark and _same_string(
                words, np.int64(place - base - _ONE), i, n, length, at, code
            ):
                seen = True
                break
            slot = (slot + _ONE) & mask
        if seen:
            for k in range(n):
                repeated += length[words[i + k]]
            i += n
        else:
            i += 1
    return repeated


@njit(cache=True, nogil=True)
def ngram_characters(words, length, hash_of, power_of, at, code, top, dup):
    """Return int64: the code points of repeated n-grams, by size.

    Args:
        words: int32: a document's words by number.
        length, hash_of, power_of, at: by number, as `Words` has them; `code`: what `at` counts in.
        top: int64: sizes of which the most frequent n-gram is looked for; the first seen of equals. Its code points,
            joined by single spaces, times its occurrences; one occurrence counts too.
        dup: int64: sizes of which n-grams seen before are counted, going left to right and jumping over each one found.
            Two are the same where their words, written without spaces, are the same string.
    """
    number = len(words)
    result = np.zeros(len(top) + len(dup), np.int64)
    if number == 0:
        return result
    size = 16
    while size < 2 * number:
        size *= 2
    # an entry's lower half is a place behind all those of the sizes before, so that nothing need be cleared
    table = np.zeros(size, np.uint64)
    base = np.uint64(0)
    sums = np.empty(number + 1, np.uint64)
    sums[0] = 0
    if len(top):
        counts = np.empty(number, np.int32)
        for i in range(number):
            sums[i + 1] = sums[i] * _GRAM + (np.uint64(words[i]) + _ONE) * MIX
        for k in range(len(top)):
            if top[k] <= number:
                result[k] = _top(words, top[k], sums, length, table, base, counts)
                base += np.uint64(number)
                if base > np.uint64(1 << 31):
                    table[:] = 0
                    base = np.uint64(0)
    if len(dup):
        powers = np.empty(number + 1, np.uint64)
        inverses = np.empty(number + 1, np.uint64)
        powers[0] = 1
        for i in range(number):
            word = words[i]
            sums[i + 1] = sums[i] * power_of[word] + hash_of[word]
            powers[i + 1] = powers[i] * power_of[word]
        inverses[number] = _inverse(powers[number])
        for i in range(number - 1, -1, -1):
            inverses[i] = inverses[i + 1] * power_of[words[i]]
        for k in range(len(dup)):
            if dup[k] <= number:
                result[len(top) + k] = _repeated(words, dup[k], sums, powers, inverses, length, at, code, table, base)
                base += np.uint64(number)
                if base > np.uint64(1 << 31):
                    table[:] = 0
                    base = np.uint64(0)
    return result


@njit(cache=True, nogil=True)
def _group(words, n, first, counts):
    """Write which occurrence of each n-gram is the first, and to that how many there are."""
    total = len(words) - n + 1
    size = 16
    while size < 2 * total:
        size *= 2
    table = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    for i in range(total):
        h = np.uint64(0)
        for k in range(n):
            h = (h ^ np.uint64(words[i + k])) * MIX
            h ^= h >> _HALF
        slot = h & mask
        while True:
            seen = table[slot]
            if seen < 0:
                table[slot] = i
                first[i] = i
                counts[i] = 1
                break
            same = True
            for k in range(n):
                if words[seen + k] != words[i + k]:
                    same = False
                    break
            if same:
                first[i] = seen
                counts[seen] += 1
                break
            slot = (slot + _ONE) & mask


@njit(cache=True, nogil=True)
def counted_shares(words, length, top, dup, system):
    """Return float64: shares of characters in repeated n-grams by size, all copies counted, as other systems take them.

    Args:
        words, length, top, dup: as in `ngram_characters`.
        system: `DOLMA`: of the most frequent n-gram (the first seen of equals, without spaces) in the words' characters, and
            of n-grams that occur more than once in the characters of all n-grams. `DCLM`: of the longest of the most
            frequent, 0 where none comes twice, and of the words that such n-grams cover, both in the words' characters.
    """
    number = len(words)
    result = np.zeros(len(top) + len(dup), np.float64)
    first = np.zeros(number, np.int32)
    counts = np.zeros(number, np.int32)
    ends = np.zeros(number + 1, np.int64)
    for i in range(number):
        ends[i + 1] = ends[i] + length[words[i]]
    for at in range(len(top) + len(dup)):
        n = top[at] if at < len(top) else dup[at - len(top)]
        total = number - n + 1
        if total < 1:
            continue
        _group(words, n, first, counts)
        taken, of = 0, ends[number]
        if at < len(top):
            most, longest = 0, 0
            for i in range(total):
                if first[i] == i and counts[i] >= most:
                    characters = ends[i + n] - ends[i]
                    if counts[i] > most or (system == DCLM and characters > longest):
                        most, longest = counts[i], characters
            taken = most * longest if system == DOLMA or most > 1 else 0
        elif system == DOLMA:
            of = 0
            for i in range(total):
                of += ends[i + n] - ends[i]
                if counts[first[i]] > 1:
                    taken += ends[i + n] - ends[i]
        else:
            covered = 0
            for i in range(total):
                if counts[first[i]] > 1:
                    taken += ends[i + n] - ends[max(i, covered)]
                    covered = i + n
        result[at] = taken / max(1, of)
    return result
