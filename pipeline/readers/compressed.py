"""Bytes out of plain, gzip, zstd, lz4, bzip2 and xz files, and where their members begin."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from pipeline.readers.feed import CHUNK, PIECE, Feed, PlainFeed
from pipeline.readers.frames import FRAME_HEAD, LZ4_MAGIC, ZSTD_MAGIC, Lz4Feed, ZstdFeed, is_skippable, may_be_frame
from pipeline.readers.streams import BZ2_MAGIC, XZ_MAGIC, Bz2Feed, XzFeed

GZIP_MAGIC = b"\x1f\x8b\x08"
MAGIC = {"gz": GZIP_MAGIC, "zst": ZSTD_MAGIC, "lz4": LZ4_MAGIC}
"""What members begin with, by compression, where reading can begin at a member."""
MOST_EFFORT = 1 << 31
RETURN = 64
_QUICK, _SLOW = 1 << 12, 1 << 16
"""What looking at one place counts that might begin a member."""
_SCAN = 1 << 20
_SALVAGE = 256


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


FEEDS: dict[str, type[Feed]] = {
    "": PlainFeed, "gz": GzipFeed, "zst": ZstdFeed, "lz4": Lz4Feed, "bz2": Bz2Feed, "xz": XzFeed,
}  # fmt: skip


def compression_of(head: bytes) -> str:
    """Return ``gz``, ``zst``, ``lz4``, ``bz2``, ``xz`` or, for none of them, ``""``, told by the first 16 bytes of a file."""
    if head.startswith(b"\x1f\x8b"):
        return "gz"
    if head.startswith(ZSTD_MAGIC) or is_skippable(head):
        return "zst"
    if head.startswith(LZ4_MAGIC):
        return "lz4"
    return "bz2" if BZ2_MAGIC.match(head) else "xz" if head.startswith(XZ_MAGIC) else ""


def open_feed(file: BinaryIO, compression: str, offset: int = 0) -> Feed:
    """Return the feed of `file` from `offset` on (for compressed files the start of a member)."""
    return FEEDS[compression](file, offset)


def find_magic(file: BinaryIO, magic: bytes, start: int, end: int | None = None) -> Iterator[int]:
    """Yield the offsets in ``[start, end)`` of the file at which `magic` stands. The file may be read in between."""
    at, tail = start, b""
    while end is None or at < end:
        file.seek(at)
        block = file.read(_SCAN)
        if not block:
            return
        data, first = tail + block, at - len(tail)
        found = data.find(magic)
        while found >= 0:
            if end is not None and first + found >= end:
                return
            yield first + found
            found = data.find(magic, found + 1)
        at += len(block)
        tail = data[-(len(magic) - 1) :]


@dataclass
class Effort:
    """What damage may still cost, in bytes, so that no file makes a reader search without end.

    What could be read gives `RETURN` times its size back.
    """

    left: int = MOST_EFFORT

    def spend(self, size: int) -> bool:
        """Count `size` bytes, and return whether there is anything left."""
        self.left -= size
        return self.left > 0

    def earn(self, size: int) -> None:
        """Count `size` bytes that could be read."""
        self.left = min(MOST_EFFORT, self.left + RETURN * size)


def next_member(
    file: BinaryIO,
    compression: str,
    start: int,
    begins: Callable[[bytes], bool],
    window: int,
    effort: Effort,
    end: int | None = None,
) -> int | None:
    """Return the first member in ``[start, end)`` whose content begins as it should, None where there is none.

    Args:
        begins: told the first `window` bytes of a member.
        effort: the search ends where it is spent.
    """
    for at in find_magic(file, MAGIC[compression], start, end):
        cost = _QUICK
        if compression == "gz":
            head = _gzip_start(file, at, window)
        else:
            file.seek(at)
            head = b""
            if may_be_frame(file.read(FRAME_HEAD)):
                cost, head = _SLOW, first_bytes(file, compression, window, at)
        if begins(head):
            return at
        if not effort.spend(cost):
            return None
    return None


def _gzip_start(file: BinaryIO, at: int, window: int) -> bytes:
    """Return the first `window` bytes of a gzip member, as far as the next `window` and a kilobyte of the file tell."""
    file.seek(at)
    try:
        return zlib.decompressobj(31).decompress(file.read(window + 1024), window)
    except zlib.error:
        return b""


def first_bytes(file: BinaryIO, compression: str, count: int, offset: int = 0) -> bytes:
    """Return the first `count` decompressed bytes (fewer where there are fewer) from the member at `offset` on."""
    feed = open_feed(file, compression, offset)
    data = bytearray()
    while len(data) < count and (piece := feed.read()):
        data += piece
    return bytes(data[:count])
