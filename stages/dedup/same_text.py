"""Documents of one 128-bit key found wherever they lie: what exact deduplication is, and where near-duplicates begin.

A task takes a run of shards, keeps the first document of each key and notes the others, so that a key of a million
documents is one row a task. What is left is shuffled by key; the task of a range of keys answers, to the range of
shards that each document lies in, which document is the first of all. First is by id, then by position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import ObservedPart, Tasks
from pipeline.documents import Batch
from pipeline.shuffle import Ranges, Shuffle, by_range, pieces_of, read_run, write_runs
from pipeline.storage import Folder

REPEATS = pa.schema([("position", pa.int64()), ("first", pa.int64()), ("first_id", pa.large_string())])
"""One row a document whose key another has that comes before it."""

PARTITION_ROWS = 1_000_000
"""Rows of a range of keys, about 60 MB with their ids."""


def ids_of(batch: Batch) -> pa.Array:
    """Return the ids of `batch`, the empty text for a missing one."""
    return pa.array([value or "" for value in batch.column("id")], pa.large_string())


def key_columns(digests: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns that repeats are found by. `digests`: uint64, shape (rows, 2)."""
    return {"high": np.ascontiguousarray(digests[:, 0]), "low": np.ascontiguousarray(digests[:, 1])}


@dataclass(frozen=True)
class Repeats:
    """Where documents whose key another has are noted: by their part and, across parts, by the task of their key."""

    keys: Shuffle
    noted: Folder
    answers: Shuffle
    interest: Shuffle
    ranges: Ranges

    @classmethod
    def planned(cls, parts: list[ObservedPart], rows: int, work: Folder) -> Repeats:
        """Return where repeats among `parts`, of about `rows` documents together, are going to lie below `work`."""
        return cls(
            keys=Shuffle(work / "keys", pieces_of(rows, PARTITION_ROWS)),
            noted=work / "noted",
            answers=Shuffle(work / "answers", len(parts)),
            interest=Shuffle(work / "interest", len(parts)),
            ranges=Ranges.of(parts),
        )

    @property
    def partitions(self) -> int:
        """Tasks that group."""
        return self.keys.partitions

    def send(self, number: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Note which documents of part `number` repeat another of it, send the others on, and return these."""
        first, repeats = _first_of_each(rows)
        table = repeats.to_arrow().cast(REPEATS)
        write_runs(self.noted, f"{number:07d}.runs", table, np.array([table.num_rows]))
        table = first.select("position", "id", "high", "low").to_arrow()
        self.keys.write(number, table, by_range(np.asarray(table["high"]), self.partitions))
        return first

    def group(self, tasks: Tasks) -> None:
        """Find the first document of each key, after every part has sent its own."""
        tasks.map("same text", _group_keys, [(self, number) for number in range(self.partitions)])
        self.keys.delete(len(self.ranges))

    def of_part(self, number: int) -> pl.DataFrame:
        """Return `REPEATS` of the documents in part `number`, sorted by position."""
        noted = pl.DataFrame(read_run(self.noted, f"{number:07d}.runs", 0))
        answers = pl.DataFrame(self.answers.read(number, self.partitions))
        moved = noted.join(answers, left_on="first", right_on="position", how="left", suffix="_of_all")
        moved = moved.select(
            "position",
            first=pl.coalesce("first_of_all", "first"),
            first_id=pl.coalesce("first_id_of_all", "first_id"),
        )
        return pl.concat([answers, moved]).sort("position")


def _group_keys(task: tuple[Repeats, int]) -> int:
    """Answer each part with its repeats, and tell the part of a first document which parts name it."""
    found, number = task
    rows = pl.DataFrame(found.keys.read(number, len(found.ranges)))
    table = _first_of_each(rows)[1].to_arrow().cast(REPEATS)
    home = found.ranges.number(np.asarray(table["position"]))
    asked = np.unique(np.stack([np.asarray(table["first"]), home], axis=1), axis=0)
    needed = pa.table({"node": asked[:, 0], "part": asked[:, 1]})
    found.interest.write(number, needed, found.ranges.number(asked[:, 0]))
    return found.answers.write(number, table, home)


def _first_of_each(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the first row of each key, and `REPEATS` of the others."""
    high, low = rows["high"].to_numpy(), rows["low"].to_numpy()
    order = np.lexsort((low, high))
    same = (high[order][1:] == high[order][:-1]) & (low[order][1:] == low[order][:-1])
    shared = np.zeros(len(order), bool)  # only these need to be put in order by id
    shared[order[1:][same]] = shared[order[:-1][same]] = True
    if not shared.any():
        return rows, pl.DataFrame(REPEATS.empty_table())
    groups = rows.filter(shared).sort("high", "low", "id", "position")
    groups = groups.with_columns(
        first=pl.col("position").first().over("high", "low"), first_id=pl.col("id").first().over("high", "low")
    )
    is_first = groups["position"] == groups["first"]
    first = pl.concat([rows.filter(~shared), groups.filter(is_first).select(rows.columns)])
    return first, groups.filter(~is_first).select(REPEATS.names)
