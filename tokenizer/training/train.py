"""From pretoken counts to a ladder: one training at the largest size, which gives all smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.merging import digest_of_counts
from tokenizer.pretokens.patterns import pattern_of
from tokenizer.training.options import TrainOptions
from tokenizer.training.trainer import Trainer

Note = Callable[[str, float, float], None]
"""Called with (phase, share done from 0 to 1, estimated seconds left)."""


def train_from_counts(
    counts: pa.Table | Callable[[], pa.Table],
    options: TrainOptions,
    facts: dict[str, Any] | None = None,
    note: Note | None = None,
) -> Ladder:
    """Return the ladder trained on pretoken counts (already cut by the floor).

    A size that the counts cannot give is left out, and `Ladder.shortfall` says so; where they give none of those asked
    for, the ladder has one of the size that was reached, be it the 256 bytes and the special tokens alone.

    Args:
        counts: the table, or what loads it; in the second case its memory is free again before merging.
        facts: what the card says about the corpus.
    Raises:
        UserError: options that cannot work, or more distinct pretokens than one training takes.
    """
    options.check()
    trainer, training = _prepared(counts, options, facts or {})
    progress = None if note is None else lambda made, of, left: note("merging", made / max(1, of), left)
    pairs = trainer.run(progress).pairs
    least = 256 + len(options.special_tokens)
    sizes, training = _reached(options.vocab_sizes, least + len(pairs), training)
    return Ladder(
        pattern_of(options.pattern), pairs[: sizes[-1] - least].copy(), sizes, options.special_tokens, training
    )


def _reached(asked: Sequence[int], reached: int, training: dict[str, Any]) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return the sizes that were reached, and `training` with those that were not."""
    missing = [size for size in asked if size > reached]
    if not missing:
        return tuple(asked), training
    sizes = tuple(size for size in asked if size <= reached) or (reached,)
    return sizes, {**training, "vocabulary_reached": reached, "vocab_sizes_missing": missing}


def _prepared(
    counts: pa.Table | Callable[[], pa.Table], options: TrainOptions, facts: dict[str, Any]
) -> tuple[Trainer, dict[str, Any]]:
    """Return the training, laid out and ready, and what the card says of it."""
    table = counts() if callable(counts) else counts
    training = {
        **facts,
        "pretokens": table.num_rows,
        "pretoken_occurrences": int(np.asarray(table["count"].combine_chunks()).sum()) if table.num_rows else 0,
        "corpus_fingerprint": digest_of_counts(table),
        **options.card(),
    }
    wanted = options.vocab_sizes[-1] - 256 - len(options.special_tokens)
    return Trainer(table, wanted, options.min_frequency, options.max_token_length), training
