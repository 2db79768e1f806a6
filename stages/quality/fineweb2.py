"""FineWeb-2's thresholds and stop words for 1,929 languages, looked up by a document's language and script.

Facts out of the configuration that Hugging Face published with FineWeb-2 (arXiv:2506.20920, Apache-2.0; see NOTICE).
English is not among them: it has the values of FineWeb itself.
"""

from __future__ import annotations

import hashlib
import math
import pathlib
from functools import lru_cache

import numpy as np
import regex
import zstandard

from pipeline.documents import Document
from stages.language.names import ISO_639_3

FILE = pathlib.Path(__file__).with_name("fineweb2.tsv.zst")

COLUMNS = (
    "dup_line_frac",
    "line_punct_thr",
    "max_avg_word_length",
    "max_non_alpha_words_ratio",
    "min_avg_word_length",
    "new_line_ratio",
    "top_2_gram",
    "top_3_gram",
    "top_4_gram",
    "duplicated_5_n_grams",
    "duplicated_6_n_grams",
    "duplicated_7_n_grams",
    "duplicated_8_n_grams",
    "duplicated_9_n_grams",
    "duplicated_10_n_grams",
)
TOP = ((2, 0.20), (3, 0.18), (4, 0.16))
DUP = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))
ENGLISH_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
_ENGLISH = (0.3, 0.12, 10.0, 0.8, 3.0, 0.3, *(limit for _, limit in (*TOP, *DUP)))
"""FineWeb's own values (datatrove 0.10.1), in the order of `COLUMNS`."""

_INDIVIDUAL = dict(
    entry.split("=")
    for entry in [
        "ara=arb",
        "zho=cmn",
        "nor=nob",
        "est=ekk",
        "lav=lvs",
        "msa=zsm",
        "nep=npi",
        "sqi=als",
        "uzb=uzn",
        "aze=azj",
        "mon=khk",
        "kur=kmr",
        "swa=swh",
        "pus=pbt",
        "yid=ydd",
        "mlg=plt",
        "ori=ory",
        "que=quy",
        "grn=gug",
        "orm=gaz",
        "ful=fuv",
        "hbs=bos",
        "kom=kpv",
        "aym=ayr",
        "bih=bho",
        "aka=twi",
        "iku=ike",
        "ipk=esk",
        "kon=kwy",
        "zha=zyb",
        "oji=ojb",
        "cre=crk",
        "tgl=fil",
    ]
)
"""Macro-language of ISO 639-3 -> the member that FineWeb-2 has thresholds for: the most written one."""


class Table:
    """The thresholds of all languages.

    Attributes:
        labels: language and script of each row, as in ``deu_Latn``.
        values: float64, shape (languages + 1, len(COLUMNS)); the last row, NaN, is of languages that are not there.
        stop_words: of each row.
    """

    def __init__(self, lines: list[str]):
        rows = [line.split("\t") for line in lines]
        width = len(COLUMNS)
        self.labels = [row[0] for row in rows]
        numbers = [[float(value) for value in row[1 : width + 1]] for row in rows]
        self.values = np.array([*numbers, [math.nan] * width], np.float64)
        self.stop_words = [tuple(dict.fromkeys(row[width + 1 :])) for row in rows]
        self.row = {label: number for number, label in enumerate(self.labels)}
        self.scripts: dict[str, list[str]] = {}
        for label in self.labels:
            self.scripts.setdefault(label[:3], []).append(label[4:])


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the thresholds, read once in a process."""
    text = zstandard.ZstdDecompressor().decompress(FILE.read_bytes()).decode()
    english = "\t".join(["eng_Latn", *map(str, _ENGLISH), *ENGLISH_STOP_WORDS])
    return Table([*text.splitlines(), english])


@lru_cache(maxsize=1)
def digest() -> str:
    """Return 16 hex digits of the SHA-256 of the file of thresholds."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:16]


def row_of(document: Document) -> float:
    """Return the row of `table` for the language and script of `document`; NaN where there is none.

    The language is column ``language_label`` or ``language``: ``de``, ``deu`` or ``deu_Latn``. Where it has thresholds in
    several scripts and the script is not said, that of most letters among the first 2,000 characters decides.
    """
    label = document.get("language_label") or document.get("language")
    if not isinstance(label, str) or not label:
        return math.nan
    code, _, script = label.partition("_")
    known = _rows(code, bool(script))
    if len(known) > 1 and script not in known:
        script = document.view(script_of)
    if script in known:
        return float(known[script])
    return float(next(iter(known.values()))) if len(known) == 1 else math.nan


@lru_cache(maxsize=4096)
def _rows(code: str, is_long: bool) -> dict[str, int]:
    """Return script -> row for a language by its code: of ISO 639-3 where `is_long`, else a label as `NAMES` has them."""
    long = code if is_long else ISO_639_3.get(code) or code
    found = table()
    for candidate in (long, _INDIVIDUAL.get(long, "")):
        if candidate in found.scripts:
            return {script: found.row[f"{candidate}_{script}"] for script in found.scripts[candidate]}
    return {}


_SCRIPTS = {
    "Latn": "Latin",
    "Cyrl": "Cyrillic",
    "Arab": "Arabic",
    "Deva": "Devanagari",
    "Hebr": "Hebrew",
    "Beng": "Bengali",
    "Guru": "Gurmukhi",
    "Gujr": "Gujarati",
    "Orya": "Oriya",
    "Taml": "Tamil",
    "Telu": "Telugu",
    "Knda": "Kannada",
    "Mlym": "Malayalam",
    "Grek": "Greek",
    "Ethi": "Ethiopic",
    "Cans": "Canadian_Aboriginal",
    "Cher": "Cherokee",
    "Mtei": "Meetei_Mayek",
    "Tfng": "Tifinagh",
    "Nkoo": "Nko",
    "Mong": "Mongolian",
    "Tibt": "Tibetan",
    "Thai": "Thai",
    "Mymr": "Myanmar",
    "Hani": "Han",
    "Olck": "Ol_Chiki",
    "Limb": "Limbu",
    "Goth": "Gothic",
    "Syrc": "Syriac",
}
_LETTERS = [(label, regex.compile(rf"\p{{Script={name}}}")) for label, name in _SCRIPTS.items()]


def script_of(text: str) -> str:
    """Return the script (ISO 15924) of most letters among the first 2,000 characters of `text`; Latin of none."""
    head = text[:2000]
    counts = [(len(pattern.findall(head)), label) for label, pattern in _LETTERS]
    most, label = max(counts, key=lambda pair: pair[0])
    return label if most else "Latn"
