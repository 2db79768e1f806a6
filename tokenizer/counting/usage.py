"""Tokens of a ladder that its own training corpus never uses: made for a later merge, or left over by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tokenizer.alphabet import to_chars
from tokenizer.counting.count_kernel import tokens_used
from tokenizer.counting.merge_index import merge_index
from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.counts import columns_of

EXAMPLES = 20


def token_usage(ladder: Ladder, counts: pa.Table, vocab_size: int) -> np.ndarray:
    """Return how often each token of one size (special ones left out) stands in the encoded corpus: int64."""
    bpe = merge_index(ladder, vocab_size)
    used = np.zeros(256 + ladder.merges_at(vocab_size), np.int64)
    for batch in counts.to_batches():
        data, offsets, weights = columns_of(batch)
        tokens_used(data, offsets, weights, bpe, used)
    return used


def unused_tokens(ladder: Ladder, counts: pa.Table) -> list[dict[str, Any]]:
    """Return per size how many tokens the corpus of `counts` never uses, bytes among them, and some of the others."""
    rows = []
    for size in ladder.vocab_sizes:
        unused = np.flatnonzero(token_usage(ladder, counts, size) == 0)
        merged = unused[unused >= 256]
        rows.append(
            {
                "vocab_size": size,
                "unused": len(unused) + len(ladder.special_tokens),
                "unused_bytes": int((unused < 256).sum()),
                "unused_merges": len(merged),
                "examples": [to_chars(ladder.tokens[token]) for token in merged[:EXAMPLES].tolist()],
            }
        )
    return rows
