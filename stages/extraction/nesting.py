"""How deeply the elements of a page are nested, found before an extractor that suffers from depth sees it."""

from __future__ import annotations

import functools

import numpy as np
from lxml import etree, html

_VOID = frozenset((b"br", b"hr", b"im", b"me", b"in", b"em", b"so", b"wb"))  # br hr img meta input embed source wbr
_CODES = np.array([(a << 8) | b for a, b in _VOID], np.int32)
_LINK, _LINK_THIRD = (ord("l") << 8) | ord("i"), ord("n")
_PARAGRAPH = (ord("p") << 8) | (ord(">") | 32)


def tag_depth(page: bytes) -> int:
    """Return a quick guess, seldom too low, of the nesting depth of `page`: open tags less closing ones so far.

    Tags without content are not counted, nor are bare ``<p>``, which people do not close.
    """
    data = np.frombuffer(page + b"   ", np.uint8)
    at = np.flatnonzero(data[:-3] == ord("<"))
    first, second, third = data[at + 1] | 32, data[at + 2] | 32, data[at + 3] | 32
    pair = (first.astype(np.int32) << 8) | second
    skipped = np.isin(pair, _CODES) | (pair == _PARAGRAPH) | ((pair == _LINK) & (third == _LINK_THIRD))
    opens = (first >= ord("a")) & (first <= ord("z")) & ~skipped
    closes = data[at + 1] == ord("/")
    return int(np.cumsum(opens.astype(np.int32) - closes).max(initial=0))


def parse_deep(page: bytes) -> html.HtmlElement | None:
    """Return the tree of `page` (UTF-8) with nesting up to libxml2's limit of 2,048; None where there is no tree."""
    try:
        return html.fromstring(page, parser=_parser())
    except (etree.ParserError, ValueError):
        return None


def tree_depth(tree: html.HtmlElement) -> int:
    """Return how deeply the elements of `tree` are nested, the root being 1."""
    depth = deepest = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


@functools.cache
def _parser() -> html.HTMLParser:
    return html.HTMLParser(
        collect_ids=False,
        default_doctype=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
        huge_tree=True,
    )
