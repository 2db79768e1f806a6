"""The text of a page: decoded, and freed of menus, banners, footers and comments."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa
from lxml.etree import tostring

from pipeline.documents import Document, clean_text
from pipeline.readers.charset import decode_page
from pipeline.readers.pages import PAGE_KINDS, body_kind
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from stages.extraction import addresses, fast_justext, fast_trafilatura, quick
from stages.extraction.addresses import AddressFault
from stages.extraction.best import extract as extract_best
from stages.extraction.kept import keep_meaning, may_need_keeping, unmarked
from stages.extraction.metadata import FIELDS, metadata_of
from stages.extraction.nesting import tag_depth
from stages.extraction.source import scrub, shallow, stand_ins, with_stand_ins

_CONTROL = {c: None for c in [*range(9), *range(14, 32), *range(127, 160), 0xFFFE, 0xFFFF]} | {11: " ", 12: " "}
_DAMAGE = re.compile("[\x80-\x84\x86-\x9f\ufffd]")
_TEXTUAL = re.compile(r"text/|xml|empty|.*(?:json|javascript|ecmascript|[/+]xml)$")


@dataclass(frozen=True, kw_only=True)
class Extract(DocumentStage):
    """Turn pages as crawled into text: one paragraph, heading, list item or table row a line.

    Documents that come with text pass as they are. What is no page (binary_content: an image, a PDF, an archive;
    not_a_page: a feed, JSON, plain text), is too large, nested too deeply, or yields no text, is dropped and says so.
    Zero-width joiners, without which Persian and emoji fall apart, are kept, which trafilatura by itself does not do.
    """

    name: ClassVar[str] = "extract"
    published: ClassVar[str] = "trafilatura 2.3 (ACL 2021 demo 15); resiliparse 2.0 (ECIR 2018); rules of our own"
    shares_load: ClassVar[bool] = True
    version: ClassVar[int] = 4
    costly: ClassVar[bool] = True
    libraries: ClassVar[tuple[str, ...]] = ("trafilatura", "jusText", "lxml", "resiliparse")
    preload: ClassVar[tuple[str, ...]] = ("lxml.html", "justext", "htmldate.core", "courlan")
    path_fields: ClassVar[tuple[str, ...]] = ("skip_addresses",)
    needs: ClassVar[tuple[str, ...]] = ()
    removes: ClassVar[tuple[str, ...]] = ("raw", "content_type")

    engine: Literal["best", "trafilatura", "resiliparse"] = "best"
    """best: trafilatura for articles, our own rules where it loses; trafilatura: the library's text; resiliparse: fastest."""
    fast: bool = False
    """trafilatura without its second opinions: 1.5 times as fast, as good on articles, less on other pages."""
    format: Literal["text", "markdown"] = "text"
    """markdown: headings, lists, tables, emphasis and code as Markdown."""
    links: bool = False
    """Links with their targets, as Markdown writes them."""
    metadata: tuple[str, ...] = ()
    """Columns to add of title, published, author, site, canonical_url, licence: what the page says of itself."""
    max_bytes: int = 10_000_000
    """Larger pages are dropped (page_too_large)."""
    min_bytes: int = 0
    """Smaller pages are dropped before they are looked at (page_too_small)."""
    max_depth: int = 10_000
    """Pages whose elements are nested deeper are dropped (too_deep)."""
    min_characters: int = 1
    """Less text: dropped (no_text)."""
    max_damaged: float = 1.0
    """Pages of whose text a larger share is U+FFFD or C1 control characters are dropped (damaged)."""
    skip_addresses: tuple[str, ...] = ()
    """Files of hosts (`example.org`) and starts of addresses (`example.org/a`), whose pages are dropped (listed_address)."""
    only_languages: tuple[str, ...] = ()
    """Pages that a glance shows to be certainly in no language of these are dropped unextracted (quick_language)."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        names = ("charset", "charset_found_by", "extracted_by", *self.metadata)
        return (*(pa.field(name, pa.large_string()) for name in names), pa.field("damaged", pa.float64()))

    def check(self) -> None:
        if self.fast and self.engine != "trafilatura":
            raise StageFault("fast", f"only trafilatura has a fast way; engine is {self.engine!r}")
        if self.engine == "resiliparse" and self.format != "text":
            raise StageFault("format", "resiliparse writes no Markdown; give engine best or trafilatura")
        if self.max_bytes < 1:
            raise StageFault("max_bytes", f"{self.max_bytes} leaves no page")
        if self.min_bytes > self.max_bytes:
            raise StageFault("min_bytes", f"{self.min_bytes} is more than max_bytes, {self.max_bytes}: no page is left")
        if not 0 <= self.max_damaged <= 1:
            raise StageFault("max_damaged", f"is a share from 0 to 1; got {self.max_damaged}")
        if self.max_depth < 1:
            raise StageFault("max_depth", f"{self.max_depth} leaves no page")
        for field in self.metadata:
            if field not in FIELDS:
                raise StageFault("metadata", f"{field!r} is unknown; there are {', '.join(FIELDS)}")
        for language in self.only_languages:
            if language not in quick.SUPPORTED:
                raise StageFault("only_languages", f"{language!r} is no code that a glance can tell, such as 'en'")
        try:
            addresses.listed(self.skip_addresses)
        except (AddressFault, OSError) as error:
            raise StageFault("skip_addresses", str(error)) from error
        if self.engine != "resiliparse" and (wrong := fast_trafilatura.why_slow()):
            warnings.warn(wrong, RuntimeWarning, stacklevel=2)

    def resources(self) -> Mapping[str, str]:
        """Digests of the lists of addresses."""
        return {f"addresses {n}": addresses.digest(path) for n, path in enumerate(self.skip_addresses)}

    def load(self) -> None:
        """Load the library and the stop lists, so that no document pays for it."""
        tag_depth(b"")
        if self.engine != "resiliparse":
            fast_trafilatura.library()
        if self.engine == "trafilatura":
            fast_justext.stop_words(None)

    def judge(self, document: Document) -> Verdict:
        raw = document.get("raw")
        if raw is None:
            return None if document.text else Drop("no_text", 0, self.min_characters)
        url = document.get("url")
        if self.skip_addresses and url:
            entry = addresses.listed_as(url, addresses.listed(self.skip_addresses))
            if entry:
                return Drop("listed_address", detail=entry)
        if len(raw) > self.max_bytes:
            return Drop("page_too_large", len(raw), self.max_bytes)
        if len(raw) < self.min_bytes:
            return Drop("page_too_small", len(raw), self.min_bytes)
        content_type = document.get("content_type")
        kind = body_kind(raw, content_type)
        if kind not in PAGE_KINDS:
            return Drop("not_a_page" if _TEXTUAL.match(kind) else "binary_content", detail=kind)
        page = decode_page(raw, content_type)
        if self.only_languages:
            language = quick.certain_language(page.text)
            if language and language not in self.only_languages:
                return Drop("quick_language", detail=language)
        verdict = self._extract(page.text, url)
        if isinstance(verdict, Drop):
            return verdict
        text = verdict.text or ""
        if len(text) < self.min_characters:
            return Drop("no_text", len(text), self.min_characters)
        if verdict.columns["damaged"] > self.max_damaged:
            return Drop("damaged", verdict.columns["damaged"], self.max_damaged, f"read as {page.charset}")
        return Keep(text=text, columns={"charset": page.charset, "charset_found_by": page.found_by, **verdict.columns})

    def extract(self, html: str, url: str | None = None) -> str | None:
        """Return the text of the page `html`; None where there is none, or where it is nested too deeply."""
        verdict = self._extract(html, url)
        return verdict.text or None if isinstance(verdict, Keep) else None

    def _extract(self, html: str, url: str | None = None) -> Keep | Drop:
        html = clean_text(html)
        html, depth = shallow(scrub(html))
        if depth > self.max_depth:
            return Drop("too_deep", depth, self.max_depth)
        columns: dict[str, Any] = {}
        if self.metadata:
            tree = fast_trafilatura.library().utils.load_html(html)
            columns = {} if tree is None else metadata_of(tree, self.metadata, url)
        letters = {} if self.engine == "resiliparse" else stand_ins(html)
        text, by = self._by_engine(with_stand_ins(html, letters) if letters else html, url)
        if letters:
            text = text.translate({ord(letter): joiner for joiner, letter in letters.items()})
        damaged = 0.0
        if not (printable := "".join(text.split()).isprintable()) or "\ufffd" in text:
            damaged = len(_DAMAGE.findall(text)) / len(text)
        if not printable:
            text = text.translate(_CONTROL)
        return Keep(text=text.strip(), columns={"extracted_by": by, **columns, "damaged": damaged})

    def _by_engine(self, html: str, url: str | None) -> tuple[str, str]:
        if self.engine == "resiliparse":
            if may_need_keeping(html):
                html = _with_meaning(html)
            text = _resiliparse()(html, main_content=True, comments=False, links=self.links)
            return unmarked(text), "resiliparse"
        markdown = self.format == "markdown"
        if self.engine == "best":
            found = extract_best(html, url, markdown=markdown, links=self.links)
            return found.text, found.by
        options = copy(_options(self.fast, markdown, self.links))
        options.url = url if self.links else None
        return fast_trafilatura.extractor()(html, options=options) or "", "trafilatura"


def _with_meaning(html: str) -> str:
    tree = fast_trafilatura.library().utils.load_html(html)
    if tree is None:
        return html
    keep_meaning(tree, html)
    return str(tostring(tree, encoding="unicode", method="html"))


@functools.cache
def _options(fast: bool, markdown: bool, links: bool) -> Any:
    form = "markdown" if markdown else "txt"
    return fast_trafilatura.library().settings.Extractor(output_format=form, fast=fast, comments=False, links=links)


@functools.cache
def _resiliparse() -> Any:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text
