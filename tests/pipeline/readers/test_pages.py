import gzip

import pytest

from pipeline.readers.pages import body_kind, page_kind
from tests.pipeline.readers.made import page


@pytest.mark.parametrize(
    "content_type", [None, "text/html", "text/plain", "application/octet-stream", "text/xml", "image/png"]
)
def test_a_page_is_a_page_whatever_it_is_declared_as(content_type):
    assert page_kind(page(1), content_type) == "html"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "shift_jis", "cp1251"]
)
def test_a_page_is_seen_in_any_encoding(encoding):
    assert page_kind("<!DOCTYPE html>\n<html><body>日本 мир</body></html>".encode(encoding, "ignore"), None) == "html"


@pytest.mark.parametrize(
    "raw",
    [
        b"<div>no doctype</div>",
        b"\n\n  <!-- generated --><table><tr><td>x",
        b"<?xml version='1.0'?><!-- c --><div>x</div>",
        b"<?php echo 1 ?><html><body>x",
        b"<script>var a = 1</script><p>x",
        b"some server notice\n<html><body>x</body></html>",
        b"<HTML\n LANG=en><BODY>x",
        b"<h1>x</h1>",
    ],
)
def test_markup_without_a_doctype_is_a_page(raw):
    assert page_kind(raw, None) in ("html", "xhtml")


def test_xhtml_under_an_xml_declaration_is_a_page():
    raw = b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">\n<html xmlns="y"><head/></html>'
    assert page_kind(raw, "application/xml") == "xhtml"


@pytest.mark.parametrize(
    "raw", [b"just words", b"", b"  \n", b"fish &amp; chips", b"CWS 5 is", b"ID3 tags", b"caf\xe9 au lait"]
)
def test_text_declared_html_is_a_page(raw):
    assert page_kind(raw, "text/html; charset=latin1") == "html"


@pytest.mark.parametrize(
    ("raw", "content_type", "kind"),
    [
        (b"%PDF-1.4\n<html>", "text/html", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0", "text/html", "image/png"),
        (b"\xff\xd8\xff\xe0", "text/html", "image/jpeg"),
        (b"GIF89a<html>", None, "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", None, "image/webp"),
        (b"PK\x03\x04[Content_Types].xml", "text/html", "application/zip"),
        (gzip.compress(b"x", mtime=0), None, "application/gzip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", None, "application/x-ole-storage"),
        (b"\0\0\0\x20ftypisom", None, "video/mp4"),
        (b"ID3\x03", None, "audio/mpeg"),
        (b"CWS\x0a\x10\x00\x00\x00x", "text/html", "application/x-shockwave-flash"),
        (b"", None, "empty"),
        (b"wOF2\0\x01", "text/html", "font/woff2"),
        (b"\x7fELF\x02", None, "application/x-executable"),
        (b"MZ\x90\x00\x03", None, "application/x-executable"),
        (bytes(range(256)) * 8, "text/html", "binary"),
        (b"<?xml version='1.0'?><rss version='2.0'><channel>", "text/html", "xml (rss)"),
        (b"<rss><channel><description>&lt;p&gt;</description>", "text/html", "xml (rss)"),
        (b"<?xml version='1.0'?><feed xmlns='a'>", None, "xml (feed)"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><title>x</title>", "image/svg+xml", "xml (svg)"),
        (b"<?xml version='1.0'?><urlset>", "application/xml", "xml (urlset)"),
        (b'{"html": "<div>x</div>"}', "application/json", "application/json"),
        (b'{"a": [1, 2]}', "text/html", "application/json"),
        (b"var a = '<div>';", "application/javascript", "application/javascript"),
        (b"body { color: red }", "text/css", "text/css"),
        (b"User-agent: *\nDisallow:", "text/plain", "text/plain"),
        (b"User-agent: *", None, "text/plain"),
    ],
)
def test_what_is_no_page_is_named(raw, content_type, kind):
    assert page_kind(raw, content_type) is None
    assert body_kind(raw, content_type) == kind


def test_a_page_that_begins_with_a_brace_is_a_page():
    assert page_kind(b"{{template}}<html><body>x</body></html>", "text/html") == "html"


def test_names_of_kinds_are_bounded_whatever_servers_send():
    assert len(body_kind(b"x", "a" * 10_000 + "/" + "b" * 10_000)) <= 100
