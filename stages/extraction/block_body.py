"""Blocks as a body in trafilatura's vocabulary, for its writers of text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from lxml.etree import Element, SubElement

from stages.extraction.blocks import Block, Cell, Run

_SPACE = re.compile(r"\s+")
_NOWHERE = re.compile(r"\s*(?:#|javascript:|data:|$)", re.IGNORECASE)
Absolute = Callable[[str], str]


def body_of(blocks: list[Block], absolute: Absolute | None = None) -> Any:
    """Return the blocks as a body.

    Args:
        absolute: makes the address of a link absolute; None: links are only their text.
    """
    writer = _Writer(absolute)
    for block in blocks:
        writer.add(block)
    return writer.body


class _Writer:
    def __init__(self, absolute: Absolute | None):
        self.body = Element("body")
        self._absolute = absolute
        self._lists: list[tuple[Any, tuple[str, int]]] = []  # the lists that are open, and what the page's are
        self._item_number = 0
        self._table: tuple[Any, int] | None = None
        self._headed = 0  # the item that has a heading, so that the rest of it is no item

    def add(self, block: Block) -> None:
        if block.table:
            self._add_row(block)
            return
        self._table = None
        if block.tag == "pre" or block.is_heading:
            self._lists.clear()
            self._headed = block.item
            name, form = ("code", "") if block.tag == "pre" else ("head", block.tag)
            element = SubElement(self.body, name, **({"rend": form} if form else {}))
            self._write(element, block)
        elif block.tag == "li" or (block.item and block.item != self._headed):
            self._write(self._item(block), block)
        else:
            self._lists.clear()
            self._write(SubElement(self.body, "quote" if block.tag == "blockquote" else "p"), block)

    def _item(self, block: Block) -> Any:
        """Return the item of a list that the block belongs to, in lists within lists as the page has them."""
        around = block.lists or (("ul", 0),)
        while self._lists and (len(self._lists) > len(around) or self._lists[-1][1] != around[len(self._lists) - 1]):
            self._lists.pop()
        if len(self._lists) == len(around) and block.item and block.item == self._item_number:
            return self._lists[-1][0][-1]
        while len(self._lists) < len(around):
            parent = self._lists[-1][0] if self._lists else self.body
            if self._lists:
                parent = parent[-1] if len(parent) else SubElement(parent, "item")
            name = around[len(self._lists)]
            self._lists.append((SubElement(parent, "list", rend=name[0]), name))
        self._item_number = block.item
        return SubElement(self._lists[-1][0], "item")

    def _add_row(self, block: Block) -> None:
        self._lists.clear()
        if self._table is None or self._table[1] != block.table:
            self._table = (SubElement(self.body, "table"), block.table)
        table = self._table[0]
        row, is_first = SubElement(table, "row"), len(table) == 1
        width = max(len(block.cells), 0 if is_first else len(table[0]))
        for cell in (*block.cells, *[Cell(())] * (width - len(block.cells))):
            element = SubElement(row, "cell", **({"role": "head"} if is_first else {}))
            self._write_runs(element, cell.runs)
        for other in table:  # as wide as the widest
            while len(other) < width:
                SubElement(other, "cell", **dict(other[0].attrib))

    def _write(self, element: Any, block: Block) -> None:
        if not block.runs:
            _append(element, block.text)
            return
        if element.tag == "item" and ((element.text or "") or len(element)):
            _append(element, " ")
        self._write_runs(element, block.runs)

    def _write_runs(self, element: Any, runs: Iterable[Run]) -> None:
        for text, marks, target in _tidy(runs):
            if not text.strip():
                _append(element, text)
                continue
            place = element
            if self._absolute is not None and target and not _NOWHERE.match(target):
                place = SubElement(place, "ref", target=self._absolute(target.strip()))
            for mark in marks:
                place = SubElement(place, "hi", rend=mark)
            _append(place, text)


def _tidy(runs: Iterable[Run]) -> list[Run]:
    """Return runs with white space made single and outside of what is marked; neighbours of one form as one."""
    joined: list[Run] = []
    for run in runs:
        if joined and joined[-1][1:] == run[1:]:
            joined[-1] = joined[-1]._replace(text=joined[-1].text + run.text)
        else:
            joined.append(run)
    found: list[Run] = []
    spaced = True  # whether white space came last
    for text, marks, target in joined:
        text = _SPACE.sub(" ", text)
        if spaced:
            text = text.lstrip()
        if not text:
            continue
        spaced = text.endswith(" ")
        core = text.strip()
        if not core or not (marks or target):
            found.append(Run(text))
            continue
        if text.startswith(" "):
            found.append(Run(" "))
        found.append(Run(core, marks, target))
        if spaced:
            found.append(Run(" "))
    while found and not found[-1].text.strip():
        found.pop()
    if found and not (found[-1].marks or found[-1].target):
        found[-1] = Run(found[-1].text.rstrip())
    return found


def _append(element: Any, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
