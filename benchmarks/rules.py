"""What the four rule sets cost, in CPU time, beside datatrove's filters on the same texts, with unicode and with spaCy's words.

    python benchmarks/rules.py [--every K] [--rounds N] [--english]

The pages of trafilatura's evaluation set are extracted, then judged by ours and by datatrove's in the published order, each
stage on what the one before it left. Rounds alternate, medians count. "First" begins with nothing known of what spaCy has been asked, "again" has
met all of it, as late in a large shard. With --english: the 499 web documents of DCLM's annotation and the crawl documents
of docs-jsonl instead, which are all English. Kept texts are compared on the way. Needs ../shared/data.
"""

import argparse
import statistics
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
from stages.extraction.extract import Extract
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition
from stages.text import spacy_split
from stages.text.words import Unit
from tests.stages.published import real_documents

THEIRS = [
    GopherRepetitionFilter(),
    GopherQualityFilter(),
    C4QualityFilter(filter_no_terminal_punct=False),
    FineWebQualityFilter(),
]
NAMES = ["gopher_repetition", "gopher_quality", "c4", "fineweb"]


def ours(unit: Unit) -> list:
    """Return our four stages with words of `unit`."""
    return [
        GopherRepetition(words=unit),
        GopherQuality(words=unit),
        C4(words=unit, filter_no_terminal_punct=False),
        FineWeb(words=unit),
    ]


def warm() -> None:
    """Load models, tables and compiled code, which a worker does once."""
    spacy_split.seams()
    text = "The first and last of these :) lines has nothing to do with that. " * 30
    for unit in ("unicode", "spacy"):
        for stage in ours(unit):
            stage.apply(Batch.of([text + "Another line of it."]))
    for theirs in THEIRS:
        theirs.filter(PublishedDocument(text=text + "And this.", id="0"))


def run_ours(texts: list[str], unit: Unit) -> tuple[list[float], list[str]]:
    """Return CPU seconds of each stage, and the texts left."""
    batch = Batch.of(texts)
    batch.documents  # noqa: B018 - made once, by whichever stage comes first
    seconds = []
    for stage in ours(unit):
        start = time.process_time()
        batch = stage.apply(batch).kept
        seconds.append(time.process_time() - start)
    return seconds, batch.texts


def run_theirs(texts: list[str]) -> tuple[list[float], list[str]]:
    documents = [PublishedDocument(text=text, id="0") for text in texts]
    seconds = []
    for theirs in THEIRS:
        start = time.process_time()
        documents = [document for document in documents if theirs.filter(document) is True]
        seconds.append(time.process_time() - start)
    return seconds, [document.text for document in documents]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take each K-th text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--english", action="store_true")
    args = parser.parse_args()
    if args.english:
        texts = [text for text in real_documents() if text.isascii() or text.count(" the ") > 3][:: args.every]
    else:
        extract = Extract().extract
        texts = [text for page in pages()[:: args.every] if (text := extract(page.html))]
    print(f"{len(texts)} texts, {np.mean([len(t.encode()) for t in texts]) / 1e3:.1f} kB on average")
    warm()
    taken: dict[str, list[list[float]]] = {}
    left: dict[str, list[str]] = {}
    for _ in range(args.rounds):
        for name, unit in (("unicode", "unicode"), ("spacy first", "spacy"), ("spacy again", "spacy")):
            if name == "spacy first":
                spacy_split._remembered.clear()
            seconds, left[name] = run_ours(texts, unit)
            taken.setdefault(name, []).append(seconds)
        seconds, left["datatrove"] = run_theirs(texts)
        taken.setdefault("datatrove", []).append(seconds)
    columns = list(taken)
    print(f"{'µs a text':20}" + "".join(f"{name:>14}" for name in columns))
    middle = {
        name: [statistics.median(column) for column in zip(*rounds, strict=True)] for name, rounds in taken.items()
    }
    for at, name in enumerate(NAMES):
        print(f"{name:20}" + "".join(f"{middle[c][at] / len(texts) * 1e6:14.0f}" for c in columns))
    whole = {name: statistics.median(sum(seconds) for seconds in rounds) for name, rounds in taken.items()}
    print(f"{'together':20}" + "".join(f"{whole[c] / len(texts) * 1e6:14.0f}" for c in columns))
    print(f"{'times as fast':20}" + "".join(f"{whole['datatrove'] / whole[c]:14.1f}" for c in columns))
    print(f"kept {', '.join(f'{name} {len(found)}' for name, found in left.items())}")
    print(f"texts kept with spacy words are datatrove's: {left['spacy again'] == left['datatrove']}")


if __name__ == "__main__":
    main()
