"""An index of the word n-grams of evaluation sets, and the kernel that looks a document's n-grams up in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit

from stages.decontamination.evaluation_sets import Item
from stages.decontamination.passages import Folded, Passage, SetCounts, fold_texts, passages_of
from stages.text.fold_table import fold_table
from stages.text.shingles import roll, unit_hashes
from stages.text.units import fold, room


@dataclass(frozen=True)
class NgramIndex:
    """The n-grams of all passages. Arrays are flat, for the kernel; P passages, G distinct n-grams, S short passages.

    Attributes:
        passages: the indexed texts.
        sets: counts of each evaluation set, in their order.
        text: uint8, folded bytes of all passages.
        gram_at: int64, shape (G, 2): where in `text` each n-gram stands once.
        owners_from, owners: passages that hold n-gram g are ``owners[owners_from[g]:owners_from[g + 1]]``.
        sizes: int64, shape (P,): distinct n-grams of each passage that count; 0 for a short passage.
        slots: int32, hash table from an n-gram's hash to the n-gram: open addressing, -1 is free.
        bits: bitmap that answers most look-ups with no.
        short_keys, short_from, short: hash of the first `prefix` units -> short passages, sorted by key.
        short_bits: bitmap as `bits`, of `short_keys`.
        short_at: int64, shape (P, 2): where a short passage stands in `text`.
    """

    ngram: int
    prefix: int
    passages: tuple[Passage, ...]
    sets: tuple[SetCounts, ...]
    text: np.ndarray
    gram_at: np.ndarray
    owners_from: np.ndarray
    owners: np.ndarray
    sizes: np.ndarray
    slots: np.ndarray
    bits: np.ndarray
    short_keys: np.ndarray
    short_from: np.ndarray
    short: np.ndarray
    short_bits: np.ndarray
    short_at: np.ndarray

    def scan(self, data: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rows, hits, places), each int64: which n-gram (or ``-1 - passage`` for a short passage) each
        text holds, and from which of its units on. Every hit has been compared word by word.

        Args:
            data, offsets: texts as `stages.text.units.utf8_of` gives them.
        """
        return scan(
            data, offsets, self.ngram, self.prefix, fold_table(), self.text, self.gram_at, self.slots, self.bits,
            self.short_keys, self.short_from, self.short, self.short_bits, self.short_at,
        )  # fmt: skip


def build_index(sets: Iterable[tuple[str, Iterable[Item]]], ngram: int, min_words: int, max_items: int) -> NgramIndex:
    """Return the index of evaluation `sets` (name and items of each).

    Args:
        ngram: units in an n-gram.
        min_words: words that a passage must have; characters of scripts without spaces count half.
        max_items: a text of more items, or an n-gram of more passages, of one set is a template and not indexed.
    """
    passages: list[Passage] = []
    counted: list[SetCounts] = []
    pieces = [_Piece.empty()]
    for name, items in sets:
        names, folded, chosen, counts = passages_of(name, items, ngram, min_words, max_items)
        counted.append(counts)
        pieces.append(_piece(folded, chosen, ngram, max_items, len(passages), sum(len(p.text) for p in pieces)))
        passages += names
    whole = _Piece(*(np.concatenate(arrays) for arrays in zip(*(vars(p).values() for p in pieces), strict=True)))
    pieces.clear()  # their memory is of use below
    order = np.lexsort((whole.owners, whole.keys))
    keys, first = np.unique(whole.keys[order], return_index=True)
    short = np.flatnonzero(whole.is_short)
    index = NgramIndex(
        ngram=ngram,
        prefix=min_words,
        passages=tuple(passages),
        sets=tuple(counted),
        text=whole.text,
        gram_at=whole.at[order[first]],
        owners_from=np.append(first, len(order)).astype(np.int64),
        owners=whole.owners[order],
        sizes=np.bincount(whole.owners, minlength=len(passages)),
        **_table(keys),
        **_short_table(whole.text, whole.spans, short, min_words),
        short_at=whole.spans,
    )
    for value in vars(index).values():  # as where it is mapped from a file, or kernels are compiled for both
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return index


@dataclass(frozen=True)
class _Piece:
    """One set's part of an index: bytes, one entry a distinct (n-gram, passage), and one a passage."""

    text: np.ndarray
    keys: np.ndarray
    owners: np.ndarray
    at: np.ndarray
    spans: np.ndarray
    is_short: np.ndarray

    @classmethod
    def empty(cls) -> _Piece:
        none, pairs = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
        return cls(none.astype(np.uint8), none.astype(np.uint64), none, pairs, pairs, none.astype(bool))


def _piece(folded: Folded, chosen: np.ndarray, ngram: int, max_items: int, first: int, begin: int) -> _Piece:
    """Return the part of the index for the texts `chosen`, as passages from `first` on in bytes from `begin` on."""
    lengths = np.diff(folded.bounds)[chosen]
    starts = begin + np.cumsum(lengths) - lengths
    is_short = folded.units[chosen] < ngram
    rows = np.concatenate([[], *(np.arange(folded.grams[n], folded.grams[n + 1]) for n in chosen[~is_short])]).astype(
        np.int64
    )
    local = np.repeat(np.flatnonzero(~is_short), np.diff(folded.grams)[chosen[~is_short]])
    telling = folded.telling[rows]
    rows, local = rows[telling], local[telling]
    # each n-gram once a passage, and none that too many passages share
    order = np.lexsort((local, folded.hashes[rows]))
    rows, local = rows[order], local[order]
    keys = folded.hashes[rows]
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (keys[1:] != keys[:-1]) | (local[1:] != local[:-1])
    rows, local, keys = rows[fresh], local[fresh], keys[fresh]
    _, number, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rare = counts[number] <= max_items
    rows, local, keys = rows[rare], local[rare], keys[rare]
    at = folded.at[rows] + (starts[local] - folded.bounds[chosen[local]])[:, None]
    text = np.frombuffer(b"".join(folded.content(n) for n in chosen.tolist()), np.uint8)
    return _Piece(text, keys, local + first, at, np.stack([starts, starts + lengths], 1), is_short)


