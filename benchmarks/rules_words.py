"""How often verdicts with unicode words are those with spaCy's, on real English documents; the others are listed.

    python benchmarks/rules_words.py [--every K]

Documents of quality-dclm and docs-jsonl in ../shared/data, and the pages of trafilatura's evaluation set that the language
stage finds to be English. Each stage judges every document by itself, so that none hides another's difference.
"""

import argparse
import collections

from extraction import pages

from pipeline.documents import Document
from pipeline.stage import Drop
from stages.extraction.extract import Extract
from stages.language.language import Language
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition
from tests.stages.published import real_documents


def verdict(stage, document: Document) -> str:
    answer = stage.judge(document)
    return answer.rule if isinstance(answer, Drop) else "kept"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take each K-th document")
    parser.add_argument(
        "--pages", action="store_true", help="the pages of the evaluation set too; they are extracted first"
    )
    args = parser.parse_args()
    texts = real_documents()[:: args.every]
    if args.pages:
        extract = Extract(engine="resiliparse").extract
        texts += [text for page in pages()[:: args.every] if (text := extract(page.html))]
    identify = Language(min_score=0.0).identify
    texts = [text for text in texts if identify(text).label == "en"]
    print(f"{len(texts)} English documents")
    for kind in (GopherQuality, GopherRepetition, C4, FineWeb):
        unicode, spacy = kind(words="unicode"), kind(words="spacy")
        others: collections.Counter[str] = collections.Counter()
        for text in texts:
            document = Document(text)
            ours, theirs = verdict(unicode, document), verdict(spacy, document)
            if ours != theirs:
                others[f"{theirs} -> {ours}"] += 1
        same = 1 - others.total() / len(texts)
        sides = sum(count for change, count in others.items() if "kept" in change)
        print(f"{unicode.name:18} same verdict {same:.2%}, kept or dropped alike {1 - sides / len(texts):.2%}")
        for change, count in others.most_common():
            print(f"    {count:4} {change}")


if __name__ == "__main__":
    main()
