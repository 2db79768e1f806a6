"""Writes the sample crawl: ``python sample_data/build.py [--out FOLDER]``.

The same sources give the same documents on every machine, and the same bytes with the same versions of zlib, zstd
and pyarrow. Without --out the files beside this script are rewritten.
"""

from __future__ import annotations

import argparse
import gzip
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from making.crawl import BOOKS, COLUMNS, HTML, LETTERS, TEXTS, Crawl, fill  # noqa: E402
from making.planted import plant_all  # noqa: E402
from making.warcs import warc_bytes  # noqa: E402

HTML_SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("html", pa.large_string()),
        ("fetch", pa.struct([("status", pa.int32()), ("milliseconds", pa.int64())])),
        ("tags", pa.list_(pa.string())),
    ]
)
TEXT_SCHEMA = pa.schema(
    [
        ("doc", pa.string()),
        ("link", pa.dictionary(pa.int32(), pa.string())),
        ("body", pa.string()),
        ("scores", pa.struct([("editor", pa.float64()), ("votes", pa.list_(pa.int64()))])),
    ]
)


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder to write to")
    out = parser.parse_args().out
    (out / "crawl").mkdir(parents=True, exist_ok=True)
    crawl = Crawl()
    fill(crawl)
    plant_all(crawl)
    for name, pages in crawl.warcs.items():
        (out / name).write_bytes(warc_bytes(pathlib.PurePath(name).name, pages))
    for name, rows, schema in ((HTML, crawl.html, HTML_SCHEMA), (TEXTS, crawl.texts, TEXT_SCHEMA)):
        table = pa.Table.from_pylist(rows, schema)
        pq.write_table(table, out / name, compression="zstd", compression_level=9, row_group_size=25)
    lines = crawl.books
    half = len(lines) // 2
    frames = [b"".join(line + b"\n" for line in part) for part in (lines[:half], lines[half:])]
    (out / BOOKS).write_bytes(b"".join(zstandard.ZstdCompressor(level=19).compress(frame) for frame in frames))
    (out / LETTERS).write_bytes(b"".join(gzip.compress(line + b"\n", mtime=0) for line in crawl.letters))
    planted = [COLUMNS, *([row[column] for column in COLUMNS] for row in crawl.planted)]
    (out / "planted.tsv").write_text("".join("\t".join(row) + "\n" for row in planted), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
