"""The decision most corpus stages come to: these documents, named by position, leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pyarrow as pa

from pipeline.documents import POSITION_BITS, Batch
from pipeline.stage import MapStage, Outcome, Removal, digest_of
from pipeline.storage import Folder

DROP_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("rule", pa.large_string()),
        ("value", pa.float64()),
        ("threshold", pa.float64()),
        ("detail", pa.large_string()),
    ]
)
"""Columns of the file that `DropPositions` reads: one row a document to drop."""


@dataclass(frozen=True, kw_only=True)
class DropPositions(MapStage):
    """Drop the documents that a corpus stage has named, for the reasons it gave."""

    name: ClassVar[str] = "drop_positions"
    needs: ClassVar[tuple[str, ...]] = ()
    stage: str
    """Label of the corpus stage that decided."""
    digest: str
    """SHA-256 over the files of the decision."""

    @property
    def label(self) -> str:
        return self.stage

    @classmethod
    def write(cls, stage: str, drops: pa.Table, work: Folder) -> DropPositions:
        """Write `drops` (columns of `DROP_SCHEMA`, each position once) into `work`, a file a shard, and return the stage."""
        drops = drops.select(DROP_SCHEMA.names).cast(DROP_SCHEMA).sort_by("position")
        shards = np.asarray(drops["position"]) >> POSITION_BITS
        digests = []
        for shard in np.unique(shards).tolist():
            start, end = np.searchsorted(shards, [shard, shard + 1])
            digests.append(work.put_table(f"drop-{shard:05d}.parquet", drops.slice(start, end - start)))
        return cls(stage=stage, digest=digest_of(digests))

    def apply(self, batch: Batch) -> Outcome:
        """Drop the named documents of `batch`; it must come from the corpus that was decided on."""
        if batch.folder is None:
            raise ValueError("DropPositions needs the folder of its decision")
        drops = _drops(batch.folder, batch.shard)
        found = np.searchsorted(drops["position"], batch.positions)
        removed, rows = [], []
        for row, (at, position) in enumerate(zip(found.tolist(), batch.positions.tolist(), strict=True)):
            if at < len(drops["position"]) and drops["position"][at] == position:
                rule, value, threshold, detail = (drops[name][at] for name in DROP_SCHEMA.names[1:])
                removed.append(Removal(row, rule, "document", value, threshold, detail or ""))
            else:
                rows.append(row)
        return Outcome(batch.select(rows), removed)


@lru_cache(maxsize=2)
def _drops(folder: Folder, shard: int) -> dict:
    name = f"drop-{shard:05d}.parquet"
    table = folder.get_table(name) if folder.exists(name) else DROP_SCHEMA.empty_table()
    columns: dict = {field: table[field].to_pylist() for field in DROP_SCHEMA.names[1:]}
    columns["position"] = np.asarray(table["position"])
    return columns
