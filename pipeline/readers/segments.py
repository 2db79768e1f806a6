"""Records that a WARC holds in several segments, put together (WARC 1.1, section 7 and fields 5.18 to 5.20)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.readers.records import Record, Walk
from pipeline.readers.stream import Header

READ = ("response", "resource", "conversion")
"""Types of records that may be documents."""
_ON = 1 << 62


def kind_of(header: Header) -> str:
    """Return the type of a record, in lower case."""
    return header.fields.get("warc-type", "no record type").lower()[:40]


@dataclass
class Segments:
    """Puts the segments of a record together where they follow it, with nothing between but records that are no documents.

    Segments in other files, or behind other documents, are not looked for: what is there of such a record is a fault,
    never taken for the whole.

    Args:
        limit: bytes that a record may have.
    """

    limit: int
    _first: Record | None = None
    _size: int = 0

    def wants(self, header: Header) -> bool:
        """Return whether the record under `header` continues the one at hand."""
        return (
            self._first is not None
            and kind_of(header) == "continuation"
            and _id(header, "warc-segment-origin-id") == _id(self._first.header, "warc-record-id")
        )

    def joined(self, walk: Walk) -> Iterator[Record]:
        """Yield the records of `walk`, segments joined. A record belongs to the piece of the file that it begins in, its
        segments may lie behind that; each is also yielded by itself, as a record that is no document."""
        end = walk.end
        for record in walk:
            if self._first is not None:
                if self.wants(record.header) and not record.rule:
                    if self._add(record):
                        yield self._done(walk, end)
                elif record.rule or kind_of(record.header) in READ:
                    yield self._done(walk, end)
            if record.offset >= end:
                continue
            if record.payload is not None and not record.rule and _is_first(record.header):
                self._first, self._size = record, len(record.payload)
                self._parts = [record.payload]
                walk.end = _ON
                if _total(record.header) is not None:
                    yield self._done(walk, end)
                continue
            yield record
        if self._first is not None:
            yield self._done(walk, end)

    def _add(self, record: Record) -> bool:
        """Take a segment, and return whether it is the last."""
        assert self._first is not None
        number = record.header.fields.get("warc-segment-number", "")
        if record.payload is None or number != str(len(self._parts) + 1):
            return True
        self._size += len(record.payload)
        self._parts.append(record.payload if self._size <= self.limit else b"")
        total = _total(record.header)
        if total is not None:
            self._first.header.fields["warc-segment-total-length"] = str(total)
        return total is not None

    def _done(self, walk: Walk, end: int) -> Record:
        """Return the record at hand: whole, or as a fault."""
        record, self._first, walk.end = self._first, None, end
        assert record is not None
        total = _total(record.header)
        if self._size > self.limit:
            record.payload, record.rule = None, "record_too_large"
            record.detail = f"{self._size} bytes in {len(self._parts)} segments"
        elif total != self._size:
            record.payload, record.rule = None, "incomplete_record"
            of = "" if total is None else f" of {total}"
            record.detail = f"{self._size}{of} bytes are there, in {len(self._parts)} segments"
        else:
            record.payload = b"".join(self._parts)
        return record


def _is_first(header: Header) -> bool:
    return kind_of(header) in READ and "warc-segment-number" in header.fields


def _total(header: Header) -> int | None:
    value = header.fields.get("warc-segment-total-length", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def _id(header: Header, name: str) -> str:
    return header.fields.get(name, "").strip("<> ")
