"""Kernels over a document's words: flat arrays in, numbers out. Beside each, its tests hold a plain reference."""

from __future__ import annotations

import numpy as np
from numba import njit

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(32)


@njit(cache=True, nogil=True)
def hash_words(codes, lengths):
    """Return the polynomial hash (wrapping uint64) and base ** length of consecutive words.

    Args:
        codes: uint32, code points of all words one after another.
        lengths: int32, shape (words,).
    """
    hashes = np.empty(len(lengths), np.uint64)
    powers = np.empty(len(lengths), np.uint64)
    at = 0
    for word in range(len(lengths)):
        h = np.uint64(0)
        p = np.uint64(1)
        for _ in range(lengths[word]):
            h = h * _BASE + np.uint64(codes[at]) + np.uint64(1)
            p *= _BASE
            at += 1
        hashes[word] = h
        powers[word] = p
    return hashes, powers


@njit(cache=True, nogil=True)
def expand(chunks, start, count, word_of):
    """Return int32: the words of `chunks` one after another."""
    total = 0
    for chunk in chunks:
        total += count[chunk]
    words = np.empty(total, np.int32)
    at = 0
    for chunk in chunks:
        first = start[chunk]
        for k in range(count[chunk]):
            words[at] = word_of[first + k]
            at += 1
    return words


@njit(cache=True, nogil=True)
def meetings(chunks, edges):
    """Return int64: each place where a chunk whose edge has bit 1 stands before one whose edge has bit 2."""
    found = np.empty(len(chunks), np.int64)
    at = 0
    for i in range(len(chunks) - 1):
        if edges[chunks[i]] & 1 and edges[chunks[i + 1]] & 2:
            found[at] = i
            at += 1
    return found[:at]


@njit(cache=True, nogil=True)
def count_words(words, length, flags):
    """Return (words that are no symbols, their code points, words with a letter)."""
    non_symbol = 0
    characters = 0
    alphabetic = 0
    for word in words:
        flag = flags[word]
        if flag & 1:
            non_symbol += 1
            characters += length[word]
        if flag & 2:
            alphabetic += 1
    return non_symbol, characters, alphabetic


@njit(cache=True, nogil=True)
def count_distinct(words, wanted):
    """Return how many of the numbers `wanted` occur in `words`."""
    found = 0
    for one in wanted:
        for word in words:
            if word == one:
                found += 1
                break
    return found


@njit(cache=True, nogil=True)
def _slots(items):
    size = 16
    while size < 2 * items:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def top_ngram(words, length, n):
    """Return (code points, occurrences, first position) of the most frequent n-gram, the first seen of equals.

    Code points count the n-gram joined by single spaces. Position -1: fewer than `n` words.
    """
    total = len(words) - n + 1
    if total <= 0:
        return 0, 0, -1
    size = _slots(total)
    mask = np.uint64(size - 1)
    table = np.full(size, -1, np.int32)
    counts = np.zeros(total, np.int32)
    for i in range(total):
        h = np.uint64(0)
        for k in range(n):
            h = (h ^ np.uint64(words[i + k])) * _MIX
            h ^= h >> _SHIFT
        slot = h & mask
        while True:
            first = table[slot]
            if first < 0:
                table[slot] = i
                counts[i] = 1
                break
            same = True
            for k in range(n):
                if words[first + k] != words[i + k]:
                    same = False
                    break
            if same:
                counts[first] += 1
                break
            slot = (slot + np.uint64(1)) & mask
    best = 0
    for i in range(total):
        if counts[i] > counts[best]:
            best = i
    characters = n - 1
    for k in range(n):
        characters += length[words[best + k]]
    return characters, counts[best], best


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
def repeated_characters(words, n, length, hash_of, power_of, at, code):
    """Return the code points in n-grams seen before, going left to right and jumping over each one found.

    Two n-grams are the same where their words, written without spaces, are the same string.
    """
    total = len(words) - n + 1
    if total <= 0:
        return 0
    size = _slots(total)
    mask = np.uint64(size - 1)
    table = np.full(size, -1, np.int32)
    hashes = np.empty(total, np.uint64)
    repeated = 0
    i = 0
    while i < total:
        h = np.uint64(0)
        for k in range(n):
            word = words[i + k]
            h = h * power_of[word] + hash_of[word]
        mixed = h * _MIX
        slot = (mixed ^ (mixed >> _SHIFT)) & mask
        seen = False
        while True:
            first = table[slot]
            if first < 0:
                table[slot] = i
                hashes[i] = h
                break
            if hashes[first] == h and _same_string(words, first, i, n, length, at, code):
                seen = True
                break
            slot = (slot + np.uint64(1)) & mask
        if seen:
            for k in range(n):
                repeated += length[words[i + k]]
            i += n
        else:
            i += 1
    return repeated


@njit(cache=True, nogil=True)
def sentence_ends(chunks, offsets, gaps, start, count, word_of, length, flags):
    """Return int64: where each sentence but the last ends, in code points.

    A new sentence begins at the first word, after a mark that ends one, that is neither such a mark nor punctuation.

    Args:
        chunks: int32, shape (chunks,): the text's chunks.
        offsets: int64, shape (chunks,): where each begins in the text.
        gaps: bool, shape (chunks + 1,): whether a token of white space stands before each chunk, and at the end.
        start, count, word_of: the words of each chunk, as a vocabulary has them.
        length, flags: by word.
    """
    found: list = [np.int64(0) for _ in range(0)]
    ended = False
    end = 0
    for i in range(len(chunks)):
        if gaps[i] and ended:
            found.append(end)
            ended = False
        at = offsets[i]
        for k in range(count[chunks[i]]):
            word = word_of[start[chunks[i]] + k]
            flag = flags[word]
            if flag & 4:
                ended = True
            elif ended and not flag & 8:
                found.append(end)
                ended = False
            at += length[word]
            end = at
    if ended and gaps[len(chunks)]:
        found.append(end)
    return np.array(found, np.int64)
