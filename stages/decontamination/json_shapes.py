"""Evaluation sets as one JSON value: a list of items, a list under a key, items by key, or items by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ID = "id"


def items(value: Any) -> Iterator[Any]:
    """Yield the items that a file's one JSON value holds.

    - a list: its elements, whatever they are;
    - an object with lists of objects (``examples`` in BIG-bench, ``data`` in SQuAD, splits): the elements of all of these;
    - an object of lists of one length, or of objects with the same keys (pandas): the items by column;
    - an object of objects: the items by key, which is their id where they have none;
    - any other object: one item.
    """
    if isinstance(value, list):
        yield from value
        return
    if not isinstance(value, dict):
        yield value
        return
    lists = [below for below in value.values() if _is_list_of_objects(below)]
    if lists:
        for below in lists:
            yield from below
        return
    columns = _columns(value)
    if columns is not None:
        yield from columns
        return
    keyed = [value] if _is_by_key(value) else [below for below in value.values() if _is_by_key(below)]
    for below in keyed:
        nested = _columns(below)
        yield from nested if nested is not None else _by_key(below)
    if not keyed:
        yield value


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(element, dict) for element in value)


def _is_by_key(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > 1 and all(isinstance(below, dict) for below in value.values())


def _columns(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the items of columns, or None where `value` holds none: lists of one length, or objects with the same keys."""
    found = list(value.values())
    if len(found) > 1 and all(isinstance(column, list) for column in found) and len({len(c) for c in found}) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*found, strict=True)]
    if _is_by_key(value) and len({tuple(column) for column in found}) == 1:
        keys = list(found[0])
        if keys and all(key.isdigit() for key in keys):  # orient="columns" of pandas: row numbers
            return [{name: column[key] for name, column in value.items()} for key in keys]
    return None


def _by_key(value: dict[str, Any]) -> Iterator[Any]:
    for key, item in value.items():
        yield item if ID in item else {**item, ID: key}