def _table(keys: np.ndarray) -> dict[str, np.ndarray]:
    size = 1 << max(4, int(2 * len(keys)).bit_length())
    slots = np.full(size, -1, np.int32)
    _fill(keys, slots)
    return {"slots": slots, "bits": _bitmap(keys)}


def _bitmap(keys: np.ndarray) -> np.ndarray:
    """Return uint8, a power of two long, with 8 to 16 bits a key, those set that `_is_set` asks for."""
    size = 1 << max(10, len(keys).bit_length())
    bits = np.zeros(size, np.uint8)
    at = (keys >> np.uint64(20)) & np.uint64(8 * size - 1)
    np.bitwise_or.at(bits, (at >> np.uint64(3)).astype(np.int64), np.uint8(1) << (at & np.uint64(7)).astype(np.uint8))
    return bits


def _short_table(text: np.ndarray, spans: np.ndarray, short: np.ndarray, prefix: int) -> dict[str, np.ndarray]:
    words = [text[begin:end].tobytes().split(b" ") for begin, end in spans[short].tolist()]
    long_enough = np.array([len(w) >= prefix for w in words], bool)
    firsts = fold_texts([b" ".join(w[:prefix]).decode() for w in words if len(w) >= prefix], prefix)
    order = np.argsort(firsts.hashes, kind="stable")
    keys, first = np.unique(firsts.hashes[order], return_index=True)
    return {
        "short_keys": keys,
        "short_from": np.append(first, len(order)).astype(np.int64),
        "short": short[long_enough][order],
        "short_bits": _bitmap(keys),
    }


@njit(cache=True, nogil=True)
def _fill(keys, slots):
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        at = keys[i] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = i


@njit(cache=True, nogil=True)
def _is_set(bits, key):
    at = (key >> np.uint64(20)) & np.uint64(8 * len(bits) - 1)
    return (bits[at >> np.uint64(3)] >> (at & np.uint64(7))) & 1


@njit(cache=True, nogil=True)
def _same(a, a_start, a_end, b, b_start, b_end):
    if a_end - a_start != b_end - b_start:
        return False
    for i in range(a_end - a_start):  # noqa: SIM110  (a generator does not compile)
        if a[a_start + i] != b[b_start + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def scan(
    data, offsets, ngram, prefix, table, text, gram_at, slots, bits, short_keys, short_from, short, short_bits, short_at
):
    """See `NgramIndex.scan`."""
    rows = len(offsets) - 1
    out, starts, ends = room(offsets)
    words = np.empty(len(starts), np.uint64)
    hashes = np.empty(len(starts), np.uint64)
    found = np.empty((16, 3), np.int64)
    count = 0
    for row in range(rows):
        units = fold(data, offsets[row], offsets[row + 1], table, out, starts, ends)
        unit_hashes(out, starts, ends, units, words)
        for i in range(roll(words, units, ngram, hashes) if units >= ngram else 0):
            if _is_set(bits, hashes[i]):
                gram = _gram(hashes[i], out, starts[i], ends[i + ngram - 1], text, gram_at, slots)
                if gram >= 0:
                    found, count = _append(found, count, row, gram, i)
        for i in range(roll(words, units, prefix, hashes) if units >= prefix else 0):
            if _is_set(short_bits, hashes[i]):
                key = np.searchsorted(short_keys, hashes[i])
                if key == len(short_keys) or short_keys[key] != hashes[i]:
                    continue
                for j in range(short_from[key], short_from[key + 1]):
                    begin, end = short_at[short[j], 0], short_at[short[j], 1]
                    stop = starts[i] + end - begin
                    whole = stop == ends[units - 1] or (stop < ends[units - 1] and out[stop] == 32)
                    if whole and _same(out, starts[i], stop, text, begin, end):
                        found, count = _append(found, count, row, -1 - short[j], i)
    return found[:count, 0].copy(), found[:count, 1].copy(), found[:count, 2].copy()


@njit(cache=True, nogil=True)
def _gram(key, out, first, last, text, gram_at, slots):
    """Return the n-gram whose words are ``out[first:last]``, or -1."""
    mask = np.uint64(len(slots) - 1)
    at = key & mask
    while slots[at] >= 0:
        gram = slots[at]
        if _same(out, first, last, text, gram_at[gram, 0], gram_at[gram, 1]):
            return gram
        at = (at + np.uint64(1)) & mask
    return -1


@njit(cache=True, nogil=True)
def _append(found, count, row, hit, place):
    if count == len(found):
        found = np.concatenate((found, np.empty_like(found)))
    found[count, 0], found[count, 1], found[count, 2] = row, hit, place
    return found, count + 1
