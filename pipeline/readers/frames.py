"""zstd and lz4 files as feeds, frame by frame."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO, cast

import zstandard

from pipeline.readers.feed import CHUNK, PIECE, Feed

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC = b"\x04\x22\x4d\x18"
ZSTD_WINDOW = 1 << 31
"""The largest window of zstd: what ``zstd --ultra --long=31`` writes."""
_ZSTD_SLICE = 1024  # a block of 4 bytes expands to 128 KiB, so this much input gives at most 32 MiB
FRAME_HEAD = 32
_SKIPPABLE = b"\x2a\x4d\x18"  # behind a byte 0x50 to 0x5f
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
_LARGEST_DICTIONARY = 1 << 26


def is_skippable(head: bytes) -> bool:
    """Return whether a frame that zstd and lz4 readers pass over begins with `head`."""
    return head[1:4] == _SKIPPABLE and head[:1] != b"" and head[0] >> 4 == 5


def may_be_frame(head: bytes) -> bool:
    """Return whether a frame of zstd or lz4 may begin with `head`, its first `FRAME_HEAD` bytes: a quick look."""
    if head.startswith(ZSTD_MAGIC):
        try:
            zstandard.get_frame_parameters(head)
        except zstandard.ZstdError:
            return False
        return True
    if len(head) < 7 or head[4] >> 6 != 1 or not 4 <= head[5] >> 4 <= 7:
        return False
    block = head[7 + 8 * bool(head[4] & 8) + 4 * bool(head[4] & 1) :][:4]
    return int.from_bytes(block, "little") & 0x7FFFFFFF <= _most(head[5])


def _most(descriptor: int) -> int:
    """Return the bytes that a block of an lz4 frame may have."""
    return 1 << (8 + 2 * (descriptor >> 4 & 7))


class FrameFeed(Feed):
    """The frames of a file one after the other, those that readers are to skip left out."""

    name, magic = "", b""

    def __init__(self, file: BinaryIO, offset: int = 0):
        super().__init__(file, offset)
        self.size = file.seek(0, os.SEEK_END)
        file.seek(offset)
        self._input = b""
        self._frame: int | None = None

    def _begin(self) -> bool:
        """Go to the next frame; False at the end of the file or where no frame follows."""
        while True:
            while len(self._input) < 8 and (more := self.file.read(CHUNK)):
                self._input += more
            if not self._input:
                return False
            if not is_skippable(self._input) or len(self._input) < 8:
                break
            size = int.from_bytes(self._input[4:8], "little")
            if self.read_to + 8 + size > self.size:
                self._broken(f"a skippable frame of {size} bytes, more than there are", self.read_to, cut=True)
                return False
            self.read_to += 8 + size
            self.file.seek(self.read_to)
            self._input = b""
        self.starts.append((self.position, self.read_to))
        if not self.magic.startswith(self._input[:4]):
            self._broken(f"bytes that are no {self.name} frame", self.read_to)
            return False
        self._frame = self.read_to
        return True


class ZstdFeed(FrameFeed):
    """The frames of a zstd file; windows up to 2 GiB.

    A dictionary in a frame of its own at the start of the file, as WARC files in zstd have one, serves all others
    (https://iipc.github.io/warc-specifications/specifications/warc-zstd/).
    """

    name, magic = "zstd", ZSTD_MAGIC

    def __init__(self, file: BinaryIO, offset: int = 0):
        dictionary = _dictionary(file)
        super().__init__(file, offset)
        self._context = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW, dict_data=dictionary)
        self._decoder = self._context.decompressobj()

    def read(self) -> bytes:
        while self.damage is None:
            if self._frame is None:
                if not self._begin():
                    return b""
                self._decoder = self._context.decompressobj()
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


def _dictionary(file: BinaryIO) -> zstandard.ZstdCompressionDict | None:
    """Return the dictionary that a zstd file begins with, None where it has none that can be read."""
    file.seek(0)
    head = file.read(8)
    if head[:4] != _DICTIONARY:
        return None
    data = file.read(min(int.from_bytes(head[4:8], "little"), _LARGEST_DICTIONARY))
    if data.startswith(ZSTD_MAGIC):
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(data)
            data = reader.read(_LARGEST_DICTIONARY)
        except zstandard.ZstdError:
            return None
    return zstandard.ZstdCompressionDict(data) if data.startswith(_DICTIONARY_MAGIC) else None


class Lz4Feed(FrameFeed):
    """The frames of an lz4 file, cut by us and decompressed by FastWARC."""

    name, magic = "lz4", LZ4_MAGIC

    def read(self) -> bytes:
        from fastwarc.stream_io import Lz4Reader

        while self.damage is None:
            if self._frame is None:
                if not self._begin():
                    return b""
                self._reader = Lz4Reader(cast(BinaryIO, _Blocks(self._blocks())))
            try:
                data = self._reader.read(PIECE)
            except (OSError, ValueError, EOFError, SystemError) as error:
                if self.damage is None:
                    self._broken(f"lz4 frame is damaged ({error})", self._frame or 0)
                return b""
            if data:
                self.position += len(data)
                return bytes(data)
            self._frame = None
        return b""

    def _blocks(self) -> Iterator[bytes]:
        """Yield the frame that begins here piece by piece and nothing behind it; its blocks are hopped through.

        https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
        """
        head = self._take(6)
        flags, largest = head[4:5] or b"\0", head[5:6] or b"\0"
        rest = 1 + 8 * bool(flags[0] & 8) + 4 * bool(flags[0] & 1)
        yield head + self._take(rest)
        most = _most(largest[0])
        while self.damage is None:
            mark = self._take(4)
            size = int.from_bytes(mark, "little") & 0x7FFFFFFF
            if size > most:
                self._broken(f"lz4 frame is damaged (a block of {size} bytes)", self._frame or 0)
            elif size == 0:
                yield mark + self._take(4 * bool(flags[0] & 4))
                return
            else:
                yield mark + self._take(size + 4 * bool(flags[0] & 16))

    def _take(self, count: int) -> bytes:
        """Return the next `count` bytes of the file."""
        if len(self._input) < count:
            self._input += self.file.read(max(CHUNK, count - len(self._input)))
        data, self._input = self._input[:count], self._input[count:]
        self.read_to += len(data)
        if len(data) < count and self.damage is None:
            self._broken("the file ends inside an lz4 frame", self._frame or 0, cut=True)
        return data


class _Blocks:
    """Pieces of bytes as a file that FastWARC reads."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces, self._rest, self._at = pieces, b"", 0

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        self._rest = self._rest or next(self._pieces, b"")
        data, self._rest = self._rest[:count], self._rest[count:]
        self._at += len(data)
        return data
