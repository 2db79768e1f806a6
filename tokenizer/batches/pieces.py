"""Ranges of a stream of documents, cut where documents end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit


@dataclass(frozen=True)
class Pieces:
    """What samples read: pieces of documents, in the order in which they are read.

    Attributes:
        row: int64; which of the samples asked for.
        part: int64; which part the document is in.
        document: int64; its number in the part.
        offset: int64; the first token read, counted in the document.
        tokens: int64; how many are read.
    """

    row: np.ndarray
    part: np.ndarray
    document: np.ndarray
    offset: np.ndarray
    tokens: np.ndarray

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def joined(cls, several: list[Pieces]) -> Pieces:
        """Return all of `several`, by row and, within one, in their order."""
        names = ("row", "part", "document", "offset", "tokens")
        whole = [np.concatenate([np.zeros(0, np.int64), *(getattr(p, n) for p in several)]) for n in names]
        order = np.argsort(whole[0], kind="stable")
        return cls(*(column[order] for column in whole))


def cut(ends: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Cut ranges of a stream at the ends of its documents.

    Args:
        ends: int64, ascending: where each document ends.
        starts, counts: int64: first token of each range, and how many.
    Returns:
        of each piece: its range, the place of its document in the stream, the offset in it, the tokens.
    """
    number = _pieces(ends, starts, counts)
    found = tuple(np.empty(number, np.int64) for _ in range(4))
    _cut(ends, starts, counts, *found)
    return found


@njit(cache=True, nogil=True)
def _pieces(ends, starts, counts):  # type: ignore[no-untyped-def]
    number = 0
    for k in range(len(starts)):
        first = np.searchsorted(ends, starts[k], side="right")
        last = np.searchsorted(ends, starts[k] + counts[k], side="left")
        for place in range(first, min(last, len(ends) - 1) + 1):
            begin = ends[place - 1] if place else 0
            if min(starts[k] + counts[k], ends[place]) > max(starts[k], begin):
                number += 1
    return number


@njit(cache=True, nogil=True)
def _cut(ends, starts, counts, row, place_of, offset, tokens):  # type: ignore[no-untyped-def]
    at = 0
    for k in range(len(starts)):
        stop = starts[k] + counts[k]
        first = np.searchsorted(ends, starts[k], side="right")
        last = np.searchsorted(ends, stop, side="left")
        for place in range(first, min(last, len(ends) - 1) + 1):
            begin = ends[place - 1] if place else 0
            if min(stop, ends[place]) > max(starts[k], begin):
                row[at] = k
                place_of[at] = place
                offset[at] = max(starts[k] - begin, 0)
                tokens[at] = min(stop, ends[place]) - max(starts[k], begin)
                at += 1
