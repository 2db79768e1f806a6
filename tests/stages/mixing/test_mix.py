"""Sampling to weights, a byte budget, or fractions."""

from __future__ import annotations

import dataclasses
import json
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch
from pipeline.stage import StageFault
from stages.mixing import mix
from stages.mixing.mix import Mix, SampleByRate, fraction_of
from tests.stages.corpus_run import documents, run


def corpus(seed: int = 0, web: int = 120, books: int = 40):
    rng = random.Random(seed)
    sources = ["web"] * web + ["books"] * books
    rng.shuffle(sources)
    texts = ["".join(rng.choice("abcde é日") for _ in range(rng.randrange(5, 200))) for _ in sources]
    return documents(texts, source=sources)


def sizes(shards, kept) -> dict[str, int]:
    found: dict[str, int] = {}
    for shard in shards:
        for id, source, text in zip(*(shard[name].to_pylist() for name in ("id", "source", "text")), strict=True):
            found.setdefault(source, 0)
            found[source] += len(text.encode()) if id in set(kept) else 0
    return found


LARGEST = 8 * 200  # bytes of one document, at most


def test_without_a_target_the_scarcest_source_is_taken_whole(tmp_path):
    shard = corpus()
    available = sizes([shard], shard["id"].to_pylist())
    got = sizes([shard], run(Mix(weights={"web": 1, "books": 1}), [shard], tmp_path).kept)
    assert got["books"] == available["books"]
    assert available["books"] - LARGEST < got["web"] <= available["books"]


def test_a_source_read_several_times_lets_as_much_more_of_the_others_in(tmp_path):
    shard = corpus(web=300)
    available = sizes([shard], shard["id"].to_pylist())
    result = run(Mix(weights={"web": 1, "books": 1}, epochs={"books": 3}), [shard], tmp_path)
    got = sizes([shard], result.kept)
    assert got["books"] == available["books"]
    assert 3 * available["books"] - LARGEST < got["web"] <= 3 * available["books"]
    assert any("3 times, are 0.5 of" in note for note in result.notes)


def test_a_target_counts_what_is_read_so_that_less_of_a_repeated_source_is_kept(tmp_path):
    stage = Mix(weights={"web": 1, "books": 1}, epochs={"books": 2}, target_bytes=4000)
    shard = corpus()
    got = sizes([shard], run(stage, [shard], tmp_path).kept)
    assert 2000 - LARGEST < got["web"] <= 2000
    assert 1000 - LARGEST < got["books"] <= 1000


def test_a_target_is_met_to_within_a_document_of_each_source(tmp_path):
    shard = corpus()
    got = sizes([shard], run(Mix(weights={"web": 3, "books": 1}, target_bytes=4000), [shard], tmp_path).kept)
    assert 3000 - LARGEST < got["web"] <= 3000
    assert 1000 - LARGEST < got["books"] <= 1000


def test_a_source_too_small_is_taken_whole_and_the_run_says_so(tmp_path):
    shard = corpus()
    available = sizes([shard], shard["id"].to_pylist())
    target = 3 * available["books"]
    result = run(Mix(weights={"web": 0.5, "books": 0.5}, target_bytes=target), [shard], tmp_path)
    assert sizes([shard], result.kept)["books"] == available["books"]
    assert "'books' is too small" in result.notes[0]
    assert f"{2 * available['books']:,}" in result.notes[0]


def test_fractions_keep_their_part_and_leave_other_sources_alone(tmp_path):
    shard = corpus()
    available = sizes([shard], shard["id"].to_pylist())
    got = sizes([shard], run(Mix(fractions={"web": 0.25}), [shard], tmp_path).kept)
    assert got["books"] == available["books"]
    assert 0.25 * available["web"] - LARGEST < got["web"] <= 0.25 * available["web"]


@pytest.mark.parametrize(("fraction", "kept"), [(0.0, 0), (1.0, 120)])
def test_nothing_and_everything_are_exact(tmp_path, fraction, kept):
    result = run(Mix(fractions={"web": fraction, "books": 0.0}), [corpus()], tmp_path)
    assert len(result.kept) == kept


def test_weight_zero_leaves_a_source_out(tmp_path):
    shard = corpus()
    got = sizes([shard], run(Mix(weights={"web": 1, "books": 0}), [shard], tmp_path).kept)
    assert got["books"] == 0
    assert got["web"] == sizes([shard], shard["id"].to_pylist())["web"]


