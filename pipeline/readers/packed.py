"""Bytes of bzip2 and xz files, and of texts in UTF-16 and UTF-32 as UTF-8, beside what `compressed` unpacks.

A packing is what is undone before a file is text: ``gz``, ``bz2``, ``utf-16le``, or two of them, ``gz.utf-16le``.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import re
from typing import Any, BinaryIO, ClassVar

from pipeline.readers.compressed import CHUNK, FEEDS, PIECE, Feed, compression_of, open_feed

XZ_MAGIC = b"\xfd7zXZ\x00"
XZ_MEMORY = 1 << 30
"""Memory that unpacking a stream of xz may take: the largest of its presets wants 65 MB."""
WIDE = ("utf-16le", "utf-16be", "utf-32le", "utf-32be")
_BZ2_MAGIC = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32le"),
    (codecs.BOM_UTF32_BE, "utf-32be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)


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


class WideFeed(Feed):
    """The text of a feed in UTF-16 or UTF-32, as UTF-8. A byte order mark comes out as that of UTF-8."""

    def __init__(self, inner: Feed, encoding: str):
        super().__init__(inner.file, inner.file.tell())
        self.inner = inner
        self.starts = inner.starts
        self._decode = codecs.getincrementaldecoder(_python(encoding))("replace").decode

    def read(self) -> bytes:
        while True:
            piece = self.inner.read()
            data = self._decode(piece, not piece).encode()
            self.read_to, self.damage = self.inner.read_to, self.inner.damage
            self.damaged_at, self.cut = self.inner.damaged_at, self.inner.cut
            if data or not piece:
                self.position += len(data)
                return data


FEEDS.update(bz2=Bz2Feed, xz=XzFeed)


def packing_of(head: bytes) -> str:
    """Return how a file whose first bytes are `head` is compressed; empty where it is not."""
    if _BZ2_MAGIC.match(head):
        return "bz2"
    return "xz" if head.startswith(XZ_MAGIC) else compression_of(head)


def open_packed(file: BinaryIO, packing: str, offset: int = 0) -> Feed:
    """Return the feed of `file` from `offset` on (for compressed files the start of a member)."""
    compression, encoding = parts_of(packing)
    feed = open_feed(file, compression, offset)
    return WideFeed(feed, encoding) if encoding else feed


def parts_of(packing: str) -> tuple[str, str]:
    """Return compression and wide encoding of `packing`, each empty where there is none."""
    if packing in WIDE:
        return "", packing
    compression, _, encoding = packing.partition(".")
    return compression, encoding


def first_bytes(file: BinaryIO, packing: str, count: int) -> bytes:
    """Return the first `count` bytes of what `file` holds (fewer where there are fewer)."""
    feed = open_packed(file, packing)
    data = bytearray()
    while len(data) < count and (piece := feed.read()):
        data += piece
    return bytes(data[:count])


def wide_of(head: bytes) -> str:
    """Return the wide encoding of a text that begins with `head`: by its mark, else by where its zero bytes stand.

    No text in another encoding holds a zero byte; what is ASCII in a text in UTF-16 or UTF-32, blanks and line breaks at
    the least, has them all in the same places. Empty where it is in none, or is no text.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    quarter = len(head) // 4
    head = head[: quarter * 4]
    zeros = [head[place::4].count(0) for place in range(4)]
    little, big = zeros[1] + zeros[3], zeros[0] + zeros[2]
    if quarter < 4 or not any(zeros):
        return ""
    if min(zeros[2], zeros[3]) > 0.9 * quarter:
        encoding = "utf-32le"
    elif min(zeros[0], zeros[1]) > 0.9 * quarter:
        encoding = "utf-32be"
    elif 8 * min(little, big) > max(little, big) or (2 * max(little, big) < quarter and _is_text(head, "utf-8")):
        return ""
    else:
        encoding = "utf-16le" if little > big else "utf-16be"
    return encoding if _is_text(head, _python(encoding)) else ""


def _is_text(head: bytes, codec: str) -> bool:
    """Return whether `head` is well-formed in `codec` but for its end, without what text does not hold."""
    text = head.decode(codec, "replace")
    return "\ufffd" not in text[:-1] and not any(c < " " and c not in "\t\n\r\f" for c in text)


def _python(encoding: str) -> str:
    """Return Python's name of a wide encoding."""
    return f"{encoding[:6]}-{encoding[6:]}"
