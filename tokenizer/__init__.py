"""Ladders of byte-level BPE tokenizers: one training for every vocabulary size, one pass for every count.

>>> from tokenizer import train_ladder, count_tokens
>>> ladder = train_ladder(["corpus/*.parquet"], [8192, 32768], pattern="cl100k", out="ladder")  # doctest: +SKIP
>>> count_tokens(["a text", "another"], ladder)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import Any

import pipeline  # noqa: F401  # finds the place for compiled kernels

_HOMES = {
    "Ladder": "ladder.ladder",
    "write_ladder": "ladder.files",
    "TrainOptions": "training.options",
    "train_from_counts": "training.train",
    "train_ladder": "training.of_files",
    "count_tokens": "counting.counter",
    "Encoder": "counting.encoder",
    "encode": "counting.encoder",
    "decode": "counting.encoder",
}

__all__ = [
    "Encoder", "Ladder", "TrainOptions", "count_tokens", "decode", "encode", "train_from_counts", "train_ladder",
    "write_ladder",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import on first use: the kernels' libraries take half a second."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"tokenizer.{_HOMES[name]}"), name)
