"""The Unicode classes that the built-in patterns tell apart, as tables for the kernels.

The classes are those of Unicode 16, fixed in ``unicode_classes.json``: the version inside the `tokenizers`
0.20 to 0.23 and `tiktoken` 0.8 to 0.14 encoders, so that what is counted here is what they encode, and the same
corpus gives the same counts whatever `regex` or Python is installed. Code points assigned later (17,144
letters and 336 numbers of Unicode 17 and 18) belong to no class here and there; a newer `regex` module, which
runs custom patterns, knows them, so they are hidden from it.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from functools import cache

import numpy as np
import regex

UNICODE_VERSION = "16.0.0"

OTHER = 0
UPPER = 1  # Lu, Lt
LOWER = 2  # Ll
LETTER = 3  # Lm, Lo
MARK = 4  # M
NUMBER = 5  # N
SPACE = 6  # \s without the next
NEWLINE = 7  # \r, \n

CLASS_PATTERNS = {UPPER: r"[\p{Lu}\p{Lt}]", LOWER: r"\p{Ll}", LETTER: r"[\p{Lm}\p{Lo}]", MARK: r"\p{M}",
                  NUMBER: r"\p{N}", SPACE: r"\s"}  # fmt: skip

_RECLASSED, _ALIKE = 0x295, 0x296  # and a letter like what the first was

_FILE = pathlib.Path(__file__).with_name("unicode_classes.json")


def class_table() -> np.ndarray:
    """Return the class of every code point: uint8, shape (0x110000,)."""
    table = np.zeros(0x110000, np.uint8)
    for name, bounds in json.loads(_FILE.read_text("ascii"))["runs"].items():
        for first, last in zip(bounds[::2], bounds[1::2], strict=True):
            table[first : last + 1] = int(name)
    table[[10, 13]] = NEWLINE
    return table


def unassigned_runs() -> Iterator[tuple[int, int]]:
    """Yield first and last code point of each run of those that Unicode 16 has not assigned (``Cn``)."""
    bounds = json.loads(_FILE.read_text("ascii"))["unassigned"]
    yield from zip(bounds[::2], bounds[1::2], strict=True)


@cache
def changed_points() -> np.ndarray:
    """Return how the installed `regex` module differs from Unicode 16 in each code point: uint8, shape (0x110000,).

    0: not at all; 1: it calls assigned what was not; 2: U+0295, which was ``Ll`` and has been ``Lo`` since.
    """
    unassigned = np.zeros(0x110000, bool)
    for first, last in unassigned_runs():
        unassigned[first : last + 1] = True
    points = np.flatnonzero(unassigned)
    text = "".join(map(chr, points.tolist()))
    changed = np.zeros(0x110000, np.uint8)
    for match in regex.finditer(r"\P{Cn}+", text):
        changed[points[match.start() : match.end()]] = 1
    if regex.match(r"\p{Lo}", chr(_RECLASSED)):
        changed[_RECLASSED] = 2
    return changed


def changed_since(first: int, last: int) -> bool:
    """Return whether `changed_points` holds any from code point `first` to `last`."""
    return bool(changed_points()[first : last + 1].any())


def as_of_unicode_16(text: str) -> str:
    """Return `text` with characters in which the `regex` module sees what Unicode 16 does, each in its place.

    What has been assigned since becomes U+FFFF, which never is.
    """
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    changed = changed_points()[codes]
    if not changed.any():
        return text
    hidden = np.where(changed == 1, 0xFFFF, np.where(changed == 2, _ALIKE, codes))
    return hidden.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def two_stage(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return `table` as (block number of each 256 code points, the distinct blocks one behind the other)."""
    blocks, index = np.unique(table.reshape(-1, 256), axis=0, return_inverse=True)
    return index.reshape(-1).astype(np.int64), np.ascontiguousarray(blocks.reshape(-1))


def classes_of_tokenizers() -> np.ndarray:
    """Return the classes that the installed `tokenizers` library sees: uint8, shape (0x110000,).

    It is asked with one split per class over all of Unicode; the surrogates, which it cannot be given, are OTHER.
    """
    from tokenizers import Regex, pre_tokenizers

    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    text = "".join(map(chr, points))
    table = np.zeros(0x110000, np.uint8)
    for name, pattern in CLASS_PATTERNS.items():
        splitter = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed")
        inside = np.ones(len(points), bool)
        for _, (start, end) in splitter.pre_tokenize_str(text):
            inside[start:end] = False
        table[np.array(points)[inside]] = name
    table[[10, 13]] = NEWLINE
    return table


def runs_of(table: np.ndarray) -> dict[str, list[int]]:
    """Return `table` as the content of ``unicode_classes.json``: per class, first and last of each run."""
    return {str(name): list(_runs(np.flatnonzero(table == name))) for name in CLASS_PATTERNS}


def _runs(points: np.ndarray) -> Iterator[int]:
    breaks = np.flatnonzero(np.diff(points) != 1)
    for first, last in zip(np.r_[0, breaks + 1], np.r_[breaks, len(points) - 1], strict=True):
        yield int(points[first])
        yield int(points[last])
