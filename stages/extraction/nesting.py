"""Pages nested more deeply than parsers and extractors bear, made shallow before they are parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numba import njit

from stages.extraction.trees import named

_OPENS, _SLASH, _A, _Z, _L, _I, _N = b"</azlin"
_SKIPPED = np.zeros(1 << 16, np.bool_)
"""First two letters of a tag without content: br hr img meta input embed source wbr; and of a paragraph."""
for _a, _b in (b"br", b"hr", b"im", b"me", b"in", b"em", b"so", b"wb", b"p>", b"p "):
    _SKIPPED[_a << 8 | (_b | 32)] = True
_START = re.compile("<!--|<(/?)([a-zA-Z][a-zA-Z0-9:-]*)")
_RAW = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "textarea", "title", "xmp")}
"""What ends the text of an element in which nothing is a tag."""
_CLOSED_BY_OTHERS = named(
    "p li dt dd tr td th tbody thead tfoot option optgroup colgroup html head body br hr img meta input embed source wbr "
    "link area base col param track"
)
"""Tags that need no closing: they never nest on their own."""
_WEIGHTS = {"table": 8, "ul": 2, "ol": 2, "dl": 2, "menu": 2, "select": 2}  # with what lies between one and the next
_INLINE = named("a abbr b bdi bdo big cite code em font i ins kbd mark q s small span strike strong tt u var")


def tag_depth(page: bytes) -> int:
    """Return a quick guess, seldom too low, of the nesting depth of `page`: open tags less closing ones so far.

    Tags without content are not counted, nor are paragraphs, which people do not close and which do not nest.
    """
    return int(_tag_depth(np.frombuffer(page + b"    ", np.uint8), _SKIPPED))


@njit(cache=True, nogil=True)
def _tag_depth(data, skipped):
    depth = deepest = 0
    for at in range(len(data) - 4):
        if data[at] != _OPENS:
            continue
        name = at + 1
        closes = data[name] == _SLASH
        if closes:
            name += 1
        first, second = data[name] | 32, data[name + 1] | 32
        if not _A <= first <= _Z or skipped[(first << 8) | second]:
            continue
        if first == _L and second == _I and data[name + 2] | 32 == _N:  # link
            continue
        depth += -1 if closes else 1
        deepest = max(deepest, depth)
    return deepest


def flatten(page: str, deepest: int) -> tuple[str, int]:
    """Return `page` with the tags left out that are nested deeper than `deepest`, and how deep it was; text stays.

    One pass over the tags, whatever the depth. libxml2 gives up at 256 and, told otherwise, at 2,048; the time of
    extractors grows with the square of the depth.
    """
    open_tags: list[tuple[str, bool]] = []
    level = 0
    number_open: dict[str, int] = {}
    pieces: list[str] = []
    done = depth = 0

    for start, end, closing, name in _tags(page):
        if name in _CLOSED_BY_OTHERS:
            continue
        if not closing:
            if page.startswith("/>", end - 2):
                continue
            level += _WEIGHTS.get(name, 1)
            written = level <= deepest
            open_tags.append((name, written))
            number_open[name] = number_open.get(name, 0) + 1
            depth = max(depth, len(open_tags))
        else:
            if not number_open.get(name):
                continue
            while True:
                other, written = open_tags.pop()
                number_open[other] -= 1
                level -= _WEIGHTS.get(other, 1)
                if other == name:
                    break
        if not written:
            pieces.append(page[done:start])
            pieces.append("" if name in _INLINE else "<br>")
            done = end
    pieces.append(page[done:])
    return "".join(pieces), depth


def _tags(page: str) -> Iterator[tuple[int, int, bool, str]]:
    """Yield start, end, whether it closes, and lower-case name of each tag outside of comments and texts without tags.

    Whatever is never closed is looked for once: the time grows with the length of the page.
    """
    at, endless = 0, set()
    while start := _START.search(page, at):
        if start[2] is None:
            at = page.find("-->", start.end()) + 3
            if at < 3:
                return
            continue
        at = page.find(">", start.end()) + 1
        if not at:
            return
        name, end = start[2].lower(), at
        if not start[1] and name in _RAW and name not in endless:
            close = _RAW[name].search(page, at)
            if close is not None:
                at = close.end()
                continue
            endless.add(name)
        yield start.start(), end, bool(start[1]), name
