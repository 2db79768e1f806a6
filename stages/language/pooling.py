"""Kernel: one probability of each language from what the engines and the scripts of a text say."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

IMPOSSIBLE = -12.0
"""Log share of a script that the text is not written in."""


@njit(cache=True, nogil=True)
def pool(
    scores, looked_at, label_of, labels, percents, reliable, known, size, letters, written_in, macro_of, constants
):
    """Return (number of the best label, its probability with those of its macro-language, float64 of all labels).

    A logarithmic opinion pool (Genest and Zidek 1986): log probabilities of the first engine, tempered by the length
    of the text, plus a bonus for what the second engine names, plus the log share of the scripts of each language.

    Args:
        scores: float32: log posteriors of the first engine; empty: no such engine.
        looked_at: bytes they are from.
        label_of: int64: label of each score; -1: none.
        labels, percents, reliable: as `cld2.Found`; all labels -1 where it found nothing or there is no such engine.
        known: bool, shape (labels,): what the second engine tells apart.
        size: bytes of the text.
        letters: int64, shape (scripts,).
        written_in: bool, shape (scripts, labels).
        macro_of: int64, shape (labels,): the label that stands for a label's macro-language.
        constants: float64, shape (16,): see `calibration`.
    """
    heat, power, absent, absent_slope, named, named_surely, named_slope, alone, alone_surely, alone_slope = constants[
        :10
    ]
    share_weight, silent, silent_surely, silent_slope, script_weight, alone_share_weight = constants[10:16]
    number = len(macro_of)
    length = math.log((size + 20) / 120)
    z = np.full(number, -np.inf)
    if len(scores):
        for i in range(len(scores)):
            if label_of[i] >= 0:
                z[label_of[i]] = max(z[label_of[i]], heat * scores[i] / looked_at**power)
        z -= z.max()
        z -= math.log(np.exp(z).sum())
    first = np.isfinite(z)
    by_script = _log_shares(letters, written_in)
    for i in range(number):
        if first[i]:
            z[i] = max(z[i], -30.0)
        elif known[i]:
            z[i] = -absent - absent_slope * length
        else:
            z[i] = 0.0 if by_script[i] > IMPOSSIBLE else -30.0
        z[i] += script_weight * by_script[i]
        if labels.max() >= 0 and not known[i]:
            z[i] += silent + (silent_surely - silent) * reliable + silent_slope * length
    for n in range(len(labels)):
        label = labels[n]
        if label >= 0:
            bonus = named + named_surely * reliable + named_slope * length
            weight = share_weight
            if not first[label]:
                bonus = alone + alone_surely * reliable + alone_slope * length
                weight = alone_share_weight
            z[label] += max(0.0, bonus + weight * math.log(percents[n] / 100))
    p = np.exp(z - z.max())
    p /= p.sum()
    whole = np.zeros(number)
    for i in range(number):
        whole[macro_of[i]] += p[i]
    group = whole.argmax()
    best = -1
    for i in range(number):
        if macro_of[i] == group and (best < 0 or p[i] > p[best]):
            best = i
    return best, whole[group], p


@njit(cache=True, nogil=True)
def _log_shares(letters, written_in):
    """Return float64, shape (labels,): log of the largest share of a script that each language is written in."""
    total = letters.sum()
    shares = np.full(written_in.shape[1], IMPOSSIBLE)
    for script in range(len(letters)):
        if letters[script]:
            share = math.log(letters[script] / total)
            for i in range(written_in.shape[1]):
                if written_in[script, i]:
                    shares[i] = max(shares[i], share)
    return shares
