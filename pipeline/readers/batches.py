"""Rows gathered into batches that conform to a schema and are bounded by bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch, text_array

ROW_OVERHEAD = 64
"""Bytes counted for a row beside its text and raw content."""


class BatchBuilder:
    """Gathers rows (dictionaries of column values) until they reach `limit` bytes."""

    def __init__(self, schema: pa.Schema, limit: int):
        self.schema = schema
        self.limit = limit
        self._rows: list[dict[str, Any]] = []
        self._numbers: list[int] = []
        self._bytes = 0

    def add(self, number: int, row: dict[str, Any]) -> Iterator[Batch]:
        """Add a row, and yield the batch that is full with it or before it."""
        size = ROW_OVERHEAD + len(row.get("text") or "") + len(row.get("raw") or b"") + len(row.get("extra") or "")
        if self._rows and self._bytes + size > self.limit:
            yield self._take()
        self._rows.append(row)
        self._numbers.append(number)
        self._bytes += size
        if self._bytes >= self.limit:
            yield self._take()

    def rest(self) -> Iterator[Batch]:
        """Yield what is left, if anything."""
        if self._rows:
            yield self._take()

    def _take(self) -> Batch:
        arrays = [_array([row.get(field.name) for row in self._rows], field.type) for field in self.schema]
        batch = Batch(
            pa.RecordBatch.from_arrays(arrays, schema=self.schema), numbers=np.array(self._numbers, dtype=np.int64)
        )
        self._rows, self._numbers, self._bytes = [], [], 0
        return batch


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    return text_array(values) if pa.types.is_large_string(kind) else pa.array(values, kind)
