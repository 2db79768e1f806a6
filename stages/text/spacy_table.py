"""What spaCy's English tokenizer matches, as tables for a scanner: read off its own patterns and special cases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stages.text import kernels
from stages.text.word_classes import TABLE_SIZE, white_space

SPACE, PREFIX, SUFFIX, INFIX, ALPHA, DIGIT, LOWER, UPPER = 1, 2, 4, 8, 16, 32, 64, 128
BEFORE_CAPITAL, CAPITAL, BEFORE_STOP, UNIT_END, ASIDE = 256, 512, 1024, 2048, 4096
"""Bits of a code point: white space; a prefix, suffix or infix by itself; letter; ASCII digit; lower and upper case (letters without
case are both); what a full stop between two sentences stands between; what a full stop is split off; last of a unit of
measure or currency; to be left to spaCy."""

PATTERNS = "ff5a75374833f227c06624d769d01b39fe6e0209efcf6d78ad8e472e74f05447"
"""SHA-256 of the patterns that the scanner was written after; with others every chunk is left to spaCy."""


class Tables(NamedTuple):
    """For `stages.text.spacy_scan`.

    Attributes:
        table: uint32, shape (`TABLE_SIZE`,): bits of each code point.
        units: uint64: hashes of units and currencies that are split off a digit; `longest_unit` code points at most.
        special_first: uint32, shape (`TABLE_SIZE`,): by first code point, one bit for each length of special cases.
        specials: uint64, ascending: their hashes.
        special_at, special_lengths: int32: by special case, the lengths of its words.
        pair_first, pair_second: bool, shape (`TABLE_SIZE`,): first code points of words in `pairs`.
        pairs: uint64, ascending: first two words of special cases that spaCy puts together again where it has taken them apart.
        longest: code points of the longest of these words.
    """

    table: np.ndarray
    units: np.ndarray
    longest_unit: int
    special_first: np.ndarray
    specials: np.ndarray
    special_at: np.ndarray
    special_lengths: np.ndarray
    pair_first: np.ndarray
    pair_second: np.ndarray
    pairs: np.ndarray
    longest: int


def make_tables(defaults: Any, special: Mapping[str, Sequence[str]], apart: Mapping[str, Sequence[str]]) -> Tables:
    """Return the tables of a tokenizer.

    Args:
        defaults: of its language: patterns of affixes and of addresses.
        special: special case -> its words. apart: the same -> its words were it none.
    """
    table = np.zeros(TABLE_SIZE, np.uint32)
    table[np.flatnonzero(white_space())] = SPACE
    units: list[str] = []
    known = digest(defaults) == PATTERNS
    if known:
        units = _mark_patterns(table, defaults)
    else:
        table[table == 0] = ASIDE
    table[0xD800:0xE000] = ASIDE
    cases = sorted(special, key=lambda case: int(_hashes([case])[0]))
    first = np.zeros(TABLE_SIZE, np.uint32)
    for case in cases:
        first[ord(case[0])] |= np.uint32(1 << len(case))
    counts = [len(special[case]) for case in cases]
    changed = [words for case, words in apart.items() if list(words) != list(special[case])]
    pairs = {(words[0], words[1]) for words in changed if len(words) > 1}
    pair_first, pair_second = np.zeros(TABLE_SIZE, bool), np.zeros(TABLE_SIZE, bool)
    pair_first[[ord(left[0]) for left, _ in pairs]] = True
    pair_second[[ord(right[0]) for _, right in pairs]] = True
    hashes = _hashes([left for left, _ in pairs]) * np.uint64(31) ^ _hashes([right for _, right in pairs])
    return Tables(
        table,
        np.sort(_hashes(units)),
        max(map(len, units), default=0),
        first,
        _hashes(cases),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        np.array([len(word) for case in cases for word in special[case]], np.int32),
        pair_first,
        pair_second,
        np.sort(np.unique(hashes)),
        max((len(word) for pair in pairs for word in pair), default=0),
    )


def digest(defaults: Any) -> str:
    """Return what stands for the patterns of a language's tokenizer."""
    patterns = [
        *defaults.prefixes,
        "",
        *defaults.suffixes,
        "",
        *defaults.infixes,
        "",
        defaults.url_match.__self__.pattern,
    ]
    return hashlib.sha256("\n".join(patterns).encode()).hexdigest()


def _mark_patterns(table: np.ndarray, defaults: Any) -> list[str]:
    """Set the bits of the patterns in `table`; return the units of measure and currencies."""
    prefixes, suffixes, infixes = list(defaults.prefixes), list(defaults.suffixes), list(defaults.infixes)
    text = "".join(map(chr, range(TABLE_SIZE)))

    def mark(classes: Iterable[str], bit: int) -> None:
        for found in re.finditer(f"(?:{'|'.join(classes)})+", text):
            table[found.start() : found.end()] |= np.uint32(bit)

    mark(filter(_is_single, prefixes), PREFIX)
    mark(filter(_is_single, suffixes), SUFFIX)
    mark(filter(_is_single, infixes), INFIX)
    mark(["[0-9]"], DIGIT)
    currency, measure, stop, capitals = suffixes[-4:]
    before_capital, capital = _classes(infixes[4])
    alpha = _classes(infixes[5])[0]
    top_level = defaults.url_match.__self__.pattern.split(r"\.)+(?:")[1].split("{2,63}")[0]
    for pattern, bit in (
        (before_capital, BEFORE_CAPITAL),
        (capital, CAPITAL),
        (alpha, ALPHA),
        (_classes(stop)[0], BEFORE_STOP),
        (_classes(capitals)[0], UPPER),
        (top_level, LOWER),
    ):
        mark([pattern], bit)
    units = [
        re.sub(r"\\(.)", r"\1", unit)
        for pattern in (currency, measure)
        for unit in pattern.removeprefix("(?<=[0-9])(?:").removesuffix(")").split("|")
    ]
    table[[ord(unit[-1]) for unit in units]] |= np.uint32(UNIT_END)
    return units


def _is_single(pattern: str) -> bool:
    """Tell whether `pattern` matches any of some code points."""
    return len(pattern.removeprefix("\\")) == 1 or pattern.startswith("[")


def _classes(pattern: str) -> list[str]:
    """Return the classes in brackets of `pattern`."""
    return re.findall(r"\[(?:\\.|[^\]\\])+\]", pattern)


def _hashes(words: Sequence[str]) -> np.ndarray:
    """Return uint64: the polynomial hash of each of `words`."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    return kernels.hash_words(codes, np.fromiter(map(len, words), np.int32, len(words)))[0]
