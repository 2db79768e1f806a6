"""Whether the four rule sets with spaCy's words are datatrove's on many real documents: verdict, rule and text left.

    python benchmarks/rules_parity.py [--books DIR] [--documents N] [--every K] [--from I]

Documents of ../shared/data: quality-dclm, docs-jsonl, the pages of trafilatura's evaluation set, the installation guide in
nine languages, and the sentences of 75 languages ten to a document; with --books also the pages of the Debian handbook and
the installation guide, unpacked below DIR as `quality_languages.py` says. Each rule set judges every document by itself, at its
defaults but for the words. With --from and --documents a long comparison can be made in parts.
"""

import argparse
import collections
import itertools
import pathlib
import warnings

from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from extraction import pages
from real_texts import guide_pages, page_text, sentences_by_language

from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition
from tests.stages.published import published_verdict, real_documents, verdict

PAIRS = [
    (GopherRepetition(words="spacy"), GopherRepetitionFilter()),
    (GopherQuality(words="spacy"), GopherQualityFilter()),
    (C4(words="spacy"), C4QualityFilter()),
    (FineWeb(words="spacy"), FineWebQualityFilter()),
]
LONGEST = 100_000
"""Characters: datatrove takes minutes for some longer texts."""


def documents(books: pathlib.Path | None) -> dict[str, list[str]]:
    """Return the documents by where they come from, each once."""
    groups = {
        "quality-dclm and docs-jsonl": real_documents(),
        "web pages": [page_text(page.html.encode(), main_content=True) for page in pages()],
        "installation guide": list(guide_pages().values()),
    }
    if books:
        files = sorted(books.rglob("*.html"))
        groups["books"] = [page_text(file.read_bytes(), main_content=False) for file in files]
    languages = sentences_by_language().values()
    groups["sentences"] = ["\n".join(s[at : at + 10]) for s in languages for at in range(0, len(s), 10)]
    seen: set[str] = set()
    found = {}
    for name, texts in groups.items():
        found[name] = [text for text in dict.fromkeys(texts) if text not in seen and len(text) < LONGEST]
        seen.update(found[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=pathlib.Path)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--every", type=int, default=1, help="take each K-th document")
    parser.add_argument("--from", type=int, default=0, dest="first", help="pass over the first I documents")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    groups = documents(args.books)
    print(", ".join(f"{len(texts)} {name}" for name, texts in groups.items()))
    texts = list(itertools.chain.from_iterable(groups.values()))[:: args.every]
    texts = texts[args.first :][: args.documents]
    print(f"{len(texts)} documents, {sum(len(text.encode('utf-8', 'replace')) for text in texts) / 1e6:.1f} MB")
    rules = {ours.name: collections.Counter[str | None]() for ours, _ in PAIRS}
    different: dict[str, list[str]] = collections.defaultdict(list)
    for text in texts:
        for ours, theirs in PAIRS:
            found, published = verdict(ours, text), published_verdict(theirs, text)
            rules[ours.name][found[0]] += 1
            if found != published:
                different[ours.name].append(f"{found[0]} against {published[0]}: {text[:60]!r}")
    for name, counts in rules.items():
        print(
            f"{name:18} {len(different[name])} differ, of {counts[None]} kept and {len(texts) - counts[None]} dropped"
        )
        for line in different[name][:3]:
            print(f"    {line}")


if __name__ == "__main__":
    main()
