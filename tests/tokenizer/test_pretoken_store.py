import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.storage import Folder
from tests.tokenizer.oracles import as_dict
from tokenizer.pretoken_store import PretokenCounts, digest_of_counts, ordered, summed
from tokenizer.pretokens import SCHEMA


def table_of(counts: dict[bytes, int]) -> pa.Table:
    return pa.table({"pretoken": list(counts), "count": list(counts.values())}, SCHEMA)


some_counts = st.dictionaries(st.binary(min_size=1, max_size=20), st.integers(1, 10**12), max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.lists(some_counts, max_size=5))
def test_counts_of_shards_add_up(shards):
    store = PretokenCounts()
    for shard in shards:
        store.add(table_of(shard))
    assert as_dict(store.result()) == dict(sum((Counter(shard) for shard in shards), Counter()))


def shards(number: int) -> list[pa.Table]:
    rng = random.Random(5)
    words = [bytes(rng.choices(b"abcdef", k=rng.randrange(1, 25))) for _ in range(3000)]
    return [table_of(Counter(rng.choices(words, k=800))) for _ in range(number)]


def test_the_result_depends_neither_on_order_nor_on_spilling(tmp_path):
    parts = shards(12)
    whole = PretokenCounts()
    for part in parts:
        whole.add(part)
    spilling = PretokenCounts(20_000, Folder(str(tmp_path / "spilled")))
    for part in reversed(parts):
        spilling.add(part)
    assert spilling._spills > 2
    first, second = whole.result(), spilling.result()
    assert first.equals(second)
    assert digest_of_counts(first) == digest_of_counts(second)
    assert not (tmp_path / "spilled").exists()


def test_combining_in_any_grouping_gives_the_same_bytes():
    parts = shards(4)
    pairs = [ordered(summed(parts[:2])), ordered(summed(parts[2:]))]
    assert ordered(summed(pairs)).equals(ordered(summed(parts)))


def test_a_floor_leaves_out_what_is_rarer_in_sum():
    store = PretokenCounts()
    store.add(table_of({b"twice": 1, b"once": 1}))
    store.add(table_of({b"twice": 1}))
    assert as_dict(store.result(floor=2)) == {b"twice": 2}


def test_no_counts_are_an_empty_table():
    assert PretokenCounts().result().num_rows == 0
    assert ordered(summed([])).schema == SCHEMA


@pytest.mark.parametrize("change", [{b"a": 2, b"b": 1}, {b"a": 1}, {b"ab": 1}])
def test_the_fingerprint_tells_other_counts(change):
    assert digest_of_counts(table_of({b"a": 1, b"b": 1})) != digest_of_counts(table_of(change))


def test_the_fingerprint_does_not_depend_on_chunks():
    table = shards(1)[0]
    chunked = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    assert digest_of_counts(chunked) == digest_of_counts(table)
    assert np.unique([len(c) for c in chunked.column("count").chunks]).size > 1
