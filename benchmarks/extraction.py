"""How well and how fast pages become text, by engine, on trafilatura's evaluation set of 990 pages.

    python benchmarks/extraction.py [--pages N] [ENGINE ...]    quality and speed of each engine
    python benchmarks/extraction.py --against-library           our engines and the library in turns, page by page
    python benchmarks/extraction.py --domains                   default engine and library on ten parts of the sites
    python benchmarks/extraction.py --glance                    what only_languages drops, held against the text's language
    python benchmarks/extraction.py --prices                    what each metadata column costs

Engines: best, trafilatura, fast, resiliparse, and library (trafilatura called by itself on the same decoded pages).
A segment that must be in the text counts as found when the text holds it after white space is made alike; one that
must not be there counts against precision. Times are CPU times. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import logging
import pathlib
import statistics
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import trafilatura
import zstandard

from pipeline.documents import Batch
from pipeline.readers.charset import decode_page
from stages.extraction import quick
from stages.extraction.extract import Extract
from stages.extraction.metadata import FIELDS

DATA = pathlib.Path(__file__).resolve().parents[1] / "../shared/data/extract-trafilatura"
Engine = Callable[[str, str], str | None]


@dataclass
class Page:
    """An annotated page: its address, its source, and what must and what must not be in its text."""

    url: str
    html: str
    wanted: list[str]
    unwanted: list[str]


@dataclass
class Score:
    """Segments found, missed, and found though they must not be."""

    found: int = 0
    missed: int = 0
    wrong: int = 0
    seconds: list[float] = field(default_factory=list)

    def add(self, page: Page, text: str | None) -> None:
        text = " ".join((text or "").split())
        hits = sum(" ".join(segment.split()) in text for segment in page.wanted)
        self.found, self.missed = self.found + hits, self.missed + len(page.wanted) - hits
        self.wrong += sum(" ".join(segment.split()) in text for segment in page.unwanted)

    def __str__(self) -> str:
        precision, recall = self.found / max(1, self.found + self.wrong), self.found / max(1, self.found + self.missed)
        f = 2 * precision * recall / max(1e-9, precision + recall)
        speed = f"  {len(self.seconds) / sum(self.seconds):6.0f} pages/s" if self.seconds else ""
        return f"P {precision:.4f}  R {recall:.4f}  F {f:.4f}{speed}"


def pages() -> list[Page]:
    """Return the annotated pages, decoded."""
    raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader((DATA / "pages.tar.zst").open("rb"))
    with tarfile.open(fileobj=io.BytesIO(raw.read())) as tar:
        sources = {
            pathlib.Path(m.name).name: file.read()
            for m in tar
            if m.isfile() and (file := tar.extractfile(m)) is not None
        }
    items = json.loads((DATA / "evaldata.json").read_text()).items()
    return [
        Page(url, decode_page(sources[item["file"]], None).text, item["with"], item["without"])
        for url, item in items
        if item["file"] in sources
    ]


def library(html: str, _: str) -> str | None:
    """Return what trafilatura alone makes of a page."""
    return trafilatura.extract(html, include_comments=False)


ENGINES: dict[str, Engine] = {
    "best": Extract().extract,
    "trafilatura": Extract(engine="trafilatura").extract,
    "library": library,
    "fast": Extract(engine="trafilatura", fast=True).extract,
    "resiliparse": Extract(engine="resiliparse").extract,
}


def timed(engine: Engine, page: Page) -> tuple[str | None, float]:
    start = time.process_time()
    text = engine(page.html, page.url)
    return text, time.process_time() - start


def measure(name: str, items: list[Page]) -> None:
    score = Score()
    for page in items:
        text, seconds = timed(ENGINES[name], page)
        score.add(page, text)
        score.seconds.append(seconds)
    print(f"{name:12} {score}", flush=True)


def plain(text: str | None) -> str:
    """Return `text` without what the stage keeps or takes away on purpose: zero-width joiners, control characters."""
    return "".join(c for c in text or "" if c not in "\u200c\u200d" and (c.isprintable() or c == "\n")).strip()


def against_library(items: list[Page]) -> None:
    """Print how many times as fast as the library each engine is, the two in turns on each page, in five parts."""
    for name in ("best", "trafilatura", "fast"):
        differ, ratios = 0, []
        for part in range(5):
            theirs = ours = 0.0
            for page in items[part::5]:
                text, seconds = timed(library, page)
                theirs += seconds
                own, seconds = timed(ENGINES[name], page)
                ours += seconds
                differ += plain(text) != plain(own)
            ratios.append(theirs / ours)
        same = f"; {differ} of {len(items)} texts are not the library's" if name == "trafilatura" else ""
        print(
            f"{name:12} {statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f}){same}",
            flush=True,
        )


def domains(items: list[Page]) -> None:
    """Print the scores on ten parts, each with sites of its own."""
    parts: list[list[Page]] = [[] for _ in range(10)]
    for page in items:
        host = ".".join((urlsplit(page.url).hostname or "").split(".")[-2:])
        parts[int(hashlib.sha256(host.encode()).hexdigest(), 16) % 10].append(page)
    for number, part in enumerate(parts):
        scores = {name: Score() for name in ("best", "library")}
        for page in part:
            for name, score in scores.items():
                score.add(page, ENGINES[name](page.html, page.url))
        print(f"part {number} ({len(part)} pages)  " + "   ".join(f"{n} {s}" for n, s in scores.items()), flush=True)


def glance(items: list[Page]) -> None:
    """Print what keeping one language alone would drop unextracted, and how often the text is in that language."""
    from stages.language.language import Language

    stage = Language()
    seconds = extraction = 0.0
    sure = wrong = 0
    for page in items:
        start = time.process_time()
        certain = quick.certain_language(page.html)
        seconds += time.process_time() - start
        text, taken = timed(ENGINES["best"], page)
        extraction += taken
        if certain and text:
            sure += 1
            wrong += stage.apply(Batch.of([text])).kept.column("language") != [certain]
    print(f"certain of {sure} of {len(items)} pages, of another opinion than the text's language on {wrong}")
    print(
        f"a glance takes {seconds / len(items) * 1e3:.2f} ms a page, extraction {extraction / len(items) * 1e3:.2f} ms"
    )


def prices(items: list[Page]) -> None:
    """Print what metadata costs: the first column parses the page once more, each further one adds little."""
    plain = Extract()._extract
    for fields in ((), ("title",), ("published",), FIELDS):
        with_fields = Extract(metadata=tuple(fields))._extract
        base = more = 0.0
        for page in items[::3]:
            start = time.process_time()
            plain(page.html, page.url)
            between = time.process_time()
            with_fields(page.html, page.url)
            base += between - start
            more += time.process_time() - between
        print(f"{', '.join(fields) or 'none':60} {(more / base - 1) * 100:+.0f} %", flush=True)


def main() -> None:
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--pages", type=int, default=None, help="only the first N")
    for other in (against_library, domains, glance, prices):
        parser.add_argument(f"--{other.__name__.replace('_', '-')}", action="store_const", const=other, dest="other")
    args = parser.parse_args()
    items = pages()[: args.pages]
    for engine in ENGINES.values():
        engine(items[0].html, items[0].url)  # loading libraries and stop lists is no page's time
    if args.other:
        args.other(items)
        return
    for name in args.engines:
        measure(name, items)


if __name__ == "__main__":
    main()
