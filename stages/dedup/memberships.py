"""The buckets that the documents of one part share with others, and in which of them each is looked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.shuffle import Shuffle

CROWDS = 3
"""In so many buckets of many is a document looked for; near copies of a page of which there are thousands share all."""


@dataclass(frozen=True)
class Memberships:
    """Documents in buckets, by position and then bucket.

    Attributes:
        position: int64. bucket: uint64. size: int64, documents in the bucket. few: bool, whether it is one of few.
    """

    position: np.ndarray
    bucket: np.ndarray
    size: np.ndarray
    few: np.ndarray
    skipped: np.ndarray
    """Positions of documents that are not looked for in all of their buckets, ascending."""

    @classmethod
    def read(cls, shared: Shuffle, number: int, writers: int, few: int) -> Memberships:
        """Return those of part `number` in which a document is looked for.

        Args:
            few: a bucket of more documents is one of many.
        """
        rows = shared.read(number, writers)
        position, bucket, size = (np.asarray(rows[name]) for name in ("position", "bucket", "size"))
        order = np.lexsort((bucket, position))
        position, bucket, size = position[order], bucket[order], size[order]
        wanted = (size <= few) | (_rank_in_run(position, size > few) < CROWDS)
        skipped = np.unique(position[~wanted])
        return cls(position, bucket, size, size <= few, skipped).where(wanted)

    def where(self, rows: np.ndarray) -> Memberships:
        """Return those where `rows` is true."""
        return Memberships(self.position[rows], self.bucket[rows], self.size[rows], self.few[rows], self.skipped)


def _rank_in_run(keys: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return int64: how many rows that are `counted` come before each in its run of equal `keys`."""
    before = np.cumsum(counted) - counted
    return before - before[np.searchsorted(keys, keys)] if len(keys) else before


def part_file(number: int) -> str:
    """Return the name of the file of one part."""
    return f"{number:07d}.runs"
