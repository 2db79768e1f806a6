"""Signals that another form of a pass has measured of the same documents: a document that leaves early in a row of rule sets
need not be measured by the rest of the row again because a threshold has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from pipeline.storage import Folder

MARK = b"tokenmill.measured"
"""Key of the metadata of a shard's file of signals: what decides them, save the documents' numbers."""
STAYS = -1
"""In columns `left` and `fails` of such a file: no stage of the pass."""


@dataclass(frozen=True)
class Measured:
    """What a shard's file of signals in another form of the pass says.

    Attributes:
        mark: what decides the signals here; a file with another is of no use.
        folder: None where there is no other form.
        name: of the file.
    """

    mark: str
    folder: Folder | None
    name: str

    @cached_property
    def _table(self) -> pa.Table | None:
        if self.folder is None or not self.folder.exists(self.name):
            return None
        with self.folder.parquet(self.name) as parquet:
            if (parquet.schema_arrow.metadata or {}).get(MARK) != self.mark.encode():
                return None
            table = parquet.read()
        numbers = table["number"].to_numpy()
        return table if len(numbers) and bool(np.all(numbers[1:] > numbers[:-1])) else None

    def values(self, numbers: np.ndarray, columns: Sequence[str], row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (which of the documents `numbers` came to the row of stages that begins with stage `row` and failed
        nowhere, bool; what was measured of these, float64 of shape (documents, columns))."""
        if self._table is None:
            return np.zeros(len(numbers), bool), np.empty((0, len(columns)))
        there, left, fails = (self._table[name].to_numpy() for name in ("number", "left", "fails"))
        at = np.minimum(np.searchsorted(there, numbers), len(there) - 1)
        known = (there[at] == numbers) & ((left[at] == STAYS) | (left[at] >= row)) & (fails[at] == STAYS)
        found = [self._table[name].to_numpy()[at[known]] for name in columns]
        return known, np.stack(found, axis=1) if columns else np.empty((int(known.sum()), 0))
