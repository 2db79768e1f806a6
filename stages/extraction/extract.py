"""The text of a page: decoded, and freed of menus, banners, footers and comments."""

from __future__ import annotations

import functools
import logging
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from pipeline.documents import Document, clean_text
from pipeline.readers.charset import decode_page
from pipeline.readers.pages import PAGE_KINDS, body_kind
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from stages.extraction.nesting import parse_deep, tag_depth, tree_depth

_SHALLOW = 200
_LIBRARY_DEPTH = 250  # beyond this trafilatura's own parser loses what lies within
_DEEPEST = 2000  # libxml2 nests no deeper
_CONTROL = {c: None for c in [*range(9), *range(14, 32), *range(127, 160), 0xFFFE, 0xFFFF]} | {11: " ", 12: " "}
_JOINERS = ("\u200c", "\u200d")
_JOINER_NAMES = re.compile(r"&(?:zwn?j|#820[45]|#x200[cd]);", re.IGNORECASE)
_TEXTUAL = re.compile(r"text/|xml|empty|.*(?:json|javascript|ecmascript|[/+]xml)$")
_STAND_INS = "\ua840\ua841\ua842\ua843\u1681\u1682\u1683\u1684"  # letters of scripts no longer in use


@dataclass(frozen=True, kw_only=True)
class Extract(DocumentStage):
    """Turn pages as crawled into text: one paragraph, heading, list item or table row a line.

    Documents that come with text pass as they are. What is no page (binary_content: an
    image, a PDF, an archive; not_a_page: a feed, JSON, plain text), is too large, nested too deeply, or yields no text, is dropped and says so. Zero-width joiners, without which Persian
    and emoji fall apart, are kept, which trafilatura by itself does not do.
    """

    name: ClassVar[str] = "extract"
    published: ClassVar[str] = "trafilatura 2.3 (ACL 2021 demo 15); resiliparse 2.0 (ECIR 2018)"
    preload: ClassVar[tuple[str, ...]] = ("trafilatura",)
    needs: ClassVar[tuple[str, ...]] = ()
    removes: ClassVar[tuple[str, ...]] = ("raw", "content_type")
    costly: ClassVar[bool] = True

    engine: Literal["trafilatura", "resiliparse"] = "trafilatura"
    """trafilatura: better text; resiliparse: about ten times faster."""
    fast: bool = False
    """trafilatura without its second opinions: 1.5 times as fast, as good on articles, less on other pages."""
    max_bytes: int = 10_000_000
    """Larger pages are dropped (page_too_large)."""
    max_depth: int = 1000
    """Pages whose elements are nested deeper are dropped (too_deep): resiliparse's time grows with its square."""
    min_characters: int = 1
    """Less text: dropped (no_text)."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        return pa.field("charset", pa.large_string()), pa.field("charset_found_by", pa.large_string())

    def check(self) -> None:
        if self.fast and self.engine != "trafilatura":
            raise StageFault("fast", f"only trafilatura has a fast way; engine is {self.engine!r}")
        if self.max_bytes < 1:
            raise StageFault("max_bytes", f"{self.max_bytes} leaves no page")
        if not 1 <= self.max_depth <= _DEEPEST:
            raise StageFault("max_depth", f"{self.max_depth}: give 1 to {_DEEPEST}, the most that can be parsed")

    def judge(self, document: Document) -> Verdict:
        raw = document.get("raw")
        if raw is None:
            return None if document.text else Drop("no_text", 0, self.min_characters)
        if len(raw) > self.max_bytes:
            return Drop("page_too_large", len(raw), self.max_bytes)
        content_type = document.get("content_type")
        kind = body_kind(raw, content_type)
        if kind not in PAGE_KINDS:
            return Drop("not_a_page" if _TEXTUAL.match(kind) else "binary_content", detail=kind)
        page = decode_page(raw, content_type)
        verdict = self._extract(page.text)
        if isinstance(verdict, Drop):
            return verdict
        if len(verdict) < self.min_characters:
            return Drop("no_text", len(verdict), self.min_characters)
        return Keep(text=verdict, columns={"charset": page.charset, "charset_found_by": page.found_by})

    def extract(self, html: str) -> str | None:
        """Return the text of the page `html`; None where there is none, or where it is nested too deeply."""
        verdict = self._extract(html)
        return verdict if isinstance(verdict, str) and verdict else None

    def _extract(self, html: str) -> str | Drop:
        html = clean_text(html)
        page: Any = html
        encoded = html.encode()
        if tag_depth(encoded) > _SHALLOW:
            tree = parse_deep(encoded)
            depth = 0 if tree is None else tree_depth(tree)
            if depth > self.max_depth:
                return Drop("too_deep", depth, self.max_depth)
            if depth > _LIBRARY_DEPTH:
                page = tree
        if self.engine == "resiliparse":
            return _resiliparse()(html, main_content=True, comments=False).translate(_CONTROL).strip()
        stand_ins = {} if page is not html else _stand_ins(html)
        if stand_ins:
            page = _JOINER_NAMES.sub(_named_joiner, html).translate(stand_ins)
        text = _trafilatura()(page, include_comments=False, deduplicate=False, fast=self.fast) or ""
        if stand_ins:
            text = text.translate({ord(letter): joiner for joiner, letter in stand_ins.items()})
        return text.translate(_CONTROL).strip()


def _stand_ins(html: str) -> dict[int, str]:
    """Return joiner -> a letter that `html` does not hold, for the joiners in it; empty where it has none."""
    if "\u200c" not in html and "\u200d" not in html and not _JOINER_NAMES.search(html):
        return {}
    free = [letter for letter in _STAND_INS if letter not in html]
    return dict(zip(map(ord, _JOINERS), free, strict=False)) if len(free) >= len(_JOINERS) else {}


def _named_joiner(match: re.Match[str]) -> str:
    name = match[0].lower()
    return "\u200c" if name in ("&zwnj;", "&#8204;", "&#x200c;") else "\u200d"


@functools.cache
def _trafilatura() -> Any:
    import trafilatura

    logging.getLogger("trafilatura").setLevel(
        logging.CRITICAL
    )  # every page without text would be a line on the terminal
    return trafilatura.extract


@functools.cache
def _resiliparse() -> Any:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text
