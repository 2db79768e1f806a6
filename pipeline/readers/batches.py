"""Rows and faults gathered into batches that conform to a schema and are bounded by bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch, text_array
from pipeline.readers.contract import Fault, Ignored, Item, Mark
from pipeline.tally import count_reason

ROW_OVERHEAD = 64
"""Bytes counted for a row or a fault beside its text and raw content."""


class BatchBuilder:
    """Gathers what a reader finds until it reaches `limit` bytes, and hands it on with a `Mark` behind it.

    Args:
        schema: columns of the batches.
    """

    def __init__(self, schema: pa.Schema, limit: int):
        self.schema = schema
        self.limit = limit
        self._rows: list[dict[str, Any]] = []
        self._numbers: list[int] = []
        self._faults: list[Fault] = []
        self._ignored: dict[str, int] = {}
        self._bytes = 0

    def add(self, number: int, found: dict[str, Any] | Fault) -> Iterable[Item]:
        """Add document or fault `number`, and return what is full with it or before it."""
        if isinstance(found, Fault):
            size = ROW_OVERHEAD + len(found.text or "") + len(found.detail)
        else:
            size = ROW_OVERHEAD + sum(len(found.get(name) or "") for name in ("text", "raw", "extra"))
        full: Iterable[Item] = ()
        if self._bytes and self._bytes + size > self.limit:
            full = self._take(number)
        if isinstance(found, Fault):
            self._faults.append(found)
        else:
            self._rows.append(found)
            self._numbers.append(number)
        self._bytes += size
        return [*full, *self._take(number + 1)] if self._bytes >= self.limit else full

    def ignore(self, reason: str) -> None:
        """Count a record that is no document."""
        count_reason(self._ignored, reason)

    def rest(self, number: int) -> Iterable[Item]:
        """Return what is left; `number` is the number of documents and faults in the split."""
        return self._take(number)

    def _take(self, number: int) -> list[Item]:
        taken: list[Item] = [
            *self._faults,
            *(Ignored(reason, count) for reason, count in sorted(self._ignored.items())),
        ]
        if self._rows:
            arrays = [_array([row.get(field.name) for row in self._rows], field.type) for field in self.schema]
            data = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            taken.append(Batch(data, numbers=np.array(self._numbers, dtype=np.int64)))
        self._rows, self._numbers, self._faults, self._bytes = [], [], [], 0
        self._ignored.clear()
        return [*taken, Mark(number)]


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    return text_array(values) if pa.types.is_large_string(kind) else pa.array(values, kind)
