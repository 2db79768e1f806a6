"""The ledger: one row for every document or span that left the corpus, with the reason and what was measured."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.documents import Batch, text_array
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
        ("text", pa.large_string()),
    ]
)


class LedgerBuilder:
    """Gathers the ledger rows of one shard, in the order in which documents left.

    Args:
        text_characters: how much of a document's text is kept: the first so many characters, -1 for all.
    """

    def __init__(self, text_characters: int):
        self._limit = text_characters
        self._rows: dict[str, list[Any]] = {name: [] for name in LEDGER_SCHEMA.names}

    def add(self, **values: Any) -> None:
        """Add one row; columns not given are null."""
        for name, column in self._rows.items():
            column.append(values.get(name))

    def add_removed(self, stage: str, batch: Batch, removed: list[Removal]) -> None:
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
                detail=removal.detail,
                text=removal.text if removal.kind == "span" else self.excerpt(removal.text or texts[row]),
            )

    def excerpt(self, text: str | None) -> str | None:
        """Return as much of `text` as the ledger keeps."""
        if text is None or self._limit < 0:
            return text
        return text[: self._limit]

    def table(self) -> pa.Table:
        """Return the rows gathered so far."""
        arrays = [
            text_array(self._rows[field.name])
            if pa.types.is_large_string(field.type)
            else pa.array(self._rows[field.name], field.type)
            for field in LEDGER_SCHEMA
        ]
        return pa.Table.from_arrays(arrays, schema=LEDGER_SCHEMA)