def test_the_ledger_tells_the_fraction_and_the_rate_it_reached(tmp_path):
    shard = corpus()
    result = run(Mix(weights={"web": 1, "books": 1}), [shard], tmp_path)
    texts = dict(zip(shard["id"].to_pylist(), shard["text"].to_pylist(), strict=True))
    assert result.dropped
    for id, removal in result.dropped.items():
        assert (removal.rule, removal.detail) == ("not_sampled", "source web")
        assert removal.value == fraction_of(id, texts[id], 0) >= removal.threshold


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 4), st.randoms())
def test_neither_batches_nor_shards_change_the_sample(tmp_path_factory, seed, rows, parts, rng):
    shard = corpus(seed, 30, 10)
    order = list(range(shard.num_rows))
    rng.shuffle(order)
    shards = [shard.take(order[n::parts]) for n in range(parts)]
    stage = Mix(weights={"web": 2, "books": 1}, target_bytes=1500)
    one = run(stage, [shard], tmp_path_factory.mktemp("one"))
    other = run(stage, shards, tmp_path_factory.mktemp("other"), rows=rows)
    assert sorted(one.kept) == sorted(other.kept)


def test_a_larger_sample_holds_the_smaller_one(tmp_path):
    shard = corpus()
    small = run(Mix(fractions={"web": 0.2, "books": 0.2}), [shard], tmp_path / "small").kept
    large = run(Mix(fractions={"web": 0.6, "books": 0.6}), [shard], tmp_path / "large").kept
    assert 0 < len(small) < len(large)
    assert set(small) <= set(large)


def test_another_seed_samples_other_documents(tmp_path):
    one = run(Mix(fractions={"web": 0.5, "books": 0.5}), [corpus()], tmp_path / "one").kept
    other = run(Mix(fractions={"web": 0.5, "books": 0.5}, seed=1), [corpus()], tmp_path / "other").kept
    assert set(one) != set(other)


def test_documents_of_one_id_are_not_taken_together(tmp_path):
    shard = documents([f"text {n}" for n in range(200)], ["same"] * 200, source=["web"] * 200)
    assert 60 < len(run(Mix(fractions={"web": 0.5}), [shard], tmp_path).kept) < 140


def test_fractions_of_documents_are_spread_evenly():
    values = [fraction_of(str(n), "text", 7) for n in range(4000)]
    assert all(0 <= value < 1 for value in values)
    assert all(300 < sum(low <= value < low + 0.1 for value in values) < 500 for low in (0, 0.3, 0.9))


def test_documents_without_a_source_are_called_unknown(tmp_path):
    shard = documents(["a", "b"], source=[None, "web"])
    assert run(Mix(weights={"unknown": 0, "web": 1}), [shard], tmp_path).kept == ["d001"]


@pytest.mark.parametrize(
    ("stage", "named"),
    [
        (Mix(weights={"web": 1}), "'books'"),
        (Mix(weights={"web": 1, "books": 1, "bokks": 1}), "'bokks'"),
        (Mix(fractions={"wbe": 0.5}), "'wbe'"),
        (Mix(fractions={"web": 0.5}, epochs={"boks": 2}), "'boks'"),
    ],
)
def test_sources_that_do_not_fit_the_corpus_are_named_with_those_there_are(tmp_path, stage, named):
    with pytest.raises(StageFault, match=named) as error:
        run(stage, [corpus()], tmp_path)
    assert "books (" in str(error.value)
    assert "web (" in str(error.value)


def test_an_empty_corpus_is_no_fault(tmp_path):
    empty = documents([], source=[])
    assert run(Mix(weights={"web": 1}), [empty], tmp_path).kept == []


def test_a_share_smaller_than_any_document_is_said(tmp_path):
    shard = documents(["x" * 100, "y" * 100], source=["web", "books"])
    result = run(Mix(weights={"web": 1, "books": 1}, target_bytes=10), [shard], tmp_path)
    assert result.kept == []
    assert len(result.notes) == 2


@pytest.mark.parametrize(
    ("stage", "key"),
    [
        (Mix(), "weights"),
        (Mix(weights={"web": 1}, fractions={"web": 0.5}), "weights"),
        (Mix(weights={"web": -1}), "weights"),
        (Mix(weights={"web": 0}), "weights"),
        (Mix(weights={"web": float("nan")}), "weights"),
        (Mix(fractions={"web": 1.5}), "fractions"),
        (Mix(weights={"web": 1}, target_bytes=-1), "target_bytes"),
        (Mix(fractions={"web": 0.5}, target_bytes=9), "target_bytes"),
        (Mix(weights={"web": 1}, seed=1 << 63), "seed"),
        (Mix(weights={"web": 1}, epochs={"web": 0.5}), "epochs"),
        (Mix(weights={"web": 1}, epochs={"web": float("nan")}), "epochs"),
    ],
)
def test_a_parameter_that_cannot_work_is_named(stage, key):
    with pytest.raises(StageFault) as fault:
        stage.check()
    assert fault.value.key == key


