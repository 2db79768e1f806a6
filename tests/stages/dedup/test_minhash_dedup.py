"""Near-duplicates found, verified and removed one by one."""

from __future__ import annotations

import os
import pathlib
import random
import unicodedata
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import POSITION_BITS, Batch
from pipeline.stage import StageFault
from stages.dedup import memberships, removal, same_text, search
from stages.dedup.minhash_dedup import MinHashDedup
from tests.stages.corpus_run import documents, run
from tests.stages.text.test_units import units

REAL = pathlib.Path(
    os.environ.get("TOKENMILL_REAL_DATA", pathlib.Path(__file__).resolve().parents[3] / "../shared/data")
)
WORDS = [f"word{n}" for n in range(3000)]


def text_of(rng: random.Random, words: int = 200) -> list[str]:
    return [rng.choice(WORDS) for _ in range(words)]


def changed(rng: random.Random, words: list[str], changes: int) -> list[str]:
    copy = list(words)
    for at in rng.sample(range(len(words)), changes):
        copy[at] = rng.choice(WORDS)
    return copy


def exact(a: str, b: str, n: int = 5) -> float:
    one, other = (
        {tuple(w[i : i + n]) for i in range(max(1, len(w) - n + 1))} if (w := units(t)) else set() for t in (a, b)
    )
    return len(one & other) / len(one | other)


def test_a_near_duplicate_goes_and_the_ledger_says_for_whom_and_how_similar(tmp_path):
    rng = random.Random(0)
    words = text_of(rng)
    one, other = " ".join(words), " ".join(changed(rng, words, 2))
    shard = documents([other, one, " ".join(text_of(rng))], ["b", "a", "c"])
    result = run(MinHashDedup(), [shard], tmp_path)
    removal = result.dropped["b"]
    assert result.kept == ["a", "c"]
    assert (removal.rule, removal.threshold) == ("near_duplicate", 0.8)
    assert (removal.partner, removal.partner_id) == (1, "a")
    assert removal.value == pytest.approx(exact(one, other))


def test_candidates_below_the_threshold_stay(tmp_path):
    rng = random.Random(1)
    words = text_of(rng)
    other = changed(rng, words, 12)
    stage = MinHashDedup(bands=60, rows=2)
    assert 0.4 < exact(" ".join(words), " ".join(other)) < 0.8
    shard = documents([" ".join(words), " ".join(other)])
    assert run(stage, [shard], tmp_path / "high").removed == {}
    assert len(run(replace(stage, threshold=0.4), [shard], tmp_path / "low").removed) == 1


def test_similarity_is_not_passed_on_along_a_chain(tmp_path):
    """Each resembles the next, the ends do not resemble each other: b goes for a, c stays (marin issue 6854)."""
    rng = random.Random(2)
    a = text_of(rng)
    b = [*text_of(rng, 30), *a[30:]]
    c = [*b[:170], *text_of(rng, 30)]
    a, b, c = (" ".join(words) for words in (a, b, c))
    stage = MinHashDedup(bands=60, rows=2, threshold=0.7)
    assert exact(a, b) > 0.7
    assert exact(b, c) > 0.7
    assert exact(a, c) < 0.7
    assert run(stage, [documents([a, b, c])], tmp_path).kept == ["d000", "d002"]


def test_the_document_kept_is_the_first_by_id_whatever_the_shard(tmp_path):
    text = " ".join(text_of(random.Random(3)))
    result = run(MinHashDedup(), [documents([text], ["m"]), documents([text, text], ["z", "b"])], tmp_path)
    assert result.kept == ["b"]
    assert result.dropped["z"].partner == (1 << POSITION_BITS) | 1


def test_short_documents_are_compared_by_their_whole_text(tmp_path):
    texts = ["Good day", "good day!", "Good night", "good", "", "", "?!", "!?"]
    assert run(MinHashDedup(), [documents(texts)], tmp_path).dropped.keys() == {"d001"}


def test_scripts_without_spaces_are_compared_by_characters(tmp_path):
    rng = random.Random(4)
    text = "".join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(200))
    other = text[:100] + "字" + text[101:]
    assert len(run(MinHashDedup(), [documents([text, other])], tmp_path).removed) == 1
    assert next(iter(run(MinHashDedup(), [documents([text, other])], tmp_path).removed.values())).value > 0.9


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize(
    "text",
    [
        "古い灯台の灯は毎晩七時に点き、バスの窓からでも見える。",
        "오래된 등대의 불은 매일 저녁 일곱 시에 켜지고 버스 창문에서도 보인다",
        "Tiếng Việt viết bằng chữ cái có dấu, đọc to lên thì nghe như hát",
        "ﾊﾞｽﾉ ﾏﾄﾞｶﾗﾓ ﾐｴﾙ ﾄｳﾀﾞｲﾉ ﾋｶﾘ",
    ],
)
def test_one_text_in_two_normal_forms_is_one_document(tmp_path, text, form):
    removed = run(MinHashDedup(), [documents([text, unicodedata.normalize(form, text)])], tmp_path).removed
    assert [removal.value for removal in removed.values()] == [1.0]


