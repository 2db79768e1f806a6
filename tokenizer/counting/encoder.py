"""Exact ids of texts by one tokenizer of a ladder, at the speed of counting, and texts from ids."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa

from tokenizer.counting import ids_kernel as kernel
from tokenizer.counting.merge_index import merge_index
from tokenizer.ladder.ladder import Ladder
from tokenizer.memory import PADDING
from tokenizer.pretokens.custom import custom_pretokens
from tokenizer.pretokens.patterns import CUSTOM
from tokenizer.texts import Texts

CACHED_PRETOKENS = 1 << 19
"""Pretokens whose ids are kept; about 120 bytes each. When as many are met, the cache begins anew."""


class Encoder:
    """Encodes by one tokenizer, with a cache of pretokens that stays warm between calls. Not for two threads at once.

    Args:
        ladder: what the tokenizer belongs to.
        vocab_size: which of its sizes; None: the largest.
        cached: pretokens kept in the cache, at most.
        id_of: int32, below 2^28; the id of each byte and merge, by its number among them; None: behind the special tokens.
    """

    def __init__(
        self,
        ladder: Ladder,
        vocab_size: int | None = None,
        cached: int = CACHED_PRETOKENS,
        id_of: np.ndarray | None = None,
    ):
        self.ladder = ladder
        self.vocab_size = ladder.vocab_sizes[-1] if vocab_size is None else vocab_size
        self._bpe = merge_index(ladder, self.vocab_size)
        numbers = 256 + ladder.merges_at(self.vocab_size)
        self._id_of = np.arange(ladder.offset, ladder.offset + numbers, dtype=np.int32) if id_of is None else id_of
        self._cached = cached
        self._cache = (
            np.zeros((1 << (2 * cached - 1).bit_length(), 4), np.uint64),
            np.zeros(8 * cached + kernel.LONGEST_CACHED + PADDING, np.uint8),
            np.empty(4 * cached + kernel.LONGEST_CACHED, np.int32),
            np.zeros(3, np.int64),
        )

    def encode(
        self, texts: Texts | pa.Array | pa.ChunkedArray | Iterable[str | bytes | None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of all texts one behind the other, and where each text's begin.

        They are what ``tokenizer.json`` gives without special tokens: none is added, and the name of one in a text is
        text. A lone surrogate, or an ill-formed sequence in bytes, is encoded as U+FFFD.

        Returns:
            int32, shape (tokens,); int64, shape (texts + 1,): text t has ``ids[bounds[t]:bounds[t + 1]]``.
        """
        batch = Texts.of(texts)
        bounds = np.zeros(len(batch) + 1, np.int64)
        out = np.empty(
            batch.nbytes + kernel.SLACK, np.int32
        )  # no token without a byte; what is not written takes no memory
        pattern = self.ladder.pattern
        if pattern.kind != CUSTOM:
            kernel.encode_scanned(
                pattern.kind, batch.data, batch.offsets, self._id_of, self._bpe, self._cached, self._cache, out, bounds
            )
            return out[: bounds[-1]].copy(), bounds
        for document, (data, ends) in enumerate(custom_pretokens(batch, pattern)):
            at = bounds[document]
            number = kernel.encode_given(data, ends, self._id_of, self._bpe, self._cached, self._cache, out[at:])
            bounds[document + 1] = at + number
        return out[: bounds[-1]].copy(), bounds

    def encode_sizes(
        self, texts: Texts | pa.Array | pa.ChunkedArray | Iterable[str | bytes | None]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return what `encode` gives at each size of the ladder up to this encoder's, from one encoding.

        A token of a larger size is the tokens that it was joined from at a smaller one. Not for an encoder with `id_of`.
        """
        batch = Texts.of(texts)
        ids, bounds = self.encode(batch)
        found = []
        for starts, parts in self._parts:
            out, out_bounds = np.empty(batch.nbytes + kernel.SLACK, np.int32), np.empty_like(bounds)
            kernel.take_apart(ids, bounds, self.ladder.offset, starts, parts, out, out_bounds)
            found.append((out[: out_bounds[-1]].copy(), out_bounds))
        return [*found, (ids, bounds)]

    @cached_property
    def _parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each smaller size: where the tokens that each token is there begin, and those tokens by number."""
        numbers = 256 + self.ladder.merges_at(self.vocab_size)
        found = []
        for column, size in enumerate(self.ladder.vocab_sizes):
            if size < self.vocab_size:
                starts = np.zeros(numbers + 1, np.int64)
                np.cumsum(self.ladder.decomposition[:numbers, column], out=starts[1:])
                parts = np.empty(starts[-1], np.int32)
                kernel.fill_parts(self.ladder.merges, 256 + self.ladder.merges_at(size), starts, parts)
                found.append((starts, parts))
        return found


@lru_cache(maxsize=16)
def _encoder(ladder: Ladder, vocab_size: int) -> tuple[Encoder, threading.Lock]:
    return Encoder(ladder, vocab_size, cached=1 << 12), threading.Lock()


def encode(text: str | bytes, ladder: Ladder, vocab_size: int | None = None) -> np.ndarray:
    """Return the ids of one `text` by the tokenizer of `vocab_size` (the largest, if None): int32. See `Encoder`."""
    encoder, lock = _encoder(ladder, ladder.vocab_sizes[-1] if vocab_size is None else vocab_size)
    with lock:
        return encoder.encode([text])[0]


def decode(ids: Iterable[int], ladder: Ladder) -> bytes:
    """Return the bytes that `ids` stand for; a special token stands for its name."""
    special, tokens = ladder.special_tokens, ladder.tokens
    return b"".join(special[i].encode() if i < len(special) else tokens[i - len(special)] for i in map(int, ids))
