"""Decompressed bytes with a view ahead, and the places in the file they come from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from pipeline.readers.feed import Feed, PlainFeed

HEADER_LIMIT = 1 << 20
"""A record's header is looked for within so many bytes."""
NO_END = -1
_BLANK = re.compile(rb"[\r\n]*")


@dataclass(slots=True)
class Header:
    """The header of a record: its fields, names in lower case, and the length of what follows (None: not said)."""

    fields: dict[str, str]
    length: int | None


class Grammar(Protocol):
    """How records of a format begin."""

    window: int
    """Bytes that tell whether a record begins."""

    def begins(self, data: bytes | bytearray, at: int = 0) -> bool:
        """Return whether a record begins at ``data[at]``."""
        ...

    def header_end(self, data: bytes | bytearray, start: int, end: int) -> int | None:
        """Return where the header at the start of `data`, looked for in ``data[start:end]``, ends; None where it does not
        end there, `NO_END` where another record begins before it ends."""
        ...

    def parse(self, header: bytes) -> Header:
        """Return the header's fields."""
        ...


class Stream:
    """Decompressed bytes of a feed with a view ahead, and the places in the file they come from."""

    def __init__(self, feed: Feed, grammar: Grammar):
        self.feed = feed
        self.grammar = grammar
        self.position = 0
        self._data = bytearray()
        self._ended = False
        self._member = feed.starts[0] if feed.starts else (0, 0)

    @property
    def damage(self) -> str | None:
        """Why the bytes ended, once they have."""
        return self.feed.damage if self.ended else None

    def _fill(self, count: int) -> None:
        while len(self._data) < count and not self._ended:
            piece = self.feed.read()
            if piece:
                self._data += piece
            else:
                self._ended = True

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes, or as many as there are."""
        self._fill(count)
        return bytes(self._data[:count])

    def drop(self, count: int) -> None:
        """Go past `count` bytes that have been seen."""
        del self._data[:count]
        self.position += count

    def place(self) -> tuple[int, int]:
        """Return the offset of the member that the next byte belongs to, and the bytes between its start and here.

        In a plain file each byte is its own place.
        """
        self._fill(1)
        if isinstance(self.feed, PlainFeed):
            return self.feed.offset + self.position, 0
        starts = self.feed.starts
        while starts and starts[0][0] <= self.position:
            self._member = starts.popleft()
        return self._member[1], self.position - self._member[0]

    def skip_blank(self) -> None:
        """Go past line breaks."""
        while True:
            self._fill(2)
            match = _BLANK.match(self._data)
            if match is None or match.end() == 0:
                return
            self.drop(match.end())

    def header(self) -> bytes | None:
        """Take the header that begins here; None where it does not end, or only behind the start of another record."""
        seen, count = 0, 1 << 12
        while True:
            self._fill(count)
            end = self.grammar.header_end(self._data, seen, count)
            if end == NO_END or self._record_within(count if end is None else end) is not None:
                return None
            if end is not None:
                header = bytes(self._data[:end])
                self.drop(end)
                return header
            if count >= HEADER_LIMIT or (self._ended and len(self._data) <= count):
                return None
            seen, count = count - self.grammar.window, count * 4

    def take(self, count: int) -> bytes:
        """Take `count` bytes; fewer where they end, or where a member begins with a record before that."""
        self._fill(count)
        until = self._until_record(min(count, len(self._data)))
        with memoryview(self._data) as view:
            data = bytes(view[:until])
        self.drop(until)
        return data

    def skip(self, count: int, budget: int) -> int:
        """Go past `count` bytes as `take` would, and return how many; stop after `budget` decompressed bytes."""
        gone = 0
        if isinstance(self.feed, PlainFeed):
            gone = min(count, len(self._data))
            self.drop(gone)
            jumped = self.feed.skip(count - gone)
            self.position += jumped
            gone += jumped
        while gone < min(count, budget):
            wanted = min(count - gone, 1 << 20)
            got = len(self.take(wanted))
            gone += got
            if got < wanted:
                break
        return gone

    def _until_record(self, count: int) -> int:
        self._fill(count + self.grammar.window)
        until = self._record_within(count)
        return count if until is None else until

    def _record_within(self, count: int) -> int | None:
        """Return how far ahead, within `count` bytes, a member starts that begins with a record."""
        for position, _ in self.feed.starts:
            ahead = position - self.position
            if ahead >= count:
                return None
            if ahead > 0 and self.grammar.begins(self._data, ahead):
                return ahead
        return None

    def begins(self) -> bool:
        """Return whether a record begins here."""
        self._fill(self.grammar.window)
        return self.grammar.begins(self._data)

    def member_damage(self, budget: int) -> str | None:
        """Return what is wrong with the rest of the member at hand, looking `budget` bytes ahead at most."""
        self.place()
        while not self.feed.starts and not self._ended and len(self._data) < budget:
            self._fill(len(self._data) + 1)
        return None if self.feed.starts or self.feed.cut else self.feed.damage

    @property
    def ended(self) -> bool:
        """Whether the last byte has been seen."""
        return self._ended and not self._data

    def seek_record(self, budget: int | None) -> bool:
        """Go to the next place, after this one, where a record begins; False where the bytes or `budget` end first."""
        self.place()
        used = 0
        while budget is None or used <= budget:
            window = self.grammar.window
            self._fill(1 << 16)
            found = self._find_mark(len(self._data) if self._ended else len(self._data) - window)
            if found is not None:
                self.drop(found)
                return True
            gone = max(0, len(self._data) - (0 if self._ended else window))
            self.drop(gone)
            used += gone
            self.place()
            if self.ended:
                return False
        return False

    def _find_mark(self, until: int) -> int | None:
        """Return where in the bytes at hand the next record begins: behind a line break, or at the start of a member."""
        at = 0
        while (at := self._data.find(b"\n", at, max(0, until))) >= 0:
            at += 1
            if self.grammar.begins(self._data, at):
                break
        member = self._record_within(until if at < 0 else at)
        return member if member is not None else None if at < 0 else at
