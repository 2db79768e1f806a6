"""Megatron-core's order of samples, without torch: ``GPTDataset`` and ``BlendedDataset`` (megatron-core 0.16).

A data path's documents are shuffled for all its epochs (the last apart, where little of it is used), read as one stream
that is cut every `sequence` tokens, one token read twice, and the cuts are shuffled. A blend takes the next sample from
the path that is furthest behind its weight.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

SURPLUS = 0.005
"""``mid_level_dataset_surplus``: samples that are built beyond a path's share of a blend."""
LAST_APART = 0.8
"""The last epoch is shuffled apart if less than this share of its samples is wanted."""


@dataclass(frozen=True)
class PathOrder:
    """The samples of one data path.

    Args:
        lengths: int32: tokens of each document of the path.
        documents: int32: the numbers of those that are used; all for ``--split 100,0,0``.
        samples: how many are asked for; None: those of one epoch.
    """

    lengths: np.ndarray
    documents: np.ndarray
    sequence: int
    seed: int
    samples: int | None

    @cached_property
    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        tokens = self.tokens
        epochs = 1 if self.samples is None else max(1, -(-(self.samples * self.sequence + 1) // tokens))
        before = ((epochs - 1) * tokens - 1) // self.sequence
        apart = False
        if epochs > 1:
            assert self.samples is not None
            apart = self.samples - before < int(LAST_APART * ((tokens - 1) // self.sequence))
        state = np.random.RandomState(self.seed)
        rounds = [epochs - 1, 1] if apart else [epochs]
        drawn = [np.tile(self.documents, number).astype(np.int32) for number in rounds]
        for part in drawn:
            state.shuffle(part)
        total = (epochs * tokens - 1) // self.sequence
        bounds = [0, before, total] if apart else [0, total]
        kind = np.int64 if total >= np.iinfo(np.uint32).max - 1 else np.uint32
        cuts = [np.arange(start, end, dtype=kind) for start, end in itertools.pairwise(bounds)]
        for window in cuts:
            state.shuffle(window)
        return np.concatenate(drawn), np.concatenate(cuts)

    @cached_property
    def tokens(self) -> int:
        """Tokens of an epoch."""
        return int(self.lengths[self.documents].sum(dtype=np.int64))

    @property
    def document_index(self) -> np.ndarray:
        """int32: the documents of all epochs in the order in which they are read."""
        return self._drawn[0]

    @property
    def shuffle_index(self) -> np.ndarray:
        """uint32: which cut of the stream each sample is; cut k begins at token ``k * sequence``."""
        return self._drawn[1]

    @cached_property
    def ends(self) -> np.ndarray:
        """int64: where each document of `document_index` ends in the stream."""
        return np.cumsum(self.lengths[self.document_index], dtype=np.int64)

    def sample_index(self) -> np.ndarray:
        """Return what ``GPTDataset.sample_index`` holds: place in `document_index` and offset in it of each cut."""
        starts = np.arange(len(self) + 1, dtype=np.int64) * self.sequence
        places = np.searchsorted(self.ends, starts, side="right")
        begins = np.concatenate([[0], self.ends])[places]
        return np.stack([places, starts - begins], axis=1)

    def __len__(self) -> int:
        return len(self.shuffle_index)


def epoch_samples(tokens: int, sequence: int) -> int:
    """Return how many samples one epoch of so many tokens gives."""
    return max(0, (tokens - 1) // sequence)


def normalized(weights: Sequence[float]) -> list[float]:
    """Return weights that add up to 1, by the same arithmetic as Megatron's."""
    array = np.array(weights, np.float64)
    return (array / np.sum(array)).tolist()


def share(samples: int, weight: float, surplus: float = 0.0) -> int:
    """Return how many of `samples` a path of `weight` is built for."""
    return math.ceil(math.ceil(samples * weight) * (1 + surplus))


def split_documents(documents: int, split: Sequence[float]) -> np.ndarray:
    """Return the numbers (int32) of the documents that train under ``--split``, such as (969, 30, 1)."""
    first = normalized(split)[0] if split else 1.0
    return np.arange(0, round(first * float(documents)), dtype=np.int32)


@njit(cache=True, nogil=True)
def _blend(weights, most, wanted, taken, path, sample):  # type: ignore[no-untyped-def]
    at = 0
    for k in range(wanted[-1] + 1 if len(wanted) else 0):
        amount = max(np.float64(k), 1.0)
        best = -1
        largest = 0.0
        for other in range(len(weights)):
            error = weights[other] * amount - np.float64(taken[other])
            if taken[other] < most[other] and (best < 0 or error > largest):
                largest = error
                best = other
        while at < len(wanted) and wanted[at] == k:
            path[at] = best
            sample[at] = taken[best]
            at += 1
        taken[best] += 1


def blended(
    weights: Sequence[float], samples: np.ndarray, most: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return path and sample in it (int64 each) of `samples` (int64, ascending) of a blend.

    Args:
        most: samples that each path has; None: no limit (``build_blending_indices``).
    """
    path, sample = np.empty(len(samples), np.int64), np.empty(len(samples), np.int64)
    limits = np.full(len(weights), np.iinfo(np.int64).max) if most is None else np.array(most, np.int64)
    _blend(np.array(weights, np.float64), limits, samples, np.zeros(len(weights), np.int64), path, sample)
    return path, sample
