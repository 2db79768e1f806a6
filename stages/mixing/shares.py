"""Where each source is cut so that its share is full: by histograms of the order in which documents are taken.

Documents are taken in the order of their fraction as long as they fit into what is left of the share. So the first that
does not fit ends it, unless that leaves more than a fiftieth of the share empty: a document that large is passed over,
and so is, from there on, every one larger than what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import ObservedPart, Tasks
from pipeline.shuffle import Merge, clear, merge_tree, put_merged
from pipeline.storage import Folder

BINS = 1 << 14
"""Ranges of the fraction in the histogram that finds about where a source is cut."""

FULL = 0.02
"""A share that lacks less than this part of itself is full."""

MOST_STEPS = 16
"""So often a share is filled up with smaller documents."""


@dataclass(frozen=True)
class Cut:
    """How far a source is taken: documents from fraction `start` on, of at most `largest` bytes, into `room` bytes."""

    source: str
    wanted: int
    room: int
    start: float = 0.0
    largest: int = 1 << 62
    bin: int = 0


@dataclass(frozen=True)
class Share:
    """What a source comes to: its documents of a fraction below `rate`, `taken` bytes of them.

    Attributes:
        limits: (fraction, bytes): from that fraction on no document of more bytes is taken.
    """

    rate: float
    taken: int
    limits: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Share:
        """Return the share that ``dataclasses.asdict`` made `values` of, perhaps by way of JSON."""
        limits = tuple((float(start), int(most)) for start, most in values["limits"])
        return cls(values["rate"], values["taken"], limits)


@dataclass(frozen=True)
class _Leaf:
    """Attributes:
    rows: where what is looked at several times of the parts' many files is kept as one file a part.
    """

    part: ObservedPart
    number: int
    cuts: tuple[Cut, ...]
    folder: Folder
    rows: Folder

    def read(self) -> pl.DataFrame:
        """Return source, fraction and bytes of the part's documents."""
        name = f"{self.number:07d}.parquet"
        if not self.rows.exists(name):
            self.rows.put_table(name, self.part.read(["source", "fraction", "bytes"]))
        return pl.DataFrame(self.rows.get_table(name))


def totals(parts: list[ObservedPart], tasks: Tasks, work: Folder) -> dict[str, int]:
    """Return the bytes of text of each source (columns source, bytes), by name."""
    if not parts:
        return {}
    leaves = [_Leaf(part, number, (), work / "totals", work / "rows") for number, part in enumerate(parts)]
    tasks.map("sources", _sum_sources, leaves)
    table = merge_tree(tasks, "sources", _merge_sources, work / "totals", len(parts))
    return dict(sorted(zip(table["source"].to_pylist(), table["bytes"].to_pylist(), strict=True)))


def shares(
    parts: list[ObservedPart], available: Mapping[str, int], wanted: Mapping[str, int], tasks: Tasks, work: Folder
) -> dict[str, Share]:
    """Return how far each source is taken.

    Args:
        parts: columns source, fraction in [0, 1) and bytes of every document.
        available, wanted: bytes, by source.
    """
    found = {s: Share(1.0, size) if wanted[s] >= size else Share(0.0, 0) for s, size in available.items()}
    cuts = [Cut(s, wanted[s], wanted[s]) for s, size in available.items() if 0 < wanted[s] < size]
    for step in range(MOST_STEPS if cuts else 0):
        folder = work / f"step-{step:02d}"
        by_bin = _grouped(parts, cuts, tasks, folder / "bins", _Rows("bin"), work / "rows")
        edges = []
        for cut in cuts:
            before = found[cut.source]
            edge = _edge(cut, by_bin.filter(pl.col("source") == cut.source).sort("bin"))
            if isinstance(edge, Cut):
                edges.append(edge)
            else:
                found[cut.source] = replace(before, rate=1.0, taken=edge)
        at_edge = _grouped(parts, edges, tasks, folder / "edges", _Rows("fraction"), work / "rows") if edges else by_bin
        cuts = []
        for edge in edges:
            cut = _cut(edge, at_edge.filter(pl.col("source") == edge.source).sort("fraction"))
            before, taken = found[cut.source], cut.wanted - cut.room
            found[cut.source] = replace(before, rate=cut.start if taken else 0.0, taken=taken)
            if cut.room > FULL * cut.wanted and cut.largest > 0:
                found[cut.source] = replace(found[cut.source], limits=(*before.limits, (cut.start, cut.largest)))
                cuts.append(cut)
        if not cuts:
            break
    tasks.map("clear", clear, [work])
    return found


