"""What exact and near-duplicate removal share: the order in which documents are kept, and the ledger's words."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import Corpus, Observations
from pipeline.documents import Batch
from pipeline.storage import Folder

PAIRS = pa.schema([("position", pa.int64()), ("kept", pa.int64()), ("similarity", pa.float64())])
"""One row a document to drop: where it is, where the one kept in its place is, and how similar they are."""


def ids_of(batch: Batch) -> pa.Array:
    """Return the ids of `batch`, the empty text for a missing one."""
    return pa.array([value or "" for value in batch.column("id")], pa.large_string())


def parts_for(observations: Observations, rows: int) -> int:
    """Return into how many parts the observations are cut so that none has more than about `rows` rows."""
    return max(1, -(-observations.rows // rows))


def read_part(
    observations: Observations, columns: list[str], key: str, part: int, parts: int
) -> Iterator[pl.DataFrame]:
    """Yield, shard by shard, `columns` of the observed rows whose hash in column `key` belongs to `part` of `parts`."""
    for shard in range(len(observations.shards)):
        frame = pl.DataFrame(observations.read(shard, columns))
        if parts > 1:
            # the high half: what groups rows inside a part must not be what cut the parts
            frame = frame.filter((pl.col(key) // (1 << 32)) % parts == part)
        yield frame


def duplicate_drops(rule: str, pairs: pa.Table, corpus: Corpus, threshold: float) -> pa.Table:
    """Return `pairs` (`PAIRS`) as rows of `DROP_SCHEMA`."""
    kept = np.unique(np.asarray(pairs["kept"]))
    names = dict(zip(kept.tolist(), corpus.read(kept, ("id",))["id"].to_pylist(), strict=True))
    rows = pairs.num_rows
    return pa.table(
        {
            "position": pairs["position"],
            "rule": pa.array([rule] * rows, pa.large_string()),
            "value": pairs["similarity"],
            "threshold": pa.array([threshold] * rows, pa.float64()),
            "partner": pairs["kept"],
            "partner_id": pa.array([names[at] for at in pairs["kept"].to_pylist()], pa.large_string()),
        }
    )


def write_notes(work: Folder, notes: list[str]) -> None:
    """Leave what the user should hear of a decision where the run looks for it: ``notes.json``, a list of texts."""
    if notes:
        work.put("notes.json", json.dumps(notes, ensure_ascii=False, indent=1).encode())
