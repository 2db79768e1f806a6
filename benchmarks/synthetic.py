"""Synthetic corpora of any size in which duplicates are as frequent at every scale, and lie anywhere."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FAMILY = 10
"""Documents that are made together: six of their own, a copy, two near copies of one text, one page of its template."""

VOCABULARY = 50_000
BLOCK = 10_000


def write_corpus(folder: pathlib.Path, documents: int, files: int, template: float = 0.0) -> list[pathlib.Path]:
    """Write `documents` documents (id, text; about 1.2 kB each) into `files` Parquet files and return their paths.

    Args:
        template: share of documents that are all near copies of one text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    bounds = np.linspace(0, documents, files + 1).astype(int)
    paths = []
    for number in range(files):
        path = folder / f"part-{number:05d}.parquet"
        pieces = _blocks(bounds[number], bounds[number + 1], documents, template)
        schema = pa.schema([("id", pa.large_string()), ("text", pa.large_string())])
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for table in pieces:
                writer.write_table(table)
        paths.append(path)
    return paths


def _blocks(start: int, end: int, documents: int, template: float) -> Iterator[pa.Table]:
    for at in range(start, end, BLOCK):
        yield _made(np.arange(at, min(at + BLOCK, end)), documents, template)


def _made(numbers: np.ndarray, documents: int, template: float) -> pa.Table:
    place = (numbers * 7_919_999) % documents if np.gcd(7_919_999, documents) == 1 else numbers
    family, member = place // FAMILY, place % FAMILY
    base = np.choose(member, [0, 1, 2, 3, 4, 5, 0, 1, 1, 2])
    changed = np.choose(member, [0, 0, 0, 0, 0, 0, 0, 8, 16, 256])  # of 1,024 words
    spread = _mixed(place.astype(np.uint64) + np.uint64(77)) / 2.0**64 < template
    family, base = np.where(spread, 0, family), np.where(spread, 7, base)
    changed = np.where(spread, 8, changed)
    key = _mixed((family * 16 + base).astype(np.uint64))
    lengths = (60 + key % np.uint64(280)).astype(np.int64)
    column = np.arange(int(lengths.max()), dtype=np.uint64)[None, :]
    words = _mixed(key[:, None] + column)
    other = _mixed(place.astype(np.uint64)[:, None] * np.uint64(1 << 20) + column)
    words = np.where((other >> np.uint64(54)) < changed.astype(np.uint64)[:, None], _mixed(other), words)
    inside = column < lengths[:, None].astype(np.uint64)
    flat = _ranks((words[inside] >> np.uint64(11)).astype(np.float64) / 2.0**53)
    lists = pa.LargeListArray.from_arrays(np.concatenate([[0], np.cumsum(lengths)]), _vocabulary().take(pa.array(flat)))
    names = _mixed(place.astype(np.uint64) ^ np.uint64(0xABCDEF))
    ids = [f"<urn:uuid:{name:016x}-{at:08x}>" for name, at in zip(names.tolist(), place.tolist(), strict=True)]
    return pa.table(
        {"id": pa.array(ids, pa.large_string()), "text": pc.binary_join(lists, " ").cast(pa.large_string())}
    )


def _ranks(uniform: np.ndarray) -> np.ndarray:
    """Return word numbers, as frequent as words are (Zipf's law with exponent 1)."""
    return np.minimum((VOCABULARY + 1.0) ** uniform - 1.0, VOCABULARY - 1).astype(np.int64)


@lru_cache(maxsize=1)
def _vocabulary() -> pa.Array:
    letters = "etaoinshrdlucmfwygpbvkxjqz"
    words = []
    for number in range(VOCABULARY):
        word, left = "", number + 26
        while left:
            left, letter = divmod(left, 26)
            word += letters[letter]
        words.append(word + "aeiou"[number % 5] * (number % 4))
    return pa.array(words, pa.string())


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return the finalizer of SplitMix64 (Steele, Lea and Flood 2014) of each value."""
    values = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
