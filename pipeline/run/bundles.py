"""Many small files in few pieces: what a shard costs beside its documents is paid once for all files of a bundle.

Where a bundle ends depends on the names and sizes of its own files, so that a file added or taken away changes the
bundle it is in and hardly ever the next. Content-defined chunking: A. Muthitacharoen, B. Chen and D. Mazieres, "A
Low-bandwidth Network File System", SOSP 2001.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipeline.readers import Split

MANY = 256
"""Small files from which on they are bundled; fewer stay alone, for each may be work for a worker of its own."""
SMALL_BYTES = 256_000
"""Files of more bytes, as stored, stay alone."""
LEAST_BYTES, MOST_BYTES = 1_000_000, 4_000_000
"""Between these a bundle ends behind a file whose name says so, one in `ENDS`."""
ENDS = 8


def bundled(splits: Sequence[Split]) -> list[Split]:
    """Return `splits` with whole small files that follow one another put together, where there are many of them."""
    pieces = Counter(split.file for split in splits)
    small = [split.size <= SMALL_BYTES and pieces[split.file] == 1 for split in splits]
    if sum(small) < MANY:
        return list(splits)
    return list(_bundles(splits, small))


def _bundles(splits: Sequence[Split], small: Sequence[bool]) -> Iterator[Split]:
    bundle: list[Split] = []
    size = 0
    for split, is_small in zip(splits, small, strict=True):
        if bundle and (not is_small or size + split.size > MOST_BYTES):
            yield _one(bundle)
            bundle, size = [], 0
        bundle.append(split)
        size += split.size
        if not is_small or (size >= LEAST_BYTES and zlib.crc32(split.file.name.encode()) % ENDS == 0):
            yield _one(bundle)
            bundle, size = [], 0
    if bundle:
        yield _one(bundle)


def _one(bundle: Sequence[Split]) -> Split:
    return replace(bundle[0], more=tuple(bundle[1:]), size=sum(split.size for split in bundle))