def test_a_corpus_without_words_is_left_alone(tmp_path):
    assert run(MinHashDedup(), [documents([]), documents(["", "…"])], tmp_path).removed == {}


def planted(seed: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    texts = []
    for _ in range(12):
        words = text_of(rng, rng.choice([3, 40, 120]))
        texts += [" ".join(changed(rng, words, min(len(words), n))) for n in (0, 0, 1, 2, 8)]
    ids = [f"d{n:03d}" for n in range(len(texts))]
    rng.shuffle(ids)
    return texts, ids


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 50),
    st.integers(1, 4),
    st.sampled_from([0, 3, 10**6]),
    st.sampled_from([2, 128]),
    st.sampled_from([2, 3, 10**6]),
    st.randoms(),
)
def test_neither_batches_nor_shards_nor_the_size_of_tasks_change_who_stays(
    tmp_path_factory, seed, rows, shards, together, first, giant, rng
):
    texts, ids = planted(seed)
    shuffled = list(zip(texts, ids, strict=True))
    rng.shuffle(shuffled)
    parts = [documents(*map(list, zip(*shuffled[n::shards], strict=True))) for n in range(shards)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "REPRESENTATIVES", first)
        patch.setattr(memberships, "CROWDS", 1)
        one = run(MinHashDedup(), [documents(texts, ids)], tmp_path_factory.mktemp("one"))
        patch.setattr(search, "SMALL", 0)
        patch.setattr(search, "TASK_SHINGLES", 300)
        patch.setattr(search, "SENT_SHINGLES", 200)
        patch.setattr(search, "PART_ROWS", 15)
        patch.setattr(search, "BAND_ROWS", 100)
        patch.setattr(search, "MEMBER_ROWS", 30)
        patch.setattr(search, "GIANT", giant)
        patch.setattr(same_text, "PARTITION_ROWS", 20)
        patch.setattr(removal, "TOGETHER", together)
        other = run(MinHashDedup(), parts, tmp_path_factory.mktemp("other"), rows=rows)
    assert set(one.kept) == set(other.kept)
    assert {id: (r.value, r.partner_id) for id, r in one.dropped.items()} == {
        id: (r.value, r.partner_id) for id, r in other.dropped.items()
    }


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_the_outcome_is_that_of_the_plain_rule(tmp_path_factory, seed):
    """With so many bands that every pair at the threshold is a candidate: keep in order what resembles none kept."""
    texts, ids = planted(seed)
    kept: dict[str, str] = {}
    for id, text in sorted(zip(ids, texts, strict=True)):
        if not any(exact(text, other) >= 0.8 for other in kept.values()):
            kept[id] = text
    result = run(MinHashDedup(bands=128, rows=2), [documents(texts, ids)], tmp_path_factory.mktemp("run"))
    assert set(result.kept) == set(kept)


def test_deduplicating_the_outcome_removes_nothing(tmp_path):
    texts, ids = planted(5)
    text_by_id = dict(zip(ids, texts, strict=True))
    kept = run(MinHashDedup(), [documents(texts, ids)], tmp_path / "first").kept
    again = documents([text_by_id[id] for id in kept], kept)
    assert run(MinHashDedup(), [again], tmp_path / "second").removed == {}


def test_a_bucket_of_look_alikes_is_bounded_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "REPRESENTATIVES", 3)
    rng = random.Random(6)
    template = text_of(rng, 60)
    texts = [" ".join([*template, *text_of(rng, 40)]) for _ in range(8)]
    stage = MinHashDedup(bands=200, rows=1)
    result = run(stage, [documents(texts)], tmp_path)
    assert len(result.kept) == 8
    assert "were not compared with all of it" in result.notes[0]
    assert result.notes[0].startswith("8 documents")  # each of them in more such buckets than are looked into
    monkeypatch.setattr(memberships, "CROWDS", 1000)
    assert run(stage, [documents(texts)], tmp_path / "all").notes[0].startswith("5 documents")


def test_near_copies_of_one_page_leave_one_however_many_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "REPRESENTATIVES", 4)
    monkeypatch.setattr(search, "PART_ROWS", 10)
    rng = random.Random(7)
    page = text_of(rng, 300)
    pages = [[" ".join(changed(rng, page, 1)) for _ in range(20)] for _ in range(3)]
    shards = [documents(texts, [f"{n}-{m:02d}" for m in range(20)]) for n, texts in enumerate(pages)]
    result = run(MinHashDedup(), shards, tmp_path)
    assert result.kept == ["0-00"]
    assert {removal.partner_id for removal in result.dropped.values()} == {"0-00"}