def test_a_rate_is_a_stage_of_its_own():
    batch = Batch.of(["a", "b"], id=["1", "2"], source=["web", "books"])
    outcome = SampleByRate(rates={"web": 0.0}).apply(batch)
    assert outcome.kept.column("id") == ["2"]
    assert outcome.removed[0].threshold == 0.0


def test_only_the_seed_belongs_to_the_observation():
    assert Mix(weights={"a": 1}).observation_identity() == Mix(fractions={"b": 0.5}).observation_identity()
    assert Mix(seed=1).observation_identity() != Mix(seed=2).observation_identity()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_a_giant_document_never_keeps_the_others_of_its_source_out(tmp_path_factory, seed, giants):
    """NVIDIA/Megatron-Energon issue 212: one document larger than the share of its source."""
    small = [f"book {n} " + "x" * 180 for n in range(60)]
    texts = [*small, *("y" * (12_000 + n) for n in range(giants)), *(f"page {n} " + "z" * 280 for n in range(60))]
    shard = documents(texts, source=["books"] * (60 + giants) + ["web"] * 60)
    stage = Mix(weights={"books": 1, "web": 1}, target_bytes=10_000, seed=seed)
    result = run(stage, [shard], tmp_path_factory.mktemp("run"))
    got = sizes([shard], result.kept)
    assert 5000 - 200 < got["books"] <= 5000
    assert 5000 - 300 < got["web"] <= 5000
    assert result.notes == []


def test_a_document_passed_over_says_how_large_it_is_and_what_was_left(tmp_path):
    texts = [*(f"book {n} " + "x" * 180 for n in range(60)), "y" * 12_000]
    shard = documents(texts, source=["books"] * 61)
    for seed in range(8):  # wherever the giant comes
        stage = Mix(weights={"books": 1}, target_bytes=11_000, seed=seed)
        giant = run(stage, [shard], tmp_path / str(seed)).dropped["d060"]
        assert giant.rule in ("larger_than_share", "not_sampled")
        assert giant.value >= giant.threshold
        if giant.rule == "larger_than_share":
            assert giant.value == 12_000


def test_copies_that_fit_one_by_one_but_not_together_end_the_share(tmp_path):
    shard = documents(["x" * 100] * 3, ["same"] * 3, source=["web"] * 3)
    result = run(Mix(weights={"web": 1}, target_bytes=250), [shard], tmp_path)
    assert result.kept == []
    assert "no document is small enough" in result.notes[0]


def test_the_source_that_limits_a_mixture_is_named(tmp_path):
    shard = documents(["x" * 1000, "y" * 100], source=["web", "books"])
    result = run(Mix(weights={"web": 1, "books": 1}), [shard], tmp_path)
    assert any("'books' limits the mixture: all its 100 bytes are 0.5 of 200" in note for note in result.notes)


def test_a_share_that_stays_empty_in_part_is_told_with_what_was_reached(tmp_path):
    shard = documents(["x" * 600, "y" * 600], source=["web", "web"])
    result = run(Mix(weights={"web": 1}, target_bytes=1000), [shard], tmp_path)
    assert len(result.kept) == 1
    assert "600 of 1,000 bytes are taken" in result.notes[0]


def test_parts_are_merged_to_what_one_part_gives(tmp_path, monkeypatch):
    shards = [corpus(seed, 30, 10) for seed in range(5)]
    stage = Mix(weights={"web": 2, "books": 1}, target_bytes=6000)
    one = run(stage, shards, tmp_path / "one")
    monkeypatch.setattr(mix, "SMALL", 0)
    monkeypatch.setattr(mix, "PART_ROWS", 10)
    assert run(stage, shards, tmp_path / "many") == one


def test_a_decision_comes_back_from_json_as_it_was():
    decision = SampleByRate(rates={"web": 0.5}, limits={"web": ((0.25, 100), (0.375, 7))}, seed=3)
    assert msgspec.convert(json.loads(json.dumps(dataclasses.asdict(decision))), SampleByRate) == decision
