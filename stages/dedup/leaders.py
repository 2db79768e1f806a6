"""Buckets of more documents than one task may hold: each is cut into slices, by parts of the corpus, and every slice is led
by the documents that lead the bucket.

In a bucket of many each document is compared with the first ones only (`stages.dedup.tiles`), so these with the documents of
one part are all that a task needs of it, and what comes of all slices is what the whole bucket would give.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import Tasks
from pipeline.shuffle import Merge, Shuffle, merge_tree, put_merged, read_run, write_runs
from pipeline.storage import Folder
from stages.dedup.memberships import Memberships, part_file

LEADERS = pa.schema(
    [("bucket", pa.uint64()), ("position", pa.int64()), ("id", pa.large_string()), ("shingles", pa.int64()),
     ("cap", pa.int64())]  # how many of a bucket are of use
)  # fmt: skip
FILE = "leaders.runs"


@dataclass(frozen=True)
class SendLeaders:
    """Find the documents of one part that may lead a giant bucket.

    Attributes:
        giant: a bucket of more documents is one.
        first: documents that lead; one more is sent, which tells whether there are any others.
    """

    number: int
    writers: int
    shared: Shuffle
    held: Folder
    few: int
    giant: int
    first: int
    merged: Folder


def send_leaders(task: SendLeaders) -> int:
    """Return how many were found."""
    found = Memberships.read(task.shared, task.number, task.writers, task.few)
    found = found.where(found.size > task.giant)
    held = read_run(task.held, part_file(task.number), 0)
    at = pa.array(np.searchsorted(np.asarray(held["position"]), found.position))
    cap = np.full(len(found.bucket), task.first + 1)
    columns = [found.bucket, found.position, held["id"].take(at), held["shingles"].take(at), cap]
    return put_merged(task.merged, task.number, _first(pa.table(columns, schema=LEADERS)))


def _first(table: pa.Table) -> pa.Table:
    """Return the first documents of each bucket, in the order in which documents are kept."""
    rows = pl.DataFrame(table).sort("bucket", "id", "position")
    first = rows.filter(pl.int_range(pl.len()).over("bucket") < pl.col("cap"))
    return first.select(LEADERS.names).to_arrow().cast(LEADERS)


def _merge(task: Merge) -> int:
    return task.write(_first(task.read()))


def find_leaders(tasks: Tasks, sends: list[SendLeaders], between: Folder) -> Folder:
    """Leave in folder `between` who leads each giant bucket of more documents than lead it, and return the folder."""
    first = sends[0].first
    tasks.map("leaders", send_leaders, sends)
    table = pl.DataFrame(merge_tree(tasks, "leaders", _merge, sends[0].merged, len(sends)))
    led = table.filter(pl.len().over("bucket") > first).filter(pl.int_range(pl.len()).over("bucket") < first)
    leaders = led.select(LEADERS.names).to_arrow().cast(LEADERS).drop_columns(["cap"])
    write_runs(between, FILE, leaders, np.array([leaders.num_rows]))
    return between


def sliced(members: pa.Table, number: int, leaders: Folder) -> pa.Table:
    """Return the members of buckets that one part sends, those of giant buckets in a slice of its own, led.

    Args:
        members: rows as `stages.dedup.buckets.MEMBERS`.
        number: of the part.
        leaders: what `find_leaders` returned.
    """
    led = read_run(leaders, FILE, 0)
    led = led.filter(pa.array(np.isin(np.asarray(led["bucket"]), np.asarray(members["bucket"]))))
    bucket = np.asarray(members["bucket"])
    giant = np.isin(bucket, np.asarray(led["bucket"]))
    if not giant.any():
        return members
    pairs = pl.DataFrame(members.select(["bucket", "position"]).filter(pa.array(giant)))
    own = pairs.join(pl.DataFrame(led).with_columns(leads=True), ["bucket", "position"], "left", maintain_order="left")
    follows = np.flatnonzero(giant)[own["leads"].is_null().to_numpy()]
    here = led.filter(pa.array(np.isin(np.asarray(led["bucket"]), bucket[follows])))
    none = pa.LargeListArray.from_arrays(np.zeros(here.num_rows + 1, np.int64), pa.array([], pa.uint64()))
    slices = pa.concat_tables(
        [members.take(pa.array(follows)), here.append_column("earlier", none).cast(members.schema)]
    )
    names = np.asarray(slices["bucket"]) ^ np.uint64(_salt(number))
    slices = slices.set_column(0, members.schema.field("bucket"), pa.array(names, pa.uint64()))
    return pa.concat_tables([members.filter(pa.array(~giant)), slices])


def _salt(number: int) -> int:
    """Return the 64 bits that tell the slices of part `number` from the bucket and from all others."""
    return int.from_bytes(hashlib.blake2b(number.to_bytes(8, "little"), digest_size=8).digest(), "little")
