"""Bytes out of plain, gzip, zstd and lz4 files, piece by piece, with the places where members begin.

A feed never raises on damaged content and never ends silently: `damage` says why it ended. Its pieces are
bounded, so that a member which expands without end costs no memory.
"""

from __future__ import annotations

import zlib
from collections import deque
from typing import Any, BinaryIO

import zstandard

CHUNK = 1 << 16
PIECE = 1 << 20
GZIP_MAGIC = b"\x1f\x8b\x08"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC = b"\x04\x22\x4d\x18"
MAGIC = {"gz": GZIP_MAGIC, "zst": ZSTD_MAGIC}
"""What members begin with, by compression, where reading can begin at a member."""
ZSTD_WINDOW = 1 << 31
"""The largest window of zstd: what ``zstd --ultra --long=31`` writes."""
_ZSTD_SLICE = 1024  # a block of 4 bytes expands to 128 KiB, so this much input gives at most 32 MiB
_SCAN = 1 << 20
_SALVAGE = 256


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


class GzipFeed(Feed):
    """The members of a gzip file one after the other, from the one at `offset` on."""

    def __init__(self, file: BinaryIO, offset: int = 0):
        super().__init__(file, offset)
        self._input = b""
        self._member: int | None = None
        self._handed = 0  # position at which the member began
        self._inflater = zlib.decompressobj(31)

    def read(self) -> bytes:
        while self.damage is None:
            if self._member is None and not self._begin():
                return b""
            if not self._input:
                self._input = self.file.read(CHUNK)
                if not self._input:
                    return self._broken("the file ends inside a gzip member", self._member or 0, cut=True)
            try:
                data = self._inflater.decompress(self._input, PIECE)
            except zlib.error as error:
                self._broken(f"gzip member is damaged ({error})", self._member or 0)
                data = self._salvaged()
                self.position += len(data)
                return data
            ended = self._inflater.eof
            rest = self._inflater.unused_data if ended else self._inflater.unconsumed_tail
            self.read_to += len(self._input) - len(rest)
            self._input = rest
            if ended:
                self._member = None
            if data:
                self.position += len(data)
                return data
        return b""

    def _begin(self) -> bool:
        """Begin the next member; False at the end of the file or where no member follows."""
        while len(self._input) < 3 and (more := self.file.read(CHUNK)):
            self._input += more
        if not self._input or (self._input[0] == 0 and self._only_zeros()):
            return False
        self.starts.append((self.position, self.read_to))
        if not GZIP_MAGIC.startswith(self._input[:3]):
            self._broken("bytes that are no gzip member", self.read_to)
            return False
        self._member, self._handed = self.read_to, self.position
        self._inflater = zlib.decompressobj(31)
        return True

    def _salvaged(self) -> bytes:
        """Return what the damaged member holds before the damage and behind what was handed out already.

        zlib keeps nothing of a call that fails, so the member is inflated once more, byte by byte near the damage.
        What is read of it then does not depend on where pieces happened to begin.
        """
        assert self._member is not None
        self.file.seek(self._member)
        inflater, known, parts = zlib.decompressobj(31), self.position - self._handed, []
        while piece := self.file.read(_SALVAGE):
            before = inflater.copy()
            try:
                data = inflater.decompress(piece)
            except zlib.error:
                data = _inflate_to_damage(before, piece)
                piece = b""
            parts.append(data[known:])
            known = max(0, known - len(data))
            if not piece:
                break
        return b"".join(parts)

    def _only_zeros(self) -> bool:
        """Return whether nothing but the zero padding that gzip allows is left."""
        if self._input.strip(b"\0"):
            return False
        while more := self.file.read(_SCAN):
            if more.strip(b"\0"):
                self.file.seek(self.read_to + len(self._input))
                return False
        return True


def _inflate_to_damage(inflater: Any, data: bytes) -> bytes:
    """Return what `data` inflates to before the byte at which it is damaged."""
    parts = []
    for at in range(len(data)):
        try:
            parts.append(inflater.decompress(data[at : at + 1]))
        except zlib.error:
            break
    return b"".join(parts)


