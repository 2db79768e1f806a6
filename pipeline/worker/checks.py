"""What a stage answers, held against what it was given: the same rows, once and in order, and the columns it declares."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch
from pipeline.errors import AccountingError, is_environment
from pipeline.stage import MapStage, Outcome, Removal

KINDS = ("document", "span", "failed")
IDENTITY = ("id", "file", "offset")
"""Columns that tell one row from another and that no stage changes, unless it says so."""


class Unaccounted(AccountingError):
    """What a stage answers is not what it was given."""


def checked(stage: MapStage, given: Batch, outcome: Outcome) -> Outcome:
    """Return `outcome` if it accounts for every document of `given`, each once and in order.

    Raises:
        Unaccounted: rows were lost, doubled, invented or reordered, or exchanged for others.
        TypeError, ValueError: it is not made as the contract says.
    """
    if not isinstance(outcome, Outcome) or not isinstance(outcome.kept, Batch):
        raise TypeError(f"{stage.counted_as} answered a {type(outcome).__name__}; apply answers Outcome(kept, removed)")
    size = len(given)
    for removal in outcome.removed:
        if not _is_plain(removal, size):
            _check_removal(stage, removal, size)
    gone = [operator.index(removal.row) for removal in outcome.removed if removal.kind != "span"]
    rows, kept = np.array(gone, np.int64), outcome.kept
    wrong = (
        len(np.unique(rows)) != len(rows)
        or not np.array_equal(np.delete(given.numbers, rows), kept.numbers)
        or len(kept.data) != len(kept.numbers)
    )
    if wrong:
        raise Unaccounted(
            f"stage {stage.counted_as} lost documents, doubled or reordered them: given {len(given)}, kept {len(kept)}, "
            f"removed {len(gone)}"
        )
    if kept is not given:
        _check_columns(stage, given, kept)
        _check_identity(stage, given, kept, rows)
    return outcome


_NUMBER, _TEXT = (float, type(None)), (str, type(None))


def _is_plain(removal: Removal, rows: int) -> bool:
    """Tell at little cost, for there are many, whether `removal` is of just the types that nearly all are of."""
    return (
        type(removal) is Removal
        and type(removal.row) is int
        and 0 <= removal.row < rows
        and removal.kind in KINDS
        and type(removal.rule) is str
        and removal.rule != ""
        and type(removal.value) in _NUMBER
        and type(removal.threshold) in _NUMBER
        and type(removal.detail) is str
        and type(removal.text) in _TEXT
        and type(removal.partner_id) in _TEXT
    )


def _check_removal(stage: MapStage, removal: Removal, rows: int) -> None:
    """Raise unless the ledger can hold `removal`."""
    if not isinstance(removal, Removal) or not isinstance(removal.rule, str) or not removal.rule:
        raise TypeError(f"{stage.counted_as} removed something without a rule: {removal!r:.200}")
    if removal.kind not in KINDS:
        raise TypeError(f"{stage.counted_as} removed a {removal.kind!r}; kinds are {', '.join(KINDS)}")
    if not 0 <= operator.index(removal.row) < rows:
        raise Unaccounted(f"stage {stage.counted_as} removed row {removal.row} of a batch of {rows}")
    for name in ("value", "threshold"):
        value = getattr(removal, name)
        if value is not None and not isinstance(value, float):
            if not isinstance(value, (int, np.integer, np.floating)):
                raise TypeError(
                    f"{stage.counted_as}: {name} of rule {removal.rule!r} is a {type(value).__name__}, no number"
                )
            float(value)  # an integer may be larger than any
    texts: Sequence[Any] = (removal.detail, removal.text or "", removal.partner_id or "")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{stage.counted_as}: detail and text of rule {removal.rule!r} must be texts")


def _check_columns(stage: MapStage, given: Batch, kept: Batch) -> None:
    """Raise unless the columns are those given, without what the stage removes and with what it adds, of such types."""
    types = {field.name: field.type for field in given.data.schema if field.name not in stage.removes}
    if "text" not in types and "text" in kept.data.schema.names:
        types["text"] = pa.large_string()
    types.update({field.name: field.type for field in stage.adds})
    found = kept.data.schema.names
    if len(found) != len(types) or set(found) != set(types):
        more, less = sorted(set(found) - set(types)), sorted(set(types) - set(found))
        said = [f"column {name} is not among those it adds" for name in more]
        said += [f"column {name} is gone and not among those it removes" for name in less]
        raise ValueError(f"{stage.counted_as}: {'; '.join(said) or 'a column is there twice'}")
    for name, column in zip(found, kept.data.columns, strict=True):
        if column.type != types[name]:
            column.cast(types[name])


def _check_identity(stage: MapStage, given: Batch, kept: Batch, gone: np.ndarray) -> None:
    left = pa.array(np.delete(np.arange(len(given)), gone))
    changes = {*stage.removes, *(field.name for field in stage.adds)}
    for name in IDENTITY:
        at = given.data.schema.get_field_index(name)
        if at < 0 or name in changes:
            continue
        before = given.data.column(at)
        if len(gone):
            before = before.take(left)
        if not before.equals(kept.data.column(name)):
            raise Unaccounted(f"stage {stage.counted_as} exchanged documents for others, or changed their {name}")


def seen_well(stage: CorpusStage, given: Batch, table: pa.Table, schema: pa.Schema | None) -> pa.Table:
    """Return the observation `table` if it is one of the documents `given`.

    Args:
        schema: what its columns must be, null where a type is not known; None where nothing is.
    Raises:
        TypeError: it is no table.
        ValueError: it names positions that it was not given.
    """
    if not isinstance(table, pa.Table):
        raise TypeError(f"{stage.counted_as} observed a {type(table).__name__}; observe answers an Arrow table")
    if schema is not None and not _alike(table.schema, schema):
        raise TypeError(f"{stage.counted_as} observed other columns than of other documents: {_said(table.schema)}")
    at = table.schema.get_field_index("position")
    if at >= 0 and table.num_rows:
        column = table.column(at)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise ValueError(f"{stage.counted_as}: column position of its observation must be batch.positions")
        if not pc.all(pc.is_in(column, pa.array(given.positions, column.type))).as_py():
            raise ValueError(f"{stage.counted_as} observed documents that it was not given")
    return table


def schema_of(stage: CorpusStage, empty: Batch) -> pa.Schema | None:
    """Return the columns that `stage` observes, as it says of no documents; None where it cannot say."""
    try:
        return stage.observe(empty).schema
    except Exception as error:
        if is_environment(error):
            raise
        return None


def _alike(one: pa.Schema, other: pa.Schema) -> bool:
    return one.names == other.names and all(
        a == b or pa.types.is_null(a) or pa.types.is_null(b) for a, b in zip(one.types, other.types, strict=True)
    )


def _said(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
