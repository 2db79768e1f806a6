"""Files unpacked to text: what `compressed` unpacks, and texts in UTF-16 and UTF-32 as UTF-8.

A packing is what is undone before a file is text: ``gz``, ``bz2``, ``utf-16le``, or two of them, ``gz.utf-16le``.
"""

from __future__ import annotations

import codecs
from typing import BinaryIO

from pipeline.readers.compressed import open_feed
from pipeline.readers.feed import Feed

WIDE = ("utf-16le", "utf-16be", "utf-32le", "utf-32be")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32le"),
    (codecs.BOM_UTF32_BE, "utf-32be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)


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