def _edge(cut: Cut, bins: pl.DataFrame) -> Cut | int:
    """Return `cut` with its bin and the room left before it; or the bytes taken of the source where all of it fits."""
    sizes = np.cumsum(bins["bytes"].to_numpy())
    over = np.flatnonzero(sizes > cut.room)
    if len(over) == 0:
        return cut.wanted - cut.room + (int(sizes[-1]) if len(sizes) else 0)
    at = int(over[0])
    return replace(cut, bin=int(bins["bin"][at]), room=cut.room - (int(sizes[at - 1]) if at else 0))


def _cut(edge: Cut, rows: pl.DataFrame) -> Cut:
    """Return where the source goes on behind the first document that does not fit, and with what."""
    sizes = np.cumsum(rows["bytes"].to_numpy())
    at = int(np.flatnonzero(sizes > edge.room)[0])
    room = edge.room - (int(sizes[at - 1]) if at else 0)
    # documents of one fraction are the same; where there are several, each may fit and all of them not
    largest = min(room, int(rows["largest"][at]) - 1)
    return replace(edge, start=float(rows["fraction"][at]), room=room, largest=largest)


@dataclass(frozen=True)
class _Rows:
    """By what rows of a cut are grouped: its bins, or the fractions within one bin."""

    key: str


@dataclass(frozen=True)
class _CutLeaf:
    leaf: _Leaf
    rows: _Rows


def _grouped(
    parts: list[ObservedPart], cuts: list[Cut], tasks: Tasks, folder: Folder, rows: _Rows, kept: Folder
) -> pl.DataFrame:
    """Return source, key, bytes, and the bytes of the largest document, of what the cuts may take."""
    leaves = [_CutLeaf(_Leaf(part, number, tuple(cuts), folder, kept), rows) for number, part in enumerate(parts)]
    tasks.map(f"cut by {rows.key}", _group, leaves)
    merge = _merge_bins if rows.key == "bin" else _merge_fractions
    return pl.DataFrame(merge_tree(tasks, f"cut by {rows.key}", merge, folder, len(parts)))


def _group(task: _CutLeaf) -> int:
    cuts = pl.DataFrame(
        [(cut.source, cut.start, cut.largest, cut.bin) for cut in task.leaf.cuts],
        {"source": pl.String, "start": pl.Float64, "most": pl.Int64, "cut": pl.Int64},
        orient="row",
    )
    rows = task.leaf.read().join(cuts, on="source")
    rows = rows.filter((pl.col("fraction") >= pl.col("start")) & (pl.col("bytes") <= pl.col("most")))
    rows = rows.with_columns(bin=(pl.col("fraction") * BINS).floor().cast(pl.Int64), largest="bytes")
    if task.rows.key == "fraction":
        rows = rows.filter(pl.col("bin") == pl.col("cut"))
    return put_merged(task.leaf.folder, task.leaf.number, _summed(rows, task.rows.key))


def _summed(rows: pl.DataFrame, *key: str) -> pa.Table:
    summed = rows.group_by("source", *key).agg(pl.col("bytes").sum(), pl.col("largest").max())
    return summed.to_arrow(compat_level=pl.CompatLevel.oldest())


def _merge_bins(task: Merge) -> int:
    return task.write(_summed(pl.DataFrame(task.read()), "bin"))


def _merge_fractions(task: Merge) -> int:
    return task.write(_summed(pl.DataFrame(task.read()), "fraction"))


def _sum_sources(task: _Leaf) -> int:
    rows = task.read().with_columns(largest="bytes")
    return put_merged(task.folder, task.number, _summed(rows))


def _merge_sources(task: Merge) -> int:
    return task.write(_summed(pl.DataFrame(task.read())))