class ZstdFeed(Feed):
    """The frames of a zstd file one after the other; windows up to 2 GiB; skippable frames passed over."""

    def __init__(self, file: BinaryIO, offset: int = 0):
        super().__init__(file, offset)
        self._input = b""
        self._frame: int | None = None
        self._context = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
        self._decoder = self._context.decompressobj()

    def read(self) -> bytes:
        while self.damage is None:
            if self._frame is None and not self._begin():
                return b""
            if not self._input:
                self._input = self.file.read(CHUNK)
                if not self._input:
                    return self._broken("the file ends inside a zstd frame", self._frame or 0, cut=True)
            piece, rest = self._input[:_ZSTD_SLICE], self._input[_ZSTD_SLICE:]
            try:
                data = self._decoder.decompress(piece)
            except zstandard.ZstdError as error:
                return self._broken(f"zstd frame is damaged ({error})", self._frame or 0)
            unused = self._decoder.unused_data if self._decoder.eof else b""
            self.read_to += len(piece) - len(unused)
            self._input = unused + rest
            if self._decoder.eof:
                self._frame = None
            if data:
                self.position += len(data)
                return data
        return b""

    def _begin(self) -> bool:
        while True:
            while len(self._input) < 8 and (more := self.file.read(CHUNK)):
                self._input += more
            if not self._input:
                return False
            if self._input[1:4] != b"\x2a\x4d\x18" or self._input[0] >> 4 != 5 or len(self._input) < 8:
                break
            self.read_to += 8 + int.from_bytes(self._input[4:8], "little")  # a skippable frame
            self.file.seek(self.read_to)
            self._input = b""
        self.starts.append((self.position, self.read_to))
        if not ZSTD_MAGIC.startswith(self._input[:4]):
            self._broken("bytes that are no zstd frame", self.read_to)
            return False
        self._frame = self.read_to
        self._decoder = self._context.decompressobj()
        return True


class Lz4Feed(Feed):
    """The frames of an lz4 file as one stream, decompressed by FastWARC."""

    def __init__(self, file: BinaryIO, offset: int = 0):
        super().__init__(file, offset)
        from fastwarc.stream_io import Lz4Reader

        self.starts.append((0, offset))
        self._reader = Lz4Reader(file)

    def read(self) -> bytes:
        try:
            data = self._reader.read(CHUNK)
        except (OSError, ValueError, EOFError) as error:
            return self._broken(f"lz4 frame is damaged ({error})", self.damaged_at)
        self.position += len(data)
        return data


FEEDS: dict[str, type[Feed]] = {"": PlainFeed, "gz": GzipFeed, "zst": ZstdFeed, "lz4": Lz4Feed}


def compression_of(head: bytes) -> str:
    """Return ``gz``, ``zst``, ``lz4`` or, for none of them, ``""``, told by the first bytes of a file."""
    if head.startswith(b"\x1f\x8b"):
        return "gz"
    if head.startswith(ZSTD_MAGIC) or (head[1:4] == b"\x2a\x4d\x18" and head[:1] and head[0] >> 4 == 5):
        return "zst"
    return "lz4" if head.startswith(LZ4_MAGIC) else ""


def open_feed(file: BinaryIO, compression: str, offset: int = 0) -> Feed:
    """Return the feed of `file` from `offset` on (for compressed files the start of a member)."""
    return FEEDS[compression](file, offset)


def find_magic(file: BinaryIO, magic: bytes, start: int, end: int | None = None) -> int | None:
    """Return the first offset in ``[start, end)`` of the file at which `magic` stands, or None."""
    at, tail = start, b""
    file.seek(start)
    while end is None or at < end:
        block = file.read(_SCAN)
        if not block:
            return None
        data = tail + block
        found = data.find(magic)
        if found >= 0:
            where = at - len(tail) + found
            return where if end is None or where < end else None
        at += len(block)
        tail = data[-(len(magic) - 1) :]
    return None


def first_bytes(file: BinaryIO, compression: str, count: int, offset: int = 0) -> bytes:
    """Return the first `count` decompressed bytes (fewer where there are fewer) from the member at `offset` on."""
    feed = open_feed(file, compression, offset)
    data = bytearray()
    while len(data) < count and (piece := feed.read()):
        data += piece
    return bytes(data[:count])
