"""Locality-sensitive hashing: documents that agree in a band share a bucket (Indyk and Motwani 1998).

The hashes of the bands are shuffled by hash; only documents in a bucket with others go on. These are told their buckets,
join their id and their other buckets to each, and are shuffled by hash again. What comes out is tiles (`stages.dedup.tiles`):
documents to be compared with each other in one task, each pair in one bucket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numba import njit

from pipeline.corpus import ObservedPart
from pipeline.shuffle import Ranges, Shuffle, by_range, read_run, write_runs
from pipeline.storage import Folder
from stages.dedup.leaders import sliced
from stages.dedup.memberships import Memberships, part_file
from stages.dedup.same_text import Repeats
from stages.dedup.tiles import cut_tiles, home_pairs

MEMBERS = pa.schema(
    [
        ("bucket", pa.uint64()),
        ("position", pa.int64()),
        ("id", pa.large_string()),
        ("shingles", pa.int64()),
        (
            "earlier",
            pa.large_list(pa.uint64()),
        ),  # the document's other buckets of few documents that come before this one
    ]
)


def bands_array(hashes: np.ndarray) -> pa.Array:
    """Return uint64 of shape (bands, rows) as one Arrow value a row."""
    bands, rows = hashes.shape
    data = np.ascontiguousarray(hashes.T)
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(8 * bands), rows, [None, pa.py_buffer(data)])


def bands_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return what `bands_array` was given, as (rows, bands)."""
    array = column.combine_chunks()
    bands = column.type.byte_width // 8
    data = np.frombuffer(array.buffers()[1] or b"", np.uint64)
    return data[array.offset * bands : (array.offset + len(array)) * bands].reshape(-1, bands)


@dataclass(frozen=True)
class SendTexts:
    """Send the digests of one part's documents to who finds repeats, and hold what later steps need of the others.

    Attributes:
        held: folder of a file for each part: id, size and band hashes of its documents, a text that repeats in it once.
    """

    part: ObservedPart
    number: int
    repeats: Repeats
    held: Folder


def send_texts(task: SendTexts) -> int:
    """Return how many documents are held."""
    table = task.part.read(["position", "id", "shingles", "high", "low", "bands"])
    first = task.repeats.send(task.number, pl.DataFrame(table.drop_columns(["bands"])))
    kept = np.isin(np.asarray(table["position"]), first["position"].to_numpy())
    held = table.filter(pa.array(kept)).select(["position", "id", "shingles", "bands"])
    write_runs(task.held, part_file(task.number), held, np.array([held.num_rows]))
    return held.num_rows


@dataclass(frozen=True)
class ScatterBands:
    """Send the band hashes of one part's documents, those left out that repeat a text, to ranges of hashes."""

    number: int
    repeats: Repeats
    held: Folder
    bands: Shuffle


def scatter_bands(task: ScatterBands) -> int:
    """Return how many hashes were sent."""
    table = read_run(task.held, part_file(task.number), 0)
    positions, hashes = np.asarray(table["position"]), bands_of(table["bands"])
    first = ~np.isin(positions, task.repeats.of_part(task.number)["position"].to_numpy())
    positions, hashes = positions[first], hashes[first]
    rows = pa.table({"bucket": hashes.reshape(-1), "position": np.repeat(positions, hashes.shape[1])})
    return task.bands.write(task.number, rows, by_range(np.asarray(rows["bucket"]), task.bands.partitions))


@dataclass(frozen=True)
class ShareBuckets:
    """Tell the documents of one range of hashes which of their buckets they share, and with how many."""

    partition: int
    writers: int
    bands: Shuffle
    shared: Shuffle
    ranges: Ranges
    giant: int


def share_buckets(task: ShareBuckets) -> tuple[int, bool]:
    """Return the memberships in buckets of more than one document, and whether there is a bucket of more than `giant`."""
    rows = task.bands.read(task.partition, task.writers)
    bucket, position = np.asarray(rows["bucket"]), np.asarray(rows["position"])
    order = np.argsort(bucket)
    bucket = bucket[order]
    starts = (
        np.flatnonzero(np.concatenate([[True], bucket[1:] != bucket[:-1]])) if len(bucket) else np.zeros(0, np.int64)
    )
    lengths = np.diff(np.append(starts, len(bucket)))
    sizes = np.repeat(lengths, lengths)
    shared = sizes > 1
    table = pa.table({"position": position[order[shared]], "bucket": bucket[shared], "size": sizes[shared]})
    written = task.shared.write(task.partition, table, task.ranges.number(np.asarray(table["position"])))
    return written, bool((lengths > task.giant).any())


