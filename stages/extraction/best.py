"""The engine ``best``: trafilatura for articles, blocks where it loses, one parsed tree, and each sets right the other.

trafilatura's own extraction comes first, without the second opinions that take a third of its time. Beside it stand
the blocks of the page's main region (`blocks`): where trafilatura's text is but a small share of theirs, they are the
text, the sooner the less the page looks like an article; otherwise they tell which of its lines are mere links, and
give back long paragraphs that it lost in between.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lxml.etree import Element

from stages.extraction.asides import is_aside
from stages.extraction.blocks import Block, blocks_of, body_of, chosen, main_region, menus_among
from stages.extraction.fast_trafilatura import library
from stages.extraction.kept import keep_meaning, unmarked
from stages.extraction.kinds import Kind, kind_of

_SHARE: dict[Kind, float] = {
    "article": 0.25,
    "documentation": 0.25,
    "page": 0.3,
    "product": 0.5,
    "listing": 0.6,
    "forum": 9.0,
}
"""Kind -> share of the blocks' characters below which trafilatura's text is not taken."""
_FRAGMENTED_SHARE = 0.5  # the same where many blocks are short
_SHORT, _FRAGMENTED = 120, 0.2  # characters of a short block; share of them from which a page counts as fragmented
_LONG = 200  # characters of a paragraph that is given back
_PIECE = 32  # characters that two texts do not share by chance
_NO_PROSE = frozenset(("pre", "h1", "h2", "h3", "h4", "h5", "h6"))
_MOST, _LARGEST = 3000, 200_000  # blocks and characters up to which lost paragraphs are looked for


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was extracted.

    Attributes:
        by: engine and kind of page, as ``trafilatura:article`` or ``blocks:forum``.
    """

    text: str
    by: str


def extract(page: str, url: str | None = None, *, markdown: bool = False, links: bool = False) -> Extracted:
    """Return the text of `page` (HTML, not nested deeper than some 250).

    Args:
        url: its address, for the kind of page and for relative links.
        markdown: headings, lists, tables, emphasis and code as Markdown.
        links: links with their targets, as Markdown.
    """
    modules = library()

    def parse() -> Any:
        tree = modules.utils.load_html(page)
        if tree is not None:
            keep_meaning(tree, page, markdown=markdown)
        return tree

    tree = parse()
    if tree is None:
        return Extracted("", "nothing")
    kind = kind_of(tree, url)
    region = main_region(tree)
    blocks = blocks_of(region, comments=kind == "forum")
    menus = menus_among(blocks)
    found = chosen(blocks, menus)
    if not found and kind != "article":  # nothing but what is called comments
        blocks = blocks_of(region, comments=True)
        menus = menus_among(blocks)
        found = chosen(blocks, menus)
    body: Any = None
    if kind != "forum" or not found:
        options = copy(_options(markdown, links))
        options.url = url
        body, _ = modules.cascade.article(parse, tree, options, url)
    if body is not None and _covers(body, found, kind):
        by = "trafilatura"
        _settle(body, blocks, menus)
    else:
        by, body = "blocks", body_of(found)
    text = modules.core.normalize_unicode(modules.core.xmltotxt(body, markdown))
    return Extracted(unmarked(text), f"{by}:{kind}")


@functools.cache
def _options(markdown: bool, links: bool) -> Any:
    return library().settings.Extractor(comments=False, fast=True, formatting=markdown, links=links)


def _covers(body: Any, found: list[Block], kind: Kind) -> bool:
    """Return whether the text in `body` is enough of what the page's blocks hold, for a page of that kind."""
    size = sum(len(block.text) for block in found)
    short = sum(len(block.text) for block in found if len(block.text) < _SHORT)
    share = _SHARE[kind]
    if kind == "page" and short >= _FRAGMENTED * size:
        share = _FRAGMENTED_SHARE
    return sum(map(len, body.itertext())) >= share * size


def _settle(body: Any, blocks: list[Block], menus: list[bool]) -> None:
    """Take from `body` what the blocks know to be mere links and what speaks of something else; give back what it lost."""
    if len(blocks) <= _MOST:
        _give_back(body, blocks, menus)
    links = {b.text for b, is_menu in zip(blocks, menus, strict=True) if is_menu and not b.is_heading and not b.is_item}
    for element in list(body):
        if element.tag == "list":
            for item in list(element):
                if is_aside(_text(item)):
                    element.remove(item)
            gone = len(element) == 0
        else:
            text = _text(element) if element.tag in ("p", "head", "quote") else ""
            gone = bool(text) and (is_aside(text) or (element.tag != "head" and text in links))
        if gone and not (element.tail or "").strip():
            body.remove(element)


def _give_back(body: Any, blocks: list[Block], menus: list[bool]) -> None:
    """Insert long paragraphs that stand between others of `body` in the page and that `body` does not have."""
    children = list(body)
    texts = [f"{_text(child)} " for child in children]
    starts = [0, *accumulate(map(len, texts))][:-1]
    whole = "".join(texts)
    if len(whole) > _LARGEST:
        return
    places = [_place(block, whole) for block in blocks]
    known = [
        n for n, (place, block) in enumerate(zip(places, blocks, strict=True)) if place >= 0 and len(block.text) > 25
    ]
    if not known:
        return
    around = {number for n in known if not blocks[n].is_heading for number in blocks[n].within[:1]}
    before = None
    for n in range(known[0], known[-1]):
        block = blocks[n]
        if places[n] >= 0:
            if len(block.text) > 25:
                before = children[bisect_right(starts, places[n]) - 1]
        elif before is not None and around.intersection(block.within) and _is_prose(block, menus[n]):
            paragraph = Element("p")
            paragraph.text = block.text
            before.addnext(paragraph)
            before = paragraph


def _place(block: Block, whole: str) -> int:
    """Return where `whole` has the block, or a piece of it: links and marks within may be written otherwise; -1: nowhere."""
    text = " ".join(block.text.split()) if block.tag == "pre" else block.text
    found = whole.find(text)
    if found >= 0 or len(text) < 3 * _PIECE:
        return found
    middle = len(text) // 2
    pieces = (
        text[:_PIECE],
        text[middle : middle + _PIECE],
        text[-_PIECE:],
        text[middle - 2 * _PIECE : middle - _PIECE],
    )
    places = [place for place in map(whole.find, pieces) if place >= 0]
    return places[0] if len(places) > 1 else -1


def _is_prose(block: Block, is_menu: bool) -> bool:
    size = len(block.text)
    return not is_menu and block.tag not in _NO_PROSE and size >= _LONG and block.links <= 0.2 * size


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())
