"""Documents whose text is the same are kept once."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import Corpus, LocalTasks, Observations, ObservedPart, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions, write_drops
from pipeline.documents import Batch
from pipeline.shuffle import SMALL, clear, parts_of
from pipeline.storage import Folder
from stages.dedup.duplicates import drops_of
from stages.dedup.same_text import Repeats, ids_of, key_columns
from stages.text.normal_form import normal_form

PART_ROWS = 500_000
"""Documents of one task, about 40 MB."""


@dataclass(frozen=True, kw_only=True)
class ExactDedup(CorpusStage):
    """Keep one of each set of documents with the same text: the first by id, and by position where ids repeat.

    Texts are the same when their normalised forms agree in 128 bits of BLAKE2b (RFC 7693). Documents without
    text are not duplicates of each other: that a page has no text is another rule's finding.
    """

    name: ClassVar[str] = "exact_dedup"
    published: ClassVar[str] = "common practice; Lee et al. 2022, arXiv:2107.06499, on why"
    normalise: bool = True
    """Compare texts in Unicode form NFC with every run of white space as one space. Case counts. False: byte by byte."""

    def resources(self) -> Mapping[str, str]:
        """The version of Unicode, which decides the normal form."""
        return {"unicode": unicodedata.unidata_version} if self.normalise else {}

    def observe(self, batch: Batch) -> pa.Table:
        """Return position, id and hash (two uint64) of every document that has a text."""
        digests = [self.digest(text) for text in batch.texts]
        rows = [row for row, digest in enumerate(digests) if digest]
        halves = np.frombuffer(b"".join(digests[row] for row in rows), np.uint64).reshape(len(rows), 2)
        ids = ids_of(batch).take(pa.array(rows, pa.int64()))
        return pa.table({"position": batch.positions[rows].astype(np.int64), "id": ids, **key_columns(halves)})

    def digest(self, text: str) -> bytes:
        """Return the 16 bytes that stand for `text`; no bytes for a text that is empty or only white space."""
        words = (normal_form("NFC", text) if self.normalise else text).split()
        if not words:
            return b""
        data = (" ".join(words) if self.normalise else text).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=16).digest()

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> DropPositions:
        """Group by hash, a range of hashes a task, and drop all but the first of each group."""
        if observations.rows > SMALL:
            drops = _find_and_write(observations, tasks, work)
        else:
            (drops,) = tasks.map("search", _alone, [(observations, work)])
        return DropPositions.of(self.counted_as, drops, work)


def _alone(item: tuple[Observations, Folder]) -> list[dict[str, Any] | None]:
    return _find_and_write(item[0], LocalTasks(), item[1])


def _find_and_write(observations: Observations, tasks: Tasks, work: Folder) -> list[dict[str, Any] | None]:
    parts = parts_of(observations, PART_ROWS)
    if not parts:
        return []
    between = work / "between"
    found = Repeats.planned(parts, observations.rows, between)
    tasks.map("keys", _send_keys, [_Send(part, number, found) for number, part in enumerate(parts)])
    found.group(tasks)
    drops = tasks.map("drops", _write_drops, [_Drops(found, number, work) for number in range(len(parts))])
    tasks.map("clear", clear, [between])
    return drops


@dataclass(frozen=True)
class _Send:
    part: ObservedPart
    number: int
    found: Repeats


def _send_keys(task: _Send) -> int:
    return task.found.send(task.number, pl.DataFrame(task.part.read(["position", "id", "high", "low"]))).height


@dataclass(frozen=True)
class _Drops:
    found: Repeats
    number: int
    work: Folder


def _write_drops(task: _Drops) -> dict[str, Any] | None:
    repeats = task.found.of_part(task.number)
    return write_drops(drops_of("exact_duplicate", repeats, 1.0), task.work, f"drop-{task.number:06d}.parquet")
