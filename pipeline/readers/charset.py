"""Pages from bytes to text: which charset, and how it was found.

The order is the browsers': byte order mark, HTTP header, ``<meta>``, detection. But a declaration that the bytes
plainly contradict is passed over: UTF-8 proves itself, servers send ``charset=iso-8859-1`` with everything, and a
page copied from one server to another keeps the meta of the first. One or two damaged characters contradict nothing.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from resiliparse.parse.encoding import detect_encoding

from pipeline.readers.encodings import REPLACEMENT, decode, decode_counting
from pipeline.readers.labels import BY_ESCAPES, MULTIBYTE, UTF16, encoding_named, encoding_of
from pipeline.readers.pages import utf16_name

PRESCAN = 1024
"""Bytes in which the standard asks for the meta."""
_PRESCAN_FURTHER = 1 << 14
_DETECT = 1 << 15
_STRAY = 2
"""So many characters that cannot be decoded are damage, and say nothing against the declared charset."""
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32le"),
    (codecs.BOM_UTF32_BE, "utf-32be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,\"']+))", re.IGNORECASE)
_META_CHARSET = re.compile(
    r"charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\x0c\r ;\"']+))", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?\bencoding\s*=\s*[\"']([A-Za-z0-9_.:\-]{1,40})[\"']")
_SPACE = b"\t\n\x0c\r "
_AFTER_META = (b"\t", b"\n", b"\x0c", b"\r", b" ", b"/")
_HIGH = re.compile(rb"[\x80-\xff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_ESCAPES = re.compile(rb"\x1b[$(]|~\{")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A page as text.

    Attributes:
        charset: name in the Encoding Standard, lower case.
        found_by: ``bom``, ``header``, ``meta``, ``detected`` or ``default``.
    """

    text: str
    charset: str
    found_by: str


def decode_page(raw: bytes, content_type: str | None) -> Decoded:
    """Return `raw` as text; never fails. What cannot be decoded becomes U+FFFD; control characters stay.

    Args:
        raw: the page's bytes.
        content_type: the HTTP header, whose charset counts before the page's own.
    """
    marked = marked_encoding(raw)
    if marked:
        return Decoded(decode(raw[len(marked[0]) :], marked[1]), marked[1], "bom")
    wide = wide_encoding(raw)
    if wide:
        return Decoded(decode(raw, wide), wide, "detected")
    header, meta = header_encoding(content_type), meta_encoding(raw)
    if header in UTF16:
        if raw.count(0) * 20 > len(raw):
            return Decoded(decode(raw, header), header, "header")
        header = None  # a page full of ASCII is not what it is said to be
    declared, found_by = (header, "header") if header else (meta, "meta")
    if not _HIGH.search(raw):
        return _decode_ascii(raw, declared, found_by)
    text = _as_utf8(raw, declared)
    if text is not None:
        found_by = "header" if header == "utf-8" else "meta" if meta == "utf-8" else "detected"
        return Decoded(text, "utf-8", found_by)
    encoding, found_by = _legacy(raw, header, meta)
    return Decoded(decode(raw, encoding), encoding, found_by)


def marked_encoding(raw: bytes) -> tuple[bytes, str] | None:
    """Return the byte order mark that `raw` begins with, and what it stands for; None where there is none."""
    return next(((bom, encoding) for bom, encoding in _BOMS if raw.startswith(bom)), None)


