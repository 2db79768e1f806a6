"""How well and how fast pages become text, by engine, on trafilatura's evaluation set.

    python benchmarks/extraction.py [--pages N] [ENGINE ...]

Engines: trafilatura, fast, resiliparse, and, for what our own work around it costs, library (trafilatura called
by itself on the same decoded pages). A segment that must be in the text counts as found when the text holds it
after white space is made alike; one that must not be there counts against precision. Needs ../shared/data.
"""

import argparse
import io
import json
import pathlib
import tarfile
import time

import trafilatura
import zstandard

from pipeline.readers.charset import decode_page
from stages.extraction.extract import Extract

DATA = pathlib.Path(__file__).resolve().parents[1] / "../shared/data/extract-trafilatura"


def pages() -> dict[str, bytes]:
    """Return file name -> raw bytes."""
    raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader((DATA / "pages.tar.zst").open("rb"))
    with tarfile.open(fileobj=io.BytesIO(raw.read())) as tar:
        return {
            pathlib.Path(m.name).name: file.read()
            for m in tar
            if m.isfile() and (file := tar.extractfile(m)) is not None
        }


def library(html: str) -> str | None:
    """Return what trafilatura alone makes of a page."""
    return trafilatura.extract(html, include_comments=False)


ENGINES = {
    "trafilatura": Extract().extract,
    "library": library,
    "fast": Extract(fast=True).extract,
    "resiliparse": Extract(engine="resiliparse").extract,
}


def measure(name: str, items: list[dict], raw: dict[str, bytes]) -> None:
    engine = ENGINES[name]
    found = missed = wrong = rejected = 0
    seconds = decoding = 0.0
    for item in items:
        start = time.process_time()
        html = decode_page(raw[item["file"]], None).text
        between = time.process_time()
        text = " ".join((engine(html) or "").split())
        decoding += between - start
        seconds += time.process_time() - between
        hits = sum(" ".join(segment.split()) in text for segment in item["with"])
        faults = sum(" ".join(segment.split()) in text for segment in item["without"])
        found, missed = found + hits, missed + len(item["with"]) - hits
        wrong, rejected = wrong + faults, rejected + len(item["without"]) - faults
    precision, recall = found / max(1, found + wrong), found / max(1, found + missed)
    f = 2 * precision * recall / (precision + recall)
    print(
        f"{name:12} P {precision:.3f}  R {recall:.3f}  F {f:.3f}  {len(items) / seconds:6.0f} pages/s  "
        f"(decoding {decoding / len(items) * 1e3:.2f} ms a page)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--pages", type=int, default=None, help="only the first N")
    args = parser.parse_args()
    raw = pages()
    items = [item for item in json.loads((DATA / "evaldata.json").read_text()).values() if item["file"] in raw]
    for name in args.engines:
        measure(name, items[: args.pages], raw)


if __name__ == "__main__":
    main()
