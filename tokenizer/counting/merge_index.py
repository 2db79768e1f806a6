"""What the encoding kernels look merges up in."""

from __future__ import annotations

import numpy as np

from pipeline.hashing import FREE
from tokenizer.alphabet import ID_OF_BYTE
from tokenizer.counting.encode_kernel import index_merges
from tokenizer.ladder.ladder import Ladder


def merge_index(ladder: Ladder, vocab_size: int) -> tuple[np.ndarray, ...]:
    """Return what is looked up to encode by one size of `ladder`.

    Returns:
        id of each byte; table of merges (`index_merges`); id of each pair of bytes; bytes of each token.
    """
    merges = np.ascontiguousarray(ladder.merges[: ladder.merges_at(vocab_size)])
    joints = np.full(1 << (2 * max(1, len(merges))).bit_length(), FREE, np.int64)
    byte_pairs = np.empty(1 << 16, np.int32)
    index_merges(merges, joints, byte_pairs)
    lengths = np.array([len(token) for token in ladder.tokens[: 256 + len(merges)]], np.int32)
    return ID_OF_BYTE, joints, byte_pairs, lengths
