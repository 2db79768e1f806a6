"""Sums over tables of token counts that add up in any order and grouping: in one process, or in tasks as a tree.

A table has one row a document: ``source``, ``language``, ``bytes``, ``characters``, ``words`` and ``tokens_<size>``.
Its totals are one long table: of each group (all, a source, a language) what each measure amounts to, and how many
documents have how many tokens. So quantiles are exact, and there are no more rows than a corpus has different
lengths: at most the square root of twice its tokens for each group and size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import ObservedPart, Tasks
from pipeline.storage import Folder
from tokenizer.scratch import remove

PREFIX = "tokens_"
SUMS = ("documents", "bytes", "characters", "words")
GROUPS = ("all", "source", "language")

OTHER = "other"
MOST_NAMES = 500
"""Sources, or languages, that are told apart where amounts are read: an input may give each document a source of its own."""
_TOGETHER = 1 << 16  # rows that are gathered before they are added up

FAN_IN = 64
"""Tables of totals that one task adds up."""

_SUMS, _TOTALS = "sums", "totals.parquet"
_KEYS = ("group", "name", "measure", "length")
_SCHEMA: Any = {"group": str, "name": str, "measure": str, "length": int, "amount": int}


class Totals:
    """Totals of token-count tables. Rows with a `length` say how many documents have so many tokens."""

    def __init__(self) -> None:
        self._frames = [pl.DataFrame(schema=_SCHEMA)]
        self._waiting = 0  # rows of all frames but the first
        self._tables: list[pa.Table] = []
        self._rows = 0  # documents in tables
        self._shown: tuple[pl.DataFrame, pl.DataFrame] | None = None

    def add(self, table: pa.Table) -> None:
        """Add the token counts of `table`."""
        self._tables.append(table.select(["source", "language", *SUMS[1:], *token_columns(table)]))
        self._rows += table.num_rows
        if self._rows > _TOGETHER:
            self._add_tables()

    def add_totals(self, table: pa.Table) -> None:
        """Add what `table` of other totals returned."""
        self._add(pl.DataFrame(table).cast(_SCHEMA))

    def _add_tables(self) -> None:
        tables, self._tables, self._rows = self._tables, [], 0
        if tables:
            self._add(_totals_of(pa.concat_tables(tables, promote_options="permissive")))

    def _add(self, frame: pl.DataFrame) -> None:
        self._frames.append(frame)
        self._waiting += len(frame)
        if self._waiting > max(_TOGETHER, len(self._frames[0])):  # so that each row is added up a few times only
            self._add_frames()

    def _add_frames(self) -> None:
        self._frames = [pl.concat(self._frames).group_by(_KEYS).agg(pl.col("amount").sum()).sort(_KEYS)]
        self._waiting = 0

    def _frame(self) -> pl.DataFrame:
        """All of it, every key once, sorted by key."""
        self._add_tables()
        if len(self._frames) > 1:
            self._add_frames()
        return self._frames[0]

    def _bounded(self) -> pl.DataFrame:
        """What `_frame` is, with the names of a group that have the fewest bytes counted together."""
        frame = self._frame()
        if self._shown is None or self._shown[0] is not frame:
            sizes = frame.filter((pl.col("measure") == "bytes") & (pl.col("name") != OTHER))
            rank = pl.struct(-pl.col("amount"), "name").rank("ordinal").over("group")
            few = sizes.filter(rank > MOST_NAMES).select("group", "name", few=pl.lit(True))
            if len(few):
                name = pl.when(pl.col("few")).then(pl.lit(OTHER)).otherwise(pl.col("name"))
                marked = frame.join(few, on=["group", "name"], how="left").with_columns(name=name)
                shown = marked.group_by(_KEYS).agg(pl.col("amount").sum()).sort(_KEYS)
            else:
                shown = frame
            self._shown = frame, shown
        return self._shown[1]

    def table(self) -> pa.Table:
        """Return the totals as a table, which depends on what was added alone."""
        return self._frame().to_arrow()

    def sums(self, group: str) -> dict[str, dict[str, int]]:
        """Return measure -> amount of each name in `group`, names sorted; those beyond `MOST_NAMES` together as `OTHER`."""
        found: dict[str, dict[str, int]] = {"all": {}} if group == "all" else {}
        rows = self._bounded().filter((pl.col("group") == group) & pl.col("length").is_null())
        for name, measure, amount in rows.select("name", "measure", "amount").iter_rows():
            found.setdefault(name, {})[measure] = amount
        return found

    def lengths(self, group: str, name: str, column: str) -> tuple[np.ndarray, np.ndarray]:
        """Return (tokens per document, ascending; number of documents that have as many) of one name in `group`."""
        mine = self._bounded().filter(
            (pl.col("group") == group) & (pl.col("name") == name) & (pl.col("measure") == column)
            & pl.col("length").is_not_null()
        )  # fmt: skip
        return mine["length"].to_numpy(), mine["amount"].to_numpy()


def _totals_of(table: pa.Table) -> pl.DataFrame:
    columns = token_columns(table)
    frame = pl.DataFrame(table).with_columns(
        pl.col("source", "language").cast(pl.String).fill_null("unknown"),
        pl.lit("all").alias("all"),
        pl.lit(1, pl.Int64).alias("documents"),
    )
    parts = []
    for group in GROUPS:
        keys = [pl.lit(group).alias("group"), pl.col(group).alias("name")]
        no_length = pl.lit(None, pl.Int64).alias("length")
        by = frame.group_by(group)
        sums = by.agg(pl.col(*SUMS, *columns).cast(pl.Int64).sum())
        for measure in (*SUMS, *columns):
            parts.append(sums.select(*keys, pl.lit(measure).alias("measure"), no_length, amount=pl.col(measure)))
        for column in columns:
            lengths = frame.group_by(group, pl.col(column).cast(pl.Int64).alias("length")).len("amount")
            parts.append(
                lengths.select(*keys, pl.lit(column).alias("measure"), "length", pl.col("amount").cast(pl.Int64))
            )
    return pl.concat(parts)


def token_columns(table: pa.Table) -> list[str]:
    """Return the names of the columns that count tokens."""
    return [name for name in table.column_names if name.startswith(PREFIX)]


def sum_parts(parts: Sequence[ObservedPart], columns: Sequence[str], work: Folder, tasks: Tasks) -> Totals:
    """Add up token counts that were observed, in tasks, as a tree, into ``totals.parquet`` of `work`.

    Args:
        columns: those that count tokens.
    """
    read = ("source", "language", *SUMS[1:], *columns)
    files = tasks.map("adding up tokens of shards", sum_part, [(part, read, work) for part in parts])
    rounds = 0
    while files != [_TOTALS]:
        groups = [tuple(files[at : at + FAN_IN]) for at in range(0, len(files), FAN_IN)] or [()]
        names = [f"{_SUMS}/{rounds:02d}-{number:06d}.parquet" for number in range(len(groups))]
        items = [
            (group, work, name) for group, name in zip(groups, names if len(groups) > 1 else [_TOTALS], strict=True)
        ]
        files = tasks.map(f"adding up tokens, round {rounds + 1}", sum_files, items)
        rounds += 1
    remove(work / _SUMS, (work / _SUMS).names())
    return _sum_of(files, work)


def sum_part(item: tuple[ObservedPart, tuple[str, ...], Folder]) -> str:
    """Write the totals of a run of shards; answer the file's name."""
    part, columns, work = item
    totals = Totals()
    for table in part.tables(columns):
        totals.add(table)
    name = f"{_SUMS}/part-{part.first:010d}.parquet"
    work.put_table(name, totals.table())
    return name


def sum_files(item: tuple[tuple[str, ...], Folder, str]) -> str:
    """Write the sum of some files of totals as another; answer its name."""
    files, work, name = item
    work.put_table(name, _sum_of(files, work).table())
    return name


def _sum_of(files: Sequence[str], work: Folder) -> Totals:
    totals = Totals()
    for name in files:
        totals.add_totals(work.get_table(name))
    return totals
