"""What a page says of itself, as columns: title, date, author, site, canonical address, licence.

Read from JSON-LD (schema.org), Open Graph, Dublin Core and plain ``meta`` elements, in the order of how often each is
right; nothing is guessed from the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin

FIELDS = ("title", "published", "author", "site", "canonical_url", "licence")

_DATE = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d")
_META: dict[str, tuple[str, ...]] = {
    "title": ("og:title", "twitter:title", "dc.title", "citation_title"),
    "published": (
        "article:published_time", "og:published_time", "datepublished", "dc.date", "dc.date.issued", "dcterms.created",
        "citation_publication_date", "date", "pubdate", "publish-date", "parsely-pub-date", "sailthru.date",
    ),
    "author": ("author", "article:author", "dc.creator", "citation_author", "parsely-author", "sailthru.author"),
    "site": ("og:site_name", "application-name", "dc.publisher", "citation_journal_title"),
    "canonical_url": ("og:url",),
    "licence": ("dc.rights", "dcterms.license", "copyright-license", "license"),
}  # fmt: skip
_DATA: dict[str, tuple[str, ...]] = {
    "title": ("headline",),
    "published": ("datePublished", "dateCreated", "uploadDate"),
    "author": ("author", "creator"),
    "site": (),
    "canonical_url": (),
    "licence": ("license",),
}


def metadata_of(tree: Any, fields: tuple[str, ...], url: str | None = None) -> dict[str, str | None]:
    """Return what the page in `tree` says of each of `fields`; None where it says nothing.

    Args:
        url: the page's address, which a relative canonical address is relative to.
    """
    meta = _meta(tree)
    data = list(_json_objects(tree))
    return {field: _SPECIAL.get(field, _plain)(field, tree, meta, data, url) for field in fields}


def _plain(field: str, tree: Any, meta: dict[str, str], data: list[dict[str, Any]], url: str | None) -> str | None:
    for item in data:
        for key in _DATA[field]:
            value = _text(item.get(key))
            if value and not (field == "author" and value.startswith("http")):
                return value
    return next((meta[name] for name in _META[field] if meta.get(name)), None)


def _title(field: str, tree: Any, meta: dict[str, str], data: list[dict[str, Any]], url: str | None) -> str | None:
    found = _plain(field, tree, meta, data, url)
    if found:
        return found
    for tag in ("h1", "title"):
        element = next(tree.iter(tag), None)
        if element is not None and element.text_content().strip():
            return " ".join(element.text_content().split())
    return None


def _published(field: str, tree: Any, meta: dict[str, str], data: list[dict[str, Any]], url: str | None) -> str | None:
    values = [_plain(field, tree, meta, data, url), *(e.get("datetime") for e in tree.iter("time"))]
    dates = (_DATE.search(value) for value in values if value)
    return next((date[0] for date in dates if date), None)


def _canonical(field: str, tree: Any, meta: dict[str, str], data: list[dict[str, Any]], url: str | None) -> str | None:
    for link in tree.iter("link"):
        if (link.get("rel") or "").lower() == "canonical" and link.get("href"):
            return absolute(url, link.get("href").strip())
    return _plain(field, tree, meta, data, url)


def _licence(field: str, tree: Any, meta: dict[str, str], data: list[dict[str, Any]], url: str | None) -> str | None:
    for link in tree.iter("a", "link"):
        if "license" in (link.get("rel") or "").lower().split() and link.get("href"):
            return absolute(url, link.get("href").strip())
    return _plain(field, tree, meta, data, url)


_Rule = Callable[[str, Any, dict[str, str], list[dict[str, Any]], str | None], str | None]
_SPECIAL: dict[str, _Rule] = {
    "title": _title, "published": _published, "canonical_url": _canonical, "licence": _licence,
}  # fmt: skip


def absolute(url: str | None, address: str) -> str:
    """Return `address` as seen from the page at `url`, itself where it is none."""
    try:
        return urljoin(url or "", address)
    except ValueError:
        return address


def _meta(tree: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in tree.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("itemprop")
        content = " ".join((element.get("content") or "").split())
        if name and content:
            found.setdefault(name.lower(), content)
    return found


def _json_objects(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the JSON-LD objects of the page, those that are works first level only, in their order."""
    for script in tree.iter("script"):
        if script.get("type") != "application/ld+json" or not script.text or len(script.text) > 1_000_000:
            continue
        try:
            value = json.loads(script.text, strict=False)
        except (ValueError, RecursionError):
            continue
        for item in value if isinstance(value, list) else [value]:
            graph = item.get("@graph") if isinstance(item, dict) else None
            yield from (i for i in (graph if isinstance(graph, list) else [item]) if isinstance(i, dict))


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        parts = [p for p in map(_text, value[:20]) if p]
        return "; ".join(parts) or None
    if isinstance(value, dict):
        value = value.get("name") or value.get("url") or value.get("@id")
    return " ".join(value.split()) or None if isinstance(value, str) else None
