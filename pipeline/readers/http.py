"""HTTP responses as crawlers store them: header taken off, transfer- and content-encoding undone.

Servers lie in both headers, and so do crawlers that store decoded pages under the headers they got: bytes that
are not encoded as the header says are taken as they are.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import zstandard

from pipeline.readers.frames import ZSTD_MAGIC, ZSTD_WINDOW

_HEADER_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"[\r\n]{0,4}HTTP/\d(?:\.\d+)?[ \t]+(\d{3})(?!\d)", re.IGNORECASE)
_TUNNEL = re.compile(rb"\d{3}[ \t]+(?:tunnel|connection)[ \t]+established", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_PIECE = 1 << 20
_CHUNK = 1 << 16
_MOST_HEADS = 16
_MOST_CODINGS = 8
_MOST_MEMBERS = 100_000
_LISTS = ("transfer-encoding", "content-encoding")
"""Headers that may be repeated: their values are one list (RFC 9110 section 5.3)."""
_AS_IS = ("identity", "none", "")
_TRANSFER = ("gzip", "x-gzip", "deflate")
"""Transfer codings beside ``chunked`` (RFC 9112 section 7.2); ``compress`` is not met."""


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
    """Return the response in `payload`. LF-only headers, folded lines and missing reasons are taken as meant.

    Interim answers (100, 103) and a proxy's answer to CONNECT stand before the one that counts (RFC 9110 sections 15.2
    and 9.3.6): they are passed over where another answer follows.
    """
    response, at = Response(None, {}, payload), 0
    for _ in range(_MOST_HEADS):
        status = _STATUS.match(payload, at)
        if status is None:
            break
        end = _HEADER_END.search(payload, status.end())
        head_end, at = (len(payload), len(payload)) if end is None else (end.start(), end.end())
        code = int(status[1])
        head = payload[status.start() : head_end].lstrip(b"\r\n")
        headers = parse_fields(head, skip=1, lists=_LISTS)
        response = Response(code, headers, b"")
        tunnel = 200 <= code < 300 and (not headers or _TUNNEL.match(payload, status.start(1)) is not None)
        if not (100 <= code < 200 or tunnel):
            break
    return response if response.status is None else Response(response.status, response.headers, payload[at:])


def parse_fields(head: bytes, skip: int = 0, lists: Sequence[str] = ()) -> dict[str, str]:
    """Return the fields of a header block: first value of each, names in lower case, folded lines joined.

    Args:
        skip: lines at the start that are no fields.
        lists: names of which all values are taken, joined by commas.
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []  # of the field at hand; of one that does not count, none that is kept
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    for line in text.split("\n")[skip:]:
        if line[:1] in (" ", "\t"):
            lines.append(line.strip())
            continue
        name, colon, value = line.partition(":")
        name, lines = name.strip().lower(), [value.strip()]
        if colon and name and name not in found:
            found[name] = lines
        elif colon and name in lists:
            found[name].append(",")
            found[name] += lines
            lines = found[name]
    return {name: " ".join(filter(None, values)) for name, values in found.items()}


def decode_body(response: Response, limit: int) -> tuple[bytes, bool]:
    """Return the body with its encodings undone, and whether a compressed stream in it ends too soon.

    Transfer codings lie around content codings, and the last named of each was applied last (RFC 9112 section 7).

    Raises:
        TooLarge: it expands to more than `limit` bytes.
        BadCoding: it is compressed in a way that cannot be undone.
    """
    body, short = response.body, False
    transfer, content = (_listed(response.headers.get(name, "")) for name in _LISTS)
    if len(transfer) + len(content) > _MOST_CODINGS:
        raise BadCoding(f"body has {len(transfer) + len(content)} encodings, one inside the other")
    for coding in reversed(transfer):
        if coding == "chunked":
            body = dechunk(body)
        elif coding in _TRANSFER:
            body, cut = undo(coding, body, limit)
            short = short or cut
    for coding in reversed(content):
        body, cut = undo(coding, body, limit)
        short = short or cut
    if body.startswith(b"\x1f\x8b\x08") and "html" in response.headers.get("content-type", "").lower():
        body, cut = _inflate(body, 31, limit)
        short = short or cut
    return body, short


def _listed(value: str) -> list[str]:
    """Return the codings that a header names, in lower case and without parameters."""
    return [name for part in value.split(",") if (name := part.partition(";")[0].strip().lower())]


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
    total = at = 0
    for _ in range(_MOST_MEMBERS):
        inflater = zlib.decompressobj(wbits)
        while not inflater.eof:
            data = body[at : at + _CHUNK]
            try:
                piece = inflater.decompress(data, _PIECE)
            except zlib.error as error:
                if not total:
                    raise BadCoding(f"compressed body cannot be inflated ({error})") from error
                return b"".join(parts), True
            at += len(data) - len(inflater.unused_data if inflater.eof else inflater.unconsumed_tail)
            parts.append(piece)
            total += len(piece)
            if total > limit:
                raise TooLarge(f"its body expands to more than {limit} bytes")
            if not data and not piece and not inflater.eof:
                if not total:
                    raise BadCoding("compressed body ends before its first byte")
                return b"".join(parts), True
        if wbits != 31 or not body.startswith(b"\x1f\x8b", at):
            return b"".join(parts), False
    raise BadCoding(f"compressed body has more than {_MOST_MEMBERS} members")


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
