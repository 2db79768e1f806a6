"""The scanner against the `regex` library, against `tokenizers`, and on what both cannot be given."""

from functools import lru_cache

import numpy as np
import pytest
import regex
import tiktoken_ext.openai_public as published
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from tests.tokenizer.oracles import MIXED, english, sentences_by_language, split_by_regex
from tokenizer.memory import padded
from tokenizer.pretokens.patterns import NAMES, pattern_of
from tokenizer.pretokens.scanner import scan
from tokenizer.pretokens.unicode_classes import MARK, OTHER, class_table

TABLE = class_table()
SPECIAL = "'ſsStTrReEvVlLmMdD  \n\r\t/\u00a0\u3000aAbBzZ{@[`19٣.!,-“\u0301éÉ中ªʰǅ😀\u200b\x00"
each_pattern = pytest.mark.parametrize("name", NAMES)


def scanned(data: bytes, name: str) -> list[bytes]:
    buffer, ends = padded(data), np.empty(len(data) + 1, np.int64)
    number, stop = scan(pattern_of(name).kind, buffer, 0, len(data), ends)
    assert stop == len(data)
    return (
        [data[a:b] for a, b in zip([0, *ends[: number - 1].tolist()], ends[:number].tolist(), strict=True)]
        if number
        else []
    )


@lru_cache(maxsize=1)
def later() -> frozenset[str]:
    """Characters that the installed `regex` classes otherwise than Unicode 16: assigned or changed since."""
    known = {"L": (1, 2, 3), "N": (5,), "M": (4,), "Lu": (1,), "Ll": (2,), "Lt": (1,)}
    found = set()
    for name, kinds in known.items():
        matches = regex.compile(rf"\p{{{name}}}").match
        for point in range(0x110000):
            inside = matches(chr(point)) is not None
            if (inside and TABLE[point] not in kinds) or (name in "LNM" and not inside and TABLE[point] in kinds):
                found.add(chr(point))
    return frozenset(found)


def agreed(text: str) -> str:
    return "".join("x" if c in later() else c for c in text)


texts = st.lists(
    st.one_of(
        st.sampled_from(SPECIAL),
        st.characters(exclude_categories=["Cs"]),
        st.text(st.sampled_from("aB \n1中"), max_size=9),
    )
).map("".join)


@each_pattern
@settings(max_examples=400, deadline=None)
@given(text=texts)
def test_any_text_is_split_as_by_the_regex_library(name, text):
    text = agreed(text)
    assert scanned(text.encode(), name) == split_by_regex(text, pattern_of(name))


@each_pattern
@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_any_text_is_split_as_by_tokenizers(name, text):
    splitter = pre_tokenizers.Split(Regex(pattern_of(name).regex), "isolated")
    assert scanned(text.encode(), name) == [piece.encode() for piece, _ in splitter.pre_tokenize_str(text)]


@each_pattern
def test_every_character_of_unicode_is_split_as_by_tokenizers_in_every_company(name):
    splitter = pre_tokenizers.Split(Regex(pattern_of(name).regex), "isolated")
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (TABLE[c] != OTHER or c % 37 == 0)]
    for before, after in (("a", "a"), (" ", "A"), ("'", "\n")):
        for start in range(0, len(points), 20_000):
            text = "!".join(before + c + after for c in points[start : start + 20_000])
            assert scanned(text.encode(), name) == [piece.encode() for piece, _ in splitter.pre_tokenize_str(text)]


@each_pattern
@pytest.mark.parametrize("text", [*MIXED, english(1), "", " ", "\n", "a", "'", "'s", " 's", "''ll", "\r\n"])
def test_texts_of_many_shapes_are_split_as_by_the_regex_library(name, text):
    assert scanned(text.encode(), name) == split_by_regex(text, pattern_of(name))


@settings(max_examples=300, deadline=None)
@given(
    data=st.lists(
        st.one_of(
            st.binary(max_size=4),
            st.sampled_from(
                [
                    b"a",
                    b" ",
                    "é".encode(),
                    b"\xed\xa0\x80",
                    b"\xc0\x80",
                    b"\xf4\x90\x80\x80",
                    b"\xe2\x82",
                    b"\xf0\x9f\x98",
                ]
            ),
        )
    ).map(b"".join)
)
def test_bytes_that_are_no_utf8_are_characters_of_no_class(data):
    for name in NAMES:
        text = agreed(data.decode("utf-8", "surrogateescape"))
        data = text.encode("utf-8", "surrogateescape")
        assert scanned(data, name) == split_by_regex(text, pattern_of(name))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("gpt2", "r50k_pat_str"), ("cl100k", "cl100k_base"), ("o200k", "o200k_base")]
)
def test_the_pattern_splits_as_the_one_that_tiktoken_publishes(ours, theirs, monkeypatch):
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *a, **k: {})  # the ranks would come from the network
    given = getattr(published, theirs)
    pattern = (given if isinstance(given, str) else given()["pat_str"]).replace("$", r"\Z")
    for text in [*MIXED, english(2), "a  \n  ", "x\n \n", "tail   ", "'LL 'Ll x'S"]:
        assert split_by_regex(text, pattern_of(ours)) == [piece.encode() for piece in regex.findall(pattern, text)]


def test_llama3_and_cl100k_differ_in_white_space_that_ends_the_text():
    assert scanned(b"a \n  ", "cl100k") == [b"a", b" \n  "]
    assert scanned(b"a \n  ", "llama3") == [b"a", b" \n", b"  "]


@each_pattern
@pytest.mark.parametrize("unit", [b"a", b" ", b"1", b"\n", b"=", "中".encode(), b"\xcc\x81", b"aB", b"\xff"])
def test_ten_megabytes_without_a_boundary_are_scanned_in_linear_time(name, unit):
    data = unit * (10_000_000 // len(unit))
    pieces = scanned(data, name)
    assert b"".join(pieces) == data


@each_pattern
def test_a_scan_goes_on_where_a_full_output_stopped_it(name):
    data, whole = padded(MIXED[0].encode()), scanned(MIXED[0].encode(), name)
    ends, position, found = np.empty(3, np.int64), 0, []
    while position < len(data) - 16:
        number, position = scan(pattern_of(name).kind, data, position, len(data) - 16, ends)
        found += ends[:number].tolist()
    assert found == np.cumsum([len(piece) for piece in whole]).tolist()


@pytest.mark.real
@each_pattern
def test_sentences_of_75_languages_are_split_as_by_the_regex_library(name):
    lines = [text.splitlines()[:60] for text in sentences_by_language().values()]
    assert len(lines) >= 75
    for text in ("\n".join(group) for group in lines):
        text = agreed(text)
        assert scanned(text.encode(), name) == split_by_regex(text, pattern_of(name))


def test_marks_may_begin_a_word_of_o200k():
    assert TABLE[0x301] == MARK
    assert scanned("\u0301A!".encode(), "o200k") == ["\u0301".encode(), b"A", b"!"]
