"""Records that are objects of named values, as JSON and CSV hold them, into documents.

Which key holds the text is settled by the recipe or by the first objects of the file. Where none of these has it, the
file is refused before any work starts, with the keys that are there and the likely one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.documents import clean_text
from pipeline.errors import InputError
from pipeline.readers.contract import DEFAULT_SOURCE, InputFile
from pipeline.readers.json_values import canonical_json

SAMPLE = 100
"""Objects at the start of a file that show what its keys are."""
PARAGRAPH = "\n"
"""What stands between the paragraphs of a text that is a list of them."""
TAKEN = ("id", "url", "source", "date")
_LIKELY = ("text", "content", "body", "raw_content", "raw_text", "document", "page_content", "article", "passage",
           "story", "markdown", "plain_text", "sentence", "completion")  # fmt: skip
_LIKELY_PAGES = ("html", "raw_html", "page", "page_html")
_SHOWN = 20


@dataclass(frozen=True)
class Keys:
    """What the keys of a file's objects are called.

    Attributes:
        payload: the key of the text or the page; a dot leads into a nested object.
        column: ``text`` or ``raw``: what it becomes.
        others: our name -> theirs, for id, url, source and date.
        paragraphs: the texts are lists of paragraphs.
    """

    payload: str
    column: str
    others: Mapping[str, str]
    paragraphs: bool = False


@dataclass(slots=True)
class NoText:
    """Why an object is no document, with what names it."""

    rule: str
    detail: str
    id: str
    url: str | None


def keys_of(file: InputFile, first: Sequence[Mapping[str, Any]]) -> Keys:
    """Return the keys of `file`: as the recipe says, else ``text``, else, where `first` has only that, ``html``."""
    others = {ours: file.theirs(ours) or ours for ours in TAKEN}
    html, text = file.theirs("html"), file.theirs("text")
    if html is None and text is None and any("html" in o for o in first) and not any("text" in o for o in first):
        html = "html"
    payload, column = (html, "raw") if html is not None and text is None else (text or "text", "text")
    values = [value for o in first for value in [value_at(o, payload)] if value is not None]
    paragraphs = bool(values) and all(is_paragraphs(value) for value in values)
    return Keys(payload, column, others, paragraphs)


def check_keys(file: InputFile, first: Sequence[Mapping[str, Any]], keys: Keys, *, key: str = "key") -> None:
    """Refuse `file` where none of its `first` objects has a text under the key that should hold it.

    Args:
        key: what keys are called: ``key``, or ``column`` where the objects are rows.

    Raises:
        InputError: names the keys that are there and the likely one. Objects whose texts are null pass: they are counted.
    """
    if not first:
        return
    one = "object" if key == "key" else "row"
    what = f"its first {one}" if len(first) == 1 else f"its first {len(first)} {one}s"
    for ours, theirs in (("text" if keys.column == "text" else "html", keys.payload), *_named(file)):
        if not any(has(o, theirs) for o in first):
            raise InputError(
                f"{file.name}: {what} {'has' if len(first) == 1 else 'have'} no {key} {theirs!r}; there are "
                f"{_list(first)}: {_remedy(file, ours, first)}"
            )
    values = [value for o in first for value in [value_at(o, keys.payload)] if value is not None]
    if values and not any(isinstance(value, str) or is_paragraphs(value) for value in values):
        raise InputError(
            f"{file.name}: {key} {keys.payload!r} is {type_name(values[0])}, not text, in {what}; there are "
            f"{_list(first)}: {_remedy(file, 'text' if keys.column == 'text' else 'html', first)}"
        )


def _named(file: InputFile) -> list[tuple[str, str]]:
    return [(ours, theirs) for ours, theirs in file.columns if ours in TAKEN]


def _list(first: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for o in first for name, _ in leaves(o)))
    shown = ", ".join(clean_text(name)[:60] for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "") if names else "no keys"


def _remedy(file: InputFile, ours: str, first: Sequence[Mapping[str, Any]]) -> str:
    if ours not in ("text", "html"):
        return f'mend input.columns = {{ {ours} = "…" }}'
    found = likely(first)
    within = next((name for o in first for name, value in leaves(o) if _is_rows(value)), None)
    if found is None and within is not None:
        return f"{within} is a list of objects: write them as JSON lines, one a line"
    if found is not None and len(found[1].split()) > 4:
        return "they look like no names: write a first row that names the columns"
    return name_the_text(file, found)


def name_the_text(file: InputFile, found: tuple[str, str] | None) -> str:
    """Return what to do about a column of texts that is not where it should be; `found`: the likely one, as `likely` says."""
    if found is None:
        return "none holds text; " + ("leave the file out" if file.option else "take the file out of input.paths")
    ours, theirs = found
    if not file.option:
        return f'say which is the text by input.columns = {{ {ours} = "{theirs}" }}'
    if ours == "html":
        return f"{theirs} holds pages: make text of them first, by `tokenmill run` with an extract stage"
    return f"say which is the text by {file.option} {shlex.quote(theirs)}"


def likely(first: Iterable[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Return ``text`` or ``html`` and the key that most likely holds it: by its name, else by the longest texts."""
    sizes: dict[str, int] = {}
    for o in first:
        for name, value in leaves(o):
            if isinstance(value, str) or is_paragraphs(value):
                sizes[name] = sizes.get(name, 0) + (len(value) if isinstance(value, str) else sum(map(len, value)))
    sizes = {name: size for name, size in sizes.items() if size}
    for ours, names in (("text", _LIKELY), ("html", _LIKELY_PAGES)):
        for wanted in names:
            for name in sizes:
                if name.rpartition(".")[2].lower() == wanted:
                    return ours, name
    best = max(sizes, key=lambda name: sizes[name], default=None)
    return None if best is None else ("text", best)


