"""Who is kept: going by id, then position, a document leaves if one that is kept resembles it.

Similarity is never passed on along a chain: where A resembles B and B resembles C but A does not resemble C, dropping B for
A leaves C. The pairs alike are a graph whose first maximal independent set in the order of keeping is what stays; it is
found by parts of the corpus in rounds (Blelloch, Fineman and Shun 2012): a document is settled as soon as all that come
before it are, up to the first that is kept, and tells the parts that asked for it. What takes many rounds is little, and
is settled in one task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numba import njit

from pipeline.corpus import Tasks
from pipeline.decisions import write_drops
from pipeline.shuffle import Ranges, Shuffle, read_run, write_runs
from pipeline.storage import Folder
from stages.dedup import verify
from stages.dedup.duplicates import drops_of
from stages.dedup.same_text import Repeats

TOGETHER = 1_000_000
"""Pairs whose documents are settled in one task, about 300 MB."""

KEPT, DROPPED = 1, 2

EDGES: dict[str, Any] = {"position": int, "first": int, "first_id": str, "similarity": float, "same": bool}
"""A document and one before it that it resembles; `same`: their texts are the same, so they have the same fate."""

FATES: dict[str, Any] = {"node": int, "kept": bool, "first": int, "first_id": str, "similarity": float}
"""What became of a document; where it was dropped, for whom."""


@dataclass(frozen=True)
class Pairs:
    """Where the pairs alike lie: `EDGES` of `stages.dedup.verify`, who asks for whom, and the texts that repeat.

    Attributes:
        skipped: documents that were not looked for in all of their buckets, by part.
    """

    edges: Shuffle
    interest: Shuffle
    blocks: int
    repeats: Repeats
    skipped: Folder
    ranges: Ranges


@dataclass(frozen=True)
class _Round:
    number: int
    part: int
    pairs: Pairs
    work: Folder

    @property
    def state(self) -> Folder:
        return self.work / f"round-{self.number:05d}"

    def told(self, number: int) -> Shuffle:
        """Where fates are on their way to who asked, in round `number`."""
        return Shuffle(self.work / f"told-{number:05d}", len(self.pairs.ranges))


def remove(pairs: Pairs, rule: str, threshold: float, tasks: Tasks, work: Folder, drops: Folder) -> tuple[list, int]:
    """Write the drops of each part into folder `drops`.

    Args:
        work: folder for the files in between.

    Returns:
        (answers of `write_drops`, documents kept that were not compared with all of one of their buckets).
    """
    parts, number = range(len(pairs.ranges)), 0
    left = sum(tasks.map("remove", _begin, [_Round(0, part, pairs, work) for part in parts]))
    while left > TOGETHER:
        number += 1
        left = sum(
            tasks.map(f"remove, round {number + 1}", _continue, [_Round(number, part, pairs, work) for part in parts])
        )
    if left:
        tasks.map("remove, the rest", _settle_rest, [_Round(number, 0, pairs, work)])
    items = [_Write(number, bool(left), part, pairs, work, drops, rule, threshold) for part in parts]
    written = tasks.map("drops", _write, items)
    return [answer["file"] for answer in written], sum(answer["unsure"] for answer in written)


def _begin(task: _Round) -> int:
    """Settle what can be within the part; return the pairs left."""
    pairs, part = task.pairs, task.part
    alike = pl.DataFrame(pairs.edges.read(part, pairs.blocks, verify.EDGES)).unique(["position", "first"])
    unsure = [alike.filter(pl.col("first") < 0).select("position"), _get(pairs.skipped, f"{part:07d}")]
    _put(task.state, f"{part:07d}-unsure", pl.concat(unsure).unique())
    repeats = pairs.repeats.of_part(part).with_columns(similarity=pl.lit(1.0), same=pl.lit(True))
    alike = alike.filter(pl.col("first") >= 0).with_columns(same=pl.lit(False))
    edges = pl.concat([alike.select(list(EDGES)), repeats.select(list(EDGES))])
    asked = pl.concat(
        [
            pl.DataFrame(pairs.interest.read(part, pairs.blocks, verify.ASKED)),
            pl.DataFrame(pairs.repeats.interest.read(part, pairs.repeats.partitions)),
        ]
    )
    asked = asked.unique().filter(pl.col("part") != part)
    with_rivals = edges["position"].unique()
    nodes = pl.concat([edges["first"], asked["node"]]).unique()
    mine = nodes.filter(pl.Series(pairs.ranges.number(nodes.to_numpy()) == part))
    alone = mine.filter(~mine.is_in(with_rivals.implode()))
    return _advance(task, edges, _fates_of_kept(alone), asked)


def _continue(task: _Round) -> int:
    before = _Round(task.number - 1, task.part, task.pairs, task.work)
    edges, known, asked = (_get(before.state, f"{task.part:07d}-{name}") for name in ("edges", "known", "asked"))
    told = pl.DataFrame(task.told(task.number - 1).read(task.part, len(task.pairs.ranges)))
    return _advance(task, edges, pl.concat([known, told.select(list(FATES))]), asked)


def _advance(task: _Round, edges: pl.DataFrame, known: pl.DataFrame, asked: pl.DataFrame) -> int:
    """Settle what `known` allows, write down what is left and what became of the others, and tell those who asked."""
    fates, left = settle(edges, known)
    name = f"{task.part:07d}"
    _put(task.state, f"{name}-dropped", fates.filter(~pl.col("kept")))
    answers = asked.join(pl.concat([fates, known]), on="node", how="inner").unique(["node", "part"])
    told = answers.select(*FATES, "part").sort("node")
    task.told(task.number).write(task.part, _arrow(told), told["part"].to_numpy())
    _put(task.state, f"{name}-edges", left)
    needed = left["first"].unique()
    still = pl.concat([known, fates]).filter(pl.col("node").is_in(needed.implode()))
    _put(task.state, f"{name}-known", still)
    _put(task.state, f"{name}-asked", asked.join(answers.select("node"), on="node", how="anti"))
    return left.height


def _settle_rest(task: _Round) -> int:
    """Settle all that is left of all parts."""
    edges, known = [], []
    for part in range(len(task.pairs.ranges)):
        edges.append(_get(task.state, f"{part:07d}-edges"))
        known.append(_get(task.state, f"{part:07d}-known"))
        told = pl.DataFrame(task.told(task.number).read(part, len(task.pairs.ranges)))
        known.append(told.select(list(FATES)))
    fates, left = settle(pl.concat(edges), pl.concat(known).unique("node"))
    if left.height:
        raise AssertionError(f"{left.height} pairs of documents cannot be settled")
    dropped = fates.filter(~pl.col("kept"))
    home = task.pairs.ranges.number(dropped["node"].to_numpy())
    return Shuffle(task.work / "rest", len(task.pairs.ranges)).write(0, _arrow(dropped), home)


@dataclass(frozen=True)
class _Write:
    rounds: int
    rest: bool
    part: int
    pairs: Pairs
    work: Folder
    drops: Folder
    rule: str
    threshold: float


def _write(task: _Write) -> dict[str, Any]:
    """Write the drops of one part; count those that stay without having been compared with all."""
    name = f"{task.part:07d}"
    found = [_get(_Round(n, task.part, task.pairs, task.work).state, f"{name}-dropped") for n in range(task.rounds + 1)]
    if task.rest:
        found.append(pl.DataFrame(Shuffle(task.work / "rest", len(task.pairs.ranges)).read(task.part, 1)))
    dropped = pl.concat(found).rename({"node": "position"})
    unsure = _get(_Round(0, task.part, task.pairs, task.work).state, f"{name}-unsure")
    kept = unsure.join(dropped, on="position", how="anti").height
    file = write_drops(drops_of(task.rule, dropped, task.threshold), task.drops, f"drop-{task.part:06d}.parquet")
    return {"file": file, "unsure": kept}


def settle(edges: pl.DataFrame, known: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Settle every document whose fate follows from `known`.

    Args:
        edges: `EDGES`, all of each document.
        known: `FATES`; a document in neither is one whose fate is not known yet.

    Returns:
        (fates, left): `FATES` of documents settled now, `EDGES` of the others from their first rival not dropped on.
    """
    edges = edges.sort("position", "first_id", "first")
    later, first = edges["position"].to_numpy(), edges["first"].to_numpy()
    nodes = np.unique(np.concatenate([later, first]))
    status = np.zeros(len(nodes), np.int8)
    told = known["node"].to_numpy()
    place = np.minimum(np.searchsorted(nodes, told), max(0, len(nodes) - 1))
    here = nodes[place] == told if len(nodes) else np.zeros(len(told), bool)
    status[place[here]] = np.where(known["kept"].to_numpy()[here], KEPT, DROPPED)
    by_edge, at = _cascade(
        status,
        np.searchsorted(later, np.append(nodes, np.iinfo(np.int64).max)),
        np.searchsorted(nodes, first),
        edges["same"].to_numpy(),
        *_followers(np.searchsorted(nodes, first), np.searchsorted(nodes, later), len(nodes)),
    )
    owners = np.unique(later)
    mine = np.searchsorted(nodes, owners)
    settled = mine[status[mine] > 0]
    dropped = settled[status[settled] == DROPPED]
    kept = _fates_of_kept(pl.Series(nodes[settled[status[settled] == KEPT]]))
    drops = edges[by_edge[dropped]].select(
        "first", "first_id", "similarity", "same", node=pl.Series(nodes[dropped]), kept=pl.lit(False)
    )
    fates = pl.concat([kept, _for_whom(drops, known)])
    open_rows = (np.arange(len(later)) >= at[np.searchsorted(nodes, later)]) & (
        status[np.searchsorted(nodes, later)] == 0
    )
    return fates, edges.filter(pl.Series(open_rows))


