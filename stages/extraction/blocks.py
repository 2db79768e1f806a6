"""Text of pages that are no articles: every block of the main region that is not there for navigating.

Listings, services, products and forums have many short blocks, which an extractor of articles takes for clutter. Here
the tree is walked once: each run of text between block tags is a block, with its share of link; what stands in
menus, forms, sidebars and banners is left out by tag, role, or the name of its class; blocks that are nothing but
links go, but for headings and the titles of what is listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from stages.extraction.fast_rules import Remembered
from stages.extraction.tables import is_data, rows_of
from stages.extraction.trees import named

_NEVER = named(
    "script style head nav footer aside noscript template iframe object embed svg canvas audio video map select option "
    "optgroup datalist button input textarea label legend dialog menu form frame frameset noindex applet picture source "
    "progress meter output rp rt link meta title"
)
_BLOCKS = named(
    "address article aside blockquote body center dd details dir div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hgroup hr html li main nav ol p pre search section summary table tbody td tfoot th thead tr ul "
    "caption"
)
_CONTAINERS = named("div section article main")
_LISTS = frozenset(("ul", "ol"))
_MARKS = {"b": "#b", "strong": "#b", "i": "#i", "em": "#i", "code": "#t", "kbd": "#t", "tt": "#t", "samp": "#t"}
"""Tag -> what trafilatura calls its emphasis."""
_ITEMS = frozenset(("li", "dd", "dt"))
_NEVER_BY_NAME = named("article main body html a b i em strong code sup sub pre p blockquote h1 h2 h3 h4 h5 h6")
"""Tags that hold text whatever their class is called."""
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_WORDS = (
    "nav navi navbar navigation menu submenu breadcrumb breadcrumbs sidebar footer cookie cookies consent gdpr share sharing "
    "sharebar social socials related recommended recommendation recommendations newsletter subscribe promo advert adverts "
    "advertisement advertising ad ads adsense sponsor sponsored banner popup modal login signin signup search searchbox "
    "searchform pagination pager paging toolbar toolbox widget sitemap copyright disclaimer taglist tagcloud respond "
    "commentform avatar userinfo postprofile byline dropdown offcanvas lightbox tooltip basket cart wishlist filters facets "
    "topbar masthead backtotop noprint"
)
_EITHER = "|".join(_WORDS.split())
_CLUTTER = re.compile(
    rf"(?:(?:{_EITHER})(?:$|[-_](?!layout|content|post))|(?:[\w-]*[-_])?(?:{_EITHER}|tag-list|sr-only|visually-?hidden|user-info|"
    r"screen-reader(?:-text)?|off-canvas|back-to-top|top-bar|site-header|reply-form|comment-form)$)",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(
    r"(?:has|is|no|not|with|without|enable|enabled|tag|category|post|hidden|js|elementor)[-_]", re.IGNORECASE
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_ROLES = named("navigation banner contentinfo complementary search menu menubar dialog alertdialog toolbar tablist")
_MAIN_IDS = ("content", "main", "main-content")
_WIDEST = 50  # columns that a cell may span
_LITTLE = 300  # characters: a main part of fewer is not it
_COMMENTS = re.compile(r"(?:^|[\s_-])(?:comments?|commentlist|comment-list|disqus|replies)(?:$|[\s_-])", re.IGNORECASE)


class Run(NamedTuple):
    """Text of one form within a block: its marks of emphasis, and the address that it is a link to."""

    text: str
    marks: tuple[str, ...] = ()
    target: str | None = None


class Cell(NamedTuple):
    """A cell of a table; empty ones stand where another spans several columns."""

    runs: tuple[Run, ...]
    is_head: bool = False


@dataclass(slots=True)
class Block:
    """A run of text, or a row of a table.

    Attributes:
        tag: the block tag it stands in: ``p``, ``li``, ``h2``, ``pre`` …; ``tr`` for a row of a table.
        text: as it will be read; white space single but in ``pre``.
        links: characters of it that are link.
        cells: of a row.
        runs: the text by form, and
        item, lists: number of the item of a list that it stands in (0: none), and of the lists around it tag and number,
            where `blocks_of` is asked for form.
        table: number of the table that it is a row of, to tell tables in a row apart.
    """

    tag: str
    text: str
    links: int
    cells: tuple[Cell, ...] = ()
    runs: tuple[Run, ...] = ()
    item: int = 0
    lists: tuple[tuple[str, int], ...] = ()
    table: int = 0

    @property
    def is_item(self) -> bool:
        return self.tag in _ITEMS

    @property
    def is_heading(self) -> bool:
        return self.tag in _HEADINGS


class Clutter:
    """Whether an element is there for navigating, by what it is called."""

    def __init__(self, *, comments: bool):
        by_name = Remembered(lambda name: bool(_CLUTTER.match(name)) and not _QUALIFIED.match(name))

        def is_clutter(names: str) -> bool:
            if not comments and _COMMENTS.search(names):
                return True
            return any(by_name[name] for name in names.split())

        self._names = Remembered(is_clutter)

    def __call__(self, element: Any) -> bool:
        tag = element.tag
        if tag in _NEVER:
            return not (tag == "form" and _holds_page(element))
        names = element.keys()
        if not names:
            return False
        if tag not in _NEVER_BY_NAME:
            if "class" in names and self._names[element.get("class")]:
                return True
            if "id" in names and self._names[element.get("id")]:
                return True
            if "role" in names and element.get("role") in _ROLES:
                return True
        if "hidden" in names or ("aria-hidden" in names and element.get("aria-hidden") == "true"):
            return True
        return "style" in names and bool(_HIDDEN.search(element.get("style")))


_WITH_COMMENTS, _WITHOUT = Clutter(comments=True), Clutter(comments=False)


def blocks_of(root: Any, *, comments: bool = False, form: bool = False) -> list[Block]:
    """Return the blocks of text below `root` in their order, those in menus, forms and the like left out.

    Args:
        root: an element; its own name is not looked at.
        comments: whether what is called a comment is text, as in forums.
        form: whether emphasis, links and lists around it are noted of each block.
    """
    clutter: Callable[[Any], bool] = _WITH_COMMENTS if comments else _WITHOUT
    guard = _Guard(root)
    reader = _FormReader() if form else _Reader()
    reader.add(root.text)
    stack: list[tuple[Any, Any]] = [(root.iterchildren("*"), root)]
    while stack:
        children, element = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if not stack:
                break
            reader.leave(element.tag)
            reader.add(element.tail)
            continue
        tag = child.tag
        if tag == "br":
            reader.pieces.append("\n" if reader.pre else " ")
        elif clutter(child) and guard.may_go(child):
            if tag in _BLOCKS:
                reader.cut()
        elif tag == "table" and not reader.pre and is_data(child, sure=comments):
            reader.cut()
            reader.add_table(
                [[(cell, blocks_of(cell, comments=comments, form=form)) for cell in row] for row in rows_of(child)]
            )
        else:
            reader.enter(child)
            reader.add(child.text)
            stack.append((child.iterchildren("*"), child))
            continue
        reader.add(child.tail)
    reader.cut()
    return reader.found


class _Reader:
    """Collects blocks from what a walk over the tree meets."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self.pieces: list[str] = []
        self.pre = self.depth = self.links = 0
        self.tags = ["p"]
        self.tables = 0

    def enter(self, element: Any) -> None:
        tag = element.tag
        if tag in _BLOCKS:
            self.cut()
            self.tags.append("p" if tag in _CONTAINERS else tag)
            self.pre += tag == "pre"
        elif tag == "a":
            self.depth += 1

    def leave(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.cut()
            if tag == "pre":
                self.pre -= 1
            self.tags.pop()
        elif tag == "a":
            self.depth -= 1

    def add(self, text: str | None) -> None:
        if text:
            self.pieces.append(text)
            if self.depth and not text.isspace():
                self.links += len(text)

    def cut(self) -> None:
        if self.pieces:
            raw = "".join(self.pieces)
            text = raw.strip("\r\n") if self.pre else " ".join(raw.split())
            if text and not text.isspace():
                self.found.append(self.block("pre" if self.pre else self.tags[-1], text))
            self.pieces.clear()
        self.links = 0

    def block(self, tag: str, text: str) -> Block:
        return Block(tag, text, self.links)

    def add_table(self, rows: list[list[tuple[Any, list[Block]]]]) -> None:
        """Add a row a block, of cells with what was found in each."""
        self.tables += 1
        for row in rows:
            cells: list[Cell] = []
            for element, blocks in row:
                runs = [run for block in blocks for run in (*(block.runs or (Run(block.text),)), Run(" "))]
                span = element.get("colspan", "1")
                columns = min(int(span), _WIDEST) if span.isascii() and span.isdigit() else 1
                cells += [Cell(tuple(runs[:-1]), element.tag == "th"), *[Cell(())] * (columns - 1)]
            text = " ".join(block.text for _, blocks in row for block in blocks)
            links = sum(block.links for _, blocks in row for block in blocks)
            if text:
                self.found.append(Block("tr", text, links, tuple(cells), table=self.tables))


class _FormReader(_Reader):
    """Notes emphasis, links and lists as well."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []
        self.marks: list[str] = []
        self.targets: list[str | None] = [None]
        self.lists: list[tuple[str, int]] = []
        self.items = [0]
        self.number = 0

    def enter(self, element: Any) -> None:
        super().enter(element)
        tag = element.tag
        if tag in _MARKS:
            self.marks.append(_MARKS[tag])
        elif tag == "a":
            self.targets.append(element.get("href"))
        elif tag in _LISTS:
            self.number += 1
            self.lists.append((tag, self.number))
        elif tag == "li":
            self.number += 1
            self.items.append(self.number)

    def leave(self, tag: str) -> None:
        super().leave(tag)
        if tag in _MARKS:
            self.marks.pop()
        elif tag == "a":
            self.targets.pop()
        elif tag in _LISTS:
            self.lists.pop()
        elif tag == "li":
            self.items.pop()

    def add(self, text: str | None) -> None:
        super().add(text)
        if text:
            self.runs.append(Run(text, tuple(sorted(set(self.marks))), self.targets[-1]))

    def cut(self) -> None:
        super().cut()
        self.runs.clear()

    def block(self, tag: str, text: str) -> Block:
        runs = () if tag == "pre" else tuple(self.runs)
        return Block(tag, text, self.links, (), runs, self.items[-1], tuple(self.lists))


class _Guard:
    """Keeps what is called clutter and yet holds most of the page."""

    def __init__(self, root: Any):
        self._size = 0
        self._root = root

    def may_go(self, element: Any) -> bool:
        if element.tag in _NEVER and element.tag != "aside":
            return True
        if next(element.iterdescendants("p", "li", "td", "h2", "h3"), None) is None:
            return True
        if not self._size:
            self._size = len(self._root.text_content())
        return len(element.text_content()) < 0.5 * self._size


def _holds_page(form: Any) -> bool:
    """Return whether a form is the frame of the whole page, as some servers make it."""
    return sum(1 for _ in form.iterdescendants("p", "h1", "h2", "article", "main")) > 8


def main_region(tree: Any) -> Any:
    """Return the element that says it is the main part of the page, else its body."""
    body = tree.find(".//body")
    body = tree if body is None else body
    for element in body.iterdescendants("main", "div", "section", "td"):
        says_so = element.tag == "main" or element.get("role") == "main" or element.get("id") in _MAIN_IDS
        if says_so and len(element.text_content()) > _LITTLE:
            return element
    return body


def chosen(blocks: list[Block], menus: list[bool]) -> list[Block]:
    """Return the blocks that are text: not mere links, and headings only with something below them.

    Args:
        menus: for each block whether it is mere links, from `menus_among`.
    """
    kept: list[Block] = []
    headings: list[Block] = []
    for block, is_menu in zip(blocks, menus, strict=True):
        if block.is_heading:
            headings.append(block)
        elif not is_menu and any(map(str.isalnum, block.text)):
            kept.extend(headings[-3:])
            headings.clear()
            kept.append(block)
    return kept


def menus_among(blocks: list[Block]) -> list[bool]:
    """Return for each block whether it is mere links: items of a list or rows of a table together, others alone."""
    verdicts: list[bool] = []
    for (is_item, table), run in groupby(blocks, lambda block: (block.is_item, block.table)):
        group = list(run)
        if is_item or table:
            size, links = sum(len(b.text) for b in group), sum(b.links for b in group)
            verdicts += [links > 0.6 * size and size < 80 * len(group)] * len(group)
        else:
            verdicts += [b.links > 0.6 * len(b.text) and len(b.text) < 200 for b in group]
    return verdicts