@pytest.mark.parametrize("first", [2, 5])
@pytest.mark.parametrize("parts", [6, 24])
def test_a_bucket_cut_into_slices_gives_what_it_gives_whole(tmp_path, monkeypatch, first, parts):
    rng = random.Random(first)
    pages = [text_of(rng, 200) for _ in range(3)]
    texts = [" ".join(changed(rng, rng.choice(pages), rng.choice([1, 2, 5, 9, 14]))) for _ in range(120)]
    ids = [f"{rng.randrange(60):02d}" for _ in texts]  # some of them twice
    shards = [documents(texts[n::20], ids[n::20]) for n in range(20)]
    monkeypatch.setattr(search, "REPRESENTATIVES", first)
    monkeypatch.setattr(search, "PART_ROWS", parts)
    monkeypatch.setattr(search, "SMALL", 0)
    rows: list[int] = []
    make = search.make_tiles
    monkeypatch.setattr(search, "make_tiles", lambda task: rows.append(_largest_bucket(task)) or make(task))
    whole = run(MinHashDedup(bands=40, rows=2), shards, tmp_path / "whole")
    assert max(rows) > parts + first
    rows.clear()
    monkeypatch.setattr(search, "GIANT", 10)
    sliced = run(MinHashDedup(bands=40, rows=2), shards, tmp_path / "sliced")
    assert sliced.removed == whole.removed
    assert sliced.kept == whole.kept
    assert len(whole.removed) > 20
    assert max(rows) <= max(10, parts + first)


def _largest_bucket(task) -> int:
    return max(Counter(task.members.read(task.partition, task.writers)["bucket"].to_pylist()).values(), default=0)


def test_one_text_many_times_in_many_parts_leaves_one(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "PART_ROWS", 10)
    texts = ["The same page. Again!", "the same page again"] * 10
    shards = [documents(texts, [f"{n}-{m:02d}" for m in range(20)]) for n in range(5)]
    result = run(MinHashDedup(), shards, tmp_path)
    assert result.kept == ["0-00"]
    assert {(r.partner_id, r.partner, r.value) for r in result.dropped.values()} == {("0-00", 0, 1.0)}


def test_copies_of_a_text_that_is_dropped_name_the_one_that_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "PART_ROWS", 2)
    words = text_of(random.Random(8), 150)
    near = " ".join([*words[:-1], "another"])
    shards = [
        documents([near, near], ["b", "c"]),
        documents([" ".join(words)], ["a"]),
        documents([near.upper()], ["d"]),
    ]
    result = run(MinHashDedup(), shards, tmp_path)
    assert result.kept == ["a"]
    assert {(r.partner_id, r.value) for r in result.dropped.values()} == {("a", result.dropped["b"].value)}
    assert result.dropped["b"].value < 1


def test_bands_that_miss_most_pairs_at_the_threshold_are_said(tmp_path):
    shard = documents(["some text"])
    assert run(MinHashDedup(), [shard], tmp_path / "fit").notes == []
    assert "find only 5%" in run(MinHashDedup(threshold=0.5), [shard], tmp_path / "unfit").notes[0]


def test_only_the_threshold_leaves_the_observation_as_it_is():
    stage = MinHashDedup()
    same, other = replace(stage, threshold=0.5), replace(stage, ngram=3)
    assert same.observation_identity() == stage.observation_identity()
    assert same.fingerprint() != stage.fingerprint()
    assert other.observation_identity() != stage.observation_identity()


def test_files_between_steps_do_not_stay_behind(tmp_path):
    run(MinHashDedup(), [documents(["same text here now yes"] * 3)], tmp_path)
    assert not list((tmp_path / "work").rglob("*.runs"))


@pytest.mark.parametrize(
    "wrong",
    [{"ngram": 0}, {"bands": 0}, {"rows": 0}, {"threshold": 0.0}, {"threshold": 1.1}, {"seed": -1}, {"bands": 4000}],
)
def test_a_parameter_that_cannot_work_is_named(wrong):
    with pytest.raises(StageFault) as fault:
        MinHashDedup(**wrong).check()
    assert fault.value.key in wrong


def test_hostile_texts_are_observed():
    texts = ["", "\0", "\ud800", "x" * 2_000_000, "a " * 100_000, "\ufffd", "שלום עולם"]
    table = MinHashDedup().observe(Batch.of(texts))
    assert table["position"].to_pylist() == [3, 4, 6]


@pytest.mark.real
@pytest.mark.skipif(not (REAL / "neardup").is_dir(), reason="needs the folder of real inputs")
def test_planted_pairs_of_real_newswire_are_found_and_nothing_else(tmp_path):
    lines = (REAL / "neardup" / "articles_100.train").read_text("utf-8", "replace").splitlines()
    ids, texts = zip(*(line.split(" ", 1) for line in lines), strict=True)
    planted = [set(line.split()) for line in (REAL / "neardup" / "articles_100.truth").read_text().splitlines()]
    result = run(MinHashDedup(), [documents(texts[:60], ids[:60]), documents(texts[60:], ids[60:])], tmp_path)
    found = [{id, removal.partner_id} for id, removal in result.dropped.items()]
    assert sorted(map(sorted, found)) == sorted(map(sorted, planted))
