"""Pages from bytes to text: which charset, and how it was found.

The order is the browsers': byte order mark, HTTP header, ``<meta>``, detection. But a declaration that the bytes
plainly contradict is passed over: UTF-8 proves itself, servers send ``charset=iso-8859-1`` with everything, and a
page copied from one server to another keeps the meta of the first.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from resiliparse.parse.encoding import detect_encoding

from pipeline.readers.labels import LATIN, MULTIBYTE, codec_named, codec_of, name_of
from pipeline.readers.pages import utf16_name

PRESCAN = 1024
"""Bytes in which the standard asks for the meta."""
_PRESCAN_FURTHER = 1 << 14
_DETECT = 1 << 15
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,\"']+))", re.IGNORECASE)
_META_CHARSET = re.compile(
    r"charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\x0c\r ;\"']+))", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?\bencoding\s*=\s*[\"']([A-Za-z0-9_.:\-]{1,40})[\"']")
_SPACE = b"\t\n\x0c\r "
_AFTER_META = (b"\t", b"\n", b"\x0c", b"\r", b" ", b"/")
_HIGH = re.compile(rb"[\x80-\xff]")
_UTF8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
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
    for bom, codec in _BOMS:
        if raw.startswith(bom):
            return Decoded(raw[len(bom) :].decode(codec, "replace"), name_of(codec), "bom")
    wide = _wide(raw)
    if wide:
        return Decoded(raw.decode(wide, "replace"), name_of(wide), "detected")
    header, meta = header_codec(content_type), meta_codec(raw)
    declared, found_by = (header, "header") if header else (meta, "meta")
    if not _HIGH.search(raw):
        return _decode_ascii(raw, declared, found_by)
    if _is_utf8(raw, declared):
        found_by = "header" if header == "utf-8" else "meta" if meta == "utf-8" else "detected"
        return Decoded(raw.decode("utf-8", "replace"), "utf-8", found_by)
    codec, found_by = _legacy(raw, header, meta)
    return Decoded(decode(raw, codec), name_of(codec), found_by)


def decode(raw: bytes, codec: str) -> str:
    """Return `raw` decoded; bytes a multi-byte codec cannot read become U+FFFD, undefined single bytes controls."""
    return raw.decode(codec, "replace" if codec in MULTIBYTE or codec.startswith("utf") else "tokenmill.control")


def _wide(raw: bytes) -> str | None:
    """Return the codec of UTF-16 or UTF-32 without a byte order mark, told by its zero bytes."""
    sample = raw[: min(len(raw), 1024) & ~3]
    if len(sample) >= 16:
        planes = [sample[n::4].count(0) / (len(sample) // 4) for n in range(4)]
        if planes[1] > 0.9 and planes[2] > 0.9 and planes[3] > 0.9 and planes[0] < 0.5:
            return "utf-32-le"
        if planes[0] > 0.9 and planes[1] > 0.9 and planes[2] > 0.9 and planes[3] < 0.5:
            return "utf-32-be"
    return utf16_name(raw[:1024])


def header_codec(content_type: str | None) -> str | None:
    """Return the codec that a Content-Type header names, None for none or an unknown one. UTF-16 is not believed:
    `decode_page` has looked for it before."""
    found = _HEADER_CHARSET.search(content_type or "")
    codec = codec_of(found[1] or found[2] or found[3]) if found else None
    return None if codec in ("utf-16-le", "utf-16-be") else codec


def _decode_ascii(raw: bytes, declared: str | None, found_by: str) -> Decoded:
    """Return a page without bytes above 127: every charset gives the same, but for those that switch by escapes."""
    if _ESCAPES.search(raw):
        codec = (
            declared if declared in MULTIBYTE else codec_named(detect_encoding(raw[:_DETECT], html5_compatible=False))
        )
        if codec in ("iso2022_jp", "iso2022_kr", "hz"):
            return Decoded(decode(raw, codec), name_of(codec), found_by if codec == declared else "detected")
    charset = name_of(declared) if declared else "utf-8"
    return Decoded(raw.decode("ascii"), charset, found_by if declared else "default")


def _is_utf8(raw: bytes, declared: str | None) -> bool:
    """Return whether `raw` is UTF-8: strictly, or, where that is declared or plain, but for a few stray bytes."""
    try:
        raw.decode("utf-8")
        strict = True
    except UnicodeDecodeError as error:
        strict = error.end >= len(raw) and error.reason == "unexpected end of data"
    if strict and (declared in (None, "utf-8") or declared not in MULTIBYTE):
        return True
    sequences = len(_UTF8_SEQUENCE.findall(raw))
    if strict:
        return sequences > 2 or not _decodes(raw, declared or "")
    stray = len(_HIGH.findall(_UTF8_SEQUENCE.sub(b"", raw)))
    return sequences > (1 if declared == "utf-8" else 20) * stray


def _decodes(raw: bytes, codec: str) -> bool:
    """Return whether `codec` reads `raw`, an end cut inside a character aside."""
    try:
        raw.decode(codec)
    except UnicodeDecodeError as error:
        return error.start >= len(raw) - 4
    return True


def _legacy(raw: bytes, header: str | None, meta: str | None) -> tuple[str, str]:
    """Return the codec of a page that is not UTF-8, and how it was found."""
    candidates = [(c, by) for c, by in ((header, "header"), (meta, "meta")) if c and c != "utf-8"]
    if len(candidates) == 2 and header != meta and (header in LATIN or not _plausible(raw, candidates[0][0])):
        candidates.reverse()
    for codec, found_by in candidates:
        if _plausible(raw, codec):
            return codec, found_by
    detected = detect_codec(raw)
    if detected and (not candidates or detected != "utf-8"):
        return detected, "detected"
    return candidates[0] if candidates else ("cp1252", "default")


def _plausible(raw: bytes, codec: str) -> bool:
    """Return whether `codec` reads all but one in a hundred of the bytes above 127 in `raw`."""
    if _decodes(raw, codec):
        return True
    if codec not in MULTIBYTE:
        text = raw.decode(codec, "tokenmill.control")
        return text.count("\ufffd") * 100 <= len(_HIGH.findall(raw))
    return raw.decode(codec, "replace").count("\ufffd") * 100 <= len(_HIGH.findall(raw))


def detect_codec(raw: bytes) -> str | None:
    """Return the codec that uchardet, by resiliparse, sees in `raw`; None where it sees none or is plainly wrong."""
    codec = codec_named(detect_encoding(raw, max_len=_DETECT, html5_compatible=False))
    return codec if codec and (codec == "utf-8" or _plausible(raw, codec)) else None


def meta_codec(raw: bytes) -> str | None:
    """Return the codec that the page itself declares: by ``<meta>`` or, in XHTML, by its XML declaration.

    The prescan of the HTML Standard (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding),
    first over the 1,024 bytes it asks for, then, as a browser's parser meets later metas too, further.
    """
    codec = prescan(raw[:PRESCAN]) or (prescan(raw[:_PRESCAN_FURTHER]) if len(raw) > PRESCAN else None)
    if codec is None and (declared := _XML_ENCODING.match(raw.lstrip()[:200])):
        codec = codec_of(declared[1].decode("ascii"))
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec


def prescan(head: bytes) -> str | None:
    """Return the codec that the first meta in `head` which names a known charset asks for, or None."""
    at = 0
    while (at := head.find(b"<", at)) >= 0:
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 2)
            if end < 0:
                return None
            at = end + 3
        elif head[at + 1 : at + 5].lower() == b"meta" and head[at + 5 : at + 6] in _AFTER_META:
            codec, at = _meta(head, at + 5)
            if codec:
                return codec
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
    """Return the codec that the meta whose attributes begin at `at` asks for, and where they end."""
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
    return (None if needs_pragma and not pragma else codec_of(label)), at


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
