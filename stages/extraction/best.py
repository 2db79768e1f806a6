"""The engine ``best``: trafilatura for articles, blocks where it loses, over one parsed tree.

trafilatura's own extraction comes first, without the second opinions that take a third of its time. Beside it stand
the blocks of the page's main region (`blocks`): where trafilatura's text is but a small share of theirs, they are the
text, the sooner the less the page looks like an article; otherwise they tell which of its lines are mere links.
"""

from __future__ import annotations

import functools
from copy import copy
from dataclasses import dataclass
from typing import Any

from stages.extraction.asides import is_aside
from stages.extraction.block_body import body_of
from stages.extraction.blocks import Block, blocks_of, chosen, main_region, menus_among
from stages.extraction.fast_trafilatura import library
from stages.extraction.kept import keep_meaning, unmarked
from stages.extraction.kinds import Kind, kind_of
from stages.extraction.metadata import absolute

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
    form = markdown or links
    region = main_region(tree)
    blocks = blocks_of(region, comments=kind == "forum", form=form)
    menus = menus_among(blocks)
    found = chosen(blocks, menus)
    if not found and kind != "article":  # nothing but what is called comments
        blocks = blocks_of(region, comments=True, form=form)
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
        by, body = "blocks", body_of(found, functools.partial(absolute, url) if links else None)
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
    """Take from `body` what the blocks know to be mere links, and what speaks to the reader of something else."""
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


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())
