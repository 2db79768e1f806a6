"""The files of one tokenizer: for `tokenizers` and `transformers`, for `tiktoken`, in GPT-2's form, and a card."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pipeline.storage import Folder
from tokenizer.ladder.ladder import LADDER_FILE, Ladder
from tokenizer.pretokens.patterns import CUSTOM
from tokenizer.pretokens.unicode_classes import UNICODE_VERSION
from tokenizer.scratch import remove

FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "tokens.tiktoken", "tiktoken.json", "card.json"
)  # fmt: skip
"""What is written for each size."""

RESERVED = "<|reserved_{}|>"
"""Names of the tokens that pad a vocabulary to a multiple."""


@dataclass(frozen=True)
class FileOptions:
    """What decides a ladder's files beside the ladder.

    Attributes:
        pad_to_multiple: vocabularies are filled up with reserved tokens to a multiple of this; 0: not.
        special_tokens_in_text: let names of special tokens in a text become them.
        roles: (role, special token) of each role that one has, as `tokenizer.ladder.roles.roles_of` answers.
    """

    pad_to_multiple: int = 0
    special_tokens_in_text: bool = False
    roles: tuple[tuple[str, str], ...] = ()


def padded_size(vocab_size: int, pad_to_multiple: int) -> int:
    """Return `vocab_size`, raised to the next multiple of `pad_to_multiple` (0 or 1: as it is).

    >>> padded_size(50257, 128)
    50304
    """
    return -(-vocab_size // pad_to_multiple) * pad_to_multiple if pad_to_multiple > 1 else vocab_size


def vocabulary(ladder: Ladder, vocab_size: int, pad_to_multiple: int = 0) -> dict[str, int]:
    """Return the id of every token, named in byte-level characters: special tokens, bytes, merges, padding."""
    names = [*ladder.special_tokens, *ladder.names[: 256 + ladder.merges_at(vocab_size)]]
    names += _reserved(ladder, vocab_size, pad_to_multiple)
    return {name: number for number, name in enumerate(names)}


def _reserved(ladder: Ladder, vocab_size: int, pad_to_multiple: int) -> list[str]:
    names: list[str] = []
    number = 0
    while vocab_size + len(names) < padded_size(vocab_size, pad_to_multiple):
        name = RESERVED.format(number)
        number += 1
        if name not in ladder.special_tokens:
            names.append(name)
    return names


def merge_names(ladder: Ladder, vocab_size: int) -> list[tuple[str, str]]:
    """Return the merges of one size in byte-level characters."""
    names = ladder.names
    return [(names[a], names[b]) for a, b in ladder.merges[: ladder.merges_at(vocab_size)].tolist()]


def tokenizer_json(
    ladder: Ladder, vocab_size: int, pad_to_multiple: int = 0, special_tokens_in_text: bool = False
) -> dict[str, Any]:
    """Return the content of ``tokenizer.json``.

    Args:
        special_tokens_in_text: name the special tokens under ``added_tokens`` too, so that their names in a text
            become them. Without it they have their ids in the vocabulary, and a text never becomes one.
    """
    vocab = vocabulary(ladder, vocab_size, pad_to_multiple)
    added = [{"id": number, **_added(name)} for number, name in enumerate(ladder.special_tokens)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": ladder.pattern.regex}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added if special_tokens_in_text else [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [list(pair) for pair in merge_names(ladder, vocab_size)],
        },
    }


def tiktoken_ranks(ladder: Ladder, vocab_size: int) -> bytes:
    """Return the content of a tiktoken rank file: base64 of each token but the special ones, and its id."""
    tokens = ladder.tokens[: 256 + ladder.merges_at(vocab_size)]
    encode = base64.b64encode
    return b"".join([b"%s %d\n" % (encode(token), number) for number, token in enumerate(tokens, ladder.offset)])


def with_gaps(pattern: str) -> str:
    """Return `pattern` with what lies between its matches as matches too, which tiktoken would drop."""
    return f"{pattern}|(?:(?!{pattern})[\\s\\S])+"


def tiktoken_settings(ladder: Ladder, vocab_size: int, pad_to_multiple: int = 0) -> dict[str, Any]:
    """Return what ``tiktoken.Encoding`` takes beside the ranks: pattern and special tokens."""
    text = ladder.pattern.regex if ladder.pattern.kind != CUSTOM else with_gaps(ladder.pattern.regex)
    names = [*ladder.special_tokens, *_reserved(ladder, vocab_size, pad_to_multiple)]
    vocab = vocabulary(ladder, vocab_size, pad_to_multiple)
    return {"name": f"ladder_{vocab_size}", "pat_str": text, "special_tokens": {name: vocab[name] for name in names}}


def card(ladder: Ladder, vocab_size: int, pad_to_multiple: int = 0) -> dict[str, Any]:
    """Return the facts of one tokenizer: what it was trained on, its pattern, sizes and digest."""
    ranks = tiktoken_ranks(ladder, vocab_size)
    return {
        "vocab_size": vocab_size,
        "padded_vocab_size": padded_size(vocab_size, pad_to_multiple),
        "ladder": list(ladder.vocab_sizes),
        "merges": ladder.merges_at(vocab_size),
        "special_tokens": {name: number for number, name in enumerate(ladder.special_tokens)},
        "pattern": ladder.pattern.name,
        "pattern_regex": ladder.pattern.regex,
        "unicode": UNICODE_VERSION,
        "training": dict(ladder.training),
        "sha256": hashlib.sha256(ranks + ladder.pattern.regex.encode()).hexdigest(),
    }


def write_ladder(ladder: Ladder, folder: Folder, options: FileOptions | None = None) -> None:
    """Write ``ladder.json`` and, per size, a folder ``<size>/`` with every form of that tokenizer and its card.

    Sizes of the ladder that `folder` held before, and this one has not, are removed.
    """
    if folder.exists(LADDER_FILE):
        for size in set(folder.get_json(LADDER_FILE)["vocab_sizes"]) - set(ladder.vocab_sizes):
            remove(folder / str(size), FILES)
    options = options or FileOptions()
    pad = options.pad_to_multiple
    for size in ladder.vocab_sizes:
        place = folder / str(size)
        model = tokenizer_json(ladder, size, pad, options.special_tokens_in_text)
        place.put("tokenizer.json", _json(model))
        place.put("tokenizer_config.json", _json(transformers_config(ladder, options)))
        place.put("vocab.json", _json(model["model"]["vocab"]))
        lines = "".join(f"{a} {b}\n" for a, b in model["model"]["merges"])
        place.put("merges.txt", f"#version: 0.2\n{lines}".encode())
        place.put("tokens.tiktoken", tiktoken_ranks(ladder, size))
        place.put_json("tiktoken.json", tiktoken_settings(ladder, size, pad))
        place.put_json("card.json", card(ladder, size, pad))
    ladder.save(folder)


def transformers_config(ladder: Ladder, options: FileOptions) -> dict[str, Any]:
    """Return the content of ``tokenizer_config.json``: roles, and all special tokens, which decoding can skip.

    A special token's name in a text stays text (``split_special_tokens``) unless `options` say otherwise. A chat
    template, which needs the names to become tokens, is left to those who train on one.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": not options.special_tokens_in_text,
        **dict(options.roles),
        "added_tokens_decoder": {str(number): _added(name) for number, name in enumerate(ladder.special_tokens)},
    }


def _added(name: str) -> dict[str, Any]:
    """Return a special token as both `tokenizers` and `transformers` write it, without its id."""
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    return {"content": name, **dict.fromkeys(flags, False), "special": True}


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
