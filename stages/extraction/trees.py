"""What several rules do with an element of a parsed page."""

from __future__ import annotations

from typing import Any

from lxml.etree import strip_tags

_TEXT = "kept-text"


def become(element: Any, text: str) -> None:
    """Let `text` stand in the place of `element`, as an element of its own until `merge_texts`."""
    for child in list(element):
        element.remove(child)
    tail = element.tail
    element.attrib.clear()
    element.tag, element.text, element.tail = _TEXT, text, tail


def merge_texts(tree: Any) -> None:
    """Make plain text of what `become` has put into `tree`: all at once, for text that grows bit by bit is copied each time."""
    strip_tags(tree, _TEXT)


def attached(element: Any, tree: Any) -> bool:
    """Return whether `element` is still in `tree`."""
    return element.getroottree().getroot() is tree.getroottree().getroot()


def named(tags: str) -> frozenset[str]:
    """Return the names in `tags`, which are separated by spaces.

    >>> sorted(named("h1 h2"))
    ['h1', 'h2']
    """
    return frozenset(tags.split())
