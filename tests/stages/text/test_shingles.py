"""Folding text to units, hashing runs of them, and comparing sets of hashes."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.text.shingles import (
    SOLO_RANGES,
    fold,
    fold_table,
    jaccard,
    ngram_hashes,
    shingle_sets,
    utf8_of,
    utf8_of_text,
)

TEXTS = st.text(max_size=60) | st.text("ab é\u0301ǅß,.1\n日本ทк한ｶＡ\u00ad", max_size=80)


def units(text: str) -> list[str]:
    data = utf8_of_text(text)
    out = np.zeros(2 * len(data) + 4, np.uint8)
    starts, ends = np.zeros(len(data) // 2 + 2, np.int32), np.zeros(len(data) // 2 + 2, np.int32)
    count = fold(data, 0, len(data), fold_table(), out, starts, ends)
    return [out[a:b].tobytes().decode() for a, b in zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)]


def reference_units(text: str) -> list[str]:
    """The rule, character by character."""
    found, word = [], ""
    for character in text:
        code = ord(character)
        category = unicodedata.category(character)
        if 0x300 <= code <= 0x36F or (category == "Cf" and code < 0x20000) or code >= 0xE0000:
            continue
        if 0x20000 <= code < 0x40000:
            folded, solo = character, True
        elif category[0] not in "LNM" or code >= 0x40000:
            folded, solo = "", False
        else:
            solo = any(a <= code <= b for a, b in SOLO_RANGES)
            folded = character
            if not solo:
                plain = unicodedata.normalize("NFKD", character.lower())
                plain = "".join(c for c in plain if not 0x300 <= ord(c) <= 0x36F).lower()
                if len(plain) == 1 and unicodedata.category(plain)[0] in "LNM":
                    folded = plain
                elif len(character.lower()) == 1:
                    folded = character.lower()
                solo = any(a <= ord(folded) <= b for a, b in SOLO_RANGES)
        if word and (solo or not folded):
            found.append(word)
            word = ""
        if solo:
            found.append(folded)
        else:
            word += folded
    return [*found, word] if word else found


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_the_kernel_folds_as_the_rule_says(text):
    assert units(text) == reference_units(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("don't", ["don", "t"]),
        ("don’t", ["don", "t"]),
        ("caf\u00e9 cafe\u0301 CAFÉ", ["cafe", "cafe", "cafe"]),
        ("co\u00adoperate", ["cooperate"]),
        ("İstanbul", ["istanbul"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("日本語 text", ["日", "本", "語", "text"]),
        ("한국", ["한", "국"]),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("𠀀x", ["𠀀", "x"]),
        ("हिन्दी", ["हिन्दी"]),
        ("a\0b", ["a", "b"]),
        ("3.14", ["3", "14"]),
        ("", []),
        ("!!! …", []),
    ],
)
def test_units_of(text, expected):
    assert units(text) == expected


def test_a_lone_surrogate_separates_words():
    assert units("a\ud800b") == ["a", "b"]


def test_line_breaks_case_and_punctuation_make_no_difference():
    assert units("One two,\nTHREE-four") == units("one   two three four.")


def test_bytes_cut_inside_a_character_do_not_lead_out_of_the_text():
    data = np.frombuffer("é日".encode()[:-1], np.uint8)
    out = np.zeros(32, np.uint8)
    starts, ends = np.zeros(8, np.int32), np.zeros(8, np.int32)
    assert fold(data, 0, len(data), fold_table(), out, starts, ends) == 1


def hashes(text: str, n: int) -> list[int]:
    data = utf8_of_text(text)
    out = np.zeros(2 * len(data) + 4, np.uint8)
    starts, ends = np.zeros(len(data) // 2 + 2, np.int32), np.zeros(len(data) // 2 + 2, np.int32)
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


def test_no_character_grows_beyond_the_room_that_callers_give():
    folded = fold_table()
    for code in range(len(folded)):
        value = int(folded[code]) & 0x7FFFFFFF
        if value > 1:
            room = 2 * len(chr(code).encode("utf-8"))
            space = int(folded[code]) >> 31  # a unit of its own is followed by a space
            assert len(chr(value).encode("utf-8")) + space <= room
