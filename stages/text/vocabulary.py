"""What is known of each word met so far, as flat arrays that kernels read.

One vocabulary serves all documents of a process. Its numbers are worth something only within one document's
view, so that what a stage answers never depends on what came before.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stages.text import kernels
from stages.text.punctuation import SENTENCE_ENDS, SYMBOLS

NON_SYMBOL = 1  # some character is no punctuation
ALPHABETIC = 2  # some character is a letter
SENTENCE_END = 4  # the word is a mark that ends a sentence
PUNCTUATION = 8  # all characters are punctuation of Unicode
UNSPACED = 16  # some character is a letter of a script written without spaces; only the scanner of `unicode` says so

MOST_CHUNKS = 300_000
MOST_CHARACTERS = 8_000_000

Split = Callable[[Sequence[str]], list[Sequence[str]]]


class Growing:
    """A flat array that grows at its end."""

    def __init__(self, dtype: Any, size: int = 1024):
        self._data = np.zeros(size, dtype)
        self.used = 0

    def extend(self, values: Sequence[Any] | np.ndarray) -> None:
        end = self.used + len(values)
        if end > len(self._data):
            larger = np.zeros(max(end, 2 * len(self._data)), self._data.dtype)
            larger[: self.used] = self._data[: self.used]
            self._data = larger
        self._data[self.used : end] = values
        self.used = end

    @property
    def array(self) -> np.ndarray:
        """All of it, unused room at the end included; what is in use never changes."""
        return self._data


class Vocabulary(dict[str, int]):
    """Chunk of text -> its number; behind each chunk stand its words.

    Attributes:
        words: the words by number.
        word_start, word_count: by chunk: where its words lie in `word_of`, and how many.
        length: by word: code points.
        edges: by chunk: what the function `edges` says of it.
        flags: by word: `NON_SYMBOL`, `ALPHABETIC`, `SENTENCE_END`, `PUNCTUATION`.
        hash, power: by word: polynomial hash of its code points in wrapping uint64, and base ** length, so that
            hash(a + b) = hash(a) * power(b) + hash(b).
        at, code: by word: where its code points lie in `code`.
    """

    def __init__(self, split: Split, edges: Callable[[str], int] | None = None):
        super().__init__()
        self._split, self._edges = split, edges
        self.words: list[str] = []
        self.number: dict[str, int] = {}
        self.word_start, self.word_count, self.word_of = Growing(np.int64), Growing(np.int32), Growing(np.int32)
        self.edges = Growing(np.uint8)
        self.length, self.flags = Growing(np.int32), Growing(np.uint8)
        self.hash, self.power = Growing(np.uint64), Growing(np.uint64)
        self.at, self.code = Growing(np.int64), Growing(np.uint32)

    @property
    def is_full(self) -> bool:
        """Tell whether the next document had better begin a new vocabulary."""
        return len(self) > MOST_CHUNKS or self.code.used > MOST_CHARACTERS

    def numbers(self, chunks: Sequence[str]) -> np.ndarray:
        """Return int32, shape (chunks,): the number of each chunk; new ones are split and taken in."""
        with contextlib.suppress(KeyError):
            return np.fromiter(map(self.__getitem__, chunks), np.int32, len(chunks))
        self._take_in([chunk for chunk in dict.fromkeys(chunks) if chunk not in self])
        return np.fromiter(map(self.__getitem__, chunks), np.int32, len(chunks))

    def words_of(self, words: Sequence[str]) -> np.ndarray:
        """Return int32: the numbers of `words`, taken in as they are where they are new."""
        new = [word for word in dict.fromkeys(words) if word not in self.number]
        if new:
            self._add_words(new)
        return np.fromiter(map(self.number.__getitem__, words), np.int32, len(words))

    def _take_in(self, chunks: list[str]) -> None:
        split = self._split(chunks)
        flat = [word for words in split for word in words]
        counts = np.fromiter(map(len, split), np.int32, len(split))
        self.word_start.extend(self.word_of.used + np.cumsum(counts) - counts)
        self.word_count.extend(counts)
        self.word_of.extend(self.words_of(flat))
        self.edges.extend([self._edges(chunk) for chunk in chunks] if self._edges else [0] * len(chunks))
        for number, chunk in enumerate(chunks, len(self)):
            self[chunk] = number

    def _add_words(self, words: list[str]) -> None:
        lengths = np.fromiter(map(len, words), np.int32, len(words))
        codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
        ends = np.cumsum(lengths, dtype=np.int64)
        hashes, powers = kernels.hash_words(codes, lengths)
        for number, word in enumerate(words, len(self.words)):
            self.number[word] = number
        self.words.extend(words)
        self.length.extend(lengths)
        self.flags.extend([_flags(word) for word in words])
        self.hash.extend(hashes)
        self.power.extend(powers)
        self.at.extend(self.code.used + ends - lengths)
        self.code.extend(codes)


def _flags(word: str) -> int:
    if word.isalpha():
        return NON_SYMBOL | ALPHABETIC
    return (
        (0 if SYMBOLS.issuperset(word) else NON_SYMBOL)
        | (ALPHABETIC if any(map(str.isalpha, word)) else 0)
        | (SENTENCE_END if word in SENTENCE_ENDS else 0)
        | (PUNCTUATION if all(unicodedata.category(c)[0] == "P" for c in word) else 0)
    )
