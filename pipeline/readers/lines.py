"""Lines of a text file, and the values of a JSON text as if each were one, past whatever is damaged between them.

Offsets count decompressed bytes; of a file in UTF-16 or UTF-32, the bytes it has as UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from pipeline.readers.compressed import MAGIC, Effort, next_member
from pipeline.readers.feed import Feed
from pipeline.readers.packed import open_packed

_SPACE = (b"\n", b"\r", b"\t", b" ")
_BLANK = re.compile(rb"(?:[ \t\r]*+\n)++")
_LINE_START = re.compile(rb"\s*[{\[]")


@dataclass(slots=True)
class Damage:
    """Bytes between two lines that could not be had, and why."""

    offset: int
    rule: str
    detail: str


@dataclass(slots=True)
class Line:
    """A line without its line break.

    Attributes:
        data: None where the line is longer than the limit.
        torn: what follows it could not be had, so that it may not be whole.
        before: lines in front of it that were passed over.
    """

    offset: int
    data: bytes | None
    size: int
    torn: bool = False
    before: int = 0


Passes = Callable[[bytes, int], int]
"""Given bytes and a place in them where a line begins, returns where the first line begins that counts."""


def past_blank(data: bytes, at: int) -> int:
    """Pass over lines that hold nothing but blanks."""
    if data[at : at + 1] not in _SPACE:
        return at
    passed = _BLANK.match(data, at)
    return at if passed is None else passed.end()


def lines(
    file: BinaryIO, packing: str, start: int, end: int, limit: int, *, passes: Passes | None = None
) -> Iterator[Line | Damage]:
    """Yield the lines that start in ``[start, end)``, and damage where it lies.

    Args:
        start, end: bytes of a plain file; a compressed one is read whole.
        limit: a longer line comes without its bytes.
        passes: lines to pass over behind another, however many there are; they do not come.
    """
    if packing == "":
        # from the byte before, so that a line which begins exactly at `start` is seen to begin there
        first = max(0, start - 1)
        for line in _assemble(open_packed(file, "", first), first, limit, passes):
            if line.offset >= end:
                return
            if line.offset >= start:
                yield line
        return
    at: int | None = 0
    base, effort = 0, Effort()
    while at is not None:
        feed = open_packed(file, packing, at)
        yield from _assemble(feed, base, limit, passes)
        if feed.damage is None:
            return
        base += feed.position
        at = None
        if packing in MAGIC and effort.spend(max(1 << 16, feed.position)):
            at = next_member(file, packing, feed.damaged_at + 1, _begins_line, 64, effort)
        detail = f"{feed.damage}, at byte {feed.damaged_at}" + ("" if at else "; nothing behind it can be read")
        yield Damage(base, "cut_file" if feed.cut else "damaged_region", detail)


def _begins_line(data: bytes) -> bool:
    return _LINE_START.match(data) is not None


def _assemble(feed: Feed, base: int, limit: int, passes: Passes | None) -> Iterator[Line]:
    offset, size, before = base, 0, 0
    pending: list[bytes] = []
    while piece := feed.read():
        at = 0
        while (end := piece.find(b"\n", at)) >= 0:
            part = piece[at:end]
            size += len(part)
            pending.append(part)
            yield Line(offset, b"".join(pending) if size <= limit else None, size, before=before)
            offset += size + 1
            size, pending, before = 0, [], 0
            at = end + 1
            if passes is not None and (behind := passes(piece, at)) > at:
                before = piece.count(b"\n", at, behind)
                offset += behind - at
                at = behind
        rest = piece[at:]
        size += len(rest)
        pending = [*pending, rest] if size <= limit else []
    if size:
        yield Line(offset, b"".join(pending) if size <= limit else None, size, feed.damage is not None, before)


def values(file: BinaryIO, packing: str, limit: int) -> Iterator[Line | Damage]:
    """Yield the values of a JSON text, the elements where it is a list, each as a `Line`, and damage where it lies."""
    from pipeline.readers.value_ends import IN_VALUE, fresh, next_value  # compiled code, for the file that needs it

    feed, state = open_packed(file, packing), fresh()
    begin, before, size = 0, 0, 0
    pending: list[bytes] = []
    while piece := feed.read():
        data, at, end = np.frombuffer(piece, np.uint8), 0, 0
        while end >= 0:
            start, end = next_value(data, at, state)
            if start >= 0:
                begin, size, at, pending = before + start, 0, start, []
            if end >= 0 or state[IN_VALUE]:
                part = piece[at : end if end >= 0 else len(piece)]
                size += len(part)
                pending = [*pending, part] if size <= limit else []
            if end >= 0:
                yield Line(begin, b"".join(pending) if size <= limit else None, size)
                at = end
        before += len(piece)
    if state[IN_VALUE]:
        yield Line(begin, b"".join(pending) if size <= limit else None, size, torn=feed.damage is not None)
    if feed.damage is not None:
        rule = "cut_file" if feed.cut else "damaged_region"
        yield Damage(feed.position, rule, f"{feed.damage}, at byte {feed.damaged_at}")
