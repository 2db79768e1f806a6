"""What each code point is to a reader of languages: its script, and whether it is a letter, space or nothing at all."""

from __future__ import annotations

import functools

import numpy as np
import regex

OTHER, SPACE, NOTHING, DIGIT, LETTER, UPPER, MARK = range(7)
"""Kinds of code points. NOTHING: not seen by a reader (controls, zero width, unassigned, lone surrogates)."""

_KINDS = (
    (NOTHING, r"\p{C}|\p{Default_Ignorable_Code_Point}|\ufffd|\ufffc"),
    (SPACE, r"\p{White_Space}|\p{Z}"),
    (DIGIT, r"\p{N}"),
    (LETTER, r"\p{L}"),
    (UPPER, r"\p{Lu}|\p{Lt}"),
    (MARK, r"(?!\p{Default_Ignorable_Code_Point})\p{M}"),
)

_SCRIPTS = (
    "Zyyy Latn Cyrl Arab Hani Hira Kana Hang Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Thai Laoo Khmr Mymr Tibt "
    "Ethi Geor Armn Grek Hebr Mong Thaa Cher Cans Syrc Olck Mtei Tfng Nkoo Vaii Yiii Limb Bopo Goth Bugi Adlm Copt "
    "Cham Java Bali Sund Tale Talu Lana Lepc Cakm Rohg Saur Sylo Orkh Xsux Egyp Osma Batk Kali Tavt Lisu"
)
SCRIPTS = tuple(_SCRIPTS.split())
"""ISO 15924 codes of the scripts told apart; all others are the first, Zyyy."""

HIGHEST = 0x40000
"""No letter stands at or above this code point."""


@functools.cache
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Return the kind and the script (a place in `SCRIPTS`) of each code point below HIGHEST, both uint8."""
    every = "".join(map(chr, range(HIGHEST)))
    kinds = np.zeros(HIGHEST, np.uint8)
    for kind, pattern in _KINDS:
        _mark(kinds, kind, pattern, every)
    scripts = np.zeros(HIGHEST, np.uint8)
    for number, script in enumerate(SCRIPTS[1:], 1):
        _mark(scripts, number, rf"\p{{Script={script}}}", every)
    return kinds, scripts


def _mark(table: np.ndarray, value: int, pattern: str, every: str) -> None:
    for found in regex.finditer(f"(?:{pattern})+", every):
        table[found.start() : found.end()] = value
