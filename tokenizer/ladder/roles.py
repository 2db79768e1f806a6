"""Which special token is what for a library that uses the tokenizer: end, beginning, padding, unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.errors import UserError

DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>",)

ROLES = {
    "eos_token": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]"),
    "bos_token": ("<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "<|bos|>", "[BOS]"),
    "pad_token": ("<|pad|>", "<pad>", "[PAD]"),
    "unk_token": ("<|unk|>", "<unk>", "[UNK]"),
}
"""The names that published tokenizers give each role, by the key that `transformers` knows it under."""


def roles_of(special_tokens: Sequence[str], asked: Mapping[str, str]) -> dict[str, str]:
    """Return which special token has which role.

    As asked; else the one of `special_tokens` that is called so in published tokenizers (`ROLES`). Without a token for
    padding, the end token pads, so that batches can be made at once.

    Raises:
        UserError: one that is asked for is no special token.
    """
    roles: dict[str, str] = {}
    for role, usual in ROLES.items():
        name = asked.get(role) or next((name for name in usual if name in special_tokens), "")
        if name and name not in special_tokens:
            raise UserError(f"{role}: {name!r} is none of special_tokens ({', '.join(special_tokens)}); add it there")
        if name:
            roles[role] = name
    if "eos_token" in roles:
        roles.setdefault("pad_token", roles["eos_token"])
    return roles
