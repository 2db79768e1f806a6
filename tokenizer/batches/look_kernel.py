"""Signals of pieces of documents, computed on their tokens against what the corpus holds."""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import mix64
from tokenizer.batches.token_facts import BEGINS, DIGITS, LENGTH, LETTERS, ODD, SWITCHES, SYMBOLS

SIGNALS = ("bytes_per_token", "rarity", "disorder", "repetition", "symbols", "digits", "odd_bytes", "mixed_case")
BYTES, RARITY, DISORDER, REPETITION, SIGNS, NUMBERS, ODDITY, MIXED = range(8)

RUN = 4  # tokens whose coming back in a document is repetition
COPIED = 8  # tokens whose coming back in another document makes a copy
FREQUENT = 30  # times that both tokens of a pair must be known, for their order to say something
PAIRS = 12  # pairs of frequent tokens that a piece must have for that

_SALT = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def count_pairs(tokens, bounds, unigrams, bigrams):  # type: ignore[no-untyped-def]
    """Add the tokens and the pairs of neighbours (by hash) of each piece to `unigrams` and `bigrams` (int64, int32)."""
    mask = np.uint64(len(bigrams) - 1)
    for k in range(len(bounds) - 1):
        for at in range(bounds[k], bounds[k + 1]):
            unigrams[tokens[at]] += 1
            if at > bounds[k]:
                bigrams[np.int64(_pair(tokens[at - 1], tokens[at]) & mask)] += 1


@njit(cache=True, nogil=True, inline="always")
def _pair(left, right):  # type: ignore[no-untyped-def]
    return mix64(np.uint64(left) << np.uint64(32) | np.uint64(right))


@njit(cache=True, nogil=True)
def measure_pieces(tokens, bounds, facts, unigrams, bigrams, out):  # type: ignore[no-untyped-def]
    """Fill `out` (float64, pieces x signals); a signal that a piece is too short for is NaN.

    Args:
        facts: of each token (`token_facts`).
        unigrams, bigrams: counts in the corpus, of tokens and of hashed pairs.
    """
    total = np.float64(unigrams.sum())
    mask = np.uint64(len(bigrams) - 1)
    seen = np.zeros(1024, np.uint64)
    for k in range(len(bounds) - 1):
        start, end = bounds[k], bounds[k + 1]
        sums = np.zeros(6, np.int64)
        bits, order = 0.0, 0.0
        known = pairs = repeated = 0
        while len(seen) < 2 * (end - start):
            seen = np.zeros(2 * len(seen), np.uint64)
        window = np.uint64(len(seen) - 1)
        for at in range(start, end):
            token = tokens[at]
            for fact in range(6):
                sums[fact] += facts[token, fact]
            if facts[token, LENGTH]:
                known += 1
                bits += np.log2((total + len(unigrams)) / (unigrams[token] + 1.0))
            if at > start and facts[token, BEGINS]:
                left = tokens[at - 1]
                if unigrams[left] >= FREQUENT and unigrams[token] >= FREQUENT:
                    chance = np.float64(unigrams[left]) * np.float64(unigrams[token]) / total
                    found = bigrams[np.int64(_pair(left, token) & mask)]
                    order += np.log2((found + 0.5) / (chance + 0.5))
                    pairs += 1
            if at >= start + RUN - 1:
                key = np.uint64(k + 1)
                for back in range(RUN):
                    key = mix64(key * _SALT + np.uint64(tokens[at - back]))
                key |= np.uint64(1)
                slot = key & window
                while seen[slot] != 0 and seen[slot] != key:
                    slot = (slot + np.uint64(1)) & window
                if seen[slot] == key:
                    repeated += 1
                else:
                    seen[slot] = key
        for at in range(len(seen)):
            seen[at] = 0
        size = max(sums[LENGTH], 1)
        row = out[k]
        row[BYTES] = sums[LENGTH] / known if known else np.nan
        row[RARITY] = bits / known if known else np.nan
        row[DISORDER] = -order / pairs if pairs >= PAIRS else np.nan
        row[REPETITION] = repeated / max(1, end - start - RUN + 1)
        row[SIGNS] = sums[SYMBOLS] / size
        row[NUMBERS] = sums[DIGITS] / size
        row[ODDITY] = sums[ODD] / size
        row[MIXED] = sums[SWITCHES] / max(1, sums[LETTERS])


@njit(cache=True, nogil=True)
def copied_tokens(tokens, bounds, documents, out):  # type: ignore[no-untyped-def]
    """Fill `out` (int64) with how many tokens of each piece begin a run of `COPIED` that another document has too.

    Args:
        documents: int64, above 0: what tells the document of each piece from others.
    """
    size = 1024
    while size < 2 * len(tokens):
        size *= 2
    keys = np.zeros(size, np.uint64)
    owners = np.zeros(size, np.int64)
    mask = np.uint64(size - 1)
    for again in range(2):
        for k in range(len(bounds) - 1):
            count = 0
            for at in range(bounds[k], bounds[k + 1] - COPIED + 1):
                key = np.uint64(0)
                for ahead in range(COPIED):
                    key = mix64(key * _SALT + np.uint64(tokens[at + ahead]) + np.uint64(1))
                key |= np.uint64(1)
                slot = key & mask
                while keys[slot] != 0 and keys[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if again:
                    count += owners[slot] < 0
                elif keys[slot] == 0:
                    keys[slot] = key
                    owners[slot] = documents[k]
                elif owners[slot] != documents[k]:
                    owners[slot] = -1
            if again:
                out[k] = count
