"""Documents whose text is the same are kept once."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import Corpus, Observations, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.documents import Batch
from pipeline.storage import Folder
from stages.dedup.duplicates import PAIRS, duplicate_drops, ids_of, parts_for, read_part

PART_ROWS = 1_000_000
"""Documents grouped in one task, about 250 MB."""


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

    def observe(self, batch: Batch) -> pa.Table:
        """Return position, id and hash (two uint64) of every document that has a text."""
        digests = [self.digest(text) for text in batch.texts]
        rows = [row for row, digest in enumerate(digests) if digest]
        halves = np.frombuffer(b"".join(digests[row] for row in rows), np.uint64).reshape(len(rows), 2)
        return pa.table(
            {
                "position": batch.positions[rows].astype(np.int64),
                "id": ids_of(batch).take(pa.array(rows, pa.int64())),
                "high": np.ascontiguousarray(halves[:, 0]),
                "low": np.ascontiguousarray(halves[:, 1]),
            }
        )

    def digest(self, text: str) -> bytes:
        """Return the 16 bytes that stand for `text`; no bytes for a text that is empty or only white space."""
        words = (unicodedata.normalize("NFC", text) if self.normalise else text).split()
        if not words:
            return b""
        data = (" ".join(words) if self.normalise else text).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=16).digest()

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> DropPositions:
        """Group by hash, a range of hashes a task, and drop all but the first of each group."""
        parts = parts_for(observations, PART_ROWS)
        found = tasks.map("groups", _repeats, [(observations, part, parts) for part in range(parts)])
        return DropPositions.write(
            self.label, duplicate_drops("exact_duplicate", pa.concat_tables(found), corpus, 1.0), work
        )


def _repeats(item: tuple[Observations, int, int]) -> pa.Table:
    """Return `PAIRS` of the documents of one part of the hashes that repeat an earlier one."""
    observations, part, parts = item
    frames = read_part(observations, ["position", "id", "high", "low"], "high", part, parts)
    rows = pl.concat([pl.DataFrame(PAIRS.empty_table()).select("position").clear(), *frames], how="diagonal")
    if rows.is_empty():
        return PAIRS.empty_table()
    rows = rows.filter(pl.len().over("high", "low") > 1).sort("id", "position")
    repeats = rows.with_columns(kept=pl.col("position").first().over("high", "low"), similarity=pl.lit(1.0))
    repeats = repeats.filter(pl.col("position") != pl.col("kept")).sort("position")
    return repeats.select(PAIRS.names).to_arrow().cast(PAIRS)
