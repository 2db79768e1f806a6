"""Tokens of every document at every vocabulary size of a ladder."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tokenizer.counting import count_kernel as kernel
from tokenizer.counting.merge_index import merge_index
from tokenizer.ladder.ladder import Ladder
from tokenizer.memory import PADDING
from tokenizer.pretokens.custom import custom_pretokens
from tokenizer.pretokens.patterns import CUSTOM
from tokenizer.texts import Texts

CACHED_PRETOKENS = 1 << 20
"""Pretokens whose counts are kept; about 80 bytes each. When as many are met, the cache begins anew."""


class Counter:
    """Counts by one ladder, with a cache of pretokens that stays warm between calls. Not for two threads at once.

    Args:
        ladder: what to count by.
        cached: pretokens kept in the cache, at most.
    """

    def __init__(self, ladder: Ladder, cached: int = CACHED_PRETOKENS):
        self.ladder = ladder
        self._bpe = merge_index(ladder, ladder.vocab_sizes[-1])
        self._cached = cached
        table = ladder.decomposition
        columns = [np.ascontiguousarray(table[:, k : k + kernel.SIZES]) for k in range(0, table.shape[1], kernel.SIZES)]
        self._tables = [(some, kernel.packed_rows(some)) for some in columns]
        self._caches = [
            (
                np.zeros((1 << (2 * cached - 1).bit_length(), 4), np.uint64),
                np.zeros(8 * cached + kernel.LONGEST_CACHED + PADDING, np.uint8),
                np.zeros(2, np.int64),
            )
            for _ in columns
        ]

    def count(self, texts: Texts | pa.Array | pa.ChunkedArray | Iterable[str | bytes | None]) -> np.ndarray:
        """Return the tokens of each text at each size: int64, shape (documents, sizes)."""
        batch = Texts.of(texts)
        found = [self._count(batch, *way) for way in zip(self._tables, self._caches, strict=True)]
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def _count(self, batch: Texts, tables: tuple[Any, ...], cache: tuple[Any, ...]) -> np.ndarray:
        """Return the tokens of each text at the sizes of `tables`, a few of the ladder's."""
        totals = np.zeros((len(batch), tables[0].shape[1]), np.int64)
        pattern, bpe, most = self.ladder.pattern, self._bpe, self._cached
        if pattern.kind != CUSTOM:
            kernel.count_scanned(pattern.kind, batch.data, batch.offsets, totals, tables, bpe, most, cache)
            return totals
        for document, (data, ends) in enumerate(custom_pretokens(batch, pattern)):
            kernel.count_given(data, ends, totals, document, tables, bpe, most, cache)
        return totals


@lru_cache(maxsize=2)
def _counter(ladder: Ladder) -> tuple[Counter, threading.Lock]:
    return Counter(ladder), threading.Lock()


def count_tokens(
    texts: Texts | pa.Array | pa.ChunkedArray | Iterable[str | bytes | None], ladder: Ladder
) -> np.ndarray:
    """Return the tokens of each text at each vocabulary size of `ladder`: int64, shape (documents, sizes).

    Exactly what encoding each text with each tokenizer of the ladder gives, from one encoding. The name of a
    special token in a text is text. A lone surrogate, or an ill-formed sequence in bytes, counts as U+FFFD.
    """
    counter, lock = _counter(ladder)
    with lock:
        return counter.count(texts)
