"""Text of unknown origin made fit for people's eyes: nothing in it moves a cursor, turns a line around or hides.

Whatever comes from a document, a file name or a plug-in goes through here before it reaches a terminal, a log, an error
message or a page. Standard library only, for everything may need it.
"""

from __future__ import annotations

import json
import re
from typing import Any

_UNSEEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters: C0, DEL, C1 (ECMA-48), with them every escape sequence
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls (UAX 9; CVE-2021-42574)
    "\u2028\u2029"  # separators of lines and paragraphs
    "\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # without a width
    "\ud800-\udfff"  # lone surrogates, which no output can encode
    "\U000e0000-\U000e007f"  # tags: invisible ASCII
    "]"
)
_FORMULA = re.compile("\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r]")


def visible(text: str, keep: str = "") -> str:
    """Return `text` with each character that is not seen as what it is written out, as Python would write it.

    Args:
        keep: characters that stay, such as line breaks where lines are wanted.

    >>> print(visible("red: \\x1b[31m, turned: \\u202e"))
    red: \\x1b[31m, turned: \\u202e
    """
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else _mark(found[0]), text)


def _mark(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def visible_json(value: Any, **options: Any) -> str:
    """Return `value` as JSON in which what is not seen is written as an escape; it reads back as it was."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return _UNSEEN.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], text)


def csv_cell(value: Any) -> Any:
    """Return `value` as a cell of a CSV file: a text that a spreadsheet would take for a formula begins with an apostrophe
    (OWASP, CSV Injection); numbers are as they are."""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if _FORMULA.match(value) else shown
