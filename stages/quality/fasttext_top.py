"""The best share of the corpus by a fastText classifier: the threshold is found by looking at all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import Corpus, LocalTasks, Observations, ObservedPart, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions, write_drops
from pipeline.documents import Batch
from pipeline.guard import guard
from pipeline.shuffle import SMALL, Merge, clear, merge_tree, parts_of, put_merged
from pipeline.stage import StageFault
from pipeline.storage import Folder
from stages.dedup.duplicates import write_notes
from stages.quality import fasttext_model
from stages.quality.fasttext_model import Form, Scorer

PART_ROWS = 2_000_000
"""Documents of one task, about 100 MB."""
COARSE = 16
"""Bits of a score's place among all scores by which the histogram counts first."""


@dataclass(frozen=True, kw_only=True)
class FastTextTop(CorpusStage):
    """Keep the share of the corpus that a fastText classifier thinks best, as DCLM keeps its best tenth.

    Every document is scored in the pass before; then the threshold is found that leaves just the wanted share, exactly,
    from counts. Documents of the same score have the same fate, and those of the threshold's stay.
    """

    name: ClassVar[str] = "fasttext_top"
    published: ClassVar[str] = "fastText, arXiv:1607.01759; DCLM, arXiv:2406.11794, which keeps the best tenth"
    path_fields: ClassVar[tuple[str, ...]] = ("model",)
    libraries: ClassVar[tuple[str, ...]] = ("fasttext-community",)
    shares_load: ClassVar[bool] = True

    model: tuple[str, ...]
    """The model's file (.bin or .ftz), relative to the recipe."""
    label: str = "hq"
    """The label whose probability is the score, with or without __label__."""
    share: float = 0.1
    """What is kept of the corpus, from 0 to 1; the rest is dropped (below_top_share)."""
    of: Literal["documents", "bytes"] = "documents"
    """What the share is of: documents, or bytes of their text."""
    each: Literal["", "source", "language"] = ""
    """Take the share of each source, or of each language, by itself; empty: of all together."""
    values: dict[str, float] = field(default_factory=dict)
    """By label what it is worth; the score is then the expected value and `label` is not looked at."""
    text: Form = "auto"
    """The line that the model reads; see fasttext_quality."""

    @property
    def scorer(self) -> Scorer:
        """What scores a text."""
        return fasttext_model.scorer_of(self.model, self.label, self.values, self.text)

    def check(self) -> None:
        if not 0 < self.share <= 1:
            raise StageFault("share", f"{self.share} is no share: more than 0, at most 1")
        self.scorer.check()

    def resources(self) -> Mapping[str, str]:
        return {"model": fasttext_model.digest(self.model[0])}

    def load(self) -> None:
        fasttext_model.form_of(self.model[0])

    def observation_identity(self) -> dict[str, Any]:
        """All but the share, which is looked at only by `decide`."""
        identity = self.identity()
        left = {k: v for k, v in identity["parameters"].items() if k not in ("share", "of")}
        return {**identity, "parameters": left}

    def observe(self, batch: Batch) -> pa.Table:
        """Return position, score (float32), bytes of text and group of every document."""
        scorer, scores = self.scorer, np.zeros(len(batch), np.float32)
        for row, text in enumerate(batch.texts):
            guard.working_on(int(batch.numbers[row]))
            scores[row] = scorer.score(text)
        groups = batch.column(self.each) if self.each else [""] * len(batch)
        return pa.table(
            {
                "position": pa.array(batch.positions, pa.int64()),
                "score": pa.array(scores),
                "bytes": pa.array([len(text.encode("utf-8", "replace")) for text in batch.texts], pa.int64()),
                "group": pa.array([group or "" for group in groups], pa.large_string()),
            }
        )

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> DropPositions:
        """Find each group's threshold from counts by score, then the documents below it, part by part."""
        task = _Task(observations, work, self.share, self.of)
        if observations.rows > SMALL:
            found, drops = _decide(task, tasks)
        else:
            ((found, drops),) = tasks.map("search", _alone, [task])
        write_notes(work, [_told(name, cut, self.each) for name, *cut in found])
        return DropPositions.of(self.counted_as, drops, work)


def _told(name: str, cut: list[float], each: str) -> str:
    threshold, kept, total = cut
    where = f"{each} {name or 'unknown'}: " if each else ""
    return f"{where}threshold {threshold:.6g} keeps {int(kept):,} of {int(total):,}"


@dataclass(frozen=True)
class _Task:
    observations: Observations
    work: Folder
    share: float
    of: str


@dataclass(frozen=True)
class _Leaf:
    part: ObservedPart
    number: int
    of: str
    folder: Folder
    cuts: tuple[tuple[str, int], ...] = ()


def _alone(task: _Task) -> list[Any]:
    return list(_decide(task, LocalTasks()))


