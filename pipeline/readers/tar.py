"""The files in a tar archive, one after the other (POSIX.1-2017, pax; GNU's long names).

Headers are read by code of our own, for what a header claims must cost nothing: a name or a size that is too long to be
one is damage, and no member is held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.readers.feed import Feed

BLOCK = 512
LONGEST_NAME = 1 << 20
"""Bytes of an extended header; one that claims more is damage."""
FILES, EMPTY, SPARSE = (b"0", b"\0", b"7"), (b"1", b"2", b"3", b"4", b"5", b"6"), b"S"
EXTENDED = (b"L", b"K", b"x", b"g")
_PAX = re.compile(rb"(\d{1,9}) ([^=\n]+)=")


@dataclass(frozen=True)
class Member:
    """A file in an archive: its path there, and the bytes it has by its header."""

    path: str
    size: int


@dataclass(frozen=True)
class Broken:
    """Bytes between members that are no member, and why; `offset` is where, in the archive as unpacked."""

    offset: int
    detail: str


def is_tar(head: bytes) -> bool:
    """Return whether a file that begins with `head` is a tar archive: its first header has the sum that it claims."""
    return len(head) >= BLOCK and _sums_up(head[:BLOCK])


class Tar:
    """The members of the archive that `feed` holds, in order; what is not read of a member is passed over.

    Links, folders, devices and sparse files are no members. Behind damage reading goes on at the next header.
    """

    def __init__(self, feed: Feed):
        self.feed = feed
        self.offset = 0
        self._piece, self._at = b"", 0
        self._left = self._padding = 0  # of the member that is read
        self._pending = b""  # a header that was met in looking for one behind damage

    def __iter__(self) -> Iterator[Member | Broken]:
        name, size = "", -1  # by an extended header
        while header := self._header():
            if isinstance(header, Broken):
                yield header
                name, size = "", -1
                continue
            kind, claimed = header[156:157], _number(header[124:136])
            if kind in EXTENDED and 0 <= claimed <= LONGEST_NAME:
                about = self._exactly(claimed + -claimed % BLOCK)[:claimed]
                name = _text(about.split(b"\0", 1)[0]) if kind == b"L" else name
                name, size = _of_pax(about, name, size) if kind == b"x" else (name, size)
                continue
            self._left = 0 if kind in EMPTY else size if size >= 0 else claimed
            if self._left < 0 or kind in EXTENDED:
                yield Broken(self.offset - BLOCK, "a header that claims no size that it can have")
                self._left = 0
            self._padding = -self._left % BLOCK
            if kind in FILES and self._left >= 0:
                yield Member(name or _name(header), self._left)
            elif kind == SPARSE:
                self._pass_map(header)
            name, size = "", -1
            self._pass()

    def read(self) -> bytes:
        """Return the next bytes of the member that is read; empty at its end, or where the archive ends before."""
        piece = self._some(self._left)
        self._left -= len(piece)
        return piece

    @property
    def missing(self) -> int:
        """Bytes of the member that have not been read."""
        return self._left

    def _some(self, most: int) -> bytes:
        if most and self._at == len(self._piece):
            self._piece, self._at = self.feed.read(), 0
        found = self._piece[self._at : self._at + most]
        self._at += len(found)
        self.offset += len(found)
        return found

    def _exactly(self, count: int) -> bytes:
        """Return the next `count` bytes; fewer at the end."""
        found = self._some(count)
        while len(found) < count and (piece := self._some(count - len(found))):
            found += piece
        return found

    def _pass(self) -> None:
        """Pass over what is left of the member."""
        left = self._left + self._padding
        left -= len(self._some(min(left, len(self._piece) - self._at)))
        passed = self.feed.skip(left)
        self.offset += passed
        left -= passed
        while left and (piece := self._some(left)):
            left -= len(piece)
        self._left = self._padding = 0

    def _header(self) -> bytes | Broken | None:
        """Return the next header, what stands in its place, or None at the end."""
        if self._pending:
            header, self._pending = self._pending, b""
            return header
        start, passed = self.offset, 0
        while len(block := self._exactly(BLOCK)) == BLOCK:
            if _sums_up(block):
                if not passed:
                    return block
                self._pending = block
                break
            passed += any(block)  # blocks of zeros end an archive, and another one may be joined to it
            start = start if passed else self.offset
        return Broken(start, f"{passed} blocks of {BLOCK} bytes that are no member") if passed else None

    def _pass_map(self, header: bytes) -> None:
        """Pass over the blocks that tell where the parts of a sparse file lie."""
        more = header[482:483] != b"\0"
        while more and len(block := self._exactly(BLOCK)) == BLOCK:
            more = block[504:505] != b"\0"


def _sums_up(header: bytes) -> bool:
    """Return whether the sum of a header's bytes, its own field as blanks, is what it claims (signed in old archives)."""
    claimed = _number(header[148:156])
    if claimed <= 0:
        return False
    rest = header[:148] + header[156:]
    total = sum(rest) + 8 * 32
    return claimed in (total, total - 256 * sum(byte > 127 for byte in rest))


def _number(field: bytes) -> int:
    """Return an octal number, or GNU's binary one; -1 for what is neither, 0 for an empty field."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits:
        return 0
    return int(digits, 8) if re.fullmatch(rb"[0-7]+", digits) else -1


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _of_pax(about: bytes, name: str, size: int) -> tuple[str, int]:
    """Return the path and size that the records of a pax header give, else `name` and `size`."""
    at = 0
    while (found := _PAX.match(about, at)) and int(found[1]) > found.end() - at:
        value = about[found.end() : at + int(found[1]) - 1]
        if found[2] == b"path":
            name = _text(value)
        elif found[2] == b"size" and value.isdigit() and len(value) < 19:
            size = int(value)
        at += int(found[1])
    return name, size
