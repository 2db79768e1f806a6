"""A target for each reader: small sound files of its format, and what reading a damaged copy of one must give."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pathlib
import random
import tempfile

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import zstandard
from fastwarc.stream_io import Lz4Writer

from pipeline.documents import INPUT_FIELDS, Batch
from pipeline.errors import InputError
from pipeline.readers import Fault, InputFile, ReadOptions, carried_fields, plan_splits, provides, read_split
from tests.pipeline.readers.made import http, page, response, warc_record

ROWS = [{"id": f"d{n}", "text": f"Text number {n}. " * (n % 5), "url": None, "n": n} for n in range(20)]
RECORDS = [
    warc_record("warcinfo", b"software: none\r\n"),
    response(1),
    warc_record("request", b"GET / HTTP/1.1\r\n\r\n"),
    warc_record("response", http(gzip.compress(page(2), mtime=0), Content_Encoding="gzip"), number=2),
    warc_record("response", http(b"1e\r\n" + page(3)[:30] + b"\r\n0\r\n\r\n", Transfer_Encoding="chunked"), number=3),
    response(4, 200),
]
TEXTS = [warc_record("conversion", f"Text {n}.".encode(), number=n, Content_Type="text/plain") for n in range(5)]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
TABLE = b"id,text\n" + b"".join(b'd%d,"Text, number %d"\n' % (n, n) for n in range(20))
TEXT = "A text of several lines, и вторая строка.\r\n" * 40
ARC = b"".join(
    b"http://example.org/%d 1.2.3.4 20240506070809 text/html %d\n%s\n" % (n, len(body), body)
    for n, body in ((n, http(page(n))) for n in range(5))
)


def _lz4(data: bytes) -> bytes:
    sink = io.BytesIO()
    writer = Lz4Writer(sink)
    writer.write(data)
    writer.close()
    return sink.getvalue()


def _parquet(**more: object) -> bytes:
    sink = io.BytesIO()
    table = pa.Table.from_pylist(
        ROWS, pa.schema([("id", "string"), ("text", "string"), ("url", "string"), ("n", "int64")])
    )
    pq.write_table(table, sink, row_group_size=7, **more)
    return sink.getvalue()


def _arrow() -> bytes:
    sink = io.BytesIO()
    feather.write_feather(pa.Table.from_pylist([{"text": row["text"], "n": row["n"]} for row in ROWS]), sink)
    return sink.getvalue()


def _arrow_stream() -> bytes:
    sink = io.BytesIO()
    table = pa.Table.from_pylist([{"text": row["text"], "n": row["n"]} for row in ROWS])
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=6)
    return sink.getvalue()


SOUND = {
    "a.parquet": [_parquet(), _parquet(compression="zstd", use_dictionary=False), _parquet(data_page_version="2.0")],
    "a.arrow": [_arrow()],
    "stream.arrow": [_arrow_stream()],
    "a.warc": [b"".join(RECORDS)],
    "a.warc.gz": [b"".join(gzip.compress(r, mtime=0) for r in RECORDS), gzip.compress(b"".join(RECORDS), mtime=0)],
    "a.warc.zst": [b"".join(zstandard.compress(r) for r in RECORDS)],
    "a.warc.lz4": [b"".join(_lz4(r) for r in RECORDS)],
    "a.wet.gz": [b"".join(gzip.compress(r, mtime=0) for r in TEXTS)],
    "a.arc": [ARC],
    "a.arc.gz": [gzip.compress(ARC, mtime=0)],
    "a.jsonl": [LINES],
    "a.jsonl.gz": [gzip.compress(LINES, mtime=0)],
    "a.jsonl.zst": [zstandard.compress(LINES)],
    "a.jsonl.bz2": [bz2.compress(LINES)],
    "a.jsonl.xz": [lzma.compress(LINES)],
    "utf-16.jsonl": [LINES.decode().encode("utf-16"), LINES.decode().encode("utf-16-be")],
    "a.json": [json.dumps(ROWS, indent=1).encode(), b"\n".join(json.dumps(row, indent=1).encode() for row in ROWS)],
    "a.csv": [TABLE],
    "a.csv.gz": [gzip.compress(TABLE, mtime=0)],
    "utf-16.csv": [TABLE.decode().encode("utf-16")],
    "a.tsv": [TABLE.replace(b",", b"\t")],
    "a.txt": [TEXT.encode(), TEXT.encode("utf-16"), TEXT.encode("koi8-r")],
    "a.txt.bz2": [bz2.compress(TEXT.encode())],
    "a.html": [page(5)],
    "a.html.xz": [lzma.compress(page(6))],
}
"""File name -> sound files of that kind."""
_MARKS = [
    b"WARC/1.0\r\n",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"\x50\x2a\x4d\x18",
    b"PAR1",
    b"\r\n\r\n",
]
_MARKS += [b"Content-Length: 99999999999\r\n", b"\xff" * 8, bytes(8), b"{", b'"', b"\n" * 50, b"\xef\xbb\xbf"]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with one to six wounds; half of the files have some near their end, where footers are."""
    ends = chance.random() < 0.5
    wounded = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        size = len(wounded)
        at = (
            chance.randrange(size + 1) if not ends or chance.random() < 0.5 else max(0, size - chance.randrange(1, 600))
        )
        length = chance.choice([1, 1, 2, 4, 8, 30, 200])
        wound = chance.randrange(7)
        if wound == 0 and at < size:
            wounded[at] ^= 1 << chance.randrange(8)
        elif wound == 1:
            wounded[at : at + length] = chance.randbytes(length)
        elif wound == 2:
            del wounded[at : at + length]
        elif wound == 3:
            wounded[at:at] = chance.choice(_MARKS)
        elif wound == 4:
            wounded[at:at] = wounded[at : at + length] * chance.randint(1, 20)
        elif wound == 5 and chance.random() < 0.3:
            del wounded[at:]
        elif at < size:
            wounded[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
    return bytes(wounded)


def damaged_file(name: str, seed: int) -> bytes:
    """Return damaged file number `seed` of kind `name`, always the same."""
    chance = random.Random(f"{name} {seed}")
    return damaged(chance.choice(SOUND[name]), chance)


def read_damaged(task: tuple[str, int]) -> str:
    """Read one damaged file and return ``read`` or ``refused``; whatever else happens is a defect."""
    name, seed = task
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.write_bytes(damaged_file(name, seed))
        return read_whole(InputFile(str(path), name))


def read_whole(file: InputFile) -> str:
    """Read `file` as a dry run and a worker do, and check what comes."""
    try:
        schema = pa.schema([*INPUT_FIELDS, *carried_fields(file)])
        provides(file)
        splits = plan_splits(file, 2_000)
        for split in splits:
            numbers: set[int] = set()
            for item in read_split(split, ReadOptions(schema, 100_000, {}, 10_000_000)):
                found = (
                    item.numbers.tolist()
                    if isinstance(item, Batch)
                    else [item.number]
                    if isinstance(item, Fault)
                    else []
                )
                if isinstance(item, Fault):
                    assert item.rule
                    assert item.detail
                if isinstance(item, Batch):
                    assert item.data.schema == schema
                    item.data.validate(full=True)
                assert numbers.isdisjoint(found), "a number was given twice"
                numbers.update(found)
    except InputError as error:
        return "refused" if file.name in str(error) else f"refused without its name: {error}"
    return "read"
