"""What is done to the source of a page before any parser sees it."""

from __future__ import annotations

import re

from stages.extraction.nesting import flatten, tag_depth

DEEPEST = 250
"""Elements nested deeper than this are lifted; libxml2 loses what lies below 256."""

_FORBIDDEN = re.compile(
    r"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45]|5529[6-9]|55[3-9][0-9]{2}|5[67][0-9]{3})"
    r"|x0*(?:[0-8bcef]|1[0-9a-f]|fff[ef]|d[89a-f][0-9a-f]{2}))(?:;|(?![0-9a-fx;]))",
    re.IGNORECASE,
)
_JOINERS = ("\u200c", "\u200d")
_JOINER_NAMES = re.compile(
    r"&(?:[zZ][wW][nN]?[jJ]|#820[45]|#[xX]200[cCdD]);"
)  # a flag would cost the fast search for &
_STAND_INS = "\ua840\ua841\ua842\ua843\u1681\u1682\u1683\u1684"  # letters of scripts no longer in use


def scrub(page: str) -> str:
    """Return `page` without references to characters that no document may hold, for which libraries drop it whole."""
    return _FORBIDDEN.sub("", page) if "&#" in page else page


def shallow(page: str) -> tuple[str, int]:
    """Return `page` nested no deeper than `DEEPEST`, and how deep it was; 0 for pages that are shallow by a quick look."""
    if tag_depth(page.encode()) <= DEEPEST:
        return page, 0
    return flatten(page, DEEPEST)


def stand_ins(page: str) -> dict[int, str]:
    """Return joiner -> a letter that `page` does not hold, for zero-width joiners; empty where it has none.

    Extractors take joiners for control characters, and Persian, Hindi and emoji fall apart.
    """
    if "\u200c" not in page and "\u200d" not in page and not _JOINER_NAMES.search(page):
        return {}
    free = [letter for letter in _STAND_INS if letter not in page]
    return dict(zip(map(ord, _JOINERS), free, strict=False)) if len(free) >= len(_JOINERS) else {}


def with_stand_ins(page: str, letters: dict[int, str]) -> str:
    """Return `page` with its joiners, written as they are or as references, replaced by `letters`."""
    return _JOINER_NAMES.sub(_named_joiner, page).translate(letters)


def _named_joiner(match: re.Match[str]) -> str:
    name = match[0].lower()
    return "\u200c" if name in ("&zwnj;", "&#8204;", "&#x200c;") else "\u200d"
