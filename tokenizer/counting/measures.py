"""Bytes, characters and words of documents, by kernel."""

from __future__ import annotations

import numpy as np
from numba import njit

from tokenizer.pretokens.scanner import character_at, is_space
from tokenizer.texts import Texts


def measure(texts: Texts) -> np.ndarray:
    """Return bytes, characters and words of each document: int64, shape (documents, 3).

    A word is a run of characters other than white space (Unicode ``White_Space``): in languages written without
    spaces, a clause.
    """
    table = np.zeros((len(texts), 3), np.int64)
    _measure(texts.data, texts.offsets, table)
    return table


@njit(cache=True, nogil=True)
def _measure(data, offsets, table):  # type: ignore[no-untyped-def]
    for document in range(len(table)):
        at = offsets[document]
        end = offsets[document + 1]
        table[document, 0] = end - at
        characters = words = 0
        inside = False
        while at < end:
            length, kind = character_at(data, at, end)
            at += length
            characters += 1
            space = is_space(kind)
            if not space and not inside:
                words += 1
            inside = not space
        table[document, 1] = characters
        table[document, 2] = words