@dataclass(frozen=True)
class ScatterMembers:
    """Send the documents of one part that share buckets to each of these, with id and what tells pairs apart.

    Attributes:
        few: a bucket of more documents is one of many.
        leaders: where those lie who lead giant buckets (`stages.dedup.leaders`); None where there is no such bucket.
        skipped: folder of a file for each part: documents that are not looked for in all of their buckets.
    """

    number: int
    writers: int
    shared: Shuffle
    held: Folder
    skipped: Folder
    members: Shuffle
    few: int
    leaders: Folder | None


def scatter_members(task: ScatterMembers) -> int:
    """Return the memberships sent."""
    found = Memberships.read(task.shared, task.number, task.writers, task.few)
    skipped = pa.table({"position": found.skipped})
    write_runs(task.skipped, part_file(task.number), skipped, np.array([skipped.num_rows]))
    held = read_run(task.held, part_file(task.number), 0)
    at = pa.array(np.searchsorted(np.asarray(held["position"]), found.position))
    bounds, earlier = _earlier(found.position, found.bucket, found.few)
    table = pa.table(
        {
            "bucket": found.bucket,
            "position": found.position,
            "id": held["id"].take(at),
            "shingles": held["shingles"].take(at),
            "earlier": pa.LargeListArray.from_arrays(bounds, earlier),
        },
        schema=MEMBERS,
    )
    if task.leaders is not None:
        table = sliced(table, task.number, task.leaders)
    return task.members.write(task.number, table, by_range(np.asarray(table["bucket"]), task.members.partitions))


@njit(cache=True, nogil=True)
def _earlier(positions, buckets, few):
    """Return (bounds, values) of the lists of earlier buckets; rows sorted by position, then bucket."""
    bounds = np.zeros(len(positions) + 1, np.int64)
    room = np.int64(1024)
    values = np.empty(room, np.uint64)
    at = 0
    first = 0
    for row in range(len(positions)):
        if positions[row] != positions[first]:
            first = row
        if at + row - first > room:
            room = np.int64(2 * (at + row - first))
            grown = np.empty(room, np.uint64)
            grown[:at] = values[:at]
            values = grown
        for other in range(first, row):
            if few[other]:
                values[at] = buckets[other]
                at += 1
        bounds[row + 1] = at
    return bounds, values[:at].copy()


@dataclass(frozen=True)
class MakeTiles:
    """Cut the buckets of one range of hashes into tiles, and ask for the shingle sets that they need.

    Attributes:
        first: a document of a bucket of more is compared with so many.
        limit: shingles of a tile, and of the tiles of a block, at most about.
        blocks: folder of a file for each range: run n is block n, rows as `stages.dedup.tiles.ROWS`.
    """

    partition: int
    writers: int
    members: Shuffle
    blocks: Folder
    asked: Shuffle
    ranges: Ranges
    first: int
    limit: int


def make_tiles(task: MakeTiles) -> int:
    """Return the number of blocks."""
    rows = pl.DataFrame(task.members.read(task.partition, task.writers)).sort("bucket", "id", "position")
    table = rows.to_arrow().cast(MEMBERS).combine_chunks()
    bucket = np.asarray(table["bucket"])
    bounds, earlier = lists_of(table["earlier"])
    paired = home_pairs(bucket, bounds, earlier, task.first)
    table = table.filter(pa.array(paired)).combine_chunks()
    index, columns, counts = cut_tiles(
        np.asarray(table["bucket"]), np.asarray(table["shingles"]), task.first, task.limit
    )
    table = table.take(pa.array(index))
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    write_runs(task.blocks, block_file(task.partition), table.drop_columns(["bucket"]), counts)
    asked = pl.DataFrame(
        {
            "position": np.asarray(table["position"]),
            "shingles": np.asarray(table["shingles"]),
            "block": np.repeat(np.arange(len(counts)), counts),
        }
    ).unique(maintain_order=True)
    asked = asked.with_columns(partition=pl.lit(task.partition, pl.Int64)).to_arrow()
    task.asked.write(task.partition, asked, task.ranges.number(np.asarray(asked["position"])))
    return len(counts)


def lists_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return a column of lists of numbers as (bounds int64, values)."""
    array = column.combine_chunks()
    return np.asarray(array.offsets), np.asarray(array.values)


def block_file(partition: int) -> str:
    """Return the name of the file of the blocks of one range of hashes."""
    return f"{partition:07d}.runs"
