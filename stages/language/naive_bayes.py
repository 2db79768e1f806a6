"""Kernel: naive Bayes over byte n-grams that an automaton finds, as langid.py does (Lui and Baldwin 2012)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

SCALE = 2048.0
"""Log probabilities of features are kept as int16 in steps of 1 / SCALE."""


@njit(cache=True, nogil=True)
def log_posteriors(text, next_row, row_of, feature_of, weights, priors):
    """Return float32, shape (languages,): log prior plus the weights of all features, each by log(1 + occurrences).

    Args:
        text: uint8, UTF-8.
        next_row: uint32, shape (rows, 256): the automaton's next state, by row and byte.
        row_of: uint16, shape (states,): row of each state.
        feature_of: int32, shape (states,): the feature that ends in a state, or -1.
        weights: int16, shape (features, languages), in steps of 1 / SCALE.
        priors: float32, shape (languages,).
    """
    found = np.empty(len(text), np.int32)
    number = 0
    state = np.uint32(0)
    for byte in text:
        state = next_row[row_of[state], byte]
        if feature_of[state] >= 0:
            found[number] = feature_of[state]
            number += 1
    found = np.sort(found[:number])
    scores = priors.copy()
    at = 0
    while at < number:
        feature = found[at]
        end = at + 1
        while end < number and found[end] == feature:
            end += 1
        factor = np.float32(math.log1p(end - at) / SCALE)
        row = weights[feature]
        for language in range(len(scores)):
            scores[language] += factor * np.float32(row[language])
        at = end
    return scores