def _for_whom(drops: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Let what repeats the text of a dropped document be dropped for the same one as that."""
    lost = pl.concat([known.filter(~pl.col("kept")), drops.filter(~pl.col("same")).select(list(FATES))])
    lost = lost.select(first="node", for_first="first", for_id="first_id", for_similarity="similarity").unique("first")
    moved = (
        drops.filter("same")
        .join(lost, on="first", how="left")
        .select(
            "node",
            "kept",
            first=pl.coalesce("for_first", "first"),
            first_id=pl.coalesce("for_id", "first_id"),
            similarity=pl.coalesce("for_similarity", "similarity"),
        )
    )
    return pl.concat([drops.filter(~pl.col("same")).select(list(FATES)), moved])


def _fates_of_kept(nodes: pl.Series) -> pl.DataFrame:
    none = {name: pl.lit(None, FATES[name]) for name in ("first", "first_id", "similarity")}
    frame = pl.DataFrame({"node": nodes.cast(pl.Int64)})
    return frame.select("node", kept=pl.lit(True), **none)


def _followers(first: np.ndarray, later: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (bounds, rows): whom each node comes before."""
    order = np.argsort(first, kind="stable")
    return np.searchsorted(first[order], np.arange(nodes + 1)), later[order]


@njit(cache=True, nogil=True)
def _cascade(status, bounds, firsts, same, follow_bounds, followers):
    """Settle in `status` what can be.

    Args:
        status: int8, shape (nodes,): 0 unknown.
        bounds, firsts, same: rivals of node n are ``firsts[bounds[n]:bounds[n + 1]]``, in the order of keeping.
        follow_bounds, followers: nodes that have node n as a rival.

    Returns:
        (by_edge, at): int64, shape (nodes,): the pair for which a node was dropped, -1 for none; its first open rival.
    """
    nodes = len(status)
    by_edge = np.full(nodes, -1, np.int64)
    at = bounds[:nodes].copy()
    todo = np.empty(nodes + len(followers), np.int64)
    count = 0
    for node in range(nodes):
        if status[node] == 0 and bounds[node] < bounds[node + 1]:
            todo[count] = node
            count += 1
    while count:
        count -= 1
        node = todo[count]
        if status[node]:
            continue
        while at[node] < bounds[node + 1]:
            fate = status[firsts[at[node]]]
            if fate == 0:
                break
            if fate == 1 or same[at[node]]:
                by_edge[node] = at[node]
                status[node] = 2
                break
            at[node] += 1
        if at[node] == bounds[node + 1]:
            status[node] = 1
        if status[node]:
            for k in range(follow_bounds[node], follow_bounds[node + 1]):
                todo[count] = followers[k]
                count += 1
    return by_edge, at


def _arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _put(folder: Folder, name: str, frame: pl.DataFrame) -> None:
    write_runs(folder, f"{name}.runs", _arrow(frame), np.array([frame.height]))


def _get(folder: Folder, name: str) -> pl.DataFrame:
    return pl.DataFrame(read_run(folder, f"{name}.runs", 0))
