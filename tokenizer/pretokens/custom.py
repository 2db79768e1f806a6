"""Pretokens by a custom regular expression, which the `regex` library runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tokenizer.memory import padded
from tokenizer.pretokens.patterns import Pattern
from tokenizer.pretokens.unicode_classes import as_of_unicode_16
from tokenizer.texts import Texts


def custom_pretokens(texts: Texts, pattern: Pattern) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (bytes, ends of the pretokens in them) of each document."""
    for document in range(len(texts)):
        yield custom_ends(texts.bytes_of(document), pattern)


def custom_ends(text: bytes, pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Return (`text` with padding, the ends of its pretokens); gaps between matches are pretokens."""
    string = text.decode("utf-8", "replace")
    bounds: list[int] = []
    at = 0
    for match in pattern.compiled().finditer(as_of_unicode_16(string)):
        if match.start() > at:
            bounds.append(match.start())
        at = match.end()
        bounds.append(at)
    if at < len(string):
        bounds.append(len(string))
    ends = np.array(bounds, np.int64)
    data = np.frombuffer(string.encode(), np.uint8)
    if len(data) != len(string):
        ends = np.flatnonzero(np.r_[data & 0xC0 != 0x80, True])[ends]
    return padded(data), ends
