"""Columns of Parquet and Arrow files as ours: texts, labels of any type, and what is carried beside them."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.json_values import canonical_json
from pipeline.readers.layout import Place, is_text, is_text_list
from pipeline.readers.objects import PARAGRAPH

_UTF8 = "utf-8"


def column_at(data: pa.RecordBatch, place: Place) -> pa.Array:
    """Return the column of `data` at `place`; a field of a struct that is null is null."""
    column = data.column(place[0])
    return column if len(place) == 1 else pc.struct_field(column, list(place[1:]))


def decoded(array: pa.Array) -> pa.Array:
    """Return `array` without a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def as_texts(array: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return `array`, of texts or lists of paragraphs, as large_string, and the rows that are not UTF-8, which become null."""
    array = _joined(array) if is_text_list(array.type) else decoded(array)
    if _holds_utf8(array):
        return array.cast(pa.large_string()), []
    values: list[str | None] = []
    wrong: list[int] = []
    for row, value in enumerate(array.cast(pa.large_binary()).to_pylist()):
        try:
            values.append(None if value is None else value.decode(_UTF8))
        except UnicodeDecodeError:
            values.append(None)
            wrong.append(row)
    return pa.array(values, pa.large_string()), wrong


def _holds_utf8(array: pa.Array) -> bool:
    try:
        array.cast(pa.large_string()).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _joined(array: pa.Array) -> pa.Array:
    """Return lists of texts as one text each, paragraph under paragraph; absent ones are left out."""
    try:
        lists = array.cast(pa.large_list(pa.large_binary()))
        if lists.flatten().null_count == 0:
            return pc.binary_join(lists, PARAGRAPH.encode())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        lists = pa.array([[_bytes(part) for part in parts or ()] for parts in array.to_pylist()])
    mark = PARAGRAPH.encode()
    joined = [None if parts is None else mark.join(p for p in parts if p is not None) for parts in lists.to_pylist()]
    return pa.array(joined, pa.large_binary())


def _bytes(part: str | bytes | None) -> bytes | None:
    return part.encode() if isinstance(part, str) else part


def as_labels(array: pa.Array, ours: str) -> pa.Array:
    """Return `array`, of any type, as the label `ours` (large_string): a label never costs a document its text.

    Bytes that are no text are hexadecimal in an id, and have U+FFFD in a url or a source; UUIDs have their usual form,
    times are UTC where they have a zone, lists and structs are JSON.
    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            values = array.storage.to_pylist()
            return pa.array([None if v is None else str(uuid.UUID(bytes=v)) for v in values], pa.large_string())
        return as_labels(array.storage, ours)
    array = decoded(array)
    if pa.types.is_fixed_size_binary(array.type):
        return pa.array([None if value is None else value.hex() for value in array.to_pylist()], pa.large_string())
    if is_text(array.type):
        return array.cast(pa.large_string()) if _holds_utf8(array) else _readable(array, by_hex=ours == "id")
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))
    if not pa.types.is_nested(array.type):
        try:
            return array.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
    return pa.array([_as_json(array, row) for row in range(len(array))], pa.large_string())


def _readable(array: pa.Array, *, by_hex: bool) -> pa.Array:
    """Return texts or bytes as texts, those that are no UTF-8 in a form that can be read."""
    values: list[str | None] = []
    for value in array.cast(pa.large_binary()).to_pylist():
        try:
            values.append(None if value is None else value.decode(_UTF8))
        except UnicodeDecodeError:
            values.append(value.hex() if by_hex else value.decode(_UTF8, "replace"))
    return pa.array(values, pa.large_string())


def _as_json(array: pa.Array, row: int) -> str | None:
    try:
        value = array[row].as_py()
        return None if value is None else canonical_json(value)
    except TypeError:
        return str(value)  # an interval, which JSON has no form for
    except (ValueError, OverflowError):
        return None


def as_carried(column: pa.Array, kind: pa.DataType, without: list[Place]) -> tuple[pa.Array, list[int]]:
    """Return `column` as it is carried, and the rows that hold a damaged value, which become null.

    Args:
        kind: the type it is carried under.
        without: places, in this column, of fields that are not carried.
    """
    if without:
        column = _pruned(column, without)
    if is_text(column.type) and pa.types.is_large_string(kind):
        column = decoded(column)
        return (column.cast(kind) if _holds_utf8(column) else _readable(column, by_hex=False)), []
    column, wrong = _valid(column)
    return cast(column, kind), wrong


def _pruned(array: pa.StructArray, places: list[Place]) -> pa.Array:
    fields, children = [], []
    for number, field in enumerate(array.type):
        below = [place[1:] for place in places if place[0] == number]
        if () not in below:
            child = array.field(number)
            if below:
                if all(len(place) == 1 for place in below) and len(below) == field.type.num_fields:
                    continue
                child = _pruned(child, below)
            children.append(child)
            fields.append(field.with_type(child.type))
    return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())


def _valid(array: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return `array` with rows that hold invalid values as null, and those rows."""
    try:
        array.validate(full=True)
        return array, []
    except pa.ArrowInvalid:
        pass
    wrong = []
    for row in range(len(array)):
        try:
            array.slice(row, 1).validate(full=True)
        except pa.ArrowInvalid:
            wrong.append(row)
    index = [None if row in set(wrong) else row for row in range(len(array))]
    return array.take(pa.array(index, pa.int64())), wrong


def cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return `array` as `kind`."""
    return array if array.type == kind else decoded(array).cast(kind)
