"""What several rules do with an element of a parsed page."""

from __future__ import annotations

from typing import Any


def become(element: Any, text: str) -> None:
    """Put `text` in the place of `element`, which leaves its tree."""
    parent = element.getparent()
    if parent is None:
        return
    text += element.tail or ""
    before = element.getprevious()
    if before is None:
        parent.text = (parent.text or "") + text
    else:
        before.tail = (before.tail or "") + text
    parent.remove(element)


def attached(element: Any, tree: Any) -> bool:
    """Return whether `element` is still in `tree`."""
    return element.getroottree().getroot() is tree.getroottree().getroot()


def named(tags: str) -> frozenset[str]:
    """Return the names in `tags`, which are separated by spaces.

    >>> sorted(named("h1 h2"))
    ['h1', 'h2']
    """
    return frozenset(tags.split())
