"""Documents out of JSON lines: plain, gzip or zstd.

Offsets count decompressed bytes. Invalid UTF-8 inside a line is replaced by U+FFFD, as browsers do, and the
document is read; a line that is no JSON object is a fault.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from pipeline.documents import clean_text
from pipeline.guard import guard
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.compressed import MAGIC, Effort, first_bytes, next_member, open_feed
from pipeline.readers.contract import DEFAULT_SOURCE, Fault, InputFile, Item, ReadOptions, Split
from pipeline.readers.feed import Feed
from pipeline.readers.stopping import until_stop
from pipeline.storage import open_input

HEAD = 1 << 20
"""Bytes of a file in which its first line is looked for, to tell whether it holds texts or pages."""
_LINE_START = re.compile(rb"\s*[{\[]")
_TAKEN = ("id", "url", "source", "date")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True)
class Keys:
    """What the keys of a file's objects are called.

    Attributes:
        payload: the key of the text or the page.
        column: ``text`` or ``raw``: what it becomes.
        others: our name -> theirs, for id, url, source and date.
    """

    payload: str
    column: str
    others: Mapping[str, str]


def keys_of(file: InputFile, first: Mapping[str, Any] | None) -> Keys:
    """Return the keys of `file`: as the recipe says, else ``text``, else, where `first` has only that, ``html``."""
    others = {ours: file.theirs(ours) or ours for ours in _TAKEN}
    html, text = file.theirs("html"), file.theirs("text")
    if html is None and text is None and first is not None and "text" not in first and "html" in first:
        html = "html"
    if html is not None and text is None:
        return Keys(html, "raw", others)
    return Keys(text or "text", "text", others)


def first_object(file: InputFile, compression: str) -> Mapping[str, Any] | None:
    """Return the first line of `file` that is a JSON object, within its first `HEAD` bytes, or None."""
    with open_input(file.path) as source:
        head = first_bytes(source, compression, HEAD)
    for line in head.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        try:
            value = parse(line) if line.strip() else None
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def parse(line: bytes) -> Any:
    """Return the JSON value in `line`; invalid UTF-8 replaced, lone surrogates and NaN let through.

    Raises:
        ValueError: it is no JSON, or nested beyond Python's recursion limit.
    """
    try:
        return _decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


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
    """

    offset: int
    data: bytes | None
    size: int
    torn: bool = False


def lines(file: BinaryIO, compression: str, start: int, end: int, limit: int) -> Iterator[Line | Damage]:
    """Yield the lines that start in ``[start, end)``, and damage where it lies.

    Args:
        start, end: bytes of a plain file; a compressed one is read whole.
        limit: a longer line comes without its bytes.
    """
    if compression == "":
        # from the byte before, so that a line which begins exactly at `start` is seen to begin there
        first = max(0, start - 1)
        for line in _assemble(open_feed(file, "", first), first, limit):
            if line.offset >= end:
                return
            if line.offset >= start:
                yield line
        return
    at: int | None = 0
    base, effort = 0, Effort()
    while at is not None:
        feed = open_feed(file, compression, at)
        yield from _assemble(feed, base, limit)
        if feed.damage is None:
            return
        base += feed.position
        at = None
        if compression in MAGIC and effort.spend(max(1 << 16, feed.position)):
            at = next_member(file, compression, feed.damaged_at + 1, _begins_line, 64, effort)
        detail = f"{feed.damage}, at byte {feed.damaged_at}" + ("" if at else "; nothing behind it can be read")
        yield Damage(base, "cut_file" if feed.cut else "damaged_region", detail)


def _begins_line(data: bytes) -> bool:
    return _LINE_START.match(data) is not None


def _assemble(feed: Feed, base: int, limit: int) -> Iterator[Line]:
    offset, size, pending = base, 0, []
    while piece := feed.read():
        *full, rest = piece.split(b"\n")
        for part in full:
            size += len(part)
            pending.append(part)
            yield Line(offset, b"".join(pending) if size <= limit else None, size)
            offset += size + 1
            size, pending = 0, []
        size += len(rest)
        pending = [*pending, rest] if size <= limit else []
    if size:
        yield Line(offset, b"".join(pending) if size <= limit else None, size, torn=feed.damage is not None)


