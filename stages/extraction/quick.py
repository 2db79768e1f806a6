"""What a glance at a page settles, so that nothing costly is spent on it."""

from __future__ import annotations

import re

from resiliparse.parse.lang import detect_fast, supported_langs

_PROSE = re.compile(r">([^<>{}]{40,})<")
_HTML_LANGUAGE = re.compile(r"<html\b[^>]{0,500}?\blang\s*=\s*[\"']?([a-zA-Z]{2,3})\b", re.IGNORECASE)
_READ = 4000  # characters of text that are looked at
_ENOUGH = 400  # fewer say nothing
_FAR = 1000  # rank above which the detector's answer is no answer
SUPPORTED = frozenset(supported_langs())


def certain_language(page: str) -> str | None:
    """Return the language of the page `page` (ISO 639-1) where two witnesses agree on it, else None.

    The witnesses are what the page declares, and what resiliparse's detector says of its first lines of prose.
    """
    declared = _HTML_LANGUAGE.search(page, 0, 5000)
    if declared is None:
        return None
    name = declared[1].lower()
    pieces: list[str] = []
    size = 0
    for match in _PROSE.finditer(page):
        piece = match[1]
        if " " in piece.strip() or not piece.isascii():
            pieces.append(piece)
            size += len(piece)
            if size >= _READ:
                break
    if size < _ENOUGH:
        return None
    found, rank = detect_fast(" ".join(" ".join(pieces).split()))
    return name if found == name and rank <= _FAR else None
