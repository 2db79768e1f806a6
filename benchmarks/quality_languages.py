"""What share of clean prose each rule set drops, in more than 20 languages.

    apt-get download debian-handbook installation-guide-amd64
    for f in *.deb; do dpkg-deb -x $f DIR; done
    python benchmarks/quality_languages.py DIR [--pages N]

The prose is the paragraphs of the Debian handbook and the installation guide (free translations of one original). A
paragraph counts where the language stage agrees with the folder's language, as translations are unfinished in places; a
document is what a page has of them, where that is at least 1,000 bytes, the longest of at most N pages a language. Printed are
shares of documents dropped, and by which rule most: with the defaults, with ``variant = "fineweb2"``, and with spaCy's words.
"""

import argparse
import collections
import pathlib

import lxml.html

from pipeline.documents import Batch
from stages.language.language import Language
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition

FOLDERS = {"nb-NO": "no"}
STAGES = {
    "quality": GopherQuality(),
    "repetition": GopherRepetition(),
    "c4": C4(),
    "fineweb": FineWeb(),
    "quality fw2": GopherQuality(variant="fineweb2"),
    "repetition fw2": GopherRepetition(variant="fineweb2"),
    "fineweb fw2": FineWeb(variant="fineweb2"),
    "quality spacy": GopherQuality(words="spacy"),
    "repetition spacy": GopherRepetition(words="spacy"),
}
LEAST_BYTES = 1000


def paragraphs(file: pathlib.Path) -> list[str]:
    """Return the paragraphs of a page that are long enough to be prose."""
    tree = lxml.html.fromstring(file.read_bytes())
    elements = (e for e in tree.iter("p", "div") if e.tag == "p" or e.get("class") == "para")
    found = (" ".join(element.text_content().split()) for element in elements)
    return [text for text in found if len(text.encode()) >= 80]


def prose(files: list[pathlib.Path], language: str, pages: int, identify: Language) -> list[str]:
    """Return the documents of one language."""
    documents = []
    for file in files:
        texts = paragraphs(file)
        kept = [t for t in texts if identify.identify(t).label == language]
        text = "\n".join(dict.fromkeys(kept))
        if len(text.encode()) >= LEAST_BYTES:
            documents.append(text)
    return sorted(dict.fromkeys(documents), key=len, reverse=True)[:pages]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--rules", action="store_true", help="name the rule that drops most")
    args = parser.parse_args()
    files = collections.defaultdict(list)
    for file in sorted(args.folder.rglob("*.html")):
        name = file.parent.name
        language = FOLDERS.get(name, name.replace("_", "-").split("-")[0])
        if len(language) == 2 and (file.parent.parent.name in ("html", "installation-guide-amd64")):
            files["zh-TW" if name == "zh-TW" else language].append(file)
    identify = Language(min_score=0.0)
    print("language docs " + " ".join(f"{name:>16}" for name in STAGES))
    for language in sorted(files, key=lambda name: (name != "en", name)):
        if args.only and language not in args.only.split(","):
            continue
        texts = prose(files[language], language[:2], args.pages, identify)
        if len(texts) < 8:
            continue
        cells = []
        for stage in STAGES.values():
            removed = [
                r
                for r in stage.apply(Batch.of(texts, language=[language[:2]] * len(texts))).removed
                if r.kind != "span"
            ]
            share = f"{len(removed) / len(texts):.1%}"
            if args.rules and removed:
                share += " " + collections.Counter(r.rule for r in removed).most_common(1)[0][0][-20:]
            cells.append(f"{share:>16}")
        print(f"{language:8} {len(texts):4} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
