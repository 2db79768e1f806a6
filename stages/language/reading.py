"""What of a text is language: its words, without markup, addresses, code, numbers and special strings of models."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from stages.language import reading_kernels
from stages.language.characters import SCRIPTS, tables
from stages.text.normal_form import normal_form

WINDOW = 256
WINDOWS = 10
"""Of a longer text, so many windows of so many characters are read, evenly spread."""

_WEIGHTS = np.array([{"Hani": 3, "Hira": 2, "Kana": 2, "Hang": 2}.get(script, 1) for script in SCRIPTS], np.int64)
_HANI, _HIRA, _KANA, _BOPO = map(SCRIPTS.index, ("Hani", "Hira", "Kana", "Bopo"))
KANA_OF_JAPANESE = 0.08
"""Least share of kana in Japanese; Chinese quotes less."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as engines are given it.

    Attributes:
        text: words and their punctuation, one space between them, in Unicode's compatibility form (NFKC); in lower
            case where capitals outnumber other letters.
        letters: int64, shape (scripts,): letters by script, in letters of the Latin script: one of Han counts three,
            of kana or Hangul two. Japanese is all counted as kana, Chinese all as Han; the first counts all other scripts.
        code: share of code in the letters, of it and of `text`.
    """

    text: str
    letters: np.ndarray
    code: float


def read(text: str) -> Reading:
    """Return what of `text` is language."""
    if len(text) > WINDOW * WINDOWS:
        text = spread(text, WINDOW, WINDOWS)
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        text = normal_form("NFKC", text)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).copy()
    kinds, scripts = tables()
    reading_kernels.blank_markup(codes)
    code = reading_kernels.blank_code(codes)
    words, letters, upper, others = reading_kernels.words(codes, kinds, scripts, len(SCRIPTS))
    clean = words.tobytes().decode("utf-32-le")
    letters *= _WEIGHTS
    seen = int(letters.sum())
    _settle_han_and_kana(letters)
    return Reading(clean.lower() if upper > others else clean, letters, code / max(1, code + seen))


def spread(text: str, window: int, windows: int) -> str:
    """Return `windows` pieces of `text`, each of `window` characters, evenly spread, a line each."""
    step = len(text) / windows
    starts = (int(step * (n + 0.5)) - window // 2 for n in range(windows))
    return "\n".join(text[start : start + window] for start in starts)


def _settle_han_and_kana(letters: np.ndarray) -> None:
    """Count Han and kana as one script: kana where the text is Japanese, else Han."""
    kana = letters[_HIRA] + letters[_KANA]
    total = kana + letters[_HANI] + letters[_BOPO]
    letters[_HANI] = letters[_HIRA] = letters[_KANA] = letters[_BOPO] = 0
    letters[_KANA if kana > KANA_OF_JAPANESE * total else _HANI] = total