def wide_encoding(raw: bytes) -> str | None:
    """Return the encoding of UTF-16 or UTF-32 without a byte order mark, told by its zero bytes."""
    sample = raw[: min(len(raw), 1024) & ~3]
    if len(sample) >= 16:
        planes = [sample[n::4].count(0) / (len(sample) // 4) for n in range(4)]
        if planes[1] > 0.9 and planes[2] > 0.9 and planes[3] > 0.9 and planes[0] < 0.5:
            return "utf-32le"
        if planes[0] > 0.9 and planes[1] > 0.9 and planes[2] > 0.9 and planes[3] < 0.5:
            return "utf-32be"
    name = utf16_name(raw[:1024])
    return name and name.replace("16-", "16")


def header_encoding(content_type: str | None) -> str | None:
    """Return the encoding that a Content-Type header names, None for none or an unknown one."""
    found = _HEADER_CHARSET.search(content_type or "")
    return encoding_of(found[1] or found[2] or found[3]) if found else None


def _decode_ascii(raw: bytes, declared: str | None, found_by: str) -> Decoded:
    """Return a page without bytes above 127: every charset gives the same, but for those that switch by escapes."""
    if declared == "replacement":
        return Decoded(decode(raw, declared), declared, found_by)
    if declared in BY_ESCAPES or _ESCAPES.search(raw):
        encoding = declared if declared in MULTIBYTE else _detected(raw)
        if encoding in BY_ESCAPES:
            return Decoded(decode(raw, encoding), encoding, found_by if encoding == declared else "detected")
    return Decoded(raw.decode("ascii"), declared or "utf-8", found_by if declared else "default")


def _as_utf8(raw: bytes, declared: str | None) -> str | None:
    """Return `raw` as text where it is UTF-8: strictly, or, where that is declared or plain, but for stray bytes."""
    text, bad = decode_counting(raw, "utf-8")
    if bad == 1 and text.endswith(REPLACEMENT) and declared != "utf-8":
        bad = 0  # cut inside the last character
    if bad == 0 and declared not in MULTIBYTE:
        return text
    good = len(_NOT_ASCII.findall(text)) - bad
    if bad == 0:
        return text if good > 2 or _errors(raw, declared or "") else None
    if declared == "utf-8":
        return text if bad <= _STRAY or good >= bad else None
    return text if good > (20 if declared else 4) * bad else None


def _errors(raw: bytes, encoding: str) -> int:
    """Return how many characters of `raw` cannot be decoded, an end cut inside a character aside."""
    text, bad = decode_counting(raw, encoding)
    return bad - 1 if bad and text.endswith(REPLACEMENT) else bad


def _legacy(raw: bytes, header: str | None, meta: str | None) -> tuple[str, str]:
    """Return the encoding of a page that is not UTF-8, and how it was found."""
    candidates = [(c, by) for c, by in ((header, "header"), (meta, "meta")) if c and c != "utf-8"]
    if len(candidates) == 2 and header != meta and (header == "windows-1252" or not _plausible(raw, candidates[0][0])):
        candidates.reverse()
    for encoding, found_by in candidates:
        if _plausible(raw, encoding):
            return encoding, found_by
    detected = detect(raw)
    if detected and (not candidates or detected != "utf-8"):
        return detected, "detected"
    if candidates:
        return candidates[0]
    by = "header" if header else "meta"
    return ("utf-8", by) if "utf-8" in (header, meta) else ("windows-1252", "default")


def _plausible(raw: bytes, encoding: str) -> bool:
    """Return whether `encoding` reads `raw` but for one in a hundred of its bytes above 127, or a stray character."""
    bad = _errors(raw, encoding)
    return bad <= _STRAY or bad * 100 <= len(_HIGH.findall(raw))


def detect(raw: bytes) -> str | None:
    """Return the encoding that uchardet, by resiliparse, sees in `raw`; None where it sees none or is plainly wrong."""
    encoding = _detected(raw)
    return encoding if encoding and (encoding == "utf-8" or _plausible(raw, encoding)) else None


def _detected(raw: bytes) -> str | None:
    return encoding_named(detect_encoding(raw, max_len=_DETECT, html5_compatible=False))


def meta_encoding(raw: bytes) -> str | None:
    """Return the encoding that the page itself declares: by ``<meta>`` or, in XHTML, by its XML declaration.

    The prescan of the HTML Standard (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding),
    first over the 1,024 bytes it asks for, then, as a browser's parser meets later metas too, further.
    """
    encoding = prescan(raw[:PRESCAN]) or (prescan(raw[:_PRESCAN_FURTHER]) if len(raw) > PRESCAN else None)
    if encoding is None and (declared := _XML_ENCODING.match(raw.lstrip()[:200])):
        encoding = _believed(encoding_of(declared[1].decode("ascii")))
    return encoding


def _believed(encoding: str | None) -> str | None:
    """Return what a declaration inside a page means that could be read as ASCII."""
    return "utf-8" if encoding in UTF16 else "windows-1252" if encoding == "x-user-defined" else encoding


def prescan(head: bytes) -> str | None:
    """Return the encoding that the first meta in `head` which names a known charset asks for, or None."""
    at = 0
    while (at := head.find(b"<", at)) >= 0:
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 2)
            if end < 0:
                return None
            at = end + 3
        elif head[at + 1 : at + 5].lower() == b"meta" and head[at + 5 : at + 6] in _AFTER_META:
            encoding, at = _meta(head, at + 5)
            if encoding:
                return encoding
        elif head[at + 1 : at + 2].isalpha() or (head[at + 1 : at + 2] == b"/" and head[at + 2 : at + 3].isalpha()):
            at += 1
            while at < len(head) and head[at] not in b"\t\n\x0c\r >":
                at += 1
            while (found := _attribute(head, at)) is not None:
                at = found[2]
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            at = head.find(b">", at)
            if at < 0:
                return None
        else:
            at += 1
    return None


def _meta(head: bytes, at: int) -> tuple[str | None, int]:
    """Return the encoding that the meta whose attributes begin at `at` asks for, and where they end."""
    seen: set[bytes] = set()
    pragma, needs_pragma, label = False, False, None
    while (found := _attribute(head, at)) is not None:
        name, value, at = found
        if name in seen:
            continue
        seen.add(name)
        if name == b"http-equiv" and value == b"content-type":
            pragma = True
        elif name == b"content" and label is None:
            match = _META_CHARSET.search(value.decode("latin-1"))
            if match:
                label, needs_pragma = match[1] or match[2] or match[3], True
        elif name == b"charset":
            label, needs_pragma = value.decode("latin-1"), False
    return (None if needs_pragma and not pragma else _believed(encoding_of(label))), at


def _attribute(head: bytes, at: int) -> tuple[bytes, bytes, int] | None:
    """Return name, value (both in lower case) and end of the next attribute; None at the tag's or the bytes' end."""
    size = len(head)
    while at < size and (head[at] in _SPACE or head[at] == 0x2F):
        at += 1
    if at >= size or head[at] == 0x3E:
        return None
    start = at
    at += 1  # an equals sign that comes first belongs to the name
    while at < size and head[at] not in b"\t\n\x0c\r />=":
        at += 1
    name = head[start:at].lower()
    after = at
    while after < size and head[after] in _SPACE:
        after += 1
    if after >= size or head[after] != 0x3D:
        return name, b"", at
    at = after + 1
    while at < size and head[at] in _SPACE:
        at += 1
    if at < size and head[at] in b"\"'":
        end = head.find(head[at : at + 1], at + 1)
        if end < 0:
            return None  # the value does not end within the bytes looked at
        return name, head[at + 1 : end].lower(), end + 1
    start = at
    while at < size and head[at] not in b"\t\n\x0c\r >":
        at += 1
    return None if at >= size else (name, head[start:at].lower(), at)
