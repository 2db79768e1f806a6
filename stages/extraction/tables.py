"""Which tables hold data, and which are but the frame of a page; their rows."""

from __future__ import annotations

from typing import Any

_FRAMES = ("table", "form", "article", "section", "main", "h1", "h2", "h3", "pre", "iframe")
"""Tags that no cell of data holds."""
_LONGEST = 400  # characters of a cell of data
_MOST_CELLS = 20_000


def is_data(table: Any, *, sure: bool = False) -> bool:
    """Return whether `table` shows data by rows and columns.

    Args:
        sure: only where it says so by a head, as on pages of forums, which set posts beside their authors.
    """
    if table.get("role") in ("presentation", "none") or next(table.iterdescendants(*_FRAMES), None) is not None:
        return False
    says_so = next(table.iterdescendants("th", "thead", "caption"), None) is not None
    if sure and not says_so:
        return False
    rows = rows_of(table)
    widths = {len(row) for row in rows}
    if len(rows) < 2 or max(widths) < 2 or (not says_so and (len(rows) < 3 or len(widths) > 2)):
        return False
    cells = [cell for row in rows for cell in row]
    return len(cells) <= _MOST_CELLS and all(len(cell.text_content()) <= _LONGEST for cell in cells)


def rows_of(table: Any) -> list[list[Any]]:
    """Return the cells of each row of `table` that has any."""
    rows = ([cell for cell in row if cell.tag in ("td", "th")] for row in table.iterdescendants("tr"))
    return [row for row in rows if row]
