"""What the encoding kernels look merges up in."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenizer.alphabet import ID_OF_BYTE
from tokenizer.counting.encode_kernel import BYTE_PAIRS, FREE, LENGTHS, index_merges
from tokenizer.ladder.ladder import Ladder


def merge_index(ladder: Ladder, vocab_size: int) -> tuple[Any, ...]:
    """Return what is looked up to encode by one size of `ladder`.

    Returns:
        table of merges and the shift that goes with it (`index_merges`); id of each byte, of each pair of bytes, and the
        bytes of each token in one array (`BYTE_PAIRS`, `LENGTHS`).
    """
    merges = np.ascontiguousarray(ladder.merges[: ladder.merges_at(vocab_size)])
    small = np.concatenate([ID_OF_BYTE, np.zeros(LENGTHS - BYTE_PAIRS + 256 + len(merges))]).astype(np.int32)
    bits = max(2, len(merges)).bit_length()
    while True:
        cells, shift = np.full(2 << bits, FREE, np.int64), np.uint64(64 - bits)
        if index_merges(merges, cells, shift, small):
            return cells, shift, small
        bits += 1
