"""The byte-level alphabet of GPT-2: a printable character for every byte, and the order that gives bytes their ids."""

from __future__ import annotations

import numpy as np

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]

BYTE_TO_CHAR = {**{b: chr(b) for b in _PRINTABLE}, **{b: chr(256 + n) for n, b in enumerate(_HIDDEN)}}
"""The character that stands for each byte in `vocab.json`, `merges.txt` and `tokenizer.json`."""

CHAR_TO_BYTE = {char: byte for byte, char in BYTE_TO_CHAR.items()}

BYTES_BY_ID = tuple(sorted(range(256), key=lambda byte: BYTE_TO_CHAR[byte]))
"""The byte of each of the first 256 ids: the alphabet in the order of its characters' code points."""

ID_OF_BYTE = np.argsort(np.array(BYTES_BY_ID)).astype(np.int32)
"""int32, shape (256,): the id of each byte."""


def to_chars(token: bytes) -> str:
    """Return a token as the characters that stand for its bytes.

    >>> to_chars(b" a")
    'Ġa'
    """
    return "".join(BYTE_TO_CHAR[byte] for byte in token)


def from_chars(token: str) -> bytes | None:
    """Return the bytes of a token given in byte-level characters; None where one of them stands for no byte."""
    try:
        return bytes(CHAR_TO_BYTE[char] for char in token)
    except KeyError:
        return None
