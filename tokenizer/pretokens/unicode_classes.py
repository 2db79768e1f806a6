"""The Unicode classes that the built-in patterns tell apart, as tables for the kernels.

The classes are those of Unicode 16, fixed in ``unicode_classes.json``: the version inside the `tokenizers`
0.20 to 0.23 and `tiktoken` 0.8 to 0.14 encoders, so that what is counted here is what they encode, and the same
corpus gives the same counts whatever `regex` or Python is installed. Code points assigned later (17,144
letters and 336 numbers of Unicode 17 and 18) belong to no class here and there; a newer `regex` module
calls them letters.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import numpy as np

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

_FILE = pathlib.Path(__file__).with_name("unicode_classes.json")


def class_table() -> np.ndarray:
    """Return the class of every code point: uint8, shape (0x110000,)."""
    table = np.zeros(0x110000, np.uint8)
    for name, bounds in json.loads(_FILE.read_text("ascii"))["runs"].items():
        for first, last in zip(bounds[::2], bounds[1::2], strict=True):
            table[first : last + 1] = int(name)
    table[[10, 13]] = NEWLINE
    return table


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
