"""Which reader reads a file, told from its content, and how the file is cut into splits."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from pipeline.errors import BrokenInput, InputError
from pipeline.guard import guard
from pipeline.readers.archive import NOT_READ, ArchiveReader, shows
from pipeline.readers.arrow import FILE_MAGIC, STREAM_MAGIC, ArrowReader, arrow_layout
from pipeline.readers.compressed import compression_of, open_feed
from pipeline.readers.contract import Ignored, InputFile, Item, ReadOptions, Split
from pipeline.readers.delimited import DelimitedReader, columns_of
from pipeline.readers.feed import Feed
from pipeline.readers.footers import footer_of
from pipeline.readers.jsonl import JsonlReader, beginning, beginning_of, check_beginning
from pipeline.readers.layout import Layout, layout_of
from pipeline.readers.names import kind_by_name
from pipeline.readers.objects import check_keys, keys_of
from pipeline.readers.packed import first_bytes, open_packed, wide_of
from pipeline.readers.pages import is_binary
from pipeline.readers.parquet import ParquetReader
from pipeline.readers.plain import PlainReader
from pipeline.readers.stopping import stopped
from pipeline.readers.stream import Stream
from pipeline.readers.tar import is_tar
from pipeline.readers.texts import TextsReader
from pipeline.readers.warc import GRAMMARS, WarcReader
from pipeline.storage import open_input

_HEAD = 1 << 16
_TEXTUAL = ("jsonl", "csv", "tsv", "txt", "html")
_OBJECT = re.compile(rb"\{\s*[\"}]")
_LIST = re.compile(rb"\[\s*[\[{\"\]]")
_LONGEST_LINE = 1 << 24
_BEGIN = {
    "parquet": "Parquet but does not begin with PAR1",
    "arrow": "Arrow but does not begin with ARROW1",
    "tar": "an archive but does not begin with the header of one",
}
_TEXTS_LOOKED_AT = 8
"""Records at the start of a WARC in which a `conversion`, and no answer of a server, makes it a WET."""
TABLES = ("parquet", "arrow", "arrows")
"""Formats that bring columns with types."""
NOT_IN_ARCHIVES = ("tar", *TABLES)


def detect_format(file: InputFile) -> str:
    """Return what `file` is: ``parquet``, ``arrow``, ``arrows``, ``warc``, ``wet``, ``arc``, ``jsonl``, ``json``, ``csv``,
    ``tsv``, ``txt``, ``html``, ``tar``, with its packing behind it where it has one (``jsonl.gz``, ``csv.utf-16le``), or ``empty``.
    Content decides; the name only where content says nothing, as with CSV and text.

    Raises:
        InputError: it cannot be opened, or is nothing we read.
    """
    with open_input(file.path) as source:
        magic = source.read(16)
        if not magic:
            return "empty"
        table = _table_of(file, magic)
        if table:
            return table
        compression = packing = compression_of(magic)
        head = first_bytes(source, packing, _HEAD)
        kind = _kind_of(head)
        wide = wide_of(head) if kind is None else ""
        if wide:
            packing = f"{packing}.{wide}" if packing else wide
            head = first_bytes(source, packing, _HEAD)
            kind = _kind_of(head)
        named = kind is None
        kind = kind or kind_by_name(file.name)
        if kind in ("warc", "wet", "arc"):
            packing = compression  # bytes, not a text in any encoding, whatever they look like
        if kind in ("warc", "arc") and _holds_texts(open_feed(source, packing), kind):
            kind = "wet"
        if kind == "jsonl" and _many_lines(open_packed(source, packing), head):
            kind = "json"
    if kind in _BEGIN and named:
        raise InputError(f"{file.name} is called {_BEGIN[kind]}: it is damaged or something else")
    if kind is None or (named and kind in _TEXTUAL and is_binary(head)):
        raise InputError(
            f"{file.name} is of no format that is read here (WARC, WET, ARC, Parquet, Arrow, JSON, CSV, TSV, text, tar; "
            "gzip, zstd, lz4, bzip2, xz): convert it, or take it out of input.paths"
        )
    return f"{kind}.{packing}" if packing else kind


def _table_of(file: InputFile, magic: bytes) -> str | None:
    """Return the kind of a file that brings columns with types, by its first bytes; None for none of these."""
    if magic.startswith(b"PAR1"):
        return "parquet"
    if magic.startswith(FILE_MAGIC):
        return "arrow"
    if magic.startswith(STREAM_MAGIC):
        return "arrows"
    if magic.startswith(b"FEA1"):
        raise InputError(
            f"{file.name} is Feather of version 1, which is not read: write it anew as Feather 2 or Parquet"
        )
    if magic.startswith(b"PK\x03\x04"):
        raise InputError(f"{file.name} is a zip archive, which is not read: unpack it and name its files")
    return None


def _kind_of(head: bytes) -> str | None:
    if is_tar(head):
        return "tar"
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    for kind in ("warc", "arc"):
        if GRAMMARS[kind].begins(start):
            return kind
    return "jsonl" if _OBJECT.match(start) or _LIST.match(start) else None


def _many_lines(feed: Feed, head: bytes) -> bool:
    """Return whether JSON is a list, or values over many lines, rather than a value a line.

    The first line tells: it is no value by itself, while what begins there is one over several lines.
    """
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"["):
        return True
    line = start.split(b"\n", 1)[0]
    if line is start or len(line) == len(start) or beginning(line, "jsonl").objects:
        return False  # a line that goes on behind the head is as good as whole
    data, looked_at = bytearray(), 0
    while len(data) < _LONGEST_LINE and (piece := feed.read()):
        data += piece
        if len(data) < 2 * looked_at:
            continue  # so that a long value is not looked through again with every piece
        looked_at = len(data)
        if beginning(bytes(data), "jsonl").objects:
            return False  # a damaged line among others
        if beginning(bytes(data), "json").objects:
            return True
    return False


def _holds_texts(feed: Feed, kind: str) -> bool:
    """Return whether one of the first records is a `conversion`, and none of them an answer of a server."""
    stream = Stream(feed, GRAMMARS[kind])
    texts = False
    for _ in range(_TEXTS_LOOKED_AT):
        stream.skip_blank()
        raw = stream.header() if stream.begins() else None
        if raw is None:
            break
        header = GRAMMARS[kind].parse(raw)
        what = header.fields.get("warc-type", "").lower()
        if what in ("response", "resource"):
            return False
        texts = texts or what == "conversion"
        length = header.length
        if length is None or length > 1 << 22 or stream.skip(length, length) < length:
            break
    return texts


def plan_splits(file: InputFile, split_bytes: int) -> list[Split]:
    """Return the pieces `file` is read in, in order; none for an empty file.

    They depend on the file and `split_bytes` (bytes as stored) alone. Parquet is cut into runs of row groups; plain
    JSON lines, texts of a document a line or paragraph, and WARC and ARC that are plain or of a gzip member a record, into byte ranges; other files are one piece.
    """
    kind = detect_format(file)
    if kind == "empty":
        return []
    if kind == "parquet":
        return [Split(file, kind, start, end, size=size) for start, end, size in _row_groups(file, split_bytes)]
    with open_input(file.path) as source:
        size = source.seek(0, 2)
        base, _, compression = kind.partition(".")
        crawl = base in GRAMMARS
        whole = not (crawl or base == "jsonl" or (base == "txt" and file.documents != "file"))
        if compression:
            whole = not (crawl and compression == "gz" and _member_a_record(source, base))
    if whole:
        return [Split(file, kind, 0, size, size=size)]
    ends = [(at, min(at + split_bytes, size)) for at in range(0, size, max(1, split_bytes))]
    return [Split(file, kind, start, end, size=end - start) for start, end in ends]


def _member_a_record(source: BinaryIO, kind: str) -> bool:
    """Return whether the first record of a gzip file is a member of its own, so that others may be too."""
    stream = Stream(open_feed(source, "gz"), GRAMMARS[kind])
    raw = stream.header() if stream.begins() else None
    length = None if raw is None else GRAMMARS[kind].parse(raw).length
    if length is None or length > 1 << 26:
        return False
    stream.skip(length, length)
    stream.skip_blank()
    return stream.place()[1] == 0


def _row_groups(file: InputFile, split_bytes: int) -> Iterator[tuple[int, int, int]]:
    groups = footer_of(file).groups
    start, total = 0, 0
    for group, size in enumerate(groups):
        if group > start and total + size > split_bytes:
            yield start, group, total
            start, total = group, 0
        total += size
    if start < len(groups):
        yield start, len(groups), total


def carried_fields(file: InputFile) -> pa.Schema:
    """Return the columns of a Parquet or Arrow file that are carried beside ours; no columns for other formats.

    Raises:
        InputError: the file cannot be read, has no text or page column, or one of a type that is no text.
    """
    kind = detect_format(file)
    if kind not in TABLES:
        return pa.schema([])
    return pa.schema([pa.field(name, kind) for name, _, kind in _layout(file, kind).carried])


def _layout(file: InputFile, kind: str) -> Layout:
    if kind != "parquet":
        return arrow_layout(file, kind)
    return layout_of(file, footer_of(file).schema)


def provides(file: InputFile) -> set[str]:
    """Return what documents of `file` carry: ``text``, ``raw`` (pages), or both. The first records of the file are read.

    Raises:
        InputError: as `carried_fields`, and where none of the first records has a text under the key that should hold it.
    """
    base, _, packing = detect_format(file).partition(".")
    if base in TABLES:
        return set(_layout(file, base).payload)
    if base == "tar":
        return shows(file, packing, _member_provides)
    if base in ("jsonl", "json", "csv", "tsv"):
        if base.startswith("json"):
            found = beginning_of(file, base, packing)
            check_beginning(file, found)
            first: Sequence[Mapping[str, Any]] = found.objects
        else:
            first = columns_of(file, base, packing)[1]
        keys = keys_of(file, first)
        check_keys(file, first, keys, key="key" if base.startswith("json") else "column")
        return {keys.column}
    return {"text"} if base in ("wet", "txt", "empty") else {"raw"}


def _member_provides(file: InputFile) -> set[str]:
    """Return what documents of `file`, which an archive held, carry; nothing for one that cannot be read: it will be a fault."""
    try:
        kind = detect_format(file).partition(".")[0]
    except InputError:
        return set()
    if kind in NOT_IN_ARCHIVES:
        return set()
    try:
        return provides(file)
    except BrokenInput:
        return set()


def read_split(split: Split, options: ReadOptions) -> Iterator[Item]:
    """Yield the documents of `split` in batches, the records that could not be read, and what was ignored; a `Mark` tells
    where everything so far has been delivered. Marks and batches depend on the split and the options alone.

    Numbers rise through the split. Each document and each fault has one of its own; a record that had to be read
    before it proved to be none (an image, a 404) uses one up, so that the same number names the same record however
    often the split is read.

    Raises:
        InputError: the file cannot be opened.
    """
    base, _, packing = split.format.partition(".")
    if not options.opens:
        yield stopped(split, options, options.number)
        return
    guard.working_on(options.number, split.start)
    if base == "parquet":
        yield from ParquetReader(split, options, options.number).read()
    elif base in TABLES:
        yield from ArrowReader(split, options, options.number).read()
    elif base in ("jsonl", "json"):
        yield from JsonlReader(split, options, packing, options.number).read()
    elif base in ("csv", "tsv"):
        yield from DelimitedReader(split, options, packing, options.number).read()
    elif base == "tar":
        yield from ArchiveReader(split, options, packing, _read_member, options.number).read()
    elif base == "txt" and split.file.documents != "file":
        yield from TextsReader(split, options, packing, options.number).read()
    elif base in ("txt", "html"):
        yield from PlainReader(split, options, packing, options.number).read()
    else:
        yield from WarcReader(split, options, packing, options.number).read()


def _read_member(file: InputFile, options: ReadOptions) -> Iterator[Item]:
    """Yield what `file`, which was unpacked from an archive, holds; one without texts, such as facts about a page beside it,
    is counted."""
    kind = detect_format(file).partition(".")[0]
    if kind in NOT_IN_ARCHIVES:
        raise InputError(f"{file.name} is {kind}, which is not read from an archive: unpack it")
    try:
        provides(file)
    except BrokenInput:
        pass  # its lines are faults
    except InputError:
        yield Ignored(f"{NOT_READ}: {kind} without a text", 1)
        return
    for split in plan_splits(file, 1 << 62):
        yield from read_split(split, options)
