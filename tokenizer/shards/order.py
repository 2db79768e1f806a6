"""Which documents go into which part: by the order of the inputs, or by ranges of keys of a shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_RANGES = 1 << 14
RANGE_BYTES = 4 << 20
"""Input, as stored, for which a shuffle counts by one range more, so that a range is a small part of memory."""


@dataclass(frozen=True)
class Run:
    """Encoded documents that lie one behind the other; see `tokenizer.shards.encode`."""

    name: str
    documents: int
    tokens: int


@dataclass(frozen=True)
class Part:
    """What one part holds: whole runs in their order, or ranges `first` to `last` (not included) of the keys of all."""

    runs: tuple[Run, ...]
    first: int = 0
    last: int = 0


def ranges_for(stored_bytes: int, part_tokens: int) -> int:
    """Return by how many ranges of keys a shuffle counts: a power of two, at least eight a part and one a `RANGE_BYTES`."""
    wanted = max(stored_bytes // RANGE_BYTES, 8 * stored_bytes // part_tokens, 1)
    return min(MOST_RANGES, 1 << (wanted - 1).bit_length())


def parts_in_order(runs: Sequence[Run], part_tokens: int) -> list[Part]:
    """Return parts of at most `part_tokens` tokens each (but a part has a run at least), in the order of `runs`."""
    parts: list[list[Run]] = []
    total = 0
    for run in runs:
        if not parts or total + run.tokens > part_tokens:
            parts.append([])
            total = 0
        parts[-1].append(run)
        total += run.tokens
    return [Part(tuple(part)) for part in parts]


def parts_shuffled(runs: Sequence[Run], tokens: np.ndarray, part_tokens: int) -> list[Part]:
    """Return parts of at most `part_tokens` tokens each (but a part has a range at least).

    Args:
        tokens: int64, shape (ranges,): in the documents of each range.
    """
    return [Part(tuple(runs), first, last) for first, last in groups_of(tokens, part_tokens)]


def groups_of(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Return neighbours (first, last) of `sizes` that together have at most `most`, at least one each; none of size 0."""
    groups: list[tuple[int, int]] = []
    total = 0
    for k, size in enumerate(sizes.tolist()):
        if groups and (total + size <= most or not size):
            groups[-1] = (groups[-1][0], k + 1)
            total += size
        elif size:
            groups.append((k, k + 1))
            total = size
    return groups
