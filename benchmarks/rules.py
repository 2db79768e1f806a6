"""What the filter stages cost, in CPU time, beside trafilatura and beside datatrove's filters on the same texts.

    python benchmarks/rules.py [--texts N] [--every K]

The pages of trafilatura's evaluation set are extracted (that is the yardstick), then judged by ours and by
datatrove's in the published order, each stage on what the one before it left, and once more, where what was met
before is remembered, as late in a large shard. Verdicts are compared on the way. Needs ../shared/data.
"""

import argparse
import time

import numpy as np
from datatrove.data import Document as PublishedDocument
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from extraction import pages

from pipeline.documents import Batch
from pipeline.readers.charset import decode_page
from stages.extraction.extract import Extract
from stages.language.language import Language
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition

PAIRS = [
    (GopherRepetition(), GopherRepetitionFilter()),
    (GopherQuality(), GopherQualityFilter()),
    (C4(filter_no_terminal_punct=False), C4QualityFilter(filter_no_terminal_punct=False)),
    (FineWeb(), FineWebQualityFilter()),
]


def warm() -> None:
    """Load models and compiled code, which a worker does once."""
    text = "The first and last of these :) lines has nothing to do with that. " * 30
    for stage in (Language(), *(ours for ours, _ in PAIRS)):
        stage.apply(Batch.of([text + "Another line of it."]))
    for _, theirs in PAIRS:
        theirs.filter(PublishedDocument(text=text + "And this.", id="0"))


def run_ours(texts: list[str]) -> tuple[dict[str, float], list[str]]:
    """Return stage -> CPU seconds, and the texts left."""
    batch = Batch.of(texts)
    batch.documents  # noqa: B018 - made once, by whichever stage comes first
    seconds = {}
    for stage in (Language(min_score=0.0), *(ours for ours, _ in PAIRS)):
        start = time.process_time()
        batch = stage.apply(batch).kept
        seconds[stage.name] = time.process_time() - start
    return seconds, batch.texts


def run_theirs(texts: list[str]) -> tuple[dict[str, float], list[str]]:
    documents = [PublishedDocument(text=text, id="0") for text in texts]
    seconds = {}
    for stage, theirs in PAIRS:
        start = time.process_time()
        documents = [document for document in documents if theirs.filter(document) is True]
        seconds[stage.name] = time.process_time() - start
    return seconds, [document.text for document in documents]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take each K-th page")
    args = parser.parse_args()
    engine = Extract()
    raw = [data for name, data in sorted(pages().items()) if name.endswith(".html")][:: args.every]
    engine.extract(decode_page(raw[0], None).text)
    start = time.process_time()
    texts = [text for data in raw if (text := engine.extract(decode_page(data, None).text))]
    extraction = time.process_time() - start
    print(f"{len(texts)} texts, {np.mean([len(t.encode()) for t in texts]) / 1e3:.1f} kB on average")
    print(f"extraction {extraction / len(raw) * 1e3:.2f} ms a page ({len(raw) / extraction:.0f} pages/s)\n")

    warm()
    first, left = run_ours(texts)
    again, _ = run_ours(texts)
    theirs, their_left = run_theirs(texts)
    print(f"{'stage':20}{'ours µs':>10}{'again µs':>10}{'datatrove µs':>14}{'ratio':>8}   (per text read)")
    for name, seconds in first.items():
        peer = theirs.get(name)
        ratio = f"{peer / seconds:8.1f}" if peer is not None else ""
        print(
            f"{name:20}{seconds / len(texts) * 1e6:10.0f}{again[name] / len(texts) * 1e6:10.0f}"
            f"{'' if peer is None else f'{peer / len(texts) * 1e6:14.0f}':>14}{ratio}"
        )
    total, warmed = sum(first.values()), sum(again.values())
    rules = total - first["language"]
    print(f"\nall: {total / extraction:.1%} of extraction, {warmed / extraction:.1%} with words already met")
    print(f"the four rule sets: {sum(theirs.values()) / rules:.1f} times as fast as datatrove's")
    print(f"kept: ours {len(left)}, datatrove {len(their_left)}, same texts: {left == their_left}")


if __name__ == "__main__":
    main()
