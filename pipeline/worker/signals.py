"""The signals of one shard: what stages measured of each document, whether it was kept or not.

Stages that measure and stand next to each other are a *row*. A document that one of them drops is still measured by the
rest of its row, on the text that it would have had there, so that another threshold of any of them can be answered for
every document that enters the row. It changes nothing in what the stages keep, drop and count.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch
from pipeline.ledger import LedgerBuilder
from pipeline.stage import Outcome, Stage
from pipeline.worker.children import Care
from pipeline.worker.isolate import apply_stage
from pipeline.worker.measured import MARK, STAYS, Measured
from pipeline.worker.task import Applied

STAGES = b"tokenmill.stages"
"""Key of the schema's metadata: the labels of the pass's stages, and which of them are rows."""
FACTS = pa.schema(
    [
        ("number", pa.int64()),  # of the document in the split or shard that the pass read
        ("row", pa.int32()),  # in the shard that the pass left; null where it did not get there
        ("left", pa.int16()),  # the stage of the pass at which it left; STAYS: none
        ("rule", pa.large_string()),  # by which it left
        ("ledger", pa.int32()),  # the line of the shard's ledger that says so
        ("fails", pa.int16()),  # the stage that it failed in, or whose measuring failed where it had left already
        ("bytes", pa.int64()),  # of its text as it came to the pass
        ("source", pa.large_string()),
        ("language", pa.large_string()),
    ]
)
"""What a shard's file of signals says of each document beside its signals, which are columns ``<label>.<signal>``."""


def rows_of_stages(stages: Sequence[Stage]) -> list[tuple[int, int]]:
    """Return (first, end) of each run of neighbours among `stages` that measure."""
    found, at = [], 0
    for measures, run in itertools.groupby(stages, key=lambda stage: bool(stage.measures)):
        size = len(list(run))
        if measures:
            found.append((at, at + size))
        at += size
    return found


def columns_of(label: str, stage: Stage) -> list[str]:
    """Return the names of the columns that the signals of `stage` have under its label."""
    return [f"{label}.{field.name.removeprefix(f'{stage.name}.')}" for field in stage.measures]


