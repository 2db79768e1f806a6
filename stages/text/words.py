"""Words: the units that rules count, split once per document and shared by all stages.

    document.view(unicode_words).numbers

`unicode_words` are those of UAX #29, found by a scanner of our own, with rules of spelling for scripts written without
spaces. `spacy_words` are those of spaCy's blank English pipeline, the unit of datatrove's published rules: punctuation
marks are words, ``don't`` is ``do`` and ``n't``. `whitespace_words` are runs without white space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from pipeline.documents import clean_text
from stages.text import kernels, spacy_split
from stages.text.unicode_split import word_bounds
from stages.text.vocabulary import Vocabulary
from stages.text.word_classes import word_table
from stages.text.word_numbers import number_words

Unit = Literal["spacy", "unicode", "whitespace"]
"""Names of `UNITS`, as stages have them for a parameter."""

_CHUNK = re.compile(r"\S+")


class Words:
    """The words of one text.

    Attributes:
        numbers: int32, shape (words,): the number of each word; equal words have equal numbers.
        length, flags, hash, power, at: by number, see `Vocabulary`.
        code: uint32: code points that `at` counts in.
    """

    __slots__ = ("at", "code", "flags", "hash", "length", "numbers", "power")
    numbers: np.ndarray
    length: np.ndarray
    flags: np.ndarray
    hash: np.ndarray
    power: np.ndarray
    at: np.ndarray
    code: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def texts(self) -> list[str]:
        """The words as strings."""
        places = zip(self.at[self.numbers].tolist(), self.length[self.numbers].tolist(), strict=True)
        return [self.code[a : a + n].tobytes().decode("utf-32-le", "surrogatepass") for a, n in places]

    def distinct(self, wanted: tuple[str, ...]) -> int:
        """Return how many of the strings `wanted`, which are all different, occur as words."""
        raise NotImplementedError


class _KnownWords(Words):
    """Words by their numbers in a vocabulary of many texts.

    Attributes:
        chunks: the runs without white space and their numbers; None where the text was not split chunk by chunk.
    """

    __slots__ = ("chunks", "vocabulary")

    def __init__(self, numbers: np.ndarray, vocabulary: Vocabulary, chunks: tuple[list[str], np.ndarray] | None = None):
        self.numbers = numbers
        self.chunks = chunks
        self.vocabulary = vocabulary
        self.length, self.flags = vocabulary.length.array, vocabulary.flags.array
        self.hash, self.power = vocabulary.hash.array, vocabulary.power.array
        self.at, self.code = vocabulary.at.array, vocabulary.code.array

    def distinct(self, wanted: tuple[str, ...]) -> int:
        number = self.vocabulary.number
        known = [number[word] for word in wanted if word in number]
        return int(kernels.count_distinct(self.numbers, np.array(known, np.int32))) if known else 0


class ScannedWords(Words):
    """Words that a scanner found in one text, numbered by themselves.

    Attributes:
        starts: int32, shape (words,): where each begins in the text.
    """

    __slots__ = ("starts",)

    def __init__(self, code: np.ndarray, table: np.ndarray):
        self.code = code
        self.starts, ends = word_bounds(code, table)
        found = number_words(code, self.starts, ends, table)
        self.numbers, self.length, self.flags, self.hash, self.power, self.at = found

    def distinct(self, wanted: tuple[str, ...]) -> int:
        return int(kernels.count_known(self.hash, self.length, self.at, self.code, *_hashed(wanted)))


def code_points(text: str) -> np.ndarray:
    """Return uint32: the code points of `text`, lone surrogates as they are."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@lru_cache(maxsize=4096)
