"""Small files of each format, made in the test, and what reading them gives."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from pipeline.documents import INPUT_FIELDS, Batch
from pipeline.readers import Fault, Ignored, InputFile, ReadOptions, carried_fields, plan_splits, read_split

REAL = pathlib.Path(
    os.environ.get("TOKENMILL_REAL_DATA") or pathlib.Path(__file__).resolve().parents[3] / "../shared/data"
)
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real inputs is not there")
LIMIT = 10_000_000


@dataclass
class Found:
    """What a file gave: rows and faults in the order of their numbers, and counts of what was ignored."""

    items: list[tuple[int, dict[str, Any] | Fault]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    batches: list[Batch] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [item for _, item in self.items if isinstance(item, dict)]

    @property
    def faults(self) -> list[Fault]:
        return [item for _, item in self.items if isinstance(item, Fault)]

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.items]

    def facts(self) -> list[Any]:
        """The items without their numbers, to compare ways of splitting."""
        return [
            tuple(sorted(i.items(), key=lambda kv: kv[0]))
            if isinstance(i, dict)
            else (i.offset, i.rule, i.detail, i.id)
            for _, i in self.items
        ]


def read(
    path,
    *,
    split=1 << 40,
    batch=1_000_000,
    skip=None,
    limit=LIMIT,
    name=None,
    schema=None,
    doubts=(),
    stops=(),
    **file,
) -> Found:
    """Read all splits of the file at `path`; numbers of later splits follow those of earlier ones."""
    source = InputFile(str(path), name or pathlib.Path(path).name, **file)
    schema = schema or pa.schema([*INPUT_FIELDS, *carried_fields(source)])
    found = Found()
    for piece in plan_splits(source, split):
        part: list[tuple[int, Any]] = []
        for item in read_split(piece, ReadOptions(schema, batch, skip or {}, limit, 0, set(doubts), set(stops))):
            if isinstance(item, Batch):
                assert item.data.schema == schema
                item.data.validate(full=True)
                found.batches.append(item)
                part.extend(zip(item.numbers.tolist(), item.data.to_pylist(), strict=True))
            elif isinstance(item, Fault):
                part.append((item.number, item))
            elif isinstance(item, Ignored):
                found.ignored[item.reason] += item.count
        assert len({number for number, _ in part}) == len(part), "a number was given twice"
        found.items.extend(sorted(part, key=lambda pair: pair[0]))
    return found


def warc_record(kind: str, body: bytes, *, number: int = 0, version: str = "1.0", eol: str = "\r\n", **fields) -> bytes:
    """Return a WARC record; `fields` may replace any header, None leaves one out."""
    header: dict[str, Any] = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-0000-0000-{number:012d}>",
        "WARC-Target-URI": f"http://example.org/{number}",
        "WARC-Date": "2024-05-06T07:08:09Z",
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": len(body),
    }
    header.update({name.replace("_", "-"): value for name, value in fields.items()})
    lines = [f"WARC/{version}", *(f"{k}: {v}" for k, v in header.items() if v is not None), "", ""]
    return eol.join(lines).encode() + body + (eol * 2).encode()


def http(body: bytes, *, status: str = "200 OK", content_type: str | None = "text/html", **headers) -> bytes:
    """Return an HTTP response."""
    lines = [f"HTTP/1.1 {status}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    lines.extend(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def page(number: int, words: int = 30) -> bytes:
    """Return a page whose text differs for each `number` and does not compress away."""
    text = " ".join(f"w{(number * 7919 + n * 104729) % 99991}" for n in range(words))
    return f"<!DOCTYPE html><html><head><title>page {number}</title></head><body><p>{text}</p></body></html>".encode()


def response(number: int, words: int = 30, **fields) -> bytes:
    """Return a WARC response record holding page `number`."""
    return warc_record("response", http(page(number, words)), number=number, **fields)


def write_warc(path: pathlib.Path, records: list[bytes], *, member: bool = True) -> pathlib.Path:
    """Write `records`, gzipped by the path's name, each a member of its own or all in one."""
    if path.suffix != ".gz":
        path.write_bytes(b"".join(records))
    elif member:
        path.write_bytes(b"".join(gzip.compress(r, mtime=0) for r in records))
    else:
        path.write_bytes(gzip.compress(b"".join(records), mtime=0))
    return path


def write_jsonl(path: pathlib.Path, rows: list[Any]) -> pathlib.Path:
    """Write `rows` as JSON lines, gzipped by the path's name; bytes are written as they are."""
    data = b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path
