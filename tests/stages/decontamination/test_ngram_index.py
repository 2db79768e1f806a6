"""The index of evaluation n-grams, held against plain sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.decontamination.evaluation_sets import Item
from stages.decontamination.ngram_index import build_index
from stages.text.units import utf8_of
from tests.stages.text.test_units import units

WORDS = st.lists(st.sampled_from([f"w{n}" for n in range(7)]), max_size=25).map(" ".join)


def scanned(index, texts):
    rows, hits, places = index.scan(*utf8_of(pa.array(texts, pa.large_string())))
    return list(zip(rows.tolist(), hits.tolist(), places.tolist(), strict=True))


def gram(index, number):
    start, end = index.gram_at[number]
    return index.text[start:end].tobytes().decode()


def short(index, number):
    start, end = index.short_at[number]
    return index.text[start:end].tobytes().decode()


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=4))
def test_a_scan_finds_what_plain_sets_find(passages, documents):
    index = build_index([("set", [Item(str(n), (("text", t),)) for n, t in enumerate(passages)])], 6, 4, 100)
    grams, shorts = set(), set()
    for words in map(units, passages):
        telling = [tuple(words[i : i + 6]) for i in range(max(1, len(words) - 5)) if len(set(words[i : i + 6])) >= 4]
        if len(words) >= 6:
            grams.update(telling)
        elif len(words) >= 4 and telling:
            shorts.add(tuple(words))
    expected = []
    for row, words in enumerate(map(units, documents)):
        for i in range(len(words)):
            if tuple(words[i : i + 6]) in grams:
                expected.append((row, " ".join(words[i : i + 6]), i))
            expected += [(row, " ".join(s), i) for s in shorts if tuple(words[i : i + len(s)]) == s]
    found = [
        (row, gram(index, hit) if hit >= 0 else short(index, -1 - hit), place)
        for row, hit, place in scanned(index, documents)
    ]
    assert sorted(found) == sorted(expected)


def test_ngrams_that_many_passages_of_a_set_share_are_left_out():
    shared = "the following text is what you have to read now"
    items = [Item(str(n), (("text", f"{shared} own{n} and{n} more{n}"),)) for n in range(4)]
    lenient, strict = (build_index([("set", items)], 6, 4, limit) for limit in (4, 3))
    assert len(scanned(lenient, [shared])) == 5
    assert scanned(strict, [shared]) == []
    assert len(scanned(strict, [f"{shared} own2"])) == 1


def test_sets_do_not_make_templates_of_each_other():
    text = "some words that stand in each of the sets"
    sets = [(name, [Item("0", (("text", text),))]) for name in "abc"]
    index = build_index(sets, 6, 4, 1)
    owners = [index.passages[p].set for p in index.owners[index.owners_from[0] : index.owners_from[1]].tolist()]
    assert owners == ["a", "b", "c"]
    assert index.sizes.tolist() == [4, 4, 4]


def test_a_hit_is_compared_word_by_word():
    index = build_index([("set", [Item("0", (("text", "one two three four five six"),))])], 6, 4, 10)
    forged = np.frombuffer(index.text.tobytes().replace(b"six", b"sex"), np.uint8)
    broken = type(index)(**{**vars(index), "text": forged})
    assert len(scanned(index, ["One two, three four five six!"])) == 1
    assert scanned(broken, ["One two, three four five six!"]) == []


def test_an_index_without_passages_finds_nothing():
    index = build_index([("set", [])], 13, 8, 10)
    assert scanned(index, ["a b c " * 20, ""]) == []