def leaves(value: Mapping[str, Any], before: str = "", depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield the keys of `value` with what they hold, those of objects inside it as ``outer.inner``."""
    for name, below in value.items():
        if isinstance(below, Mapping) and below and depth > 1:
            yield from leaves(below, f"{before}{name}.", depth - 1)
        else:
            yield before + name, below


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(row, Mapping) for row in value)


def is_paragraphs(value: Any) -> bool:
    """Return whether `value` is a list of texts."""
    return isinstance(value, list) and len(value) > 0 and all(isinstance(part, str) for part in value)


def type_name(value: Any) -> str:
    """Return what JSON calls the type of `value`, with its article."""
    names = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), f"a {type(value).__name__}")


def has(value: Mapping[str, Any], key: str) -> bool:
    """Return whether `value` has `key`, itself or, behind dots, in an object inside it."""
    return key in value or _inside(value, key) is not None


def value_at(value: Mapping[str, Any], key: str) -> Any:
    """Return what stands under `key`; None where nothing does."""
    if key in value:
        return value[key]
    found = _inside(value, key)
    return None if found is None else found[0][found[1]]


def _inside(value: Mapping[str, Any], key: str) -> tuple[Any, str] | None:
    """Return the object inside `value` that holds the end of the dotted `key`, and that end; None for none."""
    at = key.find(".")
    while at >= 0:
        below = value.get(key[:at])
        rest = key[at + 1 :]
        if isinstance(below, Mapping):
            if rest in below:
                return below, rest
            found = _inside(below, rest)
            if found is not None:
                return found
        at = key.find(".", at + 1)
    return None


def _taken(value: dict[str, Any], key: str) -> Any:
    """Take what stands under `key` out of `value`; None where nothing does."""
    if key in value:
        return value.pop(key)
    found = _inside(value, key)
    return None if found is None else found[0].pop(found[1])


def document(value: dict[str, Any], keys: Keys, file: InputFile, offset: int) -> dict[str, Any] | NoText:
    """Return the row of the object `value`, which is used up, or why it is no document."""
    row: dict[str, Any] = {"file": file.name, "offset": offset}
    payload = _taken(value, keys.payload)
    if keys.paragraphs and is_paragraphs(payload):
        payload = PARAGRAPH.join(payload)
    for ours, theirs in keys.others.items() if value else ():
        if (theirs in value or ("." in theirs and has(value, theirs))) and not (
            ours == "source" and file.source is not None
        ):
            row[ours] = _label(_taken(value, theirs))
    id = row.get("id") or f"{file.name}#{offset}"
    if not isinstance(payload, str):
        what = "is null or missing" if payload is None else f"is {type_name(payload)}, not a text"
        there = (
            ", ".join(sorted([*value, *(keys.others[ours] for ours in row if ours in keys.others)])[:_SHOWN]) or "none"
        )
        detail = (
            f"key {keys.payload!r} {what}; keys there: {there}; name the right one by {file.option or 'input.columns'}"
        )
        return NoText("no_text" if payload is None else "not_a_text", detail, id, row.get("url"))
    row["id"], row["source"] = id, file.source or row.get("source") or DEFAULT_SOURCE
    if keys.column == "raw":
        row.update(raw=clean_text(payload).encode(), content_type="text/html; charset=utf-8")
    else:
        row["text"] = payload
    if value:
        row["extra"] = canonical_json(value)
    return row


def _label(value: Any) -> str | None:
    """Return a value of an id, url, source or date as a text; other values than texts as JSON."""
    if value is None or isinstance(value, str):
        return clean_text(value) if value else None
    return canonical_json(value)
