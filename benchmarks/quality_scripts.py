"""What share of prose the rule sets drop in scripts written without spaces, beside the same pages in English.

    apt-get download libreoffice-help-{km,ja,zh-cn,en-us}; for f in *.deb; do dpkg-deb -x $f DIR; done
    pip download --no-deps gflanguages && unzip gflanguages*.whl -d DIR
    python benchmarks/quality_scripts.py DIR

Pages of LibreOffice's help that are there in Khmer, Japanese, Chinese and English: their paragraphs of at least 60 bytes that are in
the language's script, where they make at least 2,000 bytes of Khmer. Thai: the sentences of ../shared/data, ten to a document.
And for each language of which gflanguages has paragraphs of the Universal Declaration of Human Rights, at least 1,000 bytes
of them in an unspaced script: which rules drop them.
"""

import argparse
import collections
import pathlib
import re
from collections.abc import Iterator

import lxml.html
from real_texts import sentences_by_language

from pipeline.documents import Batch
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition

LETTERS = {"km": "\u1780-\u17ff", "zh": "\u4e00-\u9fff", "ja": "\u3040-\u30ff\u4e00-\u9fff", "en": "A-Za-z"}
FOLDERS = {"km": "km", "zh": "zh-CN", "ja": "ja", "en": "en-US"}
UNSPACED = (
    "Thai",
    "Laoo",
    "Khmr",
    "Mymr",
    "Tibt",
    "Jpan",
    "Hans",
    "Yiii",
    "Tale",
    "Talu",
    "Lana",
    "Tavt",
    "Java",
    "Bali",
)
SETS = (GopherQuality, GopherRepetition, C4, FineWeb)


def help_pages(folder: pathlib.Path, language: str) -> dict[str, str]:
    """Return the prose of each page of LibreOffice's help in a language, by file name."""
    letters = re.compile(f"[{LETTERS[language]}]")
    root = next(path for path in folder.rglob(FOLDERS[language]) if path.parent.name == "help")
    found = {}
    for file in sorted(root.rglob("*.html")):
        elements = lxml.html.fromstring(file.read_bytes()).iter("p")
        texts = (" ".join(element.text_content().split()) for element in elements)
        prose = [t for t in texts if len(t.encode()) >= 60 and len(letters.findall(t)) > 0.7 * len(t.replace(" ", ""))]
        found[file.name] = "\n".join(dict.fromkeys(prose))
    return found


def declarations(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield language and script, and text, of each sample of the declaration in an unspaced script."""
    for file in sorted(folder.rglob("*.textproto")):
        if file.stem.split("_")[-1] not in UNSPACED:
            continue
        parts = re.findall(
            r'^\s+(?:specimen_\d+|tester|styles): "((?:[^"\\]|\\.)*)"$', file.read_text("utf-8"), re.MULTILINE
        )
        parts.sort(key=len, reverse=True)
        some: list[str] = []
        for part in parts:
            if not any(part.strip(" .…")[:40] in other for other in some):  # shorter samples are cut out of longer ones
                some.append(part)
        if len("\n".join(some).encode()) >= 1000:
            yield file.stem, "\n".join(some)


def rules(stage, texts: list[str], language: str) -> collections.Counter[str]:
    """Return how many of `texts` the rule set drops, by rule."""
    outcome = stage.apply(Batch.of(texts, language=[language] * len(texts)))
    return collections.Counter(removal.rule for removal in outcome.removed if removal.kind != "span")


def stages() -> Iterator[tuple[str, object]]:
    for kind in SETS:
        yield kind.name, kind()
    for kind in SETS:
        if kind is not C4:
            yield f"{kind.name}, fineweb2", kind(variant="fineweb2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    pages = {language: help_pages(folder, language) for language in FOLDERS}
    common = [
        n for n, text in pages["km"].items() if len(text.encode()) >= 2000 and all(p.get(n) for p in pages.values())
    ]
    documents = {language: [found[n] for n in common] for language, found in pages.items()}
    thai = sentences_by_language()["th"]
    documents["th"] = ["\n".join(thai[at : at + 10]) for at in range(0, len(thai), 10)]
    for language, texts in documents.items():
        print(f"{language}: {len(texts)} documents, {sum(map(len, texts)) // len(texts)} characters on average")
        for name, stage in stages():
            found = rules(stage, texts, language)
            most = ", ".join(f"{rule} {count}" for rule, count in found.most_common(3))
            print(f"    {name:28}{found.total() / len(texts):8.1%}  {most}")
    print("Universal Declaration of Human Rights")
    for name, text in declarations(folder):
        dropped = [f"{label}: {rule}" for label, stage in stages() for rule in rules(stage, [text], name)]
        print(f"    {name:10} {', '.join(dropped) or 'kept by all'}")


if __name__ == "__main__":
    main()
