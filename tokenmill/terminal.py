"""What is printed for people: tables and lines that fit the terminal, whole and plain where the output is piped."""

from __future__ import annotations

import base64
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.visible import visible as written_out
from pipeline.visible import visible_json

LEAST = 12
"""A column of text is not made narrower than this."""
GAP = "  "


def width() -> int | None:
    """Return the columns of the terminal that standard output is, None where it is none."""
    try:
        is_terminal = sys.stdout.isatty()
    except ValueError:  # closed
        return None
    return max(20, shutil.get_terminal_size().columns) if is_terminal else None


class Ticker:
    """Writes a line to standard error every few seconds, of what it is called with.

    Args:
        line: makes the line.
    """

    def __init__(self, line: Callable[..., str]):
        self._line, self._told = line, time.monotonic()

    def __call__(self, *told: Any) -> None:
        """Say how far the work has come, if it is time."""
        if time.monotonic() - self._told > 3:
            self._told = time.monotonic()
            print(self._line(*told), file=sys.stderr, flush=True)


def visible(text: str) -> str:
    """Return `text`, lines and tabs as they are, with control characters written out."""
    return written_out(text, keep="\n\t")


def json_line(value: Any) -> str:
    """Return `value` as JSON in one line, control characters beyond ASCII escaped too."""
    return visible_json(value, default=_plain)


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return `rows` below `head` in aligned columns, numbers to the right, columns `left` to the left.

    On a terminal columns of text are broken into lines where they are too wide, and columns that do not fit all the
    same follow below, beside the first one again.
    """
    cells = [[visible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    room = width()
    if room is not None:
        _narrow(widths, left, room)
    blocks = [list(range(len(head)))] if room is None else _blocks(widths, room)
    return "\n\n".join(_block(cells, widths, left, block) for block in blocks)


def _narrow(widths: list[int], left: Sequence[int], room: int) -> None:
    """Make the widest columns of text narrower until all fit or none can give way."""
    while sum(widths) + len(GAP) * (len(widths) - 1) > room:
        widest = max(left, key=lambda i: widths[i], default=None)
        if widest is None or widths[widest] <= LEAST:
            return
        widths[widest] -= 1


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Return which columns stand beside each other; each block but the first repeats the first column."""
    blocks, used = [[0]], widths[0]
    for column in range(1, len(widths)):
        more = len(GAP) + widths[column]
        if used + more > room and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(column)
        used += more
    return blocks


def _block(cells: Sequence[Sequence[str]], widths: Sequence[int], left: Sequence[int], columns: Sequence[int]) -> str:
    lines: list[str] = []
    for number, line in enumerate(cells):
        if number == 1:
            lines.append(GAP.join("-" * widths[i] for i in columns))
        broken = [textwrap.wrap(line[i], widths[i]) or [""] if i in left else [line[i]] for i in columns]
        for row in range(max(map(len, broken))):
            parts = [part[row] if row < len(part) else "" for part in broken]
            aligned = (
                p.ljust(widths[i]) if i in left else p.rjust(widths[i]) for i, p in zip(columns, parts, strict=True)
            )
            lines.append(GAP.join(aligned).rstrip())
    if len(cells) == 1:
        lines.append(GAP.join("-" * widths[i] for i in columns))
    return "\n".join(lines)


def lines(text: str) -> str:
    """Return `text`, on a terminal with lines that are too long broken below the column where their last part begins, and
    with columns of numbers that are too many for one line below each other."""
    room = width()
    if room is None:
        return text
    found: list[str] = []
    rest = text.split("\n")
    while rest:
        rows = _rows_of_a_table(rest)
        if len(rows) > 1 and max(map(len, rest[: len(rows)])) > room:
            found += _columns(rows, room)
            rest = rest[len(rows) :]
        else:
            found.append(_broken(rest.pop(0), room))
    return "\n".join(found)


def _rows_of_a_table(rest: Sequence[str]) -> list[list[str]]:
    """Return the cells of the lines that `rest` begins with, as long as each has as many as the first, five at least."""
    rows: list[list[str]] = []
    for line in rest:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) < 5 or (rows and len(cells) != len(rows[0])):
            break
        rows.append(cells)
    return rows


def _columns(rows: Sequence[Sequence[str]], room: int) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        GAP.join(row[i].rjust(widths[i]) for i in block).rstrip() for block in _blocks(widths, room) for row in rows
    ]


def _broken(line: str, room: int) -> str:
    if len(line) <= room:
        return line
    gaps = [match.end() for match in re.finditer(r"\S\s{2,}(?=\S)", line[: room // 2])]
    bullet = re.match(r"\s*(?:[-*] )?", line)
    indent = gaps[-1] if gaps else bullet.end() if bullet else 0
    parts = textwrap.wrap(line[indent:], room - indent, break_on_hyphens=False)
    return "\n".join([line[:indent] + parts[0], *(" " * indent + part for part in parts[1:])])
