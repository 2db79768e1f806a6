"""Which words a fastText classifier decides by.

A fastText classifier of two labels is linear: the log-odds of a text are the mean, over its features, of what each
feature weighs. So the part of every word and of every run of words in a verdict can be told exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stages.quality.fasttext_model import PREFIX
from stages.quality.training.examples import BAD, GOOD

SHOWN = 25
_END = "</s>"


@dataclass(frozen=True)
class Feature:
    """A word or run of words.

    Attributes:
        weight: what it adds to a text's log-odds of being good, were the text nothing else.
        part: what it adds to the log-odds of the texts tested, on average.
        documents: of the texts tested, in how many it stands.
    """

    text: str
    weight: float
    part: float
    documents: int


@dataclass(frozen=True)
class Weights:
    """What each feature of a model of two labels weighs.

    Attributes:
        rows: float64, shape (words + buckets,).
        words: word -> row.
        longest: longest run of words that is a feature.
    """

    rows: np.ndarray
    words: dict[str, int]
    buckets: int
    longest: int

    @classmethod
    def of(cls, model: Any) -> Weights:
        """Return the weights of a fastText model with the labels of our training."""
        labels = list(model.get_labels())
        out = np.asarray(model.get_output_matrix(), np.float64)
        side = out[labels.index(PREFIX + GOOD)] - out[labels.index(PREFIX + BAD)]
        words = {word: row for row, word in enumerate(model.get_words())}
        rows = np.asarray(model.get_input_matrix(), np.float64) @ side
        return cls(rows, words, len(rows) - len(words), int(model.f.getArgs().wordNgrams))

    def features(self, line: str) -> list[tuple[str, int]]:
        """Return (text, row) of every feature of `line`, in fastText's own way; words it does not know are none."""
        words = [*line.split(), _END]
        found = [(word, self.words[word]) for word in words if word in self.words]
        if self.longest < 2 or self.buckets == 0:
            return found
        hashes = [_signed(_hash(word)) for word in words]
        for start in range(len(words)):
            value = hashes[start] & _MASK
            for end in range(start + 1, min(len(words), start + self.longest)):
                value = (value * 116049371 + (hashes[end] & _MASK)) & _MASK
                found.append((" ".join(words[start : end + 1]), len(self.words) + value % self.buckets))
        return found

    def log_odds(self, line: str) -> float:
        """Return the log-odds that the model gives `line` of being good."""
        rows = [row for _, row in self.features(line)]
        return float(self.rows[rows].mean()) if rows else 0.0

    def deciding(self, lines: Sequence[str], shown: int = SHOWN) -> list[Feature]:
        """Return the features with the largest part in the log-odds of `lines`, for and against."""
        part: dict[str, float] = defaultdict(float)
        documents: dict[str, int] = defaultdict(int)
        row_of: dict[str, int] = {}
        for line in lines:
            found = self.features(line)
            for text, row in found:
                part[text] += self.rows[row] / len(found)
                row_of[text] = row
            for text in {text for text, _ in found}:
                documents[text] += 1
        if not lines:
            return []
        ranked = sorted(part, key=lambda text: (part[text], text))
        for_, against = ranked[::-1][:shown], ranked[:shown]
        chosen = [t for t in for_ if part[t] > 0] + [t for t in against if part[t] < 0][::-1]
        return [Feature(t, float(self.rows[row_of[t]]), float(part[t] / len(lines)), documents[t]) for t in chosen]


_MASK = (1 << 64) - 1


def _hash(word: str) -> int:
    """Return fastText's hash of a word: FNV-1a of 32 bits, bytes taken as signed."""
    value = 2166136261
    for byte in word.encode():
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
