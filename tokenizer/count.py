"""Tokens of every document at every vocabulary size of a ladder, and its ids where they are wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tokenizer import count_kernel as kernel
from tokenizer.alphabet import ID_OF_BYTE
from tokenizer.encode_kernel import index_merges
from tokenizer.ladder import Ladder
from tokenizer.memory import PADDING
from tokenizer.patterns import CUSTOM
from tokenizer.scanner import scan
from tokenizer.texts import Texts, custom_ends

CACHED_PRETOKENS = 1 << 20
"""Pretokens whose counts are kept; about 100 bytes each. When as many are met, the cache begins anew."""


class Counter:
    """Counts by one ladder, with a cache of pretokens that stays warm between calls. Not for two threads at once.

    Args:
        ladder: what to count by.
        cached: pretokens kept in the cache, at most.
    """

    def __init__(self, ladder: Ladder, cached: int = CACHED_PRETOKENS):
        self.ladder = ladder
        self._table = ladder.decomposition
        self._bpe = merge_index(ladder, ladder.vocab_sizes[-1])
        sizes = len(ladder.vocab_sizes)
        self._cache = (
            np.zeros((1 << (2 * cached - 1).bit_length(), 4), np.uint64),
            np.zeros(8 * cached + kernel.LONGEST_CACHED + PADDING, np.uint8),
            np.empty((cached, sizes), np.uint32),
            np.zeros(2, np.int64),
        )

    def count(self, texts: Texts | pa.Array | pa.ChunkedArray | Iterable[str | bytes | None]) -> np.ndarray:
        """Return the tokens of each text at each size: int64, shape (documents, sizes)."""
        batch = Texts.of(texts)
        totals = np.zeros((len(batch), len(self.ladder.vocab_sizes)), np.int64)
        pattern = self.ladder.pattern
        if pattern.kind != CUSTOM:
            kernel.count_scanned(pattern.kind, batch.data, batch.offsets, totals, self._table, self._bpe, self._cache)
            return totals
        for document, (data, ends) in enumerate(batch.custom_pretokens(pattern)):
            kernel.count_given(data, ends, totals, document, self._table, self._bpe, self._cache)
        return totals


def merge_index(ladder: Ladder, vocab_size: int) -> tuple[np.ndarray, ...]:
    """Return what the encoding kernels look merges up in, for one size of `ladder`.

    Returns:
        id of each byte; a hash table of merges; id of each pair of bytes; bytes of each token.
    """
    merges = np.ascontiguousarray(ladder.merges[: ladder.merges_at(vocab_size)])
    joints = np.zeros(1 << (2 * max(1, len(merges))).bit_length(), np.uint64)
    byte_pairs = np.empty(1 << 16, np.int32)
    index_merges(merges, joints, byte_pairs)
    lengths = np.array([len(token) for token in ladder.tokens[: 256 + len(merges)]], np.int32)
    return ID_OF_BYTE, joints, byte_pairs, lengths


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


def encode(text: str | bytes, ladder: Ladder, vocab_size: int | None = None) -> np.ndarray:
    """Return the ids of `text` by the tokenizer of `vocab_size` (the largest, if None): int32 array."""
    size = ladder.vocab_sizes[-1] if vocab_size is None else vocab_size
    batch = Texts.of([text])
    data, ends = pretoken_ends(batch, 0, ladder)
    out = np.empty(len(data), np.int32)
    number = kernel.encode_given(data, ends, _merge_index(ladder, size), out)
    return out[:number] + np.int32(ladder.offset)


_merge_index = lru_cache(maxsize=16)(merge_index)


def pretoken_ends(batch: Texts, document: int, ladder: Ladder) -> tuple[np.ndarray, np.ndarray]:
    """Return (bytes with padding, ends of the pretokens in them) of one document."""
    text = batch.bytes_of(document)
    if ladder.pattern.kind == CUSTOM:
        return custom_ends(text, ladder.pattern)
    data = Texts.of([text]).data
    ends = np.empty(len(text), np.int64)
    number, _ = scan(ladder.pattern.kind, data, 0, len(text), ends)
    return data, ends[:number]


def decode(ids: Iterable[int], ladder: Ladder) -> bytes:
    """Return the bytes that `ids` stand for; a special token stands for its name."""
    special, tokens = ladder.special_tokens, ladder.tokens
    return b"".join(special[i].encode() if i < len(special) else tokens[i - len(special)] for i in map(int, ids))
