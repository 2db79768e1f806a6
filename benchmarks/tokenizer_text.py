"""Makes benchmark text: the HTML and text files below FOLDER, tags crudely removed, as Parquet shards of `text`, `source`.

    python benchmarks/tokenizer_text.py FOLDER OUT [--megabytes N]

FOLDER holds unpacked documentation, for instance Debian packages (``apt-get download PACKAGE`` and
``dpkg-deb -x PACKAGE.deb FOLDER/PACKAGE``): linux-doc-6.1, python3.11-doc, debian-handbook, libreoffice-help-LANG.
The first folder below FOLDER is the source. Files are taken from all sources in turn.
"""

from __future__ import annotations

import argparse
import gzip
import html
import itertools
import pathlib
import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

_DROP = re.compile(r"<(script|style|head)\b.*?</\1>", re.S | re.I)
_TAG = re.compile(r"<[^>]*>")
_BLANK = re.compile(r"[ \t]*\n\s*\n\s*")
SHARD_BYTES = 64 << 20


def text_of(path: pathlib.Path) -> str:
    """Return the text of one file."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "replace")
    if "<html" in text[:2000].lower():
        text = html.unescape(_TAG.sub("", _DROP.sub("", text)))
    return _BLANK.sub("\n\n", text).strip()


def files_in_turn(folder: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """Yield (source, file), one of each source after the other."""
    wanted = {".html", ".htm", ".txt", ".rst", ".gz"}
    per_source = [
        [(sub.name, f) for f in sorted(sub.rglob("*")) if f.suffix in wanted and f.is_file() and not f.is_symlink()]
        for sub in sorted(folder.iterdir())
        if sub.is_dir()
    ]
    for row in itertools.zip_longest(*per_source):
        yield from (item for item in row if item is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=1e9)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, str]] = []
    size = total = shards = 0
    for source, path in files_in_turn(options.folder):
        text = text_of(path)
        rows.append({"text": text, "source": source})
        size += len(text.encode())
        if size >= SHARD_BYTES or total + size >= options.megabytes * 1e6:
            pq.write_table(pa.Table.from_pylist(rows), options.out / f"text-{shards:04d}.parquet", row_group_size=500)
            total, size, rows, shards = total + size, 0, [], shards + 1
        if total >= options.megabytes * 1e6:
            break
    if rows:
        pq.write_table(pa.Table.from_pylist(rows), options.out / f"text-{shards:04d}.parquet", row_group_size=500)
    print(f"{(total + size) / 1e6:.0f} MB of text in {options.out}")


if __name__ == "__main__":
    main()
