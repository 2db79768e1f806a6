"""Documents out of WARC, WET and ARC files: plain, gzip, zstd or lz4."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.documents import clean_text
from pipeline.guard import guard
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import DEFAULT_SOURCE, Fault, Item, ReadOptions, Split
from pipeline.readers.http import BadCoding, Response, TooLarge, decode_body, parse_fields, parse_response
from pipeline.readers.pages import PAGE_KINDS, body_kind
from pipeline.readers.records import Record, Walk
from pipeline.readers.segments import READ, Segments, kind_of
from pipeline.readers.stopping import until_stop
from pipeline.readers.stream import NO_END, Grammar, Header
from pipeline.storage import open_input


class WarcGrammar:
    """WARC 0.17 to 1.1: a version line, fields, an empty line."""

    window = 16
    _mark = re.compile(rb"WARC/[01]\.\d", re.IGNORECASE)
    _end = re.compile(rb"\r?\n(\r?\n|(?=WARC/[01]\.\d))", re.IGNORECASE)

    def begins(self, data: bytes | bytearray, at: int = 0) -> bool:
        """Return whether a version line stands there."""
        return self._mark.match(data, at) is not None

    def header_end(self, data: bytes | bytearray, start: int, end: int) -> int | None:
        """Return where the empty line behind the fields ends."""
        found = self._end.search(data, start, end)
        if found is None:
            return None
        return found.end() if found[1] else NO_END

    def parse(self, header: bytes) -> Header:
        """Return the fields."""
        fields = parse_fields(header, skip=1)
        length = fields.get("content-length", "")
        return Header(fields, int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None)


class ArcGrammar:
    """ARC 1 and 2: one line ``URL IP date type … length``; URLs hold spaces in real files."""

    window = 1 << 13
    _scheme = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]{1,20}:[^\r\n]")

    def begins(self, data: bytes | bytearray, at: int = 0) -> bool:
        """Return whether a line stands there that begins as a URL does and holds a date with more behind it."""
        if self._scheme.match(data, at) is None:
            return False
        end = data.find(b"\n", at, at + self.window)
        words = bytes(data[at : max(at, end)]).rstrip(b"\r").split(b" ")
        return any(_is_date(word) for word in words[1:-1]) and words[-1] != b""

    def header_end(self, data: bytes | bytearray, start: int, end: int) -> int | None:
        """Return where the line ends."""
        found = data.find(b"\n", start, end)
        return None if found < 0 else found + 1

    def parse(self, header: bytes) -> Header:
        """Return the line as the fields a WARC record would have. Of several dates the last can be the one."""
        words = header.decode("utf-8", "replace").strip().split(" ")
        dates = [at for at in range(2, len(words) - 2) if _is_date(words[at]) and words[at - 1]]
        if not dates or ":" not in words[0]:
            return Header({"warc-target-uri": words[0]}, None)
        url, when, kind, length = " ".join(words[: dates[-1] - 1]), words[dates[-1]], words[dates[-1] + 1], words[-1]
        date = f"{when[:4]}-{when[4:6]}-{when[6:8]}T{when[8:10]}:{when[10:12]}:{when[12:14]}Z"
        what = "warcinfo" if url.startswith("filedesc:") else "response"
        fields = {"warc-type": what, "warc-target-uri": url, "warc-date": date, "content-type": kind}
        return Header(fields, int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None)


def _is_date(word: str | bytes) -> bool:
    return 14 <= len(word) <= 18 and word.isascii() and word.isdigit()


GRAMMARS: dict[str, Grammar] = {"warc": WarcGrammar(), "wet": WarcGrammar(), "arc": ArcGrammar()}


@dataclass
class WarcReader:
    """Reads one split: `read` yields its documents and faults."""

    split: Split
    options: ReadOptions
    compression: str
    number: int = 0

    def __post_init__(self) -> None:
        self.batches = BatchBuilder(self.options.schema, self.options.batch_bytes)
        self._segments = Segments(self.options.max_record_bytes)

    def read(self) -> Iterator[Item]:
        """Yield batches, faults and what was ignored as they come."""
        grammar = GRAMMARS[self.split.format.partition(".")[0]]
        limit = self.options.max_record_bytes
        with open_input(self.split.file.path) as file:
            walk = Walk(file, self.compression, grammar, self.split.start, self.split.end, limit, self._wants)
            for record in until_stop(self, self._segments.joined(walk)):
                answer = record if isinstance(record, Fault) else self._answer(record)
                if answer is not None:
                    yield from self.batches.add(self.number, answer)
                if isinstance(record, Fault) or answer is not None or kind_of(record.header) in READ:
                    self.number += 1
        yield from self.batches.rest(self.number)

    def _wants(self, header: Header, offset: int) -> bool:
        guard.working_on(self.number, offset)
        if self._segments.wants(header):
            return True
        return kind_of(header) in READ and self.number not in self.options.skip

    def _answer(self, record: Record) -> Fault | dict[str, Any] | None:
        """Return the document in `record`, its fault, or None for a record that is no document."""
        if record.rule:
            return self._fault(record, record.rule, record.detail)
        if kind_of(record.header) not in READ:
            self.batches.ignore(kind_of(record.header))
            return None
        if self.number in self.options.skip:
            return self._fault(record, *self.options.skip[self.number])
        if record.payload is None:
            return self._fault(record, "record_too_large", f"{record.header.length} bytes")
        try:
            return self._document(record, record.payload)
        except TooLarge as error:
            return self._fault(record, "record_too_large", str(error))
        except BadCoding as error:
            return self._fault(record, "bad_content_encoding", str(error))

    def _document(self, record: Record, payload: bytes) -> Fault | dict[str, Any] | None:
        fields = record.header.fields
        if kind_of(record.header) == "conversion":
            return self._conversion(record, payload)
        response = parse_response(payload)
        content_type = response.headers.get("content-type")
        if response.status is None:
            response = Response(None, {}, payload)
            declared = fields.get("content-type", "")
            content_type = None if declared.startswith(("application/http", "no-type")) else declared
        elif not 200 <= response.status < 300 or response.status == 206:
            self.batches.ignore(f"status {response.status}")
            return None
        raw, short = decode_body(response, self.options.max_record_bytes)
        kind = body_kind(raw, content_type)
        if kind not in PAGE_KINDS:
            self.batches.ignore(f"not a page: {kind}")
            return None
        if self.options.schema.get_field_index("raw") < 0:
            return self._fault(
                record, "unexpected_page", "a page in a file that begins with texts: give pages a file of their own"
            )
        row = self._row(record)
        row.update(raw=raw, content_type=content_type, truncated=row["truncated"] or ("unspecified" if short else None))
        return row

    def _conversion(self, record: Record, payload: bytes) -> dict[str, Any] | None:
        declared = record.header.fields.get("content-type", "text/plain")
        if not declared.startswith("text/plain"):
            self.batches.ignore(f"conversion: {declared[:60]}")
            return None
        return {**self._row(record), "text": payload.decode("utf-8", "replace")}

    def _row(self, record: Record) -> dict[str, Any]:
        fields, file = record.header.fields, self.split.file
        return {
            "id": self._id(record),
            "url": _url(record.header),
            "source": file.source or DEFAULT_SOURCE,
            "truncated": fields.get("warc-truncated"),
            "date": fields.get("warc-date"),
            "file": file.name,
            "offset": record.offset,
        }

    def _id(self, record: Record) -> str:
        """Return the record's own id, bare, or the file's name with the place in it."""
        own = record.header.fields.get("warc-record-id", "").strip("<> ").removeprefix("urn:uuid:")
        if own:
            return clean_text(own)
        inside = f"+{record.inside}" if record.inside and self.compression else ""
        return f"{self.split.file.name}#{record.offset}{inside}"

    def _fault(self, record: Record, rule: str, detail: str) -> Fault:
        return Fault(self.number, record.offset, rule, detail, self._id(record), _url(record.header))


def _url(header: Header) -> str | None:
    url = header.fields.get("warc-target-uri")
    return clean_text(url.strip("<> ")) if url else None
