"""Which column of a Parquet file becomes which of ours, and under what type the others are carried.

A column that is called as one of ours but cannot be it is carried as ``input_<name>``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pipeline.documents import INPUT_FIELDS
from pipeline.errors import InputError
from pipeline.readers.contract import InputFile

_OURS = {field.name for field in INPUT_FIELDS}
_LABELS = ("id", "url", "source", "content_type", "truncated", "date", "extra")
_STAGES = {"language": pa.large_string(), "language_score": pa.float64()}
"""Columns of stages that a file may bring along; with another type they are carried as ``input_<name>``."""


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of type `kind` can hold texts or pages."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    t = pa.types
    return any(
        check(kind)
        for check in (
            t.is_string,
            t.is_large_string,
            t.is_string_view,
            t.is_binary,
            t.is_large_binary,
            t.is_binary_view,
        )
    )


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_bytes(kind.value_type)
    t = pa.types
    return bool(t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind))


def carried_type(kind: pa.DataType) -> pa.DataType:
    """Return the type under which a column of type `kind` is carried: large strings, dictionaries decoded, deep down."""
    t = pa.types
    if t.is_string(kind) or t.is_string_view(kind):
        return pa.large_string()
    if t.is_binary(kind) or t.is_binary_view(kind):
        return pa.large_binary()
    if t.is_dictionary(kind):
        return carried_type(kind.value_type)
    if t.is_struct(kind):
        return pa.struct([field.with_type(carried_type(field.type)) for field in kind.fields])
    if t.is_list(kind):
        return pa.list_(kind.value_field.with_type(carried_type(kind.value_type)))
    if t.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(carried_type(kind.value_type)))
    if t.is_map(kind):
        return pa.map_(carried_type(kind.key_type), kind.item_field.with_type(carried_type(kind.item_type)))
    return kind


@dataclass(frozen=True)
class Layout:
    """Which column of a file becomes which of ours.

    Attributes:
        payload: our name (``text`` or ``raw``) -> index of their column.
        labels: our name -> index.
        carried: (name it is carried under, index, type it is carried as).
        text_pages: the pages are a column of texts, hence UTF-8.
    """

    payload: dict[str, int]
    labels: dict[str, int]
    carried: tuple[tuple[str, int, pa.DataType], ...]
    text_pages: bool


def layout_of(file: InputFile, schema: pa.Schema) -> Layout:
    """Return which columns of a file with `schema` become which of ours.

    Raises:
        InputError: there is no text or page column, a column named in the recipe is missing, or one is of a type that
            cannot be read as text.
    """
    payload: dict[str, int] = {}
    for ours, theirs in (("text", file.theirs("text")), ("raw", file.theirs("html"))):
        if theirs is not None:
            payload[ours] = _column(file, schema, theirs)
    if not payload:
        for ours, theirs in (("text", "text"), ("raw", "html")):
            if schema.get_field_index(theirs) >= 0:
                payload = {ours: _column(file, schema, theirs)}
                break
    if not payload:
        names = ", ".join(schema.names[:30])
        raise InputError(
            f'{file.name} has no column "text" or "html"; its columns are {names}: say which is the text by '
            'input.columns = { text = "…" } (or html = "…")'
        )
    labels = {}
    for ours in _LABELS:
        theirs = file.theirs(ours)
        index = _column(file, schema, theirs, payload=False) if theirs else schema.get_field_index(ours)
        if index >= 0 and index not in payload.values() and _is_label(schema.field(index).type):
            labels[ours] = index
    used = {*payload.values(), *labels.values()}
    if file.source is not None and "source" in labels:
        del labels["source"]
        used = {*payload.values(), *labels.values(), schema.get_field_index("source")}
    carried = tuple(
        (_carried_name(f.name, f.type, schema.names), index, carried_type(f.type))
        for index, f in enumerate(schema)
        if index not in used
    )
    pages = payload.get("raw")
    return Layout(payload, labels, carried, pages is not None and not _is_bytes(schema.field(pages).type))


def _column(file: InputFile, schema: pa.Schema, name: str, *, payload: bool = True) -> int:
    places = schema.get_all_field_indices(name)
    if len(places) != 1:
        what = "no column" if not places else "more than one column"
        names = ", ".join(schema.names[:30])
        raise InputError(f"{file.name} has {what} {name!r}; its columns are {names}: mend input.columns")
    kind = schema.field(places[0]).type
    if payload and not is_text(kind):
        raise InputError(
            f'column {name!r} of {file.name} is {kind}, not text: name another by input.columns = {{ text = "…" }}'
        )
    return int(places[0])


def _is_label(kind: pa.DataType) -> bool:
    t = pa.types
    return is_text(kind) or any(
        check(kind) for check in (t.is_integer, t.is_floating, t.is_boolean, t.is_date, t.is_timestamp, t.is_decimal)
    )


def _carried_name(name: str, kind: pa.DataType, taken: list[str]) -> str:
    ours = name in _OURS or (name in _STAGES and carried_type(kind) != _STAGES[name])
    name = f"input_{name}" if ours or not name else name
    while ours and name in taken:
        name += "_"
    return name
