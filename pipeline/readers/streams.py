"""Bytes out of bzip2 and xz files, stream after stream."""

from __future__ import annotations

import bz2
import lzma
import re
from typing import Any, BinaryIO, ClassVar

from pipeline.readers.feed import CHUNK, PIECE, Feed

XZ_MAGIC = b"\xfd7zXZ\x00"
XZ_MEMORY = 1 << 30
"""Memory that unpacking a stream of xz may take: the largest of its presets wants 65 MB."""
BZ2_MAGIC = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")


class StreamsFeed(Feed):
    """The streams of a bzip2 or xz file one after the other."""

    kind: ClassVar[str]
    magic: ClassVar[bytes]

    def __init__(self, file: BinaryIO, offset: int = 0):
        super().__init__(file, offset)
        self._input = b""
        self._stream: int | None = None
        self._decoder: Any = None

    def begin(self) -> Any:
        """Return a decoder of one stream."""
        raise NotImplementedError

    def read(self) -> bytes:
        while self.damage is None:
            if self._stream is None and not self._begin():
                return b""
            if self._decoder.needs_input and not self._input:
                self._input = self.file.read(CHUNK)
                if not self._input:
                    return self._broken(f"the file ends inside a stream of {self.kind}", self._stream or 0, cut=True)
            try:
                data = self._decoder.decompress(self._input, PIECE)
            except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
                return self._broken(f"stream of {self.kind} is damaged ({error})", self._stream or 0)
            ended = self._decoder.eof
            rest = self._decoder.unused_data if ended else b""
            self.read_to += len(self._input) - len(rest)
            self._input = rest
            if ended:
                self._stream = None
            if data:
                self.position += len(data)
                return bytes(data)
        return b""

    def _begin(self) -> bool:
        if not self._input:
            self._input = self.file.read(CHUNK)
        padding = len(self._input) - len(self._input.lstrip(b"\0"))
        while padding == len(self._input) and self._input:  # xz may be padded with zeros
            self.read_to += padding
            self._input = self.file.read(CHUNK)
            padding = len(self._input) - len(self._input.lstrip(b"\0"))
        self.read_to += padding
        self._input = self._input[padding:]
        if not self._input:
            return False
        if len(self._input) < len(self.magic):
            self._input += self.file.read(CHUNK)
        self.starts.append((self.position, self.read_to))
        if not self.magic.startswith(self._input[: len(self.magic)]):
            self._broken(f"bytes that are no stream of {self.kind}", self.read_to)
            return False
        self._stream, self._decoder = self.read_to, self.begin()
        return True


class Bz2Feed(StreamsFeed):
    """The streams of a bzip2 file."""

    kind = "bzip2"
    magic = b"BZh"

    def begin(self) -> Any:
        return bz2.BZ2Decompressor()


class XzFeed(StreamsFeed):
    """The streams of an xz file."""

    kind = "xz"
    magic = XZ_MAGIC

    def begin(self) -> Any:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)
