"""Real texts beside the project (``../shared/data``, or where TOKENMILL_REAL_DATA points) for benchmarks."""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import sys
import tarfile
from collections.abc import Iterator

import zstandard
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding


def data_folder() -> pathlib.Path:
    """Return the folder of real inputs; ends the program with a message where there is none."""
    beside = pathlib.Path(__file__).resolve().parents[1] / "../shared/data"
    folder = pathlib.Path(os.environ.get("TOKENMILL_REAL_DATA", beside))
    if not folder.is_dir():
        sys.exit(f"no folder {folder}: set TOKENMILL_REAL_DATA to where the real inputs are")
    return folder


def archive(path: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file of a ``.tar.zst``."""
    with open(path, "rb") as file:
        plain = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=plain, mode="r|") as tar:
            for member in tar:
                if member.isfile():
                    yield member.name, tar.extractfile(member).read()


def page_text(html: bytes, *, main_content: bool) -> str:
    """Return the text of a page by resiliparse."""
    return extract_plain_text(bytes_to_str(html, detect_encoding(html)), main_content=main_content)


def guide_pages() -> dict[str, str]:
    """Return the text of each page of the installation guide, by architecture/language/page."""
    pages = archive(data_folder() / "neardup" / "installation-guide-html.tar.zst")
    return {
        name.removeprefix("./"): page_text(html, main_content=False) for name, html in pages if name.endswith(".html")
    }


def newswire(size: int) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the newswire articles by id, and the pairs planted among them."""
    folder = data_folder() / "neardup"
    lines = (folder / f"articles_{size}.train").read_text("utf-8", "replace").splitlines()
    pairs = [
        tuple(line.split()) for line in (folder / f"articles_{size}.truth").read_text().splitlines() if line.strip()
    ]
    return dict(line.split(" ", 1) for line in lines if " " in line), pairs  # type: ignore[misc, return-value]


def web_pages() -> dict[str, str]:
    """Return the main text of 990 real web pages in some ten languages, by file."""
    pages = archive(data_folder() / "extract-trafilatura" / "pages.tar.zst")
    return {name: page_text(html, main_content=True) for name, html in pages}


def sentences_by_language() -> dict[str, list[str]]:
    """Return a thousand sentences of each of 75 languages, by language."""
    files = archive(data_folder() / "langid-lingua" / "language-testdata.tar.zst")
    return {pathlib.PurePath(name).stem: data.decode().splitlines() for name, data in files if "/sentences/" in name}


def documents() -> dict[str, str]:
    """Return the documents of the JSON Lines files: web text, arXiv sources, forum answers."""
    found = {}
    files = [*sorted((data_folder() / "docs-jsonl").iterdir()), data_folder() / "quality-dclm" / "majority_data.jsonl"]
    for path in files:
        for number, line in enumerate(_lines(path)):
            if not line.strip():
                continue
            row = json.loads(line)
            text = row.get("text") or row.get("raw_content") or row.get("content")
            if text:
                found[f"{path.name}:{number}"] = text
    return found


def _lines(path: pathlib.Path) -> Iterator[str]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(data, read_across_frames=True).read()
    yield from io.TextIOWrapper(io.BytesIO(data), "utf-8")
