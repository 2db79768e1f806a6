"""Words: the units that rules count, split once per document and shared by all stages.

    document.view(unicode_words).numbers

`unicode_words` are those of UAX #29, found by a scanner of our own, with rules of spelling for scripts written without
spaces. `spacy_words` are those of spaCy's blank English pipeline, the unit of datatrove's published rules: punctuation
marks are words, ``don't`` is ``do`` and ``n't``. `whitespace_words` are runs without white space.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from pipeline.documents import clean_text
from stages.text import kernels, spacy_split
from stages.text.spacy_scan import fill, scan
from stages.text.unicode_split import word_bounds
from stages.text.word_classes import TABLE_SIZE, white_space, word_table
from stages.text.word_numbers import ALPHABETIC, NON_SYMBOL, number_words

Unit = Literal["spacy", "unicode", "whitespace"]
"""Names of `UNITS`, as stages have them for a parameter."""


class Words:
    """The words of one text.

    Attributes:
        code: uint32: the text's code points.
        starts, ends: int32, shape (words,): where each word begins and ends.
        numbers: int32, the same shape: equal words have equal numbers.
        length, flags, hash, power, at: by number, see `stages.text.word_numbers`.
    """

    __slots__ = ("at", "code", "ends", "flags", "hash", "length", "numbers", "power", "starts")

    def __init__(self, code: np.ndarray, starts: np.ndarray, ends: np.ndarray, *, marked_by_first: bool = False):
        self.code, self.starts, self.ends = code, starts, ends
        found = number_words(code, starts, ends, word_table(), marked_by_first)
        self.numbers, self.length, self.flags, self.hash, self.power, self.at = found
        if not marked_by_first and len(code) and code.max() >= TABLE_SIZE:
            self._flag_what_no_table_has()

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def texts(self) -> list[str]:
        """The words as strings."""
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.code[a:b].tobytes().decode("utf-32-le", "surrogatepass") for a, b in places]

    def _flag_what_no_table_has(self) -> None:
        for word in np.flatnonzero(np.maximum.reduceat(self.code, self.starts) >= TABLE_SIZE).tolist():
            text = self.code[self.starts[word] : self.ends[word]].tobytes().decode("utf-32-le", "surrogatepass")
            known = self.flags[self.numbers[word]] & ~np.uint8(ALPHABETIC)
            self.flags[self.numbers[word]] = known | NON_SYMBOL | (ALPHABETIC if any(map(str.isalpha, text)) else 0)

    def distinct(self, wanted: tuple[str, ...]) -> int:
        """Return how many of the strings `wanted`, which are all different, occur as words."""
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


def unicode_words(text: str) -> Words:
    """Return the words of `text` after UAX #29, see `stages.text.unicode_split`; white space is no word."""
    code = code_points(text)
    return Words(code, *word_bounds(code, word_table()), marked_by_first=True)


def whitespace_words(text: str) -> Words:
    """Return the runs of `text` without white space."""
    code = code_points(text)
    return Words(code, *kernels.runs(code, white_space()))


def spacy_words(text: str) -> Words:
    """Return the words of `text` as spaCy 3.8's blank English pipeline splits it; white space is no word.

    Runs of very many marks without white space, on which spaCy takes seconds, are one word (`spacy_split.MOST_WORK`). A lone
    surrogate becomes U+FFFD.
    """
    text = clean_text(text)
    code = code_points(text)
    starts, ends, aside = scan(code, spacy_split.tables())
    if len(aside):
        places = list(zip(starts[aside].tolist(), ends[aside].tolist(), strict=True))
        lengths = spacy_split.split_chunks([text[a:b] for a, b in places])
        counts = np.fromiter(map(len, lengths), np.int32, len(lengths))
        flat = np.fromiter(itertools.chain.from_iterable(lengths), np.int32, int(counts.sum()))
        starts, ends = fill(starts, ends, aside, counts, flat)
        seams = [a for a, b in places if spacy_split.has_seam(text, a, b)]
        for line in sorted({_line(text, at) for at in seams}):
            starts, ends = _split_whole(text, *line, starts, ends)
    return Words(code, starts, ends)


def _line(text: str, at: int) -> tuple[int, int]:
    """Return where the line around `at` begins and ends; a line break is a token, over which no special case reaches."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, end if end >= 0 else len(text)


def _split_whole(
    text: str, start: int, end: int, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the words with those of the line ``text[start:end]`` as spaCy splits it whole."""
    line = text[start:end]
    if any(map(spacy_split.is_endless, line.split())):
        return starts, ends
    tokens = [
        (start + at, start + at + len(token)) for at, token in spacy_split.split_text(line) if not token.isspace()
    ]
    bounds = np.array(tokens, np.int32).reshape(-1, 2)
    first, last = np.searchsorted(starts, [start, end])
    return (
        np.concatenate([starts[:first], bounds[:, 0], starts[last:]]),
        np.concatenate([ends[:first], bounds[:, 1], ends[last:]]),
    )


UNITS: Mapping[str, Callable[[str], Words]] = {
    "spacy": spacy_words,
    "unicode": unicode_words,
    "whitespace": whitespace_words,
}
"""The units by name; each a view of a document."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, which joined are `text`, as spaCy 3.8's sentencizer divides it.

    White space between two sentences belongs to the second. A lone surrogate becomes U+FFFD.
    """
    text = clean_text(text)
    words = spacy_words(text)
    ends = kernels.spacy_sentence_ends(words.code, words.starts, words.ends, words.numbers, words.flags)
    return _cut(text, ends.tolist())


def split_unicode_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, which joined are `text`, by its `unicode_words`.

    A sentence begins at the first word, after a mark that ends one, that is neither such a mark nor punctuation: the rule of
    spaCy's sentencizer, with no abbreviations known.
    """
    words = unicode_words(text)
    return _cut(text, kernels.word_sentences(words.starts, words.numbers, words.length, words.flags).tolist())


def sentences_of_lines(words: Words, lines: Sequence[str]) -> list[int]:
    """Return how many sentences each of `lines` has, line breaks kept, that make up the text of `words`."""
    counts = kernels.sentences_between(_bounds(lines), words.starts, words.numbers, words.flags)
    return counts.tolist()  # type: ignore[no-any-return]


def spacy_sentences_of_lines(words: Words, lines: Sequence[str]) -> list[int]:
    """Return how many sentences spaCy's sentencizer finds in each of `lines`, white space around it left out.

    Args:
        words: the `spacy_words` of the text that `lines` make up.
        lines: with their line breaks.
    """
    counts = kernels.spacy_line_sentences(
        _bounds(lines), words.code, words.starts, words.ends, words.numbers, words.flags
    )
    return counts.tolist()  # type: ignore[no-any-return]


def _bounds(lines: Sequence[str]) -> np.ndarray:
    """Return int64, shape (lines + 1,): where each of `lines` begins in their text, and where the last ends."""
    bounds = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)), out=bounds[1:])
    return bounds


def _cut(text: str, ends: list[int]) -> list[str]:
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