@dataclass
class JsonlReader:
    """Reads one split: `read` yields its documents and faults."""

    split: Split
    options: ReadOptions
    compression: str
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield batches and faults as they come. Blank lines are no documents and not counted."""
        guard.working_on(self.number, self.split.start)
        batches = BatchBuilder(self.options.schema, self.options.batch_bytes)
        keys = keys_of(self.split.file, first_object(self.split.file, self.compression))
        limit = self.options.max_record_bytes
        with open_input(self.split.file.path) as file:
            found = lines(file, self.compression, self.split.start, self.split.end, limit)
            for item in until_stop(self, found, self.split.start):
                answer = self._answer(item, keys) if isinstance(item, Line) else self._fault_of(item)
                if answer is not None:
                    yield from batches.add(self.number, answer)
                if answer is not None:
                    self.number += 1
        yield from batches.rest(self.number)

    def _answer(self, line: Line, keys: Keys) -> Fault | dict[str, Any] | None:
        """Return the document in `line`, its fault, or None for a line that is blank or belongs to damage behind it."""
        if line.data is None:
            return self._fault(line, "record_too_large", f"a line of {line.size} bytes")
        data = line.data.removeprefix(codecs.BOM_UTF8) if line.offset == 0 else line.data
        if not data.strip():
            return None
        if self.number in self.options.skip:
            return self._fault(line, *self.options.skip[self.number])
        try:
            value = parse(data)
        except ValueError as error:
            return None if line.torn else self._fault(line, "bad_json", str(error))
        if not isinstance(value, dict):
            return None if line.torn else self._fault(line, "not_an_object", f"the line is a {type(value).__name__}")
        return self._document(line, value, keys)

    def _document(self, line: Line, value: dict[str, Any], keys: Keys) -> Fault | dict[str, Any]:
        file = self.split.file
        row: dict[str, Any] = {"file": file.name, "offset": line.offset}
        payload = value.pop(keys.payload, None)
        for ours, theirs in keys.others.items():
            if theirs in value and not (ours == "source" and file.source is not None):
                row[ours] = _label(value.pop(theirs))
        row["id"] = row.get("id") or f"{file.name}#{line.offset}"
        row["source"] = file.source or row.get("source") or DEFAULT_SOURCE
        if not isinstance(payload, str):
            what = "is null or missing" if payload is None else f"is a {type(payload).__name__}, not a text"
            there = ", ".join(sorted([*value, *(keys.others[k] for k in row if k in keys.others)])[:20])
            detail = f"key {keys.payload!r} {what}; keys there: {there}; name the right one by input.columns"
            return self._fault(line, "no_text", detail, row["id"], row.get("url"))
        if keys.column == "raw":
            row.update(raw=clean_text(payload).encode(), content_type="text/html; charset=utf-8")
        else:
            row["text"] = payload
        if value:
            row["extra"] = canonical_json(value)
        return row

    def _fault(self, line: Line, rule: str, detail: str, id: str | None = None, url: str | None = None) -> Fault:
        text = None if line.data is None else line.data.decode("utf-8", "replace")
        return Fault(self.number, line.offset, rule, detail, id or f"{self.split.file.name}#{line.offset}", url, text)

    def _fault_of(self, damage: Damage | Fault) -> Fault:
        if isinstance(damage, Fault):
            return damage
        return Fault(self.number, damage.offset, damage.rule, damage.detail)


def _label(value: Any) -> str | None:
    """Return a value of an id, url, source or date as a text; other values than texts as JSON."""
    if value is None or isinstance(value, str):
        return clean_text(value) if value else None
    return canonical_json(value)


def canonical_json(value: Any) -> str:
    """Return `value` as JSON with sorted keys and no blanks; lone surrogates become U+FFFD, NaN and infinity null."""
    try:
        return _encode(value).decode()
    except (UnicodeEncodeError, OverflowError, ValueError, TypeError, RecursionError):
        return json.dumps(_cleaned(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return {clean_text(k): _cleaned(v) for k, v in value.items()} if isinstance(value, dict) else value
