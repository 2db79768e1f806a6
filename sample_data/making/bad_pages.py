"""Pages with wrong labels, answers that are no pages, and pages that hang or crash a naive extractor."""

from __future__ import annotations

from making.compose import Article
from making.crawl import HTML, WARCS, Crawl, composed, dress_of
from making.pages import Dress, render
from making.warcs import Page

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)
LABELS = {
    "fr": ("reliure", "utf-8", "text/html; charset=iso-8859-1", "utf-8", "d'une soixantaine d'années"),
    "ru": ("samovar", "windows-1251", "text/html", "windows-1251", "кипяток, который бурлит"),
    "ja": ("chawan", "shift_jis", "text/html; charset=utf-8", "shift_jis", "青い茶碗の上に川のような金色の筋"),
    "pl": ("zegar", "iso-8859-2", "text/html", "iso-8859-2", "Żaden z nich nie pokazuje tej samej godziny"),
    "de": ("moor", "windows-1252", "text/html; charset=utf-8", None, "in fünftausend Jahren gewachsen"),
    "es": ("acequia", "utf-16", "text/html", None, "compuertas automáticas que se manejan"),
    "ar": ("bab", "windows-1256", "text/html; charset=windows-1256", None, "ذيل الحمامة"),
}
"""Language -> article, charset of its bytes, header, charset in its meta, and a phrase that must come through."""


def plant_labels(crawl: Crawl) -> None:
    """Pages whose charset is labelled wrongly, or by meta or bytes alone."""
    for language, (name, encoding, header, meta, phrase) in LABELS.items():
        article = crawl.article(language, name)
        dress = Dress(dress_of(article).theme, charset=meta)
        url = crawl.page(WARCS[2], article, dress=dress, encoding=encoding, content_type=header)
        what = f"{encoding} under the header {header!r} and " + (f"meta {meta}" if meta else "no meta")
        crawl.plant(url, WARCS[2], what, "kept", detail=phrase)


def plant_not_pages(crawl: Crawl) -> None:
    """Answers that are no pages: not documents at all, so neither in the corpus nor in the ledger."""
    host = "https://files.mirror.example/"
    article = composed("en-sky", 80)
    page = render(article, dress_of(article), []).encode()
    for name, body, kind, status in (
        ("missing", page, "text/html", "404 Not Found"),
        ("moved", page, "text/html", "301 Moved Permanently"),
        ("dot.png", PIXEL, "image/png", "200 OK"),
        ("leaflet.pdf", b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\n%%EOF\n", "text/html", "200 OK"),
        ("feed.xml", b'<?xml version="1.0"?><rss version="2.0"><channel/></rss>', "application/rss+xml", "200 OK"),
        ("noise", bytes(range(1, 9)) * 400 + bytes(range(14, 27)) * 100, "text/html", "200 OK"),
    ):
        crawl.warcs[WARCS[1]].append(Page(host + name, body, kind, status))
        crawl.plant(host + name, WARCS[1], f"no page: {status}, {kind}, {body[:4]!r}"[:60], "absent")
    crawl.html_row(host + "leaflet", "%PDF-1.4 one that a crawler took for a page\n%%EOF")
    crawl.plant(host + "leaflet", HTML, "a PDF in the column of pages", "dropped", "extract", NOT_HTML)


NOT_HTML = "binary_content"


def plant_hostile(crawl: Crawl) -> None:
    """Pages that take a naive extractor down, and pages with nothing in them."""
    host = "https://hostile.mirror.example/"
    article = composed("en-station", 81)
    page = render(article, Dress("blog"), [])
    start, end = page.index("<p>"), page.rindex("</p>") + 4
    text = "\n".join(f"<p>{p}</p>" for p in article.paragraphs)

    def put(name: str, body: str | bytes, *expected: str, coding: str = "gzip", detail: str = "") -> None:
        body = body.encode() if isinstance(body, str) else body
        crawl.warcs[WARCS[0]].append(Page(host + name, body, coding=coding))
        crawl.plant(host + name, WARCS[0], *expected, detail=detail)

    deep = f"<html><body>{'<div>' * 100_000}{text}{'</div>' * 100_000}</body></html>"
    put("deep", deep, "100,000 elements nested in one another", "dropped", "extract", "too_deep")
    nested = f"<html><body><article>{'<div>' * 400}{text}{'</div>' * 400}</article></body></html>"
    nested = nested.replace(article.paragraphs[0], "Four hundred deep. " + article.paragraphs[0])
    put("nested", nested, "an article inside 400 elements, kept", "kept", detail="Four hundred deep.")
    filler = "<!-- " + "padding " * 64 + "-->\n"
    put(
        "large",
        page.replace("<main>", filler * 23_500 + "<main>"),
        "a page of 12 MB",
        "dropped",
        "extract",
        "page_too_large",
    )
    put("empty", "", "a page of no bytes", "dropped", "extract", "no_text", coding="")
    put(
        "script",
        page[:start] + page[end:].split("</main>")[0] + "</main></body></html>",
        "a page of scripts and menus",
        "dropped",
        "extract",
        "no_text",
    )
    article = composed("en-station", 82)
    nul = render(article, Dress("wiki"), []).replace("<p>", "<p>\0\0", 3)
    put("nul", nul, "NUL characters in the markup", "kept", detail=article.paragraphs[0][:60])
    article = Article("unclosed", "en", "Tags left open", composed("en-station", 83).paragraphs)
    broken = render(article, Dress("journal"), []).replace("</p>", "").replace("</article>", "<b><i><table><tr><td>")
    put("open", broken, "tags left open", "kept", detail=article.paragraphs[0][:60])
