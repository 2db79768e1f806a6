"""The decision most corpus stages come to: these documents, named by position, leave.

The positions lie in Parquet files sorted by position, each with a run of shards of its own; ``drops.json`` names
every file with its rows, shards and SHA-256, and the decision names ``drops.json`` by its digest. So a file that is
missing, short or foreign is found before a document is kept or dropped by it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.documents import POSITION_BITS, Batch
from pipeline.errors import StorageError
from pipeline.stage import MapStage, Outcome, Removal
from pipeline.storage import Folder

DROP_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("rule", pa.large_string()),
        ("value", pa.float64()),
        ("threshold", pa.float64()),
        ("detail", pa.large_string()),  # what a person should know beside the measured value
        ("partner", pa.int64()),  # position of the document kept in its place
        ("partner_id", pa.large_string()),
    ]
)
"""Columns of the files that `DropPositions` reads, one row a document to drop. Absent columns of a table are null."""

GROUP_ROWS = 1 << 16
"""Rows per row group: what is read for one shard is little more than its own rows."""
FILE_ROWS = 1 << 22
"""Rows per file where one process writes all."""
INDEX = "drops.json"


@dataclass(frozen=True)
class DropFile:
    """One file of a decision: its shards lie in ``[first, last]``, both held by no other file unless cut inside."""

    file: str
    rows: int
    first: int
    last: int
    sha256: str


def write_drops(drops: pa.Table, work: Folder, name: str) -> dict[str, Any] | None:
    """Write `drops` (columns of `DROP_SCHEMA`, each position once, in any order) as file `name` of `work`.

    Returns:
        The fields of its `DropFile`, which JSON holds, so that a task can answer it; None for no rows.
    """
    if drops.num_rows == 0:
        return None
    columns = {
        field.name: drops[field.name].cast(field.type)
        if field.name in drops.column_names
        else pa.nulls(drops.num_rows, field.type)
        for field in DROP_SCHEMA
    }
    table = pa.table(columns, schema=DROP_SCHEMA).sort_by("position")
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", row_group_size=GROUP_ROWS)
    data = sink.getvalue()
    work.put(name, data)
    positions = table["position"]
    first, last = (int(positions[at].as_py()) >> POSITION_BITS for at in (0, table.num_rows - 1))
    return asdict(DropFile(name, table.num_rows, first, last, hashlib.sha256(data).hexdigest()))


@dataclass(frozen=True, kw_only=True)
class DropPositions(MapStage):
    """Drop the documents that a corpus stage has named, for the reasons it gave."""

    name: ClassVar[str] = "drop_positions"
    needs: ClassVar[tuple[str, ...]] = ()
    only_drops: ClassVar[bool] = True
    stage: str
    """Label of the corpus stage that decided."""
    rows: int
    """Documents to drop."""
    digest: str
    """SHA-256 of ``drops.json``."""
    kind: str = "document"
    """``document`` for documents dropped, ``failed`` for those that the corpus stage could not observe."""

    @property
    def counted_as(self) -> str:
        return self.stage

    @classmethod
    def write(cls, stage: str, drops: pa.Table, work: Folder, kind: str = "document") -> DropPositions:
        """Write `drops` (columns of `DROP_SCHEMA`, each position once) into `work` and return the decision."""
        drops = drops.sort_by("position")
        starts = range(0, drops.num_rows, FILE_ROWS)
        files = [write_drops(drops.slice(at, FILE_ROWS), work, f"drop-{n:06d}.parquet") for n, at in enumerate(starts)]
        return cls.of(stage, files, work, kind)

    @classmethod
    def of(
        cls, stage: str, files: Sequence[dict[str, Any] | None], work: Folder, kind: str = "document"
    ) -> DropPositions:
        """Return the decision whose files tasks have written: answers of `write_drops`, ranges of positions apart."""
        found = sorted((f for f in files if f is not None), key=lambda f: (f["first"], f["last"], f["file"]))
        rows = sum(f["rows"] for f in found)
        data = msgspec.json.format(msgspec.json.encode({"rows": rows, "files": found}), indent=1) + b"\n"
        work.put(INDEX, data)
        return cls(stage=stage, rows=rows, digest=hashlib.sha256(data).hexdigest(), kind=kind)

    def check_files(self, work: Folder) -> None:
        """Raise StorageError unless every file of the decision is in `work`, whole and ours."""
        for file in _index(work, self.digest):
            _checked(work, file)

    def of_shard(self, work: Folder, shard: int) -> pa.Table:
        """Return the rows (`DROP_SCHEMA`, sorted by position) that concern `shard`."""
        return _of_shard(work, self.digest, shard)

    def positions(self, work: Folder, first: int, last: int) -> np.ndarray:
        """Return int64, ascending: the positions to drop in shards `first` to `last` (not included)."""
        start, end = first << POSITION_BITS, last << POSITION_BITS
        found = [np.asarray(rows["position"]) for rows in _between(work, self.digest, start, end, ("position",))]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def apply(self, batch: Batch) -> Outcome:
        """Drop the named documents of `batch`; it must come from the corpus that was decided on."""
        if batch.folder is None:
            raise ValueError("DropPositions needs the folder of its decision")
        drops = self.of_shard(batch.folder, batch.shard)
        named = np.asarray(drops["position"])
        at = np.searchsorted(named, batch.positions)
        hit = np.zeros(len(batch), bool)
        inside = at < len(named)
        hit[inside] = named[at[inside]] == batch.positions[inside]
        if not hit.any():
            return Outcome(batch)
        lines = drops.take(pa.array(at[hit])).to_pylist()
        removed = [self._removal(row, line) for row, line in zip(np.flatnonzero(hit).tolist(), lines, strict=True)]
        return Outcome(batch.select(np.flatnonzero(~hit).tolist()), removed)

    def _removal(self, row: int, line: dict[str, Any]) -> Removal:
        partner = {"partner": line["partner"], "partner_id": line["partner_id"]}
        return Removal(row, line["rule"], self.kind, line["value"], line["threshold"], line["detail"] or "", **partner)


@lru_cache(maxsize=16)
def _index(work: Folder, digest: str) -> tuple[DropFile, ...]:
    data = work.get(INDEX)
    if hashlib.sha256(data).hexdigest() != digest:
        raise StorageError(f"{work.url}/{INDEX} is not what this run decided; delete {work.url} and run again")
    return tuple(msgspec.convert(file, DropFile) for file in msgspec.json.decode(data)["files"])


@lru_cache(maxsize=4)
def _checked(work: Folder, file: DropFile) -> tuple[pq.ParquetFile, np.ndarray]:
    """Return drop file `file`, its content held against its digest, and the last position of each row group."""
    data = work.get(file.file)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise StorageError(f"{work.url}/{file.file} is not what this run decided; delete {work.url} and run again")
    parquet = pq.ParquetFile(pa.BufferReader(data))
    groups = range(parquet.num_row_groups)
    return parquet, np.array([parquet.metadata.row_group(g).column(0).statistics.max for g in groups], np.int64)


@lru_cache(maxsize=4)
def _of_shard(work: Folder, digest: str, shard: int) -> pa.Table:
    pieces = _between(work, digest, shard << POSITION_BITS, (shard + 1) << POSITION_BITS, None)
    return pa.concat_tables([DROP_SCHEMA.empty_table(), *pieces])


def _between(work: Folder, digest: str, start: int, end: int, columns: tuple[str, ...] | None) -> Iterator[pa.Table]:
    """Yield the rows of positions from `start` to `end` (not included), file by file."""
    for file in _index(work, digest):
        if file.first <= (end - 1) >> POSITION_BITS and start >> POSITION_BITS <= file.last:
            _, lasts = _checked(work, file)
            first, last = np.searchsorted(lasts, [start, end])
            rows = _groups(work, file, int(first), min(int(last) + 1, len(lasts)), columns)
            low, high = np.searchsorted(np.asarray(rows["position"]), [start, end])
            yield rows.slice(low, high - low)


@lru_cache(maxsize=2)  # many small shards lie in one row group
def _groups(work: Folder, file: DropFile, first: int, last: int, columns: tuple[str, ...] | None) -> pa.Table:
    return _checked(work, file)[0].read_row_groups(list(range(first, last)), columns=columns)