class SignalBuilder:
    """Gathers the signals of one shard, batch by batch: `begin`, `took` for each stage, `end`."""

    _rule: list[str | None]

    def __init__(self, stages: Sequence[Applied], measured: Measured | None = None, *, care: Care | None = None):
        self._stages, self._care, self._measured_before = stages, care, measured
        self._end_of = {n: end for first, end in rows_of_stages([a.stage for a in stages]) for n in range(first, end)}
        self._names: list[str] = []
        self._places: dict[int, slice] = {}
        for index in self._end_of:
            columns = columns_of(stages[index].label, stages[index].stage)
            self._places[index] = slice(len(self._names), len(self._names) + len(columns))
            self._names += columns
        self._row_of = {n: first for first, end in rows_of_stages([a.stage for a in stages]) for n in range(first, end)}
        self._tables: list[pa.Table] = []
        self._aside: list[Batch] = []  # documents that have left in this row, as they would be here

    @property
    def measures(self) -> bool:
        """Whether any stage of the pass measures."""
        return bool(self._end_of)

    def begin(self, batch: Batch) -> None:
        """Take note of the documents that come to the first stage of the pass."""
        if not self.measures:
            return
        size = len(batch)
        self._numbers = batch.numbers
        self._values = np.full((size, len(self._names)), np.nan)
        self._left, self._fails = np.full(size, STAYS, np.int16), np.full(size, STAYS, np.int16)
        self._line, self._rule = np.full(size, -1, np.int32), [None] * size
        self._bytes = _bytes_each(batch)
        self._source, self._language = (_texts(batch, name) for name in ("source", "language"))

    def took(self, index: int, batch: Batch, outcome: Outcome, ledger: LedgerBuilder) -> None:
        """Take note of what stage `index` made of `batch`, whose removals are the last lines of `ledger`."""
        if not self.measures:
            return
        line = ledger.rows - len(outcome.removed)
        for offset, removal in enumerate(outcome.removed):
            if removal.kind == "span":
                continue
            row = int(np.searchsorted(self._numbers, batch.numbers[removal.row]))
            self._left[row], self._rule[row], self._line[row] = index, removal.rule, line + offset
            if removal.kind == "failed":
                self._fails[row] = index
        if index not in self._end_of:
            return
        self._keep(index, batch, outcome)
        self._aside = [left for aside in self._aside if len(left := self._measured(index, aside))]
        if index + 1 == self._end_of[index]:
            self._aside = []
            return
        dropped = [removal.row for removal in outcome.removed if removal.kind == "document"]
        dropped = self._not_known(index, batch, dropped)
        if dropped:
            gone = batch.select(dropped)
            stage = self._stages[index].stage
            self._aside.append(self._measured(index, gone) if stage.edits else gone)

    def _not_known(self, index: int, batch: Batch, dropped: list[int]) -> list[int]:
        """Return those of `dropped` whose signals of the rest of the row are not known from before; note those that are."""
        if self._measured_before is None or not dropped:
            return dropped
        rest = slice(self._places[index].stop, self._places[self._end_of[index] - 1].stop)
        numbers = batch.numbers[dropped]
        known, values = self._measured_before.values(numbers, self._names[rest], self._row_of[index])
        self._values[np.searchsorted(self._numbers, numbers[known]), rest] = values
        return [row for row, is_known in zip(dropped, known.tolist(), strict=True) if not is_known]

    def _measured(self, index: int, batch: Batch) -> Batch:
        """Return what stage `index` would hand on of documents that have left before, their signals noted."""
        stage = self._stages[index].stage.without_rules()
        outcome = apply_stage(stage, batch, care=self._care)
        self._keep(index, batch, outcome)
        for removal in outcome.removed:
            if removal.kind == "failed":
                self._fails[np.searchsorted(self._numbers, batch.numbers[removal.row])] = index
        return outcome.kept

    def _keep(self, index: int, batch: Batch, outcome: Outcome) -> None:
        if outcome.signals is not None:
            rows = np.searchsorted(self._numbers, batch.numbers)
            self._values[rows, self._places[index]] = outcome.signals

    def end(self, kept: Batch, first_row: int | None) -> None:
        """End a batch, of which `kept` is left.

        Args:
            first_row: row of its first document in the shard that is written; None where no texts are, and documents
                keep the rows that they have.
        """
        if not self.measures:
            return
        at = np.full(len(self._numbers), -1, np.int64)
        rows = np.searchsorted(self._numbers, kept.numbers)
        at[rows] = kept.numbers if first_row is None else first_row + np.arange(len(kept))
        facts = [
            pa.array(self._numbers, pa.int64()),
            pa.array(at, pa.int32(), mask=at < 0),
            pa.array(self._left),
            pa.array(self._rule, pa.large_string()),
            pa.array(self._line, mask=self._line < 0),
            pa.array(self._fails),
            pa.array(self._bytes, pa.int64()),
            self._source,
            self._language,
        ]
        values = [pa.array(self._values[:, n]) for n in range(len(self._names))]
        self._tables.append(pa.Table.from_arrays([*facts, *values], schema=self.schema))

    @property
    def schema(self) -> pa.Schema:
        """Columns of the shard's file."""
        rows = rows_of_stages([applied.stage for applied in self._stages])
        told = {"labels": [applied.label for applied in self._stages], "rows": rows}
        fields = [*FACTS, *(pa.field(name, pa.float64()) for name in self._names)]
        mark = {} if self._measured_before is None else {MARK: self._measured_before.mark.encode()}
        return pa.schema(fields, {STAGES: json.dumps(told).encode(), **mark})

    def table(self) -> pa.Table:
        """Return the signals of the shard."""
        return pa.concat_tables([self.schema.empty_table(), *self._tables]).combine_chunks()


def _bytes_each(batch: Batch) -> np.ndarray:
    array = batch.data.column(batch.data.schema.get_field_index("text"))
    if len(array) == 0:
        return np.zeros(0, np.int64)
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    return np.diff(offsets)


def _texts(batch: Batch, name: str) -> pa.Array:
    index = batch.data.schema.get_field_index(name)
    nothing = pa.nulls(len(batch), pa.large_string())
    return nothing if index < 0 else batch.data.column(index).cast(pa.large_string())
