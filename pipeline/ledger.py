"""The ledger: one row for every document or span that left the corpus, with the reason and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipeline.corpus import ROW_MASK, Shards
from pipeline.documents import POSITION_BITS, Batch, text_array
from pipeline.stage import Removal

LEDGER_SCHEMA = pa.schema(
    [
        ("id", pa.large_string()),
        ("url", pa.large_string()),
        ("source", pa.large_string()),
        ("stage", pa.large_string()),
        ("rule", pa.large_string()),
        ("kind", pa.large_string()),  # document, span or failed
        ("value", pa.float64()),
        ("threshold", pa.float64()),
        ("detail", pa.large_string()),
        ("partner_id", pa.large_string()),  # of the document kept in this one's place
        ("partner", pa.large_string()),  # where that stands: shard and row, "NAME:ROW"
        ("text", pa.large_string()),
    ]
)

CHUNK_ROWS = 4096
"""Rows held as Python objects before they become Arrow."""


class LedgerBuilder:
    """Gathers the ledger rows of one shard, in the order in which documents left.

    Args:
        text_characters: how much of a document's text is kept: the first so many characters, -1 for all; with 0 neither
            spans nor details are, for they are pieces of texts too.
        shards: the corpus that positions of partners speak of.
    """

    def __init__(self, text_characters: int, shards: Shards | None = None):
        self._limit, self._partners = text_characters, shards
        self._rows: list[dict[str, Any]] = []
        self._chunks: list[pa.RecordBatch] = []
        self.rows, self._bytes = 0, 0

    @property
    def bytes(self) -> int:
        """About the bytes that the rows take."""
        return self._bytes

    def add(self, **values: Any) -> None:
        """Add one row; columns not given are null."""
        self._rows.append(values)
        self.rows += 1
        self._bytes += 64 + len(values.get("text") or "") + len(values.get("detail") or "")
        if len(self._rows) >= CHUNK_ROWS:
            self._pack()

    def add_removed(self, stage: str, batch: Batch, removed: Sequence[Removal]) -> None:
        """Add what `stage` removed from `batch`, the batch as it was before the stage."""
        if not removed:
            return
        rows = sorted({removal.row for removal in removed})
        at = {row: index for index, row in enumerate(rows)}
        touched = batch.select(rows)
        ids, urls, sources = (touched.column(name) for name in ("id", "url", "source"))
        texts = touched.column("text")
        for removal in removed:
            row = at[removal.row]
            self.add(
                id=ids[row],
                url=urls[row],
                source=sources[row],
                stage=stage,
                rule=removal.rule,
                kind=removal.kind,
                value=removal.value,
                threshold=removal.threshold,
                detail=self.told("", removal.detail)
                or (f"kept {removal.partner_id}" if removal.partner_id is not None else ""),
                partner_id=removal.partner_id,
                partner=self._place(removal.partner),
                text=removal.text
                if removal.kind == "span" and self._limit
                else self.excerpt(removal.text or texts[row]),
            )

    def _place(self, position: int | None) -> str | None:
        if position is None or self._partners is None:
            return None
        return f"{self._partners.name(position >> POSITION_BITS)}:{position & ROW_MASK}"

    def excerpt(self, text: str | None) -> str | None:
        """Return as much of `text` as the ledger keeps."""
        if text is None or self._limit < 0:
            return text
        return text[: self._limit] if self._limit else None

    def told(self, place: str, said: str) -> str:
        """Return the detail of a removal: its place, and what was said of it where that may be a piece of the text."""
        return f"{place}{said}" if self._limit else place.removesuffix(": ")

    def table(self) -> pa.Table:
        """Return the rows gathered so far."""
        self._pack()
        return pa.Table.from_batches(self._chunks, LEDGER_SCHEMA)

    def _pack(self) -> None:
        if not self._rows:
            return
        arrays = [_array([row.get(field.name) for row in self._rows], field.type) for field in LEDGER_SCHEMA]
        self._chunks.append(pa.RecordBatch.from_arrays(arrays, schema=LEDGER_SCHEMA))
        self._rows = []


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if values.count(None) == len(values):
        return pa.nulls(len(values), kind)
    return text_array(values) if pa.types.is_large_string(kind) else pa.array(values, kind)
