"""A sample of documents, by hash: the same inputs give the same sample, in any order and on any machine."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipeline.documents import Batch
from pipeline.readers import Fault, InputFile, ReadOptions, Split, carried_fields, plan_splits, provides, read_split

SPLIT_BYTES = 8 << 20
PIECES = 48
"""Pieces of the inputs that are read, at least: more where these hold too few documents."""
_READ = ReadOptions(
    pa.schema(
        [
            *(pa.field(name, pa.large_string()) for name in ("id", "url", "source", "text")),
            pa.field("raw", pa.large_binary()),
            pa.field("content_type", pa.large_string()),
            pa.field("language", pa.large_string()),
        ]
    ),
    8 << 20,
    {},
    1 << 26,
)


@dataclass
class Sample:
    """Documents taken from inputs.

    Attributes:
        table: id, url, source, language and text; with pages also html (as crawled) and content_type.
        read, pieces, of: documents looked through, and in how many of how many pieces of the inputs.
        unreadable: records that could not be read.
    """

    table: pa.Table
    read: int = 0
    unreadable: int = 0
    pieces: int = 0
    of: int = 0
    pages: bool = False
    files: list[str] = field(default_factory=list)


def take(files: Sequence[InputFile], size: int) -> Sample:
    """Return about `size` documents of `files`.

    All of small inputs are looked through; of large ones pieces spread evenly over them by hash, each giving its part.

    Raises:
        InputError: a file cannot be read.
    """
    pages = any("raw" in provides(file) for file in files)
    for file in files:
        carried_fields(file)
    splits = sorted((s for file in files for s in plan_splits(file, SPLIT_BYTES)), key=_split_key)
    part = -(-size // max(1, min(PIECES, len(splits))))
    chosen: list[tuple[str, dict[str, Any]]] = []
    found = Sample(pa.table({}), of=len(splits), pages=pages, files=[file.name for file in files])
    waiting: list[tuple[str, dict[str, Any]]] = []
    for number, split in enumerate(splits):
        if number >= PIECES and len(chosen) >= size:
            break
        rows = heapq.nsmallest(size, _rows(split, found), key=lambda row: row[0])
        chosen += rows[:part]
        waiting += rows[part:]
        found.pieces += 1
    if len(chosen) < size:  # some pieces hold less than their part
        chosen += heapq.nsmallest(size - len(chosen), waiting, key=lambda row: row[0])
    chosen = heapq.nsmallest(size, chosen, key=lambda row: row[0])
    chosen.sort(key=lambda row: (row[1]["place"], row[1]["number"]))
    found.table = _table([row for _, row in chosen], pages)
    return found


def _split_key(split: Split) -> str:
    return hashlib.blake2b(f"{split.file.name} {split.start}".encode(), digest_size=8).hexdigest()


def _rows(split: Split, found: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each document of `split` under the hash that it is taken by."""
    place = f"{split.file.name} {split.start:015d}"
    for item in read_split(split, _READ):
        if isinstance(item, Fault):
            found.unreadable += 1
        if not isinstance(item, Batch):
            continue
        found.read += len(item)
        rows = item.data.to_pylist()
        for number, row in zip(item.numbers.tolist(), rows, strict=True):
            key = hashlib.blake2b(f"{place} {number}".encode(), digest_size=8).hexdigest()
            yield key, {**row, "place": place, "number": number}


def _table(rows: Sequence[dict[str, Any]], pages: bool) -> pa.Table:
    columns: dict[str, pa.Array] = {
        name: pa.array([row[name] for row in rows], pa.large_string()) for name in ("id", "url", "source", "language")
    }
    columns["text"] = pa.array([row["text"] for row in rows], pa.large_string())
    if pages:
        columns["html"] = pa.array([row["raw"] for row in rows], pa.large_binary())
        columns["content_type"] = pa.array([row["content_type"] for row in rows], pa.large_string())
    if not any(row["language"] for row in rows):
        del columns["language"]
    return pa.table(columns)
