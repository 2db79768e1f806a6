"""WARC and ARC records one after the other, past whatever is damaged between them.

The walk knows nothing of what a record means. It knows where one begins (`Grammar`), how long it says it is,
and whether that leads to the next; where it does not, the record is damaged, and the walk goes on at the next
place where a record begins: inside the decompressed bytes if they go on, else at the next gzip member.

A record belongs to the split in which the member that it starts in starts (plain files: in which it starts).
So that a split far inside a file sees the same records as a walk from the beginning, a walk of a gzip file
begins some way ahead of its split, at a member that begins with a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pipeline.readers.compressed import MAGIC, Effort, next_member, open_feed
from pipeline.readers.feed import PlainFeed
from pipeline.readers.stream import Grammar, Header, Stream

LEAD = 8 << 20
"""Compressed bytes ahead of a split from which its walk begins. A gzip file inside a record, stored as it is,
could be taken for members of the crawl only if it were larger than this."""
PATIENCE = 4
"""Times the record limit that is decompressed to pass over one bad record, before looking for the next gzip member
in the compressed bytes instead: a bomb costs bounded time."""
_RECOVERY = 1 << 16
"""Bytes of effort that each search for the next record counts, however short it is."""
_MEMBER_CHECK = 1 << 24
"""Bytes read ahead to see whether a member whose record ends too soon has the right checksum."""


@dataclass(slots=True)
class Record:
    """A record met on the walk.

    Attributes:
        offset: in the file, of the record or of the gzip member it starts in.
        inside: decompressed bytes between the start of that member and the record.
        payload: what follows the header; None where nobody wanted it or it could not be had.
        rule, detail: what is wrong with the record, empty for a good one.
    """

    header: Header
    offset: int
    inside: int
    payload: bytes | None = None
    rule: str = ""
    detail: str = ""


Wants = Callable[[Header, int], bool]


class Walk:
    """The records of one piece of a file.

    Args:
        compression: as `compression_of` tells.
        start, end: records whose member starts in this range are yielded.
        limit: the payload of a longer record is not read.
        wants: asked with header and offset before a record is read; False passes over its payload.
    """

    def __init__(
        self, file: BinaryIO, compression: str, grammar: Grammar, start: int, end: int, limit: int, wants: Wants
    ):
        self.file, self.compression, self.grammar = file, compression, grammar
        self.start, self.end, self.limit, self.wants = start, end, limit, wants
        self.effort = Effort()

    def __iter__(self) -> Iterator[Record]:
        stream: Stream | None = self._open(self._first())
        while stream is not None:
            stream.skip_blank()
            offset, inside = stream.place()
            if offset >= self.end or (not stream.peek(1) and stream.damage is None):
                return
            record = Record(Header({}, None), offset, inside)
            if stream.begins():
                stream = self._read(stream, record)
            else:
                record.rule, record.detail = "damaged_region", stream.damage or "bytes that are no record"
                if stream.damage and stream.feed.cut:
                    record.rule = "cut_file"
                stream = self._recover(stream)
            if stream is None and record.rule == "damaged_region":
                record.detail += "; no record is found behind it"
            if self.effort.left <= 0:
                record.rule = record.rule or "damaged_region"
                record.detail += "; what is behind it looks like records too often without being any, and is not read"
                stream = None
            if offset >= self.start or self.effort.left <= 0:
                yield record

    def _read(self, stream: Stream, record: Record) -> Stream | None:
        """Read the record that begins here into `record`, and return the stream at the next."""
        raw = stream.header()
        if raw is None:
            record.rule, record.detail = "damaged_record", stream.feed.damage or "its header does not end"
            stream.drop(1)
            after = self._recover(stream)
            record.rule = "cut_file" if after is None else "damaged_record"
            return after
        record.header = self.grammar.parse(raw)
        length = record.header.length
        if length is None:
            record.rule, record.detail = "damaged_record", "its header says no length"
            return self._recover(stream)
        body = stream.place()
        if record.offset >= self.start and self.wants(record.header, record.offset) and length <= self.limit:
            record.payload = stream.take(length)
            got = len(record.payload)
        else:
            got = stream.skip(length, PATIENCE * self.limit)
        if got == length and self._lands(stream):
            self.effort.earn(len(raw) + length)
            return stream
        self.effort.spend(got)
        if got < length and got >= PATIENCE * self.limit and stream.damage is None:
            record.payload = None
            record.rule, record.detail = "record_too_large", f"more than {got} bytes"
            return self._next_stream(stream)
        return self._mend(stream, record, body, got)

    def _lands(self, stream: Stream) -> bool:
        """Return whether the record just passed led to another, to the end, or to the end of its member."""
        stream.skip_blank()
        if stream.begins() or (not stream.peek(1) and stream.damage is None):
            return True
        return not isinstance(stream.feed, PlainFeed) and stream.place()[1] == 0

    def _mend(self, stream: Stream, record: Record, body: tuple[int, int], got: int) -> Stream | None:
        """Judge a record whose length leads nowhere, and return the stream at the next thing to read.

        A record that says too little is as good as it says, and the bytes behind it are damage of their own. One that
        says too much holds the next record, or the end of the file, inside its length: it is damaged.
        """
        length = record.header.length
        damage, cut, next_member = stream.damage, stream.feed.cut, got != length and stream.begins()
        landed = stream.place()
        if next_member:
            after: Stream | None = stream
        else:
            after = self._open(*body)
            before = after.position
            # a header whose end is damaged ends with its record, so that the next stands where its payload should
            found = after.begins() or after.seek_record(got)
            if found and after.position - before >= got:
                found = False
            if not found:
                after = self._open(*landed)
                damage = damage or after.member_damage(_MEMBER_CHECK)
                if got == length and (damage is None or cut):
                    return after
                after = self._recover(after)
        record.payload = None
        record.rule = "cut_file" if after is None and got != length else "damaged_record"
        record.detail = (
            f"{got} of its {length} bytes are there" if got != length else f"its length of {length} is wrong"
        )
        if damage:
            record.detail += f": {damage}"
        return after

    def _recover(self, stream: Stream) -> Stream | None:
        """Return a stream at the next place where a record begins, or None where there is none."""
        stream.skip_blank()
        self.effort.spend(_RECOVERY)
        if stream.begins():
            return stream
        budget = None if self.compression == "" else PATIENCE * self.limit
        before = stream.position
        found = stream.seek_record(budget)
        if budget is not None:
            self.effort.spend(stream.position - before)
        return stream if found else self._next_stream(stream)

    def _next_stream(self, stream: Stream) -> Stream | None:
        """Return a stream at the next member that begins with a record, behind the damage or what was given up."""
        if self.compression not in MAGIC:
            return None
        feed = stream.feed
        if feed.damage is None and stream.ended:
            return None
        found = self._next_member(feed.read_to if feed.damage is None else feed.damaged_at + 1)
        return None if found is None else self._open(found)

    def _open(self, offset: int, inside: int = 0) -> Stream:
        self.effort.spend(inside)
        stream = Stream(open_feed(self.file, self.compression, offset), self.grammar)
        while inside > 0 and (gone := stream.skip(inside, inside)):
            inside -= gone
        return stream

    def _first(self) -> int:
        """Return where the walk begins: a member that begins with a record, ahead of the split if there is one."""
        lead = LEAD
        while self.compression == "gz" and (begin := self.start - lead) > 0:
            found = self._next_member(begin, self.start)
            if found is not None:
                return found
            lead *= 4
        return 0

    def _next_member(self, start: int, end: int | None = None) -> int | None:
        """Return the first member in ``[start, end)`` that begins with a record."""
        grammar = self.grammar
        return next_member(self.file, self.compression, start, grammar.begins, grammar.window, self.effort, end)