def _hashed(words: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (hashes, lengths, code points) of `words`."""
    lengths = np.fromiter(map(len, words), np.int32, len(words))
    codes = code_points("".join(words))
    return kernels.hash_words(codes, lengths)[0], lengths, codes


class _Splitter:
    """Splits texts into words of one unit, and remembers what each chunk of text is made of."""

    def __init__(self, split: Callable[[Sequence[str]], list[Sequence[str]]]):
        self._split = split
        self._vocabulary = self._new()

    def _new(self) -> Vocabulary:
        return Vocabulary(self._split)

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary that the next document is to use."""
        if self._vocabulary.is_full:
            self._vocabulary = self._new()
        return self._vocabulary

    def words(self, text: str) -> _KnownWords:
        known = self.vocabulary()
        texts = text.split()
        return self._expanded(texts, known.numbers(texts), known)

    @staticmethod
    def _expanded(texts: list[str], chunks: np.ndarray, known: Vocabulary) -> _KnownWords:
        start, count = known.word_start.array, known.word_count.array
        return _KnownWords(kernels.expand(chunks, start, count, known.word_of.array), known, (texts, chunks))


class _SpacySplitter(_Splitter):
    """Splits chunk by chunk, and where a seam of two chunks matters, as a whole."""

    def _new(self) -> Vocabulary:
        return Vocabulary(self._split, spacy_split.edges)

    def words(self, text: str) -> _KnownWords:
        known = self.vocabulary()
        texts = text.split()
        chunks = known.numbers(texts)
        if not self.has_seam(texts, chunks, known):
            return self._expanded(texts, chunks, known)
        if "\n" in text:  # a line break is a token, over which no special case reaches
            return _KnownWords(np.concatenate([self._line(line, known) for line in text.split("\n")]), known)
        return _KnownWords(self._line(text, known), known)

    def _line(self, line: str, known: Vocabulary) -> np.ndarray:
        texts = line.split()
        chunks = known.numbers(texts)
        if not self.has_seam(texts, chunks, known) or any(map(spacy_split.is_endless, texts)):
            return self._expanded(texts, chunks, known).numbers
        tokens = [token for _, token in spacy_split.split_text(clean_text(line)) if not token.isspace()]
        return known.words_of(tokens)

    @staticmethod
    def has_seam(texts: Sequence[str], chunks: np.ndarray, known: Vocabulary) -> bool:
        """Tell whether two neighbours of `texts`, whose numbers are `chunks`, may meet in a seam."""
        places = kernels.meetings(chunks, known.edges.array)
        return any(spacy_split.seams().between(texts[place], texts[place + 1]) for place in places.tolist())


_SPACY = _SpacySplitter(spacy_split.split_chunks)
_WHITESPACE = _Splitter(lambda chunks: [(chunk,) for chunk in chunks])


def spacy_words(text: str) -> _KnownWords:
    """Return the words of `text` as spaCy 3.8's blank English pipeline splits it; white space is no word.

    Runs of very many marks without white space, on which spaCy takes seconds, are one word (`spacy_split.MOST_WORK`).
    """
    return _SPACY.words(text)


def whitespace_words(text: str) -> Words:
    """Return the runs of `text` without white space."""
    return _WHITESPACE.words(text)


def unicode_words(text: str) -> ScannedWords:
    """Return the words of `text` after UAX #29, see `stages.text.unicode_split`; white space is no word."""
    return ScannedWords(code_points(text), word_table())


UNITS: Mapping[str, Callable[[str], Words]] = {
    "spacy": spacy_words,
    "unicode": unicode_words,
    "whitespace": whitespace_words,
}
"""The units by name; each a view of a document."""


def count_sentences(text: str) -> int:
    """Return how many sentences `text` has, as spaCy 3.8's rule-based sentencizer divides it; of nothing, one."""
    return len(_sentence_ends(clean_text(text))) + 1


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, which joined are `text`, as spaCy 3.8's sentencizer divides it.

    White space between two sentences belongs to the second. A lone surrogate becomes U+FFFD.
    """
    text = clean_text(text)
    return _cut(text, _sentence_ends(text).tolist())


def split_unicode_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, which joined are `text`, by its `unicode_words`.

    A sentence begins at the first word, after a mark that ends one, that is neither such a mark nor punctuation: the rule of
    spaCy's sentencizer, with no abbreviations known.
    """
    words = unicode_words(text)
    return _cut(text, kernels.word_sentences(words.starts, words.numbers, words.length, words.flags).tolist())


def sentences_of_lines(words: ScannedWords, lines: Sequence[str]) -> list[int]:
    """Return how many sentences each of `lines` has, line breaks kept, that make up the text of `words`."""
    counts = kernels.sentences_between(_bounds(lines), words.starts, words.numbers, words.flags)
    return counts.tolist()  # type: ignore[no-any-return]


def spacy_sentences_of_lines(text: str, words: _KnownWords, lines: Sequence[str]) -> list[int]:
    """Return what `count_sentences` says of each of `lines`, white space around it left out, that make up `text`.

    Args:
        words: the `spacy_words` of `text`.
        lines: with their line breaks.
    """
    if words.chunks is None:
        return [count_sentences(line.strip()) for line in lines]
    texts, chunks = words.chunks
    known = words.vocabulary
    offsets, ends = _places(texts, text)
    counts = kernels.line_sentences(
        _bounds(lines),
        offsets,
        _gaps(text, offsets, ends),
        chunks,
        known.word_start.array,
        known.word_count.array,
        known.word_of.array,
        known.flags.array,
    )
    return counts.tolist()  # type: ignore[no-any-return]


def _bounds(lines: Sequence[str]) -> np.ndarray:
    """Return int64, shape (lines + 1,): where each of `lines` begins in their text, and where the last ends."""
    bounds = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)), out=bounds[1:])
    return bounds


def _cut(text: str, ends: list[int]) -> list[str]:
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


def _sentence_ends(text: str) -> np.ndarray:
    """Return int64: where each sentence of `text` but the last ends."""
    known = _SPACY.vocabulary()
    texts = text.split()
    chunks = known.numbers(texts)
    if _SPACY.has_seam(texts, chunks, known) and not any(map(spacy_split.is_endless, texts)):
        tokens = [(at, token) for at, token in spacy_split.split_text(text) if not token.isspace()]
        chunks = np.arange(len(tokens), dtype=np.int32)
        word_of = known.words_of([token for _, token in tokens])
        start, count = np.arange(len(tokens), dtype=np.int64), np.ones(len(tokens), np.int32)
        offsets = np.array([at for at, _ in tokens], np.int64)
        ends = offsets + [len(token) for _, token in tokens]
    else:
        start, count, word_of = known.word_start.array, known.word_count.array, known.word_of.array
        offsets, ends = _places(texts, text)
    gaps = _gaps(text, offsets, ends)
    return kernels.sentence_ends(chunks, offsets, gaps, start, count, word_of, known.length.array, known.flags.array)


def _places(texts: Sequence[str], text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return int64: where each of the chunks `texts` of `text` begins and ends."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    if " ".join(texts) == text:
        ends = np.cumsum(lengths + 1) - 1
        return ends - lengths, ends
    offsets = np.fromiter((found.start() for found in _CHUNK.finditer(text)), np.int64, len(texts))
    return offsets, offsets + lengths


def _gaps(text: str, offsets: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return bool: whether white space that is a token stands before each piece and at the end.

    A single space after something is no token; any other white space is, and so is a space at the beginning.
    """
    before = np.concatenate([[0], ends])
    space = np.concatenate([offsets, [len(text)]]) - before
    gaps = space > 1
    gaps[0] = space[0] > 0
    for place in np.flatnonzero(space == 1).tolist():
        if text[before[place]] != " ":
            gaps[place] = True
    return gaps
