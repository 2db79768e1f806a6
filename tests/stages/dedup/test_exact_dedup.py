"""Documents whose text is the same are kept once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import POSITION_BITS
from stages.dedup import exact_dedup, same_text
from stages.dedup.exact_dedup import ExactDedup
from tests.stages.corpus_run import documents, run


def test_the_first_by_id_is_kept_wherever_it_lies(tmp_path):
    result = run(ExactDedup(), [documents(["same", "other"], ["b", "c"]), documents(["same"], ["a"])], tmp_path)
    assert result.kept == ["c", "a"]


def test_position_decides_between_equal_ids(tmp_path):
    result = run(ExactDedup(), [documents(["same", "same"], ["x", "x"]), documents(["same"], ["x"])], tmp_path)
    assert result.kept == ["x"]
    assert sorted(result.removed) == [1, 1 << POSITION_BITS]


def test_the_same_id_with_another_text_stays(tmp_path):
    assert run(ExactDedup(), [documents(["one", "two"], ["x", "x"])], tmp_path).kept == ["x", "x"]


def test_the_ledger_names_the_document_kept_by_position_and_id(tmp_path):
    result = run(ExactDedup(), [documents(["x"], ["q"]), documents(["y", "same", "same"], ["u", "v", "w"])], tmp_path)
    removal = result.dropped["w"]
    assert (removal.rule, removal.value, removal.threshold) == ("exact_duplicate", 1.0, 1.0)
    assert (removal.partner, removal.partner_id) == ((1 << POSITION_BITS) | 1, "v")


@pytest.mark.parametrize(
    ("one", "other", "normalise", "same"),
    [
        ("a b", " a\n\n b\t", True, True),
        ("caf\u00e9", "cafe\u0301", True, True),
        ("a b", "A b", True, False),
        ("a b", "a  b", False, False),
        ("a b", "a b", False, True),
        ("a.", "a", True, False),
    ],
)
def test_what_counts_as_the_same_text(tmp_path, one, other, normalise, same):
    result = run(ExactDedup(normalise=normalise), [documents([one, other])], tmp_path)
    assert len(result.kept) == (1 if same else 2)


@pytest.mark.parametrize("normalise", [True, False])
def test_documents_without_text_are_not_duplicates_of_each_other(tmp_path, normalise):
    assert len(run(ExactDedup(normalise=normalise), [documents(["", "", " \n", " \n"])], tmp_path).kept) == 4


def test_a_corpus_of_empty_shards_keeps_nothing_and_drops_nothing(tmp_path):
    assert run(ExactDedup(), [documents([]), documents([])], tmp_path).removed == {}


def test_many_parts_give_what_one_gives(tmp_path, monkeypatch):
    rng = random.Random(1)
    shards = [documents([str(rng.randrange(40)) for _ in range(60)], [f"{s}-{n}" for n in range(60)]) for s in range(3)]
    one = run(ExactDedup(), shards, tmp_path / "one")
    monkeypatch.setattr(exact_dedup, "SMALL", 0)
    monkeypatch.setattr(exact_dedup, "PART_ROWS", 20)
    monkeypatch.setattr(same_text, "PARTITION_ROWS", 20)
    assert run(ExactDedup(), shards, tmp_path / "many") == one
    assert len(set(one.kept)) == len({t for s in shards for t in s["text"].to_pylist()})


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "a ", "c", ""]), min_size=1, max_size=12), st.integers(1, 5), st.randoms())
def test_neither_batches_nor_the_order_of_shards_change_who_stays(tmp_path_factory, texts, rows, rng):
    ids = [f"d{n}" for n in range(len(texts))]
    shuffled = list(zip(texts, ids, strict=True))
    rng.shuffle(shuffled)
    half = len(shuffled) // 2
    shards = [documents(*map(list, zip(*part, strict=True))) for part in (shuffled[:half], shuffled[half:]) if part]
    one = run(ExactDedup(), [documents(texts, ids)], tmp_path_factory.mktemp("one"))
    other = run(ExactDedup(), shards, tmp_path_factory.mktemp("other"), rows=rows)
    assert set(one.kept) == set(other.kept)


def test_deduplicating_the_outcome_removes_nothing(tmp_path):
    texts = ["a", "b", "a", "c", "b", ""]
    kept = run(ExactDedup(), [documents(texts)], tmp_path / "first").kept
    again = documents([texts[int(id[1:])] for id in kept], kept)
    assert run(ExactDedup(), [again], tmp_path / "second").removed == {}
