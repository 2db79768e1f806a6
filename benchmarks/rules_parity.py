"""Whether the four rule sets with spaCy's words are datatrove's on many real documents: verdict, rule and text left.

    python benchmarks/rules_parity.py [--documents N] [--every K]

Pages of the installation guide in nine languages, pages of trafilatura's evaluation set, quality-dclm and docs-jsonl of
../shared/data. Each rule set judges every document by itself, at its defaults but for the words.
"""

import argparse
import warnings

from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from extraction import pages
from real_texts import guide_pages, page_text

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--every", type=int, default=1, help="take each K-th document")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    texts = real_documents()
    texts += [page_text(page.html.encode(), main_content=True) for page in pages()]
    texts += list(guide_pages().values())
    texts = [text for text in dict.fromkeys(texts) if len(text) < 100_000][:: args.every][: args.documents]
    print(f"{len(texts)} documents")
    for ours, theirs in PAIRS:
        rules, different = {}, []
        for text in texts:
            found = verdict(ours, text)
            rules[found[0]] = rules.get(found[0], 0) + 1
            if found != published_verdict(theirs, text):
                different.append(text)
        print(
            f"{ours.name:18} {len(different)} differ, of {rules.get(None, 0)} kept and {len(texts) - rules.get(None, 0)} dropped",
            flush=True,
        )
        for text in different[:3]:
            print(f"    {verdict(ours, text)[0]} against {published_verdict(theirs, text)[0]}: {text[:60]!r}")


if __name__ == "__main__":
    main()
