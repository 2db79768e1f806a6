"""What token shards are made by: tokenizer, end of document, order, sizes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pipeline.errors import UserError
from tokenizer.shards.model import TokenModel

FORMATS = ("megatron", "datatrove", "olmo", "nanogpt", "llmc")
BY = ("", "source")
PART_TOKENS = 1_000_000_000
SMALL_VOCABULARY = 65_500
"""Below it tokens are uint16, else int32: the rule of Megatron's ``DType.optimal_dtype``."""


@dataclass(frozen=True)
class ShardOptions:
    """How documents become token shards.

    Attributes:
        eod: token behind every document; empty: none.
        bos: token in front of every document; empty: none.
        shuffle: seed of a global shuffle of the documents; None: the order of the inputs.
        held_out: share of the documents that is kept apart, chosen by a hash of their text.
        part_tokens: tokens of one file, about.
        dtype: ``uint16``, ``int32``, or empty for the smallest that Megatron would take.
        by: ``source`` for parts of one source each, which a trainer can blend; empty: all sources together.
    """

    model: TokenModel
    eod: str = ""
    bos: str = ""
    shuffle: int | None = None
    held_out: float = 0.0
    part_tokens: int = PART_TOKENS
    dtype: str = ""
    by: str = ""
    ends: tuple[int, int] = field(default=(-1, -1), init=False)
    """Ids of `bos` and `eod`; -1 where there is none."""

    def __post_init__(self) -> None:
        if not 0 <= self.held_out < 1:
            raise UserError(f"--held-out: {self.held_out} is no share from 0 to below 1")
        if self.part_tokens < 1:
            raise UserError(f"--part-tokens: {self.part_tokens} must be at least 1")
        if self.shuffle is not None and not 0 <= self.shuffle < 1 << 63:
            raise UserError(f"--shuffle: the seed {self.shuffle} must be from 0 to 2^63 - 1")
        if self.by not in BY:
            raise UserError(f"--by: {self.by!r} is unknown; parts can be made by source, or of all sources together")
        ids = tuple(self.model.id_of(name) if name else -1 for name in (self.bos, self.eod))
        object.__setattr__(self, "ends", ids)
        object.__setattr__(self, "dtype", _dtype(self.dtype, self.model))

    @property
    def type(self) -> np.dtype:
        """The type of a token in the files, little-endian."""
        return np.dtype(self.dtype).newbyteorder("<")

    def identity(self) -> list[object]:
        """Return what decides the bytes that are written, beside the inputs."""
        return [
            self.model.digest, *self.ends, self.shuffle, self.held_out, self.part_tokens, self.dtype, self.by
        ]  # fmt: skip


def _dtype(asked: str, model: TokenModel) -> str:
    if not asked:
        return "uint16" if model.vocab_size < SMALL_VOCABULARY else "int32"
    if asked not in ("uint16", "int32"):
        raise UserError(f"--dtype: {asked!r} is neither uint16 nor int32")
    if asked == "uint16" and model.vocab_size > 1 << 16:
        raise UserError(
            f"--dtype: {model.vocab_size:,} tokens do not fit into uint16, which holds 65,536; leave --dtype out for int32"
        )
    return asked


def check_formats(formats: tuple[str, ...], options: ShardOptions) -> None:
    """Raise UserError for a format that is unknown, or that cannot hold the vocabulary."""
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"--format: {name!r} is unknown; known are {', '.join(FORMATS)}")
        if name in ("nanogpt", "llmc") and options.dtype != "uint16":
            raise UserError(
                f"--format {name}: it holds uint16 only, and this tokenizer has {options.model.vocab_size:,} tokens; "
                "leave that format out, or take a smaller vocabulary"
                + (" (or --dtype uint16)" if options.model.vocab_size <= 1 << 16 else "")
            )
