"""Engine cld2: Google's Compact Language Detector 2 (Apache-2.0), by pycld2, which has no wheel for every machine."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any, NamedTuple

import numpy as np

from stages.language.names import NAMES

_RENAMED = {"iw": "he", "jw": "jv", "zh-Hant": "zh", "sr-ME": "cnr"}
_LABELS = {label: number for number, label in enumerate(NAMES)}


class Found(NamedTuple):
    """What CLD2 says of a text.

    Attributes:
        labels: int64, shape (3,): places in `names.NAMES` of the languages found, the most text first; -1: none.
        percents: int64, shape (3,): share of the text of each.
        reliable: whether CLD2 calls itself sure.
    """

    labels: np.ndarray
    percents: np.ndarray
    reliable: bool


def available() -> bool:
    """Tell whether pycld2 is installed: it has no wheels for CPython 3.14 and for Linux on arm64."""
    return importlib.util.find_spec("pycld2") is not None


def find(text: bytes) -> Found:
    """Return the languages of `text`, UTF-8 without control characters."""
    reliable, _, details = _library().detect(text, isPlainText=True, bestEffort=True)
    labels = np.full(3, -1, np.int64)
    percents = np.zeros(3, np.int64)
    for n, (_, code, percent, _) in enumerate(details):
        label = _LABELS.get(_RENAMED.get(code, code))
        if label is not None and percent:
            labels[n], percents[n] = label, percent
    return Found(labels, percents, reliable)


@functools.cache
def known() -> np.ndarray:
    """Return bool, shape (labels,): which of `names.NAMES` CLD2 tells apart."""
    library = _library()
    codes = {code for name, code in library.LANGUAGES if name in library.DETECTED_LANGUAGES}
    labels = {_RENAMED.get(code, code) for code in codes}
    return np.array([label in labels for label in NAMES])


def _library() -> Any:
    import pycld2

    return pycld2
