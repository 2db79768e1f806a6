"""A ladder: the tokenizers of one training, one per vocabulary size, each a prefix of the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from pipeline.errors import UserError
from pipeline.storage import Folder
from tokenizer.alphabet import BYTES_BY_ID, from_chars, to_chars
from tokenizer.pretokens.patterns import Pattern, pattern_of

LADDER_FILE = "ladder.json"

MOST_TOKENS = 1 << 21
"""Largest vocabulary: the encoding kernel keeps three ids in 63 bits."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """Byte-level BPE tokenizers that share their merges.

    Ids are those the trainer of `tokenizers` gives: special tokens from 0 on, then the 256 bytes in the order of
    their byte-level characters, then one token per merge. Byte-level BPE trained at the largest size, its merges
    cut to the first k, is the training at a smaller size; the tests hold it against separate trainings.

    Attributes:
        pattern: how text is cut into pretokens.
        merges: int32, shape (merges, 2): the pairs joined, by ids that leave special tokens out (bytes are 0 to 255).
        vocab_sizes: ascending; special tokens and bytes included, padding not.
        special_tokens: their names, in the order of their ids.
        training: what the ladder was trained on and with; for people and for the card.
    """

    pattern: Pattern
    merges: np.ndarray
    vocab_sizes: tuple[int, ...]
    special_tokens: tuple[str, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.merges.flags.writeable = False
        check_sizes(self.vocab_sizes, self.special_tokens)
        reached = len(self.special_tokens) + 256 + len(self.merges)
        if self.vocab_sizes[-1] > reached:
            raise UserError(
                f"vocab_sizes: {self.vocab_sizes[-1]:,} tokens need {self.vocab_sizes[-1] - reached:,} more merges"
            )
        clash = set(self.special_tokens).intersection(self.names)
        if clash:
            raise UserError(
                f"special_tokens: {min(clash)!r} is also a token of ordinary text, which would be turned into it; "
                f"choose another name, such as <|{min(clash).strip()}|>"
            )

    @property
    def shortfall(self) -> str:
        """What to tell a person where sizes were asked for that the corpus cannot give; else the empty text."""
        missing = self.training.get("vocab_sizes_missing")
        if not missing:
            return ""
        asked, made = (", ".join(f"{size:,}" for size in sizes) for sizes in (missing, self.vocab_sizes))
        if not self.training.get("pretokens", 1):
            return f"vocab_sizes: the corpus holds no text to train on: {made} tokens were made of bytes, not {asked}"
        return (
            f"vocab_sizes: the corpus is too small for {asked} tokens: {self.training['vocabulary_reached']:,} were "
            f"reached, then no pair was left to join; made: {made}. Ask for no more than that, or give more text"
        )

    @property
    def offset(self) -> int:
        """What a token's id is above its number among bytes and merges: the number of special tokens."""
        return len(self.special_tokens)

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of each token but the special ones: 256 bytes, then one per merge."""
        tokens = [bytes([byte]) for byte in BYTES_BY_ID]
        for left, right in self.merges.tolist():
            tokens.append(tokens[left] + tokens[right])
        return tokens

    @cached_property
    def names(self) -> list[str]:
        """The tokens in byte-level characters, as `vocab.json` has them."""
        names = [to_chars(token) for token in self.tokens[:256]]
        for left, right in self.merges.tolist():
            names.append(names[left] + names[right])
        return names

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what decides how text is encoded: pattern, merges and special tokens."""
        facts = json.dumps([self.pattern.regex, list(self.special_tokens)]).encode()
        return hashlib.sha256(facts + np.ascontiguousarray(self.merges, "<i4").tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ladder):
            return NotImplemented
        return self.digest == other.digest and self.vocab_sizes == other.vocab_sizes

    def __hash__(self) -> int:
        return hash((self.digest, self.vocab_sizes))

    def merges_at(self, vocab_size: int) -> int:
        """Return how many merges a vocabulary of `vocab_size` has."""
        return vocab_size - self.offset - 256

    @cached_property
    def decomposition(self) -> np.ndarray:
        """Tokens that each token of the largest vocabulary is at each size: uint32, shape (tokens, sizes).

        Every token has one merge that makes it, so a token that a smaller vocabulary lacks is there what its two
        parts are.
        """
        merges = self.merges[: self.merges_at(self.vocab_sizes[-1])]
        present = np.array([256 + self.merges_at(size) for size in self.vocab_sizes], np.int64)
        return _decompose(np.ascontiguousarray(merges), present)

    def save(self, folder: Folder) -> None:
        """Write ``ladder.json``, from which `load` makes the same ladder."""
        folder.put_json(
            LADDER_FILE,
            {
                "pattern": self.pattern.name if self.pattern.name != "custom" else self.pattern.regex,
                "vocab_sizes": list(self.vocab_sizes),
                "special_tokens": list(self.special_tokens),
                "training": dict(self.training),
                "digest": self.digest,
                "merges": " ".join(map(str, self.merges.reshape(-1).tolist())),
            },
        )

    @classmethod
    def load(cls, folder: Folder | str) -> Ladder:
        """Return the ladder that `save` wrote to `folder`. Raises UserError where it was changed since."""
        place = folder if isinstance(folder, Folder) else Folder(str(folder))
        facts = place.get_json(LADDER_FILE)
        merges = np.array(facts["merges"].split(), np.int32).reshape(-1, 2)
        ladder = cls(
            pattern_of(facts["pattern"]),
            merges,
            tuple(facts["vocab_sizes"]),
            tuple(facts["special_tokens"]),
            facts["training"],
        )
        if ladder.digest != facts["digest"]:
            raise UserError(f"{place.url}/{LADDER_FILE}: its content does not match its digest; train again")
        return ladder


def check_sizes(vocab_sizes: Sequence[int], special_tokens: Sequence[str] = ()) -> None:
    """Raise UserError for sizes or special tokens that no ladder can have."""
    least = 256 + len(special_tokens)
    if not vocab_sizes:
        raise UserError("vocab_sizes: give at least one size")
    if list(vocab_sizes) != sorted(set(vocab_sizes)):
        raise UserError(f"vocab_sizes: {list(vocab_sizes)} must increase, each size given once")
    if vocab_sizes[0] < least:
        raise UserError(
            f"vocab_sizes: {vocab_sizes[0]} is less than the {least} tokens that every size has "
            f"(256 bytes and {len(special_tokens)} special tokens); ask for at least {least}"
        )
    if vocab_sizes[-1] > MOST_TOKENS:
        raise UserError(f"vocab_sizes: {vocab_sizes[-1]:,} is more than {MOST_TOKENS:,}, the most that is encoded here")
    if len(set(special_tokens)) != len(special_tokens) or not all(special_tokens):
        raise UserError("special_tokens: each needs a name of its own")
    bytes_alone = [name for name in special_tokens if len(from_chars(name) or b"") == 1]
    if bytes_alone:
        raise UserError(f"special_tokens: {bytes_alone[0]!r} stands for a byte already; choose another name")


@njit(cache=True, nogil=True)
def _decompose(merges, present):  # type: ignore[no-untyped-def]
    table = np.ones((256 + len(merges), len(present)), np.uint32)
    for k in range(len(merges)):
        for size in range(len(present)):
            if 256 + k >= present[size]:
                table[256 + k, size] = table[merges[k, 0], size] + table[merges[k, 1], size]
    return table
