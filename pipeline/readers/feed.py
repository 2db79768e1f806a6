"""What every feed is: decompressed bytes piece by piece, with the places where members begin.

A feed never raises on damaged content and never ends silently: `damage` says why it ended. Its pieces are
bounded, so that a member which expands without end costs no memory.
"""

from __future__ import annotations

from collections import deque
from typing import BinaryIO

CHUNK = 1 << 16
"""Bytes read from a file at a time."""
PIECE = 1 << 20
"""Decompressed bytes handed out at a time, where the format can be held to that."""


class Feed:
    """Decompressed bytes of a file.

    Attributes:
        position: decompressed bytes handed out so far.
        starts: (position, offset in the file) of each member that has begun, oldest first.
        damage: why the bytes ended, None at a proper end.
        damaged_at: offset in the file of the member that is damaged, or of what follows the last good one.
        cut: the damage is that the file ends in the midst of a member.
        read_to: offset in the file up to which compressed bytes have been used.
    """

    def __init__(self, file: BinaryIO, offset: int = 0):
        self.file = file
        self.position = 0
        self.starts: deque[tuple[int, int]] = deque()
        self.damage: str | None = None
        self.damaged_at = offset
        self.cut = False
        self.read_to = offset
        file.seek(offset)

    def read(self) -> bytes:
        """Return the next piece; empty at the end or at damage."""
        raise NotImplementedError

    def skip(self, count: int) -> int:
        """Pass over up to `count` bytes without reading them, and return how many; 0 where that cannot be done."""
        return 0

    def _broken(self, why: str, at: int, *, cut: bool = False) -> bytes:
        self.damage, self.damaged_at, self.cut = why, at, cut
        return b""


class PlainFeed(Feed):
    """The file as it is. Its one member begins at `offset`."""

    def __init__(self, file: BinaryIO, offset: int = 0):
        super().__init__(file)
        self.size = file.seek(0, 2)
        self.offset = offset
        self.starts.append((0, offset))
        self._ahead = CHUNK
        file.seek(offset)

    def read(self) -> bytes:
        data = self.file.read(self._ahead)
        self._ahead = min(CHUNK, self._ahead * 4)
        self.position += len(data)
        return data

    def skip(self, count: int) -> int:
        here = self.offset + self.position
        count = max(0, min(count, self.size - here))
        self.file.seek(here + count)
        self._ahead = 1 << 12  # whoever skips mostly skips again after the next header
        self.position += count
        return count
