"""Evaluation sets as CSV and TSV: with or without a header, quoted or not."""

from __future__ import annotations

import csv
from collections.abc import Iterator

HEADINGS = frozenset(
    [
        "answer",
        "answers",
        "category",
        "choices",
        "choice",
        "completion",
        "context",
        "correct",
        "ending",
        "endings",
        "goal",
        "hypothesis",
        "id",
        "idx",
        "index",
        "input",
        "instruction",
        "label",
        "labels",
        "level",
        "options",
        "option",
        "output",
        "passage",
        "premise",
        "problem",
        "prompt",
        "query",
        "question",
        "response",
        "sentence",
        "solution",
        "source",
        "subject",
        "target",
        "task_id",
        "text",
        "title",
        "type",
    ]
)
"""Names that columns of published sets have: one of them in the first row says that it is a header."""

SAMPLE = 200


def rows(text: str, kind: str) -> Iterator[dict[str, str]]:
    """Yield each row of `text` as column to cell; columns without a header are ``column 1``, ``column 2`` and so on.

    TSV has no quoting (IANA, text/tab-separated-values): a quotation mark is a character like any other.

    Raises:
        csv.Error: a quotation mark of a CSV file is never closed.
    """
    parsed = _tsv(text) if kind == ".tsv" else _csv(text)
    found = [row for row in parsed if any(cell.strip() for cell in row)]
    if not found:
        return
    header = found[0] if _is_header(found[0], found[1:SAMPLE]) else None
    width = max(map(len, found))
    names = [f"column {n + 1}" for n in range(width)]
    for at, name in enumerate(header or ()):
        names[at] = name.strip() or names[at]
    for row in found[1 if header else 0 :]:
        yield dict(zip(names, row, strict=False))


def _tsv(text: str) -> Iterator[list[str]]:
    return (line.split("\t") for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _csv(text: str) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)
    first = text.split("\n", 1)[0]
    delimiter = ";" if "," not in first and ";" in first else ","
    lines = text.splitlines(keepends=True)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begin = 1
    try:
        found = []
        for row in reader:
            found.append(row)
            begin = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise csv.Error(f"the quotation mark opened in line {begin} is never closed") from error
        return csv.reader(lines, delimiter=delimiter)  # marks inside a quoted cell that nobody doubled
    return iter(found)


def _is_header(first: list[str], below: list[list[str]]) -> bool:
    """Return whether the first row names columns.

    Where that is not clear it is taken for an item: a header looked for costs nothing, an item that is not is lost.
    """
    cells = [cell.strip() for cell in first]
    named = [cell for cell in cells if cell]
    if len(set(named)) < len(named) or any(_is_number(cell) or cell.endswith(("?", ".", "!")) for cell in named):
        return False
    if any(cell and cell in {row[at].strip() for row in below if at < len(row)} for at, cell in enumerate(cells)):
        return False
    if any(len(cell.split()) > 4 or len(cell) > 40 for cell in named):
        return False
    known = any(cell.lower().replace(" ", "_") in HEADINGS or cell.lower() in HEADINGS for cell in named)
    return known or all(len(cell.split()) <= 3 for cell in named)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True
