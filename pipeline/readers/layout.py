"""Which column of a Parquet or Arrow file becomes which of ours, and under what type the others are carried.

An id, url, source or date may be of any type: it becomes text. Another column that is called as one of ours but cannot
be it is carried as ``input_<name>``, and the second of two of one name as ``<name>_2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pipeline.documents import INPUT_FIELDS
from pipeline.errors import InputError
from pipeline.readers.contract import InputFile
from pipeline.readers.objects import likely, name_the_text

_OURS = {field.name for field in INPUT_FIELDS}
_LABELS = ("id", "url", "source", "content_type", "truncated", "date", "extra")
_ANY_TYPE = ("id", "url", "source", "date")
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


Place = tuple[int, ...]
"""Where a column is: the number of a column, then of a field in it, and so on."""


@dataclass(frozen=True)
class Layout:
    """Which column of a file becomes which of ours.

    Attributes:
        payload: our name (``text`` or ``raw``) -> place of their column.
        labels: our name -> place.
        carried: (name it is carried under, number of the column, type it is carried as).
        without: number of a carried column of structs -> places of its fields that are not carried, being text or label.
        text_pages: the pages are a column of texts, hence UTF-8.
    """

    payload: dict[str, Place]
    labels: dict[str, Place]
    carried: tuple[tuple[str, int, pa.DataType], ...]
    without: dict[int, list[Place]]
    text_pages: bool


def layout_of(file: InputFile, schema: pa.Schema) -> Layout:
    """Return which columns of a file with `schema` become which of ours.

    Raises:
        InputError: there is no text or page column, a column named in the recipe is missing, or one is of a type that
            cannot be read as text.
    """
    payload = _payload(file, schema)
    labels: dict[str, Place] = {}
    for ours in _LABELS:
        theirs = file.theirs(ours)
        if theirs:
            labels[ours] = _place(file, schema, theirs)
        elif (places := schema.get_all_field_indices(ours)) and (places[0],) not in payload.values():
            kind = schema.field(places[0]).type
            if not pa.types.is_null(kind) and (ours in _ANY_TYPE or _is_label(kind)):
                labels[ours] = (places[0],)
    if file.source is not None:
        labels.pop("source", None)
    used = [*payload.values(), *labels.values()]
    if file.source is not None:
        used += [(index,) for index in schema.get_all_field_indices("source")[:1]]
    without: dict[int, list[Place]] = {}
    for place in used:
        without.setdefault(place[0], []).append(place)
    names = _Names(schema.names)
    carried = []
    for index, field in enumerate(schema):
        kind = _without(field.type, [place[1:] for place in without.get(index, [])])
        if kind is not None:
            carried.append((names.unique(field.name, kind), index, carried_type(kind)))
    pages = payload.get("raw")
    text_pages = pages is not None and not _is_bytes(field_at(schema, pages).type)
    return Layout(payload, labels, tuple(carried), without, text_pages)


def _payload(file: InputFile, schema: pa.Schema) -> dict[str, Place]:
    payload: dict[str, Place] = {}
    for ours, theirs in (("text", file.theirs("text")), ("raw", file.theirs("html"))):
        if theirs is not None:
            payload[ours] = _text_place(file, schema, theirs)
    for ours, theirs in (("text", "text"), ("raw", "html")):
        if not payload and theirs in schema.names:
            payload[ours] = _text_place(file, schema, theirs)
    if not payload:
        raise InputError(f'{file.name} has no column "text" or "html"; {_columns(schema)}: {_remedy(file, schema)}')
    return payload


def field_at(schema: pa.Schema, place: Place) -> pa.Field:
    """Return the field at `place`."""
    field = schema.field(place[0])
    for number in place[1:]:
        field = field.type.field(number)
    return field


def _place(file: InputFile, schema: pa.Schema, name: str) -> Place:
    places = schema.get_all_field_indices(name)
    if len(places) > 1:
        raise InputError(
            f"{file.name} has more than one column {name!r}; {_columns(schema)}: mend {file.option or 'input.columns'}"
        )
    place = (places[0],) if places else _inside(list(schema), name)
    if place is None:
        remedy = _remedy(file, schema) if name in (file.theirs("text"), file.theirs("html")) else "mend input.columns"
        raise InputError(f"{file.name} has no column {name!r}; {_columns(schema)}: {remedy}")
    return place


def _inside(fields: list[pa.Field], name: str) -> Place | None:
    """Return the place of the field that the dotted `name` leads to, through structs."""
    for number, field in enumerate(fields):
        if field.name == name:
            return (number,)
        if name.startswith(field.name + ".") and pa.types.is_struct(field.type):
            place = _inside(list(field.type), name[len(field.name) + 1 :])
            if place is not None:
                return (number, *place)
    return None


def _text_place(file: InputFile, schema: pa.Schema, name: str) -> Place:
    place = _place(file, schema, name)
    kind = field_at(schema, place).type
    if not (is_text(kind) or pa.types.is_null(kind) or is_text_list(kind)):
        raise InputError(
            f"column {name!r} of {file.name} is {kind}, not text; {_columns(schema)}: {_remedy(file, schema)}"
        )
    return place


def _columns(schema: pa.Schema) -> str:
    names = list(_leaves(list(schema)))
    return f"its columns are {', '.join(names[:30])}" + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def _leaves(fields: list[pa.Field], before: str = "") -> dict[str, pa.DataType]:
    """Return the columns by their names, the fields of structs as ``outer.inner``."""
    found: dict[str, pa.DataType] = {}
    for field in fields:
        if pa.types.is_struct(field.type) and field.type.num_fields and before.count(".") < 3:
            found.update(_leaves(list(field.type), f"{before}{field.name}."))
        else:
            found[before + field.name] = field.type
    return found


def _remedy(file: InputFile, schema: pa.Schema) -> str:
    texts = {name: "x" for name, kind in _leaves(list(schema)).items() if is_text(kind) or is_text_list(kind)}
    return name_the_text(file, likely([texts]))


def is_text_list(kind: pa.DataType) -> bool:
    """Return whether a column of type `kind` holds lists of texts: paragraphs, sentences."""
    t = pa.types
    return bool((t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)) and is_text(kind.value_type))


def _without(kind: pa.DataType, places: list[Place]) -> pa.DataType | None:
    """Return what is left of a column of type `kind` when the fields at `places` are taken out; None for nothing."""
    if () in places:
        return None
    if not places:
        return kind
    fields = []
    for number, field in enumerate(kind):
        left = _without(field.type, [place[1:] for place in places if place[0] == number])
        if left is not None:
            fields.append(field.with_type(left))
    return pa.struct(fields) if fields else None


def _is_label(kind: pa.DataType) -> bool:
    t = pa.types
    return is_text(kind) or any(
        check(kind) for check in (t.is_integer, t.is_floating, t.is_boolean, t.is_date, t.is_timestamp, t.is_decimal)
    )


class _Names:
    """The names that columns are carried under, each given once."""

    def __init__(self, theirs: list[str]):
        self._theirs = theirs
        self._given: set[str] = set()

    def unique(self, name: str, kind: pa.DataType) -> str:
        """Return the name for a column called `name`."""
        ours = name in _OURS or (name in _STAGES and carried_type(kind) != _STAGES[name])
        found = f"input_{name}" if ours or not name else name
        while ours and found in self._theirs:
            found += "_"
        base, again = found, 2
        while found in self._given or (again > 2 and found in self._theirs):
            found, again = f"{base}_{again}", again + 1
        self._given.add(found)
        return found
