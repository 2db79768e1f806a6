"""The ``[input]`` table: which files are read, under which label, and how much of them."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import InputError, RecipeError
from pipeline.paths import Found, PathFault, find_files, identity_of, shown
from pipeline.readers import InputFile
from pipeline.readers.contract import DOCUMENTS
from pipeline.readers.names import is_meant
from pipeline.registry import known_keys
from pipeline.storage import expand

OUR_COLUMNS = ("id", "url", "text", "html", "source")


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """What is read. Part of a recipe as ``[input]``."""

    paths: tuple[str | dict[str, Any], ...]
    """Files, patterns (``*``, ``**``, ``?``, ``[…]``, ``{a,b}``, ``~``, ``$VAR``), folders, URLs, and ``@list.txt`` or
    ``warc.paths.gz`` for the paths in a file; relative to the recipe. A path may be a table
    ``{ path = "…", source = "…", columns = {…}, documents = "…" }``, with ``base = "…"`` for what the lines of a list are relative to. What
    exists by its name is taken as it is; a file that is matched twice is read once."""
    source: str | None = None
    """Label of the documents, which mixing and token counts go by; without it, a column ``source`` of the file, or
    ``default``."""
    columns: dict[str, str] | None = None
    """Our names (id, url, text, html, source) for columns or keys of the input: ``{ text = "content" }``."""
    documents: str = "file"
    """Of text files (``.txt``): what is a document, ``file``, ``line``, or ``paragraph`` (what blank lines separate)."""
    limit: int | None = None
    """A try-out: only the first so many documents, in the order of the files."""
    sample: float = 1.0
    """A try-out: only this share of the documents, chosen by a hash of url and content: always the same ones, and a
    larger sample holds a smaller one."""


@dataclass(frozen=True)
class TryOut:
    """How much of the input is read.

    Attributes:
        limit: only the first so many documents; None for all.
        sample: only this share of them.
    """

    limit: int | None = None
    sample: float = 1.0

    def __bool__(self) -> bool:
        return self.limit is not None or self.sample < 1

    def __str__(self) -> str:
        parts = [f"the first {self.limit:,} documents (input.limit)"] if self.limit is not None else []
        parts += [f"{100 * self.sample:.4g} % of the documents (input.sample)"] if self.sample < 1 else []
        return " of ".join(parts)


@dataclass(frozen=True)
class Inputs:
    """What ``[input]`` means.

    Attributes:
        files: in the order of the recipe, each pattern sorted, each file once.
        patterns: see `pipeline.paths.Found`.
        notes: what the user should hear.
    """

    files: tuple[InputFile, ...]
    patterns: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    tryout: TryOut = TryOut()


def read_inputs(table: Any, folder: pathlib.Path) -> Inputs:
    """Return what the table ``[input]`` means, relative paths starting from `folder`."""
    if not isinstance(table, dict):
        raise RecipeError("input", 'is missing: write [input] with paths = ["crawl/*.warc.gz"]')
    known_keys("input", table, ("paths", "source", "columns", "documents", "limit", "sample"))
    tryout = _tryout(table)
    paths = table.get("paths")
    if isinstance(paths, (str, dict)):
        paths = [paths]
    if not isinstance(paths, (list, tuple)) or not paths:
        raise RecipeError("input.paths", "give at least one path or glob")
    files: dict[str, InputFile] = {}
    patterns: list[tuple[str, ...]] = []
    notes: list[str] = []
    for index, entry in enumerate(paths):
        place = f"input.paths[{index}]"
        entry = _entry(entry, place)
        source = _source(entry, table, place)
        columns = _columns(entry.get("columns", table.get("columns", {})), f"{place}.columns")
        documents = _documents(entry, table, place)
        found = _found(entry["path"], folder, place, is_meant)
        patterns += found.patterns
        notes += found.notes
        again = []
        for path in _expanded(found.files, place, entry.get("base", "")):
            file = InputFile(path, name_of(path, folder), source, columns, documents)
            first = files.setdefault(identity_of(path), file)
            again += [first] if first is not file else []
        notes += _twice(again, place, source, columns)
    return Inputs(tuple(files.values()), tuple(patterns), tuple(notes), tryout)


def paths_of(patterns: Any, folder: pathlib.Path, place: str) -> tuple[str, ...]:
    """Return the absolute paths that `patterns`, a path or a list of them, mean; each must mean something."""
    if isinstance(patterns, str):
        patterns = [patterns]
    if not isinstance(patterns, (list, tuple)) or not all(isinstance(p, str) for p in patterns):
        raise RecipeError(place, f"must be a path or a list of paths; got {patterns!r}")
    found = [file for p in patterns for file in _found(p, folder, place).files]
    return tuple(dict.fromkeys(_expanded(found, place)))


def _expanded(found: Sequence[str], place: str, base: Any = "") -> list[str]:
    """Return `found` with patterns in buckets and lists of paths replaced by the files that they mean."""
    if not isinstance(base, str):
        raise RecipeError(
            f"{place}.base", f"must be a URL or path that the lines of a list are relative to; got {base!r}"
        )
    try:
        return expand(found, base)
    except InputError as error:
        raise RecipeError(place, str(error)) from error


def name_of(path: str, folder: pathlib.Path) -> str:
    """Return what people see of `path`: relative to `folder` where it lies below it, always text."""
    try:
        return shown(str(pathlib.PurePath(path).relative_to(folder))) if "://" not in path else path
    except ValueError:
        return shown(path)


def _found(path: str, folder: pathlib.Path, place: str, is_known: Any = lambda name: True) -> Found:
    try:
        return find_files(path, folder, is_known)
    except PathFault as fault:
        raise RecipeError(place, str(fault)) from fault


def _tryout(table: Mapping[str, Any]) -> TryOut:
    limit, sample = table.get("limit"), table.get("sample", 1.0)
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise RecipeError("input.limit", f"must be a whole number from 1 on; got {limit!r}; leave it out to read all")
    if not isinstance(sample, (int, float)) or isinstance(sample, bool) or not 0 < sample <= 1:
        raise RecipeError("input.sample", f"must be a share above 0, up to 1; got {sample!r}")
    return TryOut(limit, float(sample))


def _entry(entry: Any, place: str) -> Mapping[str, Any]:
    if isinstance(entry, str):
        entry = {"path": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise RecipeError(
            place, f'must be a path, or a table {{ path = "…", source = "…", columns = {{…}} }}; got {entry!r}'
        )
    known_keys(place, entry, ("path", "source", "columns", "documents", "base"))
    return entry


def _source(entry: Mapping[str, Any], table: Mapping[str, Any], place: str) -> str | None:
    own = "source" in entry
    source = entry.get("source", table.get("source"))
    if source is not None and (not isinstance(source, str) or not source.strip()):
        raise RecipeError(f"{place}.source" if own else "input.source", f"must be a text; got {source!r}")
    return source


def _documents(entry: Mapping[str, Any], table: Mapping[str, Any], place: str) -> str:
    documents = entry.get("documents", table.get("documents", "file"))
    if documents not in DOCUMENTS:
        where = f"{place}.documents" if "documents" in entry else "input.documents"
        raise RecipeError(where, f"must be one of {', '.join(DOCUMENTS)}; got {documents!r}")
    return str(documents)


def _columns(table: Any, place: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise RecipeError(place, 'must map our names to columns of the input: { text = "content" }')
    known_keys(place, table, OUR_COLUMNS)
    return tuple(sorted(table.items()))


def _twice(
    again: Sequence[InputFile], place: str, source: str | None, columns: tuple[tuple[str, str], ...]
) -> list[str]:
    if not again:
        return []
    said = f"{place}: {again[0].name}" + (f" and {len(again) - 1:,} more files" if len(again) > 1 else "")
    other = [f for f in again if (f.source, f.columns) != (source, columns)]
    label = f", as the first of them says (source {other[0].source or 'of the file'})" if other else ""
    return [f"{said} matched by an earlier path too; each is read once{label}"]
