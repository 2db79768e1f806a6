"""What a body is, told from its bytes: a page, or something else by name.

Labels are believed only where bytes do not speak. A sniffer that sees XML in every ``<?xml`` and JavaScript in
every inline script loses a sixth of real pages; so the root element and the first tags decide here.
"""

from __future__ import annotations

import codecs
import re

import msgspec

WINDOW = 8192
"""Bytes looked at. What stands before the first tag of a page is shorter than this on all pages we have seen."""
PAGE_KINDS = ("html", "xhtml")

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"8BPS\x00", "image/vnd.adobe.photoshop"),
    (b"\xff\x4f\xff\x51", "image/jp2"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh91AY&SY", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS", "application/postscript"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO\x00", "font/otf"),
    (b"\x00\x01\x00\x00\x00", "font/ttf"),
    (b"true\x00", "font/ttf"),
    (b"ttcf\x00", "font/collection"),
    (b"OggS\x00", "application/ogg"),
    (b"fLaC", "audio/flac"),
    (b"MThd\x00", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
    (b"\x7fELF", "application/x-executable"),
    (b"MZ\x90\x00", "application/x-executable"),
    (b"\xca\xfe\xba\xbe", "application/x-executable"),
    (b"\xcf\xfa\xed\xfe", "application/x-executable"),
    (b"\x00asm", "application/wasm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"WARC/1.", "application/warc"),
)
_ANY_MAGIC = tuple(magic for magic, _ in _MAGIC)
_FLASH = re.compile(rb"[FCZ]WS[\x01-\x32]")
_ID3 = re.compile(rb"ID3[\x02-\x04]")
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/avi"}

_HTML_NAMES = (
    "html|head|body|title|meta|link|script|style|base|noscript|frameset|frame|iframe|table|tbody|tr|td|th|div|span|p|"
    "br|hr|h[1-6]|a|b|i|u|em|strong|font|center|ul|ol|li|dl|dt|dd|img|form|input|select|button|label|pre|blockquote|"
    "main|article|section|header|footer|nav|aside|figure|textarea|small|big|code|object|embed|map|area|address|abbr|"
    "fieldset|template|video|audio|canvas|marquee|basefont|nobr|tt|s|strike|sub|sup|amp-[a-z-]+"
)
_OPENING = re.compile(rf"<(?:!doctype\s+html|(?:{_HTML_NAMES})(?=[\s/>]))", re.IGNORECASE)
_UNMISTAKABLE = re.compile(
    r"<!doctype\s+html\b|<html[\s>]|<head[\s>]|<body[\s>]|<title[\s>]|<frameset[\s>]", re.IGNORECASE
)
_PROLOG = re.compile(r"(?:\s|<!--.*?-->|<\?.*?\?>|<!doctype[^>\[]*(?:\[[^\]]*\]\s*)?>)+", re.IGNORECASE | re.DOTALL)
_ROOT = re.compile(r"<([A-Za-z_][\w.\-]*(?::[\w.\-]+)?)")
_DECLARED_PAGE = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_DECLARED_CODE = re.compile(r"javascript|ecmascript|json|text/css|wasm")
_CONTROL = bytes(c for c in range(32) if c not in b"\t\n\x0b\x0c\r\x1b\x00") + b"\x7f"
_MEDIA_TYPE = re.compile(r"[a-z0-9.+\-]+/[a-z0-9.+\-]+")


def page_kind(raw: bytes, content_type: str | None) -> str | None:
    """Return ``html`` or ``xhtml`` where `raw` is a page, else None.

    Args:
        raw: the body, its transfer- and content-encodings undone.
        content_type: as the server said, if it did.
    """
    kind = body_kind(raw, content_type)
    return kind if kind in PAGE_KINDS else None


def body_kind(raw: bytes, content_type: str | None) -> str:
    """Return ``html``, ``xhtml``, or the name of what `raw` is instead: a media type, ``xml (rss)``, ``empty``."""
    declared = _media_type(content_type)
    head = raw[:WINDOW]
    if not head.strip(b" \t\r\n\x0b\x0c\0"):
        return "html" if declared in _DECLARED_PAGE else "empty"
    binary = _by_magic(head)
    if binary:
        return binary
    text = _as_text(head).lstrip("\ufeff \t\r\n\x0b\x0c\0")
    kind = _by_markup(text, raw, declared)
    if kind:
        return kind
    if is_binary(head):
        return declared if declared and declared not in _DECLARED_PAGE else "binary"
    if declared in _DECLARED_PAGE:
        return "html"
    return declared or "text/plain"


def _media_type(content_type: str | None) -> str:
    found = _MEDIA_TYPE.match((content_type or "").strip().lower()[:100])
    return found[0] if found else ""


def _by_magic(head: bytes) -> str | None:
    if head.startswith(_ANY_MAGIC):
        return next(name for magic, name in _MAGIC if head.startswith(magic))
    if _FLASH.match(head) and not head[3:8].decode("latin-1").isprintable():
        return "application/x-shockwave-flash"
    if _ID3.match(head):
        return "audio/mpeg"
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "application/x-riff")
    if head[4:8] == b"ftyp":
        return "video/mp4" if head[8:12] not in (b"avif", b"avis", b"heic", b"mif1") else "image/avif"
    if head.startswith(b"BM") and len(head) > 14 and head[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if head[257:262] == b"ustar":
        return "application/x-tar"
    if len(head) > 3 and head[0] == 0xFF and head[1] in (0xFB, 0xF3, 0xF2, 0xFA):
        return "audio/mpeg"
    return None


def utf16_name(head: bytes) -> str | None:
    """Return ``utf-16-le`` or ``utf-16-be`` where `head`, which has no byte order mark, is markup in one of them."""
    sample = head[: min(len(head), 1024) & ~1]
    even, odd = sample[::2], sample[1::2]
    if len(odd) < 4:
        return None
    if odd.count(0) > 0.4 * len(odd) and even.count(0) <= 0.05 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.4 * len(even) and odd.count(0) <= 0.05 * len(odd):
        return "utf-16-be"
    return None


def _as_text(head: bytes) -> str:
    """Return `head` so that ASCII in it can be matched, whatever its encoding."""
    if head.startswith(codecs.BOM_UTF32_LE) or head.startswith(codecs.BOM_UTF32_BE):
        return head[: len(head) & ~3].decode("utf-32", "replace")
    if head.startswith(codecs.BOM_UTF16_LE) or head.startswith(codecs.BOM_UTF16_BE):
        return head[: len(head) & ~1].decode("utf-16", "replace")
    name = utf16_name(head)
    if name:
        return head[: len(head) & ~1].decode(name, "replace")
    return head.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _by_markup(text: str, raw: bytes, declared: str) -> str | None:
    """Return what tags, a root element or JSON make of `text`, the head without leading blanks; None for nothing."""
    if text[:1] in ("{", "["):
        return "application/json" if _is_json(raw) else None
    if _DECLARED_CODE.search(declared) and text[:1] != "<":
        return None
    prolog = _PROLOG.match(text)
    rest = text[prolog.end() :] if prolog else text
    xml = text[:5].lower() == "<?xml"
    if _OPENING.match(rest) or (prolog and _OPENING.search(prolog[0])):
        return "xhtml" if xml else "html"
    root = _ROOT.match(rest)
    if root and (xml or declared not in _DECLARED_PAGE):
        name = root[1].lower()
        if name.rpartition(":")[2] == "html":
            return "xhtml"
        if xml or name in ("rss", "feed", "rdf:rdf", "svg", "urlset", "sitemapindex", "opml"):
            return f"xml ({name[:40]})"
    elif root and root[1].lower() in ("rss", "feed", "rdf:rdf", "urlset", "sitemapindex", "opml"):
        return f"xml ({root[1].lower()})"
    return "html" if _UNMISTAKABLE.search(text) else None


def _is_json(raw: bytes) -> bool:
    try:
        msgspec.json.decode(raw.removeprefix(codecs.BOM_UTF8), type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def is_binary(head: bytes) -> bool:
    """Return whether `head` holds too many control characters to be text in any encoding."""
    if utf16_name(head) or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    control = len(head) - len(head.translate(None, _CONTROL))
    return control > 0.05 * len(head) or head.count(0) > 0.1 * len(head)
