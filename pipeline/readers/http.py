"""HTTP responses as crawlers store them: header taken off, transfer- and content-encoding undone.

Servers lie in both headers, and so do crawlers that store decoded pages under the headers they got: bytes that
are not encoded as the header says are taken as they are.
"""

from __future__ import annotations

import io
import re
import zlib
from dataclasses import dataclass

import zstandard

from pipeline.readers.compressed import ZSTD_MAGIC, ZSTD_WINDOW

_HEADER_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d+)?[ \t]+(\d{3})")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_PIECE = 1 << 20
_AS_IS = ("identity", "none", "")


class TooLarge(Exception):
    """A body that expands beyond the limit."""


class BadCoding(Exception):
    """A body that is encoded in a way that cannot be undone."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response taken apart.

    Attributes:
        status: 200, 404, …; None where there is no status line: `body` is then the whole payload.
        headers: the first value of each header, names in lower case.
        body: the rest, still encoded.
    """

    status: int | None
    headers: dict[str, str]
    body: bytes


def parse_response(payload: bytes) -> Response:
    """Return the response in `payload`. LF-only headers, folded lines and missing reasons are taken as meant."""
    status = _STATUS.match(payload)
    if status is None:
        return Response(None, {}, payload)
    end = _HEADER_END.search(payload)
    head, body = (payload, b"") if end is None else (payload[: end.start()], payload[end.end() :])
    return Response(int(status[1]), parse_fields(head, skip=1), body)


def parse_fields(head: bytes, skip: int = 0) -> dict[str, str]:
    """Return the fields of a header block: first value of each, names in lower case, folded lines joined.

    Args:
        skip: lines at the start that are no fields.
    """
    fields: dict[str, str] = {}
    name = ""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    for line in text.split("\n")[skip:]:
        if line[:1] in (" ", "\t"):
            if name:
                fields[name] = f"{fields[name]} {line.strip()}".strip()
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not colon or name in fields:
            name = ""
        elif name:
            fields[name] = value.strip()
    return fields


def decode_body(response: Response, limit: int) -> tuple[bytes, bool]:
    """Return the body with its encodings undone, and whether a compressed stream in it ends too soon.

    Raises:
        TooLarge: it expands to more than `limit` bytes.
        BadCoding: it is compressed in a way that cannot be undone.
    """
    body, short = response.body, False
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        body = dechunk(body)
    codings = [c.strip().lower() for c in response.headers.get("content-encoding", "").split(",")]
    for coding in reversed(codings):
        body, cut = undo(coding, body, limit)
        short = short or cut
    if body.startswith(b"\x1f\x8b\x08") and "html" in response.headers.get("content-type", "").lower():
        body, cut = _inflate(body, 31, limit)
        short = short or cut
    return body, short


def dechunk(body: bytes) -> bytes:
    """Return `body` without chunk sizes. From where it is not chunked as it should be, the bytes as they are."""
    parts: list[bytes] = []
    at = 0
    while match := _CHUNK_SIZE.match(body, at):
        size = int(match[1], 16)
        if size == 0:
            return b"".join(parts)
        if match.end() + size > len(body):
            return b"".join([*parts, body[match.end() :]])  # cut inside this chunk
        parts.append(body[match.end() : match.end() + size])
        at = match.end() + size
        at += 2 if body.startswith(b"\r\n", at) else body.startswith(b"\n", at)
    return b"".join([*parts, body[at:]])


def undo(coding: str, body: bytes, limit: int) -> tuple[bytes, bool]:
    """Return `body` with one content-encoding undone, and whether it ends too soon. Raises as `decode_body`."""
    if coding in _AS_IS or not body or body.lstrip()[:1] == b"<":
        return body, False
    if coding in ("gzip", "x-gzip"):
        return _inflate(body, 31, limit) if body.startswith(b"\x1f\x8b") else (body, False)
    if coding == "deflate":
        return _deflate(body, limit)
    if coding == "br":
        return _brotli(body, limit)
    if coding == "zstd":
        return _zstd(body, limit) if body.startswith(ZSTD_MAGIC) else (body, False)
    if _is_text(body):
        return body, False
    raise BadCoding(f"content-encoding {coding[:40]!r} is none we know")


def _is_text(body: bytes) -> bool:
    return not re.search(rb"[\x00-\x08\x0e-\x1a\x7f]", body[:1024])


def _inflate(body: bytes, wbits: int, limit: int) -> tuple[bytes, bool]:
    """Return `body` inflated, all its gzip members; what there is of a stream that is cut or breaks off."""
    parts: list[bytes] = []
    total = 0
    while body:
        inflater = zlib.decompressobj(wbits)
        while not inflater.eof:
            try:
                data = inflater.decompress(body, _PIECE)
            except zlib.error as error:
                if not total:
                    raise BadCoding(f"compressed body cannot be inflated ({error})") from error
                return b"".join(parts), True
            parts.append(data)
            total += len(data)
            if total > limit:
                raise TooLarge(f"its body expands to more than {limit} bytes")
            body = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            if not body and not data and not inflater.eof:
                if not total:
                    raise BadCoding("compressed body ends before its first byte")
                return b"".join(parts), True
        if wbits != 31 or not body.startswith(b"\x1f\x8b"):
            break
    return b"".join(parts), False


def _deflate(body: bytes, limit: int) -> tuple[bytes, bool]:
    """Return `body` inflated, with the zlib header that the standard asks for or, as many servers send it, without."""
    for wbits in (15, -15, 31):
        try:
            return _inflate(body, wbits, limit)
        except BadCoding:
            continue
    if _is_text(body):
        return body, False
    raise BadCoding("body is not deflated as its header says, and no text either")


def _zstd(body: bytes, limit: int) -> tuple[bytes, bool]:
    context = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    try:
        data = context.stream_reader(body, read_across_frames=True).read(limit + 1)
        if not data:
            raise BadCoding("zstd body ends before its first byte")
    except zstandard.ZstdError as error:
        raise BadCoding(f"zstd body cannot be decompressed ({error})") from error
    if len(data) > limit:
        raise TooLarge(f"its body expands to more than {limit} bytes")
    return data, False


def _brotli(body: bytes, limit: int) -> tuple[bytes, bool]:
    from fastwarc.stream_io import BrotliReader

    reader, parts, total = BrotliReader(io.BytesIO(body)), [], 0
    try:
        while data := reader.read(_PIECE):
            parts.append(data)
            total += len(data)
            if total > limit:
                raise TooLarge(f"its body expands to more than {limit} bytes")
    except (OSError, ValueError, EOFError) as error:
        if total:
            return b"".join(parts), True
        if _is_text(body):
            return body, False
        raise BadCoding(f"brotli body cannot be decompressed ({error})") from error
    return b"".join(parts), False
