import json

import pytest

from pipeline.corpus import Corpus, LocalTasks, Observations, Shards
from pipeline.documents import Batch
from pipeline.stage import StageFault
from pipeline.storage import Folder
from stages.tokens.train_tokenizers import TrainTokenizers
from tests.tokenizer.oracles import MIXED, as_dict, counts_by_python, english, ladder_of
from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.patterns import pattern_of

TEXTS = [*MIXED, *(english(seed) for seed in range(14))]


def decided(stage: TrainTokenizers, shards: list[list[list[str]]], folder) -> Folder:
    """Observe shards, each given in batches, and decide; return the folder of the decision."""
    observed, work = Folder(str(folder / "observed")), Folder(str(folder / "work"))
    for number, batches in enumerate(shards):
        observed.put_table(f"part-{number}.parquet", stage.combine([stage.observe(Batch.of(b)) for b in batches]))
    names, rows = [f"part-{n}" for n in range(len(shards))], [sum(map(len, batches)) for batches in shards]
    listed = Shards.write(observed, names, rows)
    assert stage.decide(Observations(observed, listed), Corpus(observed, listed), LocalTasks(), work) is None
    return work


def test_the_observation_of_a_shard_is_its_pretokens_counted():
    stage = TrainTokenizers(pattern="gpt2")
    table = stage.combine([stage.observe(Batch.of(TEXTS[:5])), stage.observe(Batch.of(TEXTS[5:]))])
    assert as_dict(table) == counts_by_python(TEXTS, pattern_of("gpt2"))


def test_any_cut_into_shards_and_batches_trains_the_same_bytes(tmp_path):
    stage = TrainTokenizers(vocab_sizes=(300, 600))
    one = decided(stage, [[TEXTS]], tmp_path / "one")
    many = decided(stage, [[TEXTS[k::7][:2], [], TEXTS[k::7][2:]] for k in range(7)], tmp_path / "many")
    assert one.names() == many.names()
    assert all(one.get(name) == many.get(name) for name in one.names())


def test_the_ladder_is_that_of_the_texts(tmp_path):
    work = decided(TrainTokenizers(vocab_sizes=(300, 600)), [[TEXTS]], tmp_path)
    assert Ladder.load(work / "tokenizer") == ladder_of(TEXTS, (300, 600), special=("<|endoftext|>",))
    assert {f"tokenizer/{size}/tokenizer.json" for size in (300, 600)} < set(work.names())
    assert [row["vocab_size"] for row in json.loads(work.get("tokenizer/unused.json"))] == [300, 600]


def test_other_sizes_are_trained_from_the_same_counts():
    stage = TrainTokenizers(vocab_sizes=(300,))
    same = TrainTokenizers(vocab_sizes=(300, 600), special_tokens=(), min_frequency=3, memory_mb=8)
    assert stage.observation_identity() == same.observation_identity()
    assert stage.fingerprint() != same.fingerprint()
    for change in ({"pattern": "o200k"}, {"sample": 0.5}):
        assert TrainTokenizers(vocab_sizes=(300,), **change).observation_identity() != stage.observation_identity()


def test_a_sample_is_taken_by_ids():
    stage = TrainTokenizers(vocab_sizes=(300,), sample=0.5)
    some = as_dict(stage.observe(Batch.of([f"word{n}" for n in range(200)])))
    again = as_dict(stage.observe(Batch.of([f"word{n}" for n in range(100)])))
    assert 0 < sum(some.values()) < 500
    assert again.keys() <= some.keys()


def test_hostile_texts_are_counted():
    texts = ["", "\0", "\ud800", "a" * 300_000, "שלום", "\ufffd"]
    assert sum(as_dict(TrainTokenizers().observe(Batch.of(texts))).values()) >= 5


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"vocab_sizes": (600, 300)}, "vocab_sizes"),
        ({"pattern": "gpt9"}, "pattern"),
        ({"sample": 2.0}, "sample"),
        ({"memory_mb": 0}, "memory_mb"),
    ],
)
def test_parameters_that_cannot_work_are_found_before_any_work(change, key):
    with pytest.raises(StageFault) as fault:
        TrainTokenizers(**change).check()
    assert fault.value.key == key


def test_sizes_that_the_corpus_cannot_give_are_left_out_with_a_note(tmp_path):
    work = decided(TrainTokenizers(vocab_sizes=(300, 600, 100_000)), [[TEXTS]], tmp_path)
    assert Ladder.load(work / "tokenizer").vocab_sizes == (300, 600)
    assert "too small for 100,000 tokens" in work.get_json("notes.json")[0]
    assert not decided(TrainTokenizers(vocab_sizes=(300,)), [[TEXTS]], tmp_path / "enough").exists("notes.json")


@pytest.mark.parametrize("shards", [[], [[[]]], [[[""]]]])
def test_an_empty_corpus_gives_a_tokenizer_of_bytes_and_a_note(shards, tmp_path):
    work = decided(TrainTokenizers(vocab_sizes=(300,)), shards, tmp_path)
    assert Ladder.load(work / "tokenizer").vocab_sizes == (257,)
    assert "no text to train on" in work.get_json("notes.json")[0]


def test_what_is_added_up_on_the_way_is_not_left_behind(tmp_path):
    work = decided(TrainTokenizers(vocab_sizes=(300,), memory_mb=1), [[TEXTS], [TEXTS]], tmp_path)
    assert {name.split("/")[1] for name in work.names()} == {"300", "ladder.json", "pretokens", "unused.json"}
