"""The passages of evaluation sets: which texts of an item are looked for, folded and cut into n-grams."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from pipeline.documents import clean_text
from stages.decontamination.evaluation_sets import Item
from stages.text.fold_table import fold_table
from stages.text.shingles import ngram_hashes
from stages.text.units import FOLDED_A_BYTE, UNITS_A_BYTE, fold, room, utf8_of

MIN_DISTINCT = 4
"""Different units that an n-gram must have to tell one text from another (as in allenai/decon)."""

ALL = "all"
"""What the texts of an item together are called in the ledger."""

_LABEL = re.compile(r"(?m)^[ \t]*[A-Z][A-Za-z]{0,15}[ \t]*:[ \t]*")
_LABEL_UNITS = 2  # "Adversarial", "HumanEval/0", "high school"
_QUESTION_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Passage:
    """One text that is looked for: the set, item and key it comes from."""

    set: str
    item: str
    field: str


@dataclass(frozen=True, slots=True)
class SetCounts:
    """What is looked for of one evaluation set.

    Attributes:
        items, texts: in the set.
        found: items that are looked for.
        short: items of which no text is long enough; the rest are templates.
    """

    name: str
    items: int
    texts: int
    found: int
    short: int


@dataclass(frozen=True)
class Folded:
    """Texts folded to units (see `stages.text.units`), flat. T texts, G n-grams.

    Attributes:
        text: uint8, the folded bytes of all texts.
        bounds: int64, shape (T + 1,): text t is ``text[bounds[t]:bounds[t + 1]]``.
        units: int64, shape (T,).
        weights: float64, shape (T,): units, a character of a script without spaces counted half.
        grams: int64, shape (T + 1,): text t has n-grams ``grams[t]`` to ``grams[t + 1]``; one where it is shorter.
        hashes: uint64, shape (G,).
        at: int64, shape (G, 2): where each stands in `text`.
        telling: bool, shape (G,): has a letter and `MIN_DISTINCT` different units.
    """

    text: np.ndarray
    bounds: np.ndarray
    units: np.ndarray
    weights: np.ndarray
    grams: np.ndarray
    hashes: np.ndarray
    at: np.ndarray
    telling: np.ndarray

    def content(self, number: int) -> bytes:
        """Return the folded bytes of one text."""
        return self.text[self.bounds[number] : self.bounds[number + 1]].tobytes()


def fold_texts(texts: Sequence[str], ngram: int) -> Folded:
    """Return `texts` folded, with their n-grams."""
    data, offsets = utf8_of(pa.array([clean_text(text) for text in texts], pa.large_string()))
    return Folded(*_fold_all(data, offsets, ngram, fold_table(), MIN_DISTINCT))


def sections(text: str) -> list[str]:
    """Return what stands behind each label of a prompt, such as ``Question:``, and all of it where there are several.

    >>> sections("Question: Why?\\nAnswer: So.")
    ['Why?', 'So.', 'Why?\\nSo.']
    """
    if ":" not in text:
        return [text]
    parts = [part.strip() for part in _LABEL.split(text) if part.strip()]
    return parts if len(parts) < 2 else [*parts, "\n".join(parts)]


def passages_of(
    name: str, items: Iterable[Item], ngram: int, min_words: int, max_items: int
) -> tuple[list[Passage], Folded, np.ndarray, SetCounts]:
    """Return the distinct passages of one set, texts folded, which of those texts each passage is (int64), and counts.

    Every text of an item is a passage, and each labelled section of it; so are all texts of an item together
    where none of them alone has `ngram` units. Of shorter texts only those are passages that stand for their item:
    see `_stand_for_item`. A text that more than `max_items` items have is a template.
    """
    numbers: dict[str, int] = {}
    owned = [
        (item, [(field, numbers.setdefault(text, len(numbers))) for field, text in _parts(item, ngram)])
        for item in items
    ]
    texts = list(numbers)
    folded = fold_texts(texts, ngram)
    same = _first_of_same(folded)
    telling = np.zeros(len(texts), bool)
    np.logical_or.at(telling, np.repeat(np.arange(len(texts)), np.diff(folded.grams)), folded.telling)
    fit = (telling & (folded.weights >= min_words)).tolist()
    units = folded.units.tolist()
    counts: Counter[int] = Counter()
    found: dict[int, Passage] = {}
    by_item: list[list[int]] = []
    for item, parts in owned:
        longest = max((units[number] for field, number in parts if field != ALL), default=0)
        short = _stand_for_item(item, parts, texts, units, longest)
        chosen: dict[int, str] = {}
        for field, number in parts:
            wanted = longest < ngram if field == ALL else units[number] >= ngram or number in short
            if wanted and fit[number]:
                chosen.setdefault(same[number], field)
        counts.update(chosen.keys())
        by_item.append(list(chosen))
        for number, field in chosen.items():
            found.setdefault(number, Passage(name, item.name, field))
    kept = [number for number in found if counts[number] <= max_items]
    looked_for = set(kept)
    of_set = SetCounts(
        name,
        items=len(owned),
        texts=sum(len(item.texts) for item, _ in owned),
        found=sum(not looked_for.isdisjoint(chosen) for chosen in by_item),
        short=sum(not chosen for chosen in by_item),
    )
    return [found[number] for number in kept], folded, np.array(kept, np.int64), of_set


def _stand_for_item(
    item: Item, parts: Sequence[tuple[str, int]], texts: Sequence[str], units: Sequence[int], longest: int
) -> set[int]:
    """Return which texts of an item may be looked for though they are short: its longest, questions, and its first
    that is more than a label and no choice among others.

    A short answer ("the free exercise clause of the first amendment") gives nothing away.
    """
    times = Counter(field for field, _ in item.texts)
    lead = next((n for field, n in parts if field != ALL and times[field] == 1 and units[n] > _LABEL_UNITS), None)
    asked = {n for _, n in parts if units[n] == longest or texts[n].rstrip().endswith(_QUESTION_MARKS)}
    return asked if lead is None else asked | {lead}


def _parts(item: Item, ngram: int) -> Iterator[tuple[str, str]]:
    texts = [(field, text) for field, text in item.texts if text.strip() and not _is_address(text)]
    for field, text in texts:
        yield from ((field, part) for part in sections(text))
    # where one is long by itself the texts together are not looked for: folding them would double the work
    if len(texts) > 1 and not any(_has_words(text, ngram) for _, text in texts):
        yield ALL, "\n".join(text for _, text in texts)


def _has_words(text: str, least: int) -> bool:
    """Return whether `text` has certainly `least` units; a text without spaces may have them all the same."""
    return sum(any(map(str.isalnum, word)) for word in text.split()) >= least


def _is_address(text: str) -> bool:
    return "://" in text and len(text.split()) == 1


def _first_of_same(folded: Folded) -> list[int]:
    """Return for each text the first whose folded form is the same."""
    first: dict[bytes, int] = {}
    text, bounds = folded.text.tobytes(), folded.bounds.tolist()
    return [first.setdefault(text[a:b], number) for number, (a, b) in enumerate(itertools.pairwise(bounds))]


@njit(cache=True, nogil=True)
def _fold_all(data, offsets, n, table, least_distinct):
    """Return the arrays of `Folded`."""
    rows = len(offsets) - 1
    size = offsets[rows] - offsets[0]
    most = UNITS_A_BYTE * size + 4 * rows
    out, starts, ends = room(offsets)
    scratch = np.empty(len(starts), np.uint64)
    single = np.empty(len(starts), np.uint64)
    letter = np.empty(len(starts), np.bool_)
    text = np.empty(FOLDED_A_BYTE * size + 8 * rows, np.uint8)
    bounds = np.zeros(rows + 1, np.int64)
    counts = np.zeros(rows, np.int64)
    weights = np.zeros(rows, np.float64)
    grams = np.zeros(rows + 1, np.int64)
    hashes = np.empty(most, np.uint64)
    at = np.empty((most, 2), np.int64)
    telling = np.zeros(most, np.bool_)
    for row in range(rows):
        units = fold(data, offsets[row], offsets[row + 1], table, out, starts, ends)
        size = ends[units - 1] if units else 0
        begin = bounds[row]
        text[begin : begin + size] = out[:size]
        bounds[row + 1] = begin + size
        counts[row] = units
        for i in range(units):
            letter[i] = False
            for j in range(starts[i], ends[i]):
                letter[i] |= out[j] >= 0x61
            weights[row] += 0.5 if _is_solo(out, starts[i], ends[i], table) else 1.0
        ngram_hashes(out, starts, ends, units, 1, single)
        count = ngram_hashes(out, starts, ends, units, n, scratch)
        width = min(n, units)
        first = grams[row]
        for i in range(count):
            hashes[first + i] = scratch[i]
            at[first + i, 0] = begin + starts[i]
            at[first + i, 1] = begin + ends[i + width - 1]
            distinct = 0
            has_letter = False
            for j in range(i, i + width):
                has_letter |= letter[j]
                fresh = True
                for k in range(i, j):
                    if single[k] == single[j]:
                        fresh = False
                        break
                distinct += fresh
            telling[first + i] = has_letter and distinct >= min(least_distinct, n)
        grams[row + 1] = first + count
    total = grams[rows]
    return (
        text[: bounds[rows]].copy(),
        bounds,
        counts,
        weights,
        grams,
        hashes[:total].copy(),
        at[:total].copy(),
        telling[:total].copy(),
    )


@njit(cache=True, nogil=True)
def _is_solo(out, start, end, table):
    """Return whether the unit ``out[start:end]`` is one character of a script without spaces."""
    size = end - start
    if size == 3 and out[start] >= 0xE0:
        code = (np.uint32(out[start] & 0x0F) << np.uint32(12)) | (np.uint32(out[start + 1] & 0x3F) << np.uint32(6))
        code |= np.uint32(out[start + 2] & 0x3F)
        return table[code] >> np.uint32(31) == 1
    return size == 4 and out[start] >= 0xF0
