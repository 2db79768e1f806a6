"""Hashing runs of units, and comparing sets of hashes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.text.fold_table import fold_table
from stages.text.shingles import jaccard, ngram_hashes, shingle_sets
from stages.text.units import fold, room, utf8_of, utf8_of_text


def hashes(text: str, n: int) -> list[int]:
    data = utf8_of_text(text)
    out, starts, ends = room(np.array([0, len(data)]))
    count = fold(data, 0, len(data), fold_table(), out, starts, ends)
    found = np.zeros(max(1, count), np.uint64)
    return found[: ngram_hashes(out, starts, ends, count, n, found)].tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers(1, 5))
def test_ngrams_hash_alike_exactly_where_they_are_alike(words, n):
    found = hashes(" ".join(words), n)
    if not words:
        assert found == []
        return
    runs = [tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))]
    assert len(found) == len(runs)
    assert len(set(zip(found, runs, strict=True))) == len(set(found)) == len(set(runs))


def test_a_rolled_hash_is_that_of_the_run_alone():
    assert hashes("one two three four five six", 3)[2] == hashes("three four five", 3)[0]


def test_short_texts_differ_from_each_other_and_from_the_start_of_a_longer_one():
    found = [hashes("a b", 5), hashes("a c", 5), hashes("a", 5), hashes("a b c d e", 5)]
    assert all(len(h) == 1 for h in found)
    assert len({h[0] for h in found}) == 4


def test_sets_hold_each_shingle_once_in_order():
    data, offsets = utf8_of(pa.array(["a b a b a b a b", "", None, "x"], pa.large_string()))
    bounds, found = shingle_sets(data, offsets, 2, fold_table())
    assert np.diff(bounds).tolist() == [2, 0, 0, 1]
    assert found[0] < found[1]


def test_sets_of_a_slice_are_those_of_its_texts():
    texts = pa.array(["a b c", "d e f", "g h i"], pa.large_string())
    _, whole = shingle_sets(*utf8_of(texts), 1, fold_table())
    _, part = shingle_sets(*utf8_of(texts.slice(1, 1)), 1, fold_table())
    assert sorted(part.tolist()) == sorted(whole[3:6].tolist())


@settings(max_examples=200, deadline=None)
@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.sampled_from([0.05, 0.5, 0.8, 1.0]))
def test_jaccard_is_that_of_the_sets_or_says_that_it_is_below(a, b, least):
    found = jaccard(np.array(sorted(a), np.uint64), np.array(sorted(b), np.uint64), least)
    expected = len(a & b) / len(a | b) if a | b else 0.0
    if expected >= least:
        assert found == expected
    else:
        assert found in (expected, -1.0)
