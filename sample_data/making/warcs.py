"""WARC files as a crawler writes them: every record a gzip member, requests and metadata around the answers."""

from __future__ import annotations

import io
import uuid
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import BufferWARCWriter

DATE = "2024-03-17T08:%02d:%02dZ"


@dataclass(frozen=True)
class Page:
    """An answer of a server.

    Attributes:
        body: as the page is, before encodings.
        coding: ``gzip`` compresses the body; ``chunked`` cuts it in chunks; ``gzip, chunked`` both;
            ``stored gzip`` says so in the header and leaves the body as it is.
        truncated: value of WARC-Truncated.
        id: the record's UUID; None for one that follows from the address.
        damaged: bytes in the middle of the stored record are overwritten.
        cut: the file ends within this record.
    """

    url: str
    body: bytes
    content_type: str | None = "text/html; charset=utf-8"
    status: str = "200 OK"
    coding: str = ""
    truncated: str | None = None
    id: str | None = None
    damaged: bool = False
    cut: bool = False

    @property
    def record_id(self) -> str:
        """The record's UUID, as the ledger shows it."""
        return self.id or record_id(self.url)


def record_id(url: str) -> str:
    """Return the UUID of the record of `url`."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, url))


def warc_bytes(name: str, pages: Iterable[Page]) -> bytes:
    """Return the file called `name` with the answers `pages`."""
    parts = [_record(f"info {name}", "warcinfo", None, b"software: sample\r\nformat: WARC File Format 1.0\r\n", {})]
    for number, page in enumerate(pages):
        date = DATE % (number // 60, number % 60)
        if number % 4 == 0:
            path = "/" + page.url.split("/", 3)[-1]
            request = StatusAndHeaders(f"GET {path} HTTP/1.1", [("Host", page.url.split("/")[2])], is_http_request=True)
            parts.append(_record(f"request {page.url}", "request", page.url, b"", {"WARC-Date": date}, request))
        member = _response(page, date)
        if page.damaged:
            at = len(member) // 2
            member = member[:at] + b"\xff" * 24 + member[at + 24 :]
        if page.cut:
            parts.append(member[: len(member) // 2])
            break
        parts.append(member)
        if number % 5 == 0:
            parts.append(
                _record(f"meta {page.url}", "metadata", page.url, b"fetchTimeMs: 271\r\n", {"WARC-Date": date})
            )
    return b"".join(parts)


def _response(page: Page, date: str) -> bytes:
    body, headers = page.body, [("Date", "Sun, 17 Mar 2024 08:00:00 GMT"), ("Server", "sample")]
    if page.content_type:
        headers.append(("Content-Type", page.content_type))
    if "gzip" in page.coding:
        if not page.coding.startswith("stored"):
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            body = packer.compress(body) + packer.flush()
        headers.append(("Content-Encoding", "gzip"))
    if "chunked" in page.coding:
        body = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in _chunks(body, 4096)) + b"0\r\n\r\n"
        headers.append(("Transfer-Encoding", "chunked"))
    fields = {"WARC-Date": date, "WARC-Record-ID": f"<urn:uuid:{page.record_id}>"}
    if page.truncated:
        fields["WARC-Truncated"] = page.truncated
    http = StatusAndHeaders(page.status, headers, protocol="HTTP/1.1")
    return _record(page.url, "response", page.url, body, fields, http)


def _chunks(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def _record(
    name: str,
    kind: str,
    url: str | None,
    body: bytes,
    fields: dict[str, str],
    http: StatusAndHeaders | None = None,
) -> bytes:
    writer = BufferWARCWriter(gzip=True)
    fields = {"WARC-Record-ID": f"<urn:uuid:{record_id(name)}>", "WARC-Date": DATE % (0, 0), **fields}
    record = writer.create_warc_record(
        url or "", kind, payload=io.BytesIO(body), length=len(body), warc_headers_dict=fields, http_headers=http,
        warc_content_type="application/warc-fields" if http is None else "",
    )  # fmt: skip
    writer.write_record(record)
    return writer.get_contents()
