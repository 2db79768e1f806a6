"""Evaluation sets read as items with named texts: JSON Lines, JSON, CSV, TSV, Parquet and Arrow, plain or packed."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from pipeline.errors import InputError
from pipeline.readers.arrow import check_buffers
from pipeline.readers.compressed import compression_of
from pipeline.readers.packed import first_bytes, open_packed, wide_of
from pipeline.storage import open_input
from stages.decontamination import delimited, json_shapes

ID_KEYS = ("id", "task_id", "question_id", "qid")
"""Keys whose value names an item; where there is none it is called by its number in the file, from 0."""


@dataclass(frozen=True, slots=True)
class Item:
    """One evaluation item: its name in its set, and its texts as (path of the key, text) in their order."""

    name: str
    texts: tuple[tuple[str, str], ...]


def set_name(path: str) -> str:
    """Return what the evaluation set in file `path` is called: the file's name up to its first known ending."""
    name = path.rsplit("/", 1)[-1]
    while (suffix := pathlib.PurePath(name).suffix.lower()) in _ENDINGS:
        name = name[: -len(suffix)]
    return name


def read_items(path: str, fields: tuple[str, ...] = ()) -> Iterator[Item]:
    """Yield the items of the evaluation set in file `path`.

    Args:
        fields: take only these keys; a dot leads into a nested one. Empty: every text there is.

    Raises:
        InputError: the file cannot be read to its end, with the line or row at fault.
    """
    for number, record in enumerate(_records(path)):
        texts = tuple(
            (key, text) for key, text in _texts(record) if not fields or any(_is_below(key, name) for name in fields)
        )
        name = next((str(record[key]) for key in ID_KEYS if isinstance(record, dict) and record.get(key)), str(number))
        yield Item(name, texts)


_PACKED = (".gz", ".zst", ".lz4", ".bz2", ".xz")
_TABLES = (".arrow", ".feather")
_ENDINGS = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", *_TABLES, *_PACKED}


def _is_below(key: str, name: str) -> bool:
    return key == name or key.startswith(name + ".")


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a parsed JSON value with the path of its key; the places in a list are not part of it."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _texts(below, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)):
        for below in value:
            yield from _texts(below, key)


def _records(path: str) -> Iterator[Any]:
    kind = next((s for s in reversed(pathlib.PurePath(path.lower()).suffixes) if s not in _PACKED), "")
    try:
        with open_input(path) as raw:
            if kind == ".parquet":
                for batch in pq.ParquetFile(raw).iter_batches(batch_size=1000):
                    yield from batch.to_pylist()
            elif kind in _TABLES:
                for batch in _record_batches(raw):
                    yield from batch.to_pylist()
            else:
                yield from _parsed(io.TextIOWrapper(io.BytesIO(_unpacked(raw)), "utf-8-sig", newline=""), kind, path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        raise InputError(f"cannot read {path} to its end: {' '.join(str(error).split())[:200]}") from error


def _record_batches(raw: Any) -> Iterator[pa.RecordBatch]:
    whole = raw.read(6) == b"ARROW1"
    raw.seek(0)
    reader = ipc.open_file(raw) if whole else ipc.open_stream(raw)
    for batch in (reader.get_batch(n) for n in range(reader.num_record_batches)) if whole else reader:
        check_buffers(batch)
        yield batch


def _unpacked(raw: Any) -> bytes:
    """Return what the file holds: unpacked by its first bytes, UTF-16 and UTF-32 as UTF-8."""
    packing = compression_of(raw.read(16))
    wide = wide_of(first_bytes(raw, packing, 1 << 16))
    feed = open_packed(raw, ".".join(part for part in (packing, wide) if part))
    data = b"".join(iter(feed.read, b""))
    if feed.damage:
        raise EOFError(feed.damage)
    return data


def _parsed(text: io.TextIOWrapper, kind: str, path: str) -> Iterator[Any]:
    if kind in (".csv", ".tsv"):
        yield from delimited.rows(text.read(), kind)
        return
    if kind not in ("", ".jsonl", ".ndjson", ".json", ".txt"):
        raise InputError(
            f"{path}: an evaluation set is .jsonl, .json, .csv, .tsv, .parquet or .arrow, perhaps with .gz, .zst, .bz2 or .xz"
        )
    first, number = True, 0
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            if first and kind == ".json":
                rest = text.read()
                if not rest.strip() or line.lstrip()[0] == "[" or not _is_json(line):
                    yield from json_shapes.items(json.loads(line + rest))  # one value over the whole file
                    return
                yield json.loads(line)
                for below, other in enumerate(rest.splitlines(), number + 1):
                    number = below
                    if other.strip():
                        yield json.loads(other)
                return
            yield json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number}, is not JSON ({error}); mend or remove it") from error
        first = False


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
