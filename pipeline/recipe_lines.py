"""Where in a recipe file a fault lies: the line of a key, and the number and name of the stage."""

from __future__ import annotations

import codecs
import contextlib
import pathlib
import re
import tomllib
from collections.abc import Collection, Iterator

from pipeline.errors import RecipeError

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def text_of(file: pathlib.Path) -> str:
    """Return the text of a recipe file: UTF-8, or what its byte order mark says, which some editors put there.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read.
    """
    data = file.read_bytes()
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding)
    return data.decode("utf-8")


@contextlib.contextmanager
def located(file: pathlib.Path | None, overridden: Collection[str] = ()) -> Iterator[None]:
    """Let a RecipeError of the block say where in `file` its fault lies: line, and number and name of the stage.

    Args:
        overridden: places whose value comes from the command line.
    """
    try:
        yield
    except RecipeError as error:
        if file is None or error.where or error.place.startswith("-"):
            raise
        where = _where(file, error.place, overridden)
        raise RecipeError(error.place, error.problem, where) from error


def _where(file: pathlib.Path, place: str, overridden: Collection[str]) -> str:
    try:
        text = text_of(file)
        stages = tomllib.loads(text).get("stage", [])
    except (OSError, ValueError):  # it has changed under our hands; the place must do
        return ""
    parts = [f"{file.name} with --set"] if place in overridden else [file.name]
    line = line_of(place, lines_of(text))
    if line is not None and place not in overridden:
        parts.append(f"line {line}")
    index = re.match(r"stages\[(\d+)\]", place)
    if index and int(index[1]) < len(stages):
        table = stages[int(index[1])]
        use = table.get("use") if isinstance(table, dict) else None
        parts.append(f"stage {int(index[1]) + 1}" + (f" ({use})" if isinstance(use, str) else ""))
    return ", ".join(parts) + ": "


def lines_of(text: str) -> dict[str, int]:
    """Return the line, from 1, of every table and key of a TOML text by its place, such as ``stages[0].use``."""
    found: dict[str, int] = {}
    seen: dict[str, int] = {}
    table, inside = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if inside:
            inside = "" if line.count(inside) % 2 else inside
            continue
        header, key = _HEADER.match(line), _KEY.match(line)
        if header and not key:
            table = _table(header[1] == "[[", header[2], seen)
            found.setdefault(table, number)
        elif key:
            place = f"{table}.{_plain(key[1])}" if table else _plain(key[1])
            found.setdefault(place, number)
        inside = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), "")
    return found


def line_of(place: str, lines: dict[str, int]) -> int | None:
    """Return the line of `place`, or of the key or table that it lies in."""
    while place:
        if place in lines:
            return lines[place]
        place = place[: max(place.rfind("."), place.rfind("["), 0)]  # whatever a key is made of, it gets shorter
    return None


def _table(is_list: bool, name: str, seen: dict[str, int]) -> str:
    name = _plain(name)
    if is_list:
        seen[name] = seen.get(name, -1) + 1
        return f"{name}s[{seen[name]}]" if name == "stage" else f"{name}[{seen[name]}]"
    first, dot, rest = name.partition(".")
    return f"{first}s[{seen[first]}]{dot}{rest}" if first == "stage" and first in seen else name


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
