"""Which reader reads a file, told from its content, and how the file is cut into splits."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.readers.compressed import compression_of, first_bytes, open_feed
from pipeline.readers.contract import InputFile, Item, ReadOptions, Split
from pipeline.readers.feed import Feed
from pipeline.readers.footers import footer_of
from pipeline.readers.jsonl import JsonlReader, first_object, keys_of
from pipeline.readers.layout import layout_of
from pipeline.readers.parquet import ParquetReader
from pipeline.readers.stream import Stream
from pipeline.readers.warc import GRAMMARS, WarcReader
from pipeline.storage import open_input

_HEAD = 1 << 16
_NAMES = {"warc": ".warc", "wet": ".wet", "arc": ".arc", "jsonl": ".jsonl .ndjson .json", "parquet": ".parquet .parq"}
_ENDINGS = {ending: kind for kind, endings in _NAMES.items() for ending in endings.split()}
_PACKED = (".gz", ".zst", ".zstd", ".lz4")
_ONE_VALUE = re.compile(rb"\s*(?:\[\s*[{\[\"]|\{\s*\n)")
_TEXTS_LOOKED_AT = 8
"""Records at the start of a WARC in which a `conversion`, and no answer of a server, makes it a WET."""


def detect_format(file: InputFile) -> str:
    """Return what `file` is: ``parquet``, ``warc``, ``wet``, ``arc``, ``jsonl``, with ``.gz``, ``.zst`` or ``.lz4``
    behind it where it is compressed, or ``empty``. Content decides; the name only where content says nothing.

    Raises:
        InputError: it cannot be opened, or is nothing we read.
    """
    with open_input(file.path) as source:
        magic = source.read(8)
        if not magic:
            return "empty"
        if magic.startswith(b"PAR1"):
            return "parquet"
        if magic.startswith(b"PK\x03\x04"):
            raise InputError(f"{file.name} is a zip archive, which is not read: unpack it and name its files")
        compression = compression_of(magic)
        head = first_bytes(source, compression, _HEAD)
        kind = _kind_of(head) or _kind_by_name(file.name)
        if kind in ("warc", "arc") and _holds_texts(open_feed(source, compression), kind):
            kind = "wet"
    if kind in (None, "jsonl") and _ONE_VALUE.match(head):
        raise InputError(f"{file.name} is one JSON value over many lines: convert it to JSON lines, one object a line")
    if kind == "parquet":
        raise InputError(f"{file.name} is called Parquet but does not begin with PAR1: it is damaged or something else")
    if kind is None:
        raise InputError(
            f"{file.name} is of no format that is read here (WARC, WET, ARC, Parquet, JSON lines; gzip, zstd, lz4): "
            "convert it, or take it out of input.paths"
        )
    return f"{kind}.{compression}" if compression else kind


def _kind_of(head: bytes) -> str | None:
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    for kind in ("warc", "arc"):
        if GRAMMARS[kind].begins(start):
            return kind
    return "jsonl" if re.match(rb'\{\s*["}]', start) else None


def _kind_by_name(name: str) -> str | None:
    name = name.lower()
    for _ in range(2):
        stem, dot, ending = name.rpartition(".")
        if dot + ending in _ENDINGS:
            return _ENDINGS[dot + ending]
        if dot + ending not in _PACKED:
            return None
        name = stem
    return None


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

    They depend on the file and `split_bytes` (bytes as stored) alone. Parquet is cut into runs of row groups;
    plain files, and WARC and ARC of a gzip member a record, into byte ranges; other compressed files are one piece.
    """
    kind = detect_format(file)
    if kind == "empty":
        return []
    if kind == "parquet":
        return [Split(file, kind, start, end) for start, end in _row_groups(file, split_bytes)]
    with open_input(file.path) as source:
        size = source.seek(0, 2)
        base, _, compression = kind.partition(".")
        whole = compression != "" and not (base != "jsonl" and compression == "gz" and _member_a_record(source, base))
    if whole:
        return [Split(file, kind, 0, size)]
    return [Split(file, kind, at, min(at + split_bytes, size)) for at in range(0, size, max(1, split_bytes))]


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


def _row_groups(file: InputFile, split_bytes: int) -> Iterator[tuple[int, int]]:
    groups = footer_of(file).groups
    start, total = 0, 0
    for group, size in enumerate(groups):
        if group > start and total + size > split_bytes:
            yield start, group
            start, total = group, 0
        total += size
    if start < len(groups):
        yield start, len(groups)


def carried_fields(file: InputFile) -> pa.Schema:
    """Return the columns of a Parquet file that are carried beside ours; no columns for other formats.

    Raises:
        InputError: the file is no Parquet, has no text or page column, or one of a type that is no text.
    """
    if detect_format(file) != "parquet":
        return pa.schema([])
    layout = layout_of(file, footer_of(file).schema)
    return pa.schema([pa.field(name, kind) for name, _, kind in layout.carried])


def provides(file: InputFile) -> set[str]:
    """Return what documents of `file` carry: ``text``, ``raw`` (pages), or both. Raises as `carried_fields`."""
    base, _, compression = detect_format(file).partition(".")
    if base == "parquet":
        return set(layout_of(file, footer_of(file).schema).payload)
    if base == "jsonl":
        return {keys_of(file, first_object(file, compression)).column}
    return {"text"} if base in ("wet", "empty") else {"raw"}


def read_split(split: Split, options: ReadOptions) -> Iterator[Item]:
    """Yield the documents of `split` in batches, the records that could not be read, and what was ignored; a `Mark` tells
    where everything so far has been delivered. Marks and batches depend on the split and the options alone.

    Numbers rise through the split. Each document and each fault has one of its own; a record that had to be read
    before it proved to be none (an image, a 404) uses one up, so that the same number names the same record however
    often the split is read.

    Raises:
        InputError: the file cannot be opened.
    """
    base, _, compression = split.format.partition(".")
    if base == "parquet":
        yield from ParquetReader(split, options).read()
    elif base == "jsonl":
        yield from JsonlReader(split, options, compression).read()
    else:
        yield from WarcReader(split, options, compression).read()
