"""What is known of each token of a vocabulary without a text: bytes, letters, digits, signs, and whether it begins a word."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np

from tokenizer.alphabet import from_chars

LENGTH, LETTERS, DIGITS, SYMBOLS, ODD, SWITCHES, BEGINS = range(7)


def bytes_of_tokens(data: bytes) -> list[bytes | None]:
    """Return the bytes of each token of a ``tokenizer.json``, by id; None for special tokens and ids that are none."""
    content: dict[str, Any] = json.loads(data)
    vocab = content["model"]["vocab"]
    if isinstance(vocab, list):
        vocab = {token: number for number, (token, _) in enumerate(vocab)}
    added = {token["content"]: token["id"] for token in content.get("added_tokens") or ()}
    found: list[bytes | None] = [None] * (max([*vocab.values(), *added.values()]) + 1)
    for name, number in vocab.items():
        if name not in added and not (name.startswith("<|") and name.endswith("|>")):
            raw = from_chars(name)
            found[number] = name.encode() if raw is None else raw
    return found


def token_facts(tokens: list[bytes | None]) -> np.ndarray:
    """Return int32, shape (tokens, 7): the facts of each, all zero for a special token.

    Bytes; those of letters (of other scripts: all bytes that are not ASCII), of digits, of other visible signs, of what no
    text holds (control characters, U+FFFD); how often small and capital letters change inside it; whether a word may
    begin with it.
    """
    facts = np.zeros((len(tokens), 7), np.int32)
    for number, token in enumerate(tokens):
        if token is None:
            continue
        odd = 3 * token.count(b"\xef\xbf\xbd") + sum((b < 32 and b not in b"\t\n\r\f") or b == 127 for b in token)
        letters = sum(b >= 128 or chr(b).isalpha() for b in token) - 3 * token.count(b"\xef\xbf\xbd")
        digits = sum(48 <= b <= 57 for b in token)
        spaces = sum(b in b" \t\n\r\f" for b in token)
        cased = [chr(b).isupper() for b in token if b < 128 and chr(b).isalpha()]
        small_then_capital = sum(not a and b for a, b in itertools.pairwise(cased))
        signs = len(token) - letters - digits - spaces - odd
        begins = token[:1].isspace()
        facts[number] = len(token), letters, digits, signs, odd, small_then_capital, begins
    return facts
