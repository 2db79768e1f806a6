import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizer.oracles import MIXED, as_dict, counts_by_python, english
from tokenizer.memory import padded
from tokenizer.pretokens.counts import PretokenTable
from tokenizer.pretokens.patterns import NAMES, pattern_of
from tokenizer.texts import Texts


@pytest.mark.parametrize("name", [*NAMES, r"[\p{L}\d]+| "])
def test_counts_are_those_of_a_dictionary(name):
    table = PretokenTable()
    texts = [*MIXED, english(3), english(4)]
    table.add_texts(Texts.of(texts), pattern_of(name))
    assert as_dict(table.to_table()) == counts_by_python(texts, pattern_of(name))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=60))
def test_pretokens_of_any_bytes_and_length_are_told_apart(pieces):
    table = PretokenTable()
    table.add_pretokens(padded(b"".join(pieces)), np.cumsum([len(p) for p in pieces], dtype=np.int64))
    assert as_dict(table.to_table()) == {piece: pieces.count(piece) for piece in pieces}


def test_prefixes_and_trailing_zeros_are_different_pretokens():
    pieces = [b"\0" * n for n in range(1, 40)] + [b"a" + b"\0" * n for n in range(40)]
    table = PretokenTable()
    table.add_pretokens(padded(b"".join(pieces)), np.cumsum([len(p) for p in pieces], dtype=np.int64))
    assert as_dict(table.to_table()) == dict.fromkeys(pieces, 1)


def test_many_distinct_pretokens_make_the_table_grow():
    pieces = [f"{n:x}".encode() * (1 + n % 4) for n in range(1, 60_000)]
    table = PretokenTable()
    table.add_pretokens(padded(b"".join(pieces)), np.cumsum([len(p) for p in pieces], dtype=np.int64))
    assert len(table) == len(set(pieces))


def test_counts_beyond_32_bits_add_up():
    table, weights = PretokenTable(), np.array([5_000_000_000, 7], np.int64)
    for _ in range(3):
        table.add_pretokens(padded(b"ab"), np.array([1, 2], np.int64), weights)
    assert as_dict(table.to_table()) == {b"a": 15_000_000_000, b"b": 21}


def test_a_full_table_is_handed_on_and_begins_anew():
    spilled = []
    table = PretokenTable(300_000, spilled.append)
    pieces = [f"{n:08d}".encode() for n in range(20_000)]
    table.add_pretokens(padded(b"".join(pieces)), np.arange(8, 160_001, 8, dtype=np.int64))
    table.flush()
    assert len(spilled) > 1
    assert sum(t.num_rows for t in spilled) == len(pieces)
    assert all(t.nbytes < 300_000 for t in spilled)


def test_a_pretoken_larger_than_the_memory_allowed_is_counted():
    spilled = []
    table = PretokenTable(100_000, spilled.append)
    table.add_texts(Texts.of(["a " + "b" * 1_000_000 + " c"]), pattern_of("gpt2"))
    table.flush()
    assert sum(t.num_rows for t in spilled) == 3