def _decide(task: _Task, tasks: Tasks) -> tuple[list[list[Any]], list[Any]]:
    """Return [group, threshold, kept, total] of each group, and the drop files."""
    parts, between = parts_of(task.observations, PART_ROWS), task.work / "between"
    if not parts:
        return [], []
    coarse = _counted(parts, task.of, tasks, between / "coarse", ())
    bins = {name: _cut(group, task.share * int(group["size"].sum())) for name, group in _groups(coarse)}
    fine = _counted(parts, task.of, tasks, between / "fine", tuple((name, key) for name, (key, _, _) in bins.items()))
    exact = {name: group for name, group in _groups(fine)}
    found, cuts = [], []
    for name, (_, above, total) in sorted(bins.items()):
        key, more, _ = _cut(exact[name], task.share * total - above)
        kept = above + more + int(exact[name].filter(pl.col("key") == key)["size"].sum())
        cuts.append((name, key))
        found.append([name, float(_score(np.array([key], np.uint32))[0]), kept, total])
    drops = tasks.map("drops", _write, [_Leaf(p, n, task.of, task.work, tuple(cuts)) for n, p in enumerate(parts)])
    tasks.map("clear", clear, [between / "coarse", between / "fine"])
    return found, drops


def _groups(counts: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(name), group.sort("key")) for (name,), group in counts.group_by("group", maintain_order=True)]


def _cut(counts: pl.DataFrame, wanted: float) -> tuple[int, int, int]:
    """Return the key at which, from the best down, `wanted` is reached, what lies above it, and the total."""
    keys, sizes = counts["key"].to_numpy()[::-1], counts["size"].to_numpy()[::-1]
    reached = np.cumsum(sizes)
    at = min(int(np.searchsorted(reached, wanted - 1e-9)), len(keys) - 1)
    return int(keys[at]), int(reached[at] - sizes[at]), int(reached[-1])


def _key(scores: np.ndarray) -> np.ndarray:
    """Return uint32, in the order of `scores`, float32 (IEEE 754 bits, those of negative numbers turned round)."""
    bits = scores.astype(np.float32).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint32)


def _score(keys: np.ndarray) -> np.ndarray:
    bits = np.where(keys >> 31, keys & np.uint32((1 << 31) - 1), ~keys).astype(np.uint32)
    return bits.view(np.float32)


def _counted(
    parts: list[ObservedPart], of: str, tasks: Tasks, folder: Folder, cuts: tuple[tuple[str, int], ...]
) -> pl.DataFrame:
    """Return group, key and size: by coarse key of all documents, or by exact key of those in the bins `cuts`."""
    name = "scores" if not cuts else "scores at the edge"
    tasks.map(name, _count, [_Leaf(part, number, of, folder, cuts) for number, part in enumerate(parts)])
    return pl.DataFrame(merge_tree(tasks, name, _merge, folder, len(parts)))


def _rows(leaf: _Leaf) -> pl.DataFrame:
    rows = pl.DataFrame(leaf.part.read(["position", "score", "bytes", "group"]))
    size = pl.col("bytes") if leaf.of == "bytes" else pl.lit(1, pl.Int64)
    return rows.with_columns(key=pl.Series(_key(rows["score"].to_numpy())).cast(pl.Int64), size=size)


def _cuts(leaf: _Leaf) -> pl.DataFrame:
    return pl.DataFrame(list(leaf.cuts), {"group": pl.String, "cut": pl.Int64}, orient="row")


def _count(leaf: _Leaf) -> int:
    rows = _rows(leaf)
    if leaf.cuts:
        rows = rows.join(_cuts(leaf), on="group").filter(pl.col("key") // (1 << COARSE) == pl.col("cut"))
    else:
        rows = rows.with_columns(key=pl.col("key") // (1 << COARSE))
    return put_merged(leaf.folder, leaf.number, _summed(rows))


def _summed(rows: pl.DataFrame) -> pa.Table:
    summed = rows.group_by("group", "key").agg(pl.col("size").sum()).sort("group", "key")
    return summed.to_arrow(compat_level=pl.CompatLevel.oldest())


def _merge(task: Merge) -> int:
    return task.write(_summed(pl.DataFrame(task.read())))


def _write(leaf: _Leaf) -> dict[str, Any] | None:
    rows = _rows(leaf).join(_cuts(leaf), on="group").filter(pl.col("key") < pl.col("cut"))
    cut = _score(rows["cut"].to_numpy().astype(np.uint32)).astype(np.float64)
    drops = rows.select("position", value=pl.col("score").cast(pl.Float64), threshold=pl.Series(cut))
    drops = drops.with_columns(rule=pl.lit("below_top_share"))
    return write_drops(drops.to_arrow(), leaf.folder, f"drop-{leaf.number:06d}.parquet")
