"""What decides a training, beside the texts, and what its tokenizers are to be like for those who use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.errors import UserError
from tokenizer.ladder.files import FileOptions
from tokenizer.ladder.ladder import check_sizes
from tokenizer.ladder.roles import DEFAULT_SPECIAL_TOKENS, ROLES, roles_of
from tokenizer.pretokens.patterns import pattern_of

DEFAULT_PATTERN = "cl100k"


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What decides a training, beside the texts.

    Attributes:
        vocab_sizes: ascending; each includes special tokens and the 256 bytes.
        pattern: name of a built-in pattern, or a regular expression.
        special_tokens: names, in the order of their ids.
        min_frequency: pairs that occur less often are not joined.
        max_token_length: in bytes, as `tokenizers` has it; None: no limit.
        min_pretoken_count: pretokens that occur less often are left out of the training, which bounds memory;
            1: none. Named in the card.
        sample: share of the documents counted, chosen by a hash of their ids; 1: all. Named in the card.
        pad_to_multiple: vocabularies are filled up with reserved tokens to a multiple of this; 0: not.
        special_tokens_in_text: let names of special tokens in a text become them (in `tokenizer.json`).
        eos_token, bos_token, pad_token, unk_token: which special token `transformers` uses as what; empty: see
            `tokenizer.ladder.roles.roles_of`.
    """

    vocab_sizes: tuple[int, ...]
    pattern: str = DEFAULT_PATTERN
    special_tokens: tuple[str, ...] = DEFAULT_SPECIAL_TOKENS
    min_frequency: int = 0
    max_token_length: int | None = None
    min_pretoken_count: int = 1
    sample: float = 1.0
    pad_to_multiple: int = 0
    special_tokens_in_text: bool = False
    eos_token: str = ""
    bos_token: str = ""
    pad_token: str = ""
    unk_token: str = ""

    def check(self) -> None:
        """Raise UserError, which begins with the option's name, for options that cannot work."""
        check_sizes(self.vocab_sizes, self.special_tokens)
        pattern_of(self.pattern)
        for key, least in (("min_frequency", 0), ("min_pretoken_count", 1), ("pad_to_multiple", 0)):
            if getattr(self, key) < least:
                raise UserError(f"{key}: {getattr(self, key)} is less than {least}")
        if self.max_token_length is not None and self.max_token_length < 1:
            raise UserError(f"max_token_length: {self.max_token_length} is less than 1")
        if not 0 < self.sample <= 1:
            raise UserError(f"sample: {self.sample} is no share between 0 and 1")
        self.files()

    def card(self) -> dict[str, Any]:
        """Return what the card says of them."""
        return {
            "min_frequency": self.min_frequency,
            "max_token_length": self.max_token_length,
            "min_pretoken_count": self.min_pretoken_count,
            "sample": self.sample,
        }

    def files(self) -> FileOptions:
        """Return what decides the files of the trained ladder, beside the ladder. Raises UserError as `roles_of`."""
        asked = {role: getattr(self, role) for role in ROLES}
        return FileOptions(
            pad_to_multiple=self.pad_to_multiple,
            special_tokens_in_text=self.special_tokens_in_text,
            roles=tuple(roles_of(self.special_tokens, asked).items()),
        )
