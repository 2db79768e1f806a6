import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError, UserError
from pipeline.storage import Folder
from tests.tokenizer.oracles import MIXED, as_dict, count_table, counts_by_python, english
from tokenizer import train_ladder
from tokenizer.files import find_inputs
from tokenizer.pretokens.counts import sampled
from tokenizer.pretokens.merging import load_counts
from tokenizer.pretokens.patterns import pattern_of
from tokenizer.training.of_files import count_pretokens
from tokenizer.training.options import TrainOptions
from tokenizer.training.train import train_from_counts

TEXTS = [*MIXED, *(english(seed) for seed in range(20))]


def files_of(folder: pathlib.Path, texts=TEXTS, shards: int = 3) -> list[pathlib.Path]:
    paths = []
    for number in range(shards):
        mine = texts[number::shards]
        path = folder / f"{number}.parquet"
        pq.write_table(
            pa.table({"text": mine, "id": [f"{number}-{k}" for k in range(len(mine))]}), path, row_group_size=4
        )
        paths.append(path)
    return paths


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "pretokens.json"
    }


def test_a_ladder_is_the_same_bytes_for_any_workers_memory_and_order_of_shards(tmp_path):
    paths = files_of(tmp_path)
    train_ladder(paths, [300, 600], out=tmp_path / "a", workers=1)
    train_ladder(paths[::-1], [300, 600], out=tmp_path / "b", workers=3, memory_bytes=1 << 18)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert len(contents(tmp_path / "a")) == 2 + 2 * 7


def test_counts_of_files_are_those_of_a_dictionary(tmp_path):
    folder = Folder(str(tmp_path / "out"))
    read = count_pretokens(find_inputs(files_of(tmp_path)), pattern_of("o200k"), folder, memory_bytes=1 << 18)
    assert as_dict(load_counts(folder)) == counts_by_python(TEXTS, pattern_of("o200k"))
    assert read == {"documents": len(TEXTS), "bytes": sum(len(t.encode()) for t in TEXTS), "unreadable": 0}


def test_an_interrupted_training_goes_on_from_its_counts(tmp_path, monkeypatch):
    paths = files_of(tmp_path)
    monkeypatch.setattr("tokenizer.training.of_files.train_from_counts", lambda *a: pytest.fail("stopped"))
    with pytest.raises(pytest.fail.Exception, match="stopped"):
        train_ladder(paths, [300, 600], out=tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr("tokenizer.training.of_files.count_pretokens", lambda *a, **k: pytest.fail("counted again"))
    resumed = train_ladder(paths, [300, 600], out=tmp_path / "out")
    monkeypatch.undo()
    assert resumed == train_ladder(paths, [300, 600], out=tmp_path / "fresh")
    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")


def test_sizes_that_an_earlier_training_left_are_removed_and_nothing_else(tmp_path):
    paths = files_of(tmp_path)
    train_ladder(paths, [300, 600], out=tmp_path / "out")
    (tmp_path / "out/2024").mkdir()
    (tmp_path / "out/2024/card.json").write_text("mine")
    train_ladder(paths, [300], out=tmp_path / "out")
    assert not (tmp_path / "out/600").exists()
    assert (tmp_path / "out/2024/card.json").read_text() == "mine"


def test_a_size_that_the_texts_cannot_give_is_left_out_and_said(tmp_path):
    ladder = train_ladder(files_of(tmp_path), [300, 600, 1_000_000], out=tmp_path / "out")
    reached = ladder.training["vocabulary_reached"]
    assert ladder.vocab_sizes == (300, 600)
    assert f"too small for 1,000,000 tokens: {reached:,} were reached" in ladder.shortfall
    assert ladder == train_ladder(files_of(tmp_path), [300, 600], out=tmp_path / "fresh")
    assert train_ladder(files_of(tmp_path), [600, reached], out=tmp_path / "all").shortfall == ""


def test_where_no_size_is_reached_the_ladder_has_the_one_that_was():
    ladder = train_from_counts(count_table(["ab ab"], "gpt2"), TrainOptions(vocab_sizes=(400, 500)))
    assert ladder.vocab_sizes == (259,)
    assert ladder.training["vocab_sizes_missing"] == [400, 500]


@pytest.mark.parametrize("change", [{"pattern": "gpt2"}, {"sample": 0.5}, {"min_pretoken_count": 2}])
def test_counts_of_other_options_are_not_used_again(tmp_path, change):
    paths = files_of(tmp_path)
    train_ladder(paths, [300], out=tmp_path / "out")
    changed = train_ladder(paths, [300], out=tmp_path / "out", **change)
    assert contents(tmp_path / "out") != {}
    assert changed.training == train_ladder(paths, [300], out=tmp_path / "fresh", **change).training


def test_counts_of_changed_files_are_not_used_again(tmp_path):
    paths = files_of(tmp_path)
    first = train_ladder(paths, [300], out=tmp_path / "out")
    files_of(tmp_path, [*TEXTS, "zzzz " * 500])
    assert train_ladder(paths, [300], out=tmp_path / "out") != first


def test_a_floor_and_a_sample_are_named_in_the_card(tmp_path):
    train_ladder(files_of(tmp_path), [300], out=tmp_path / "out", min_pretoken_count=2, sample=0.7)
    training = json.loads((tmp_path / "out/300/card.json").read_text("utf-8"))["training"]
    assert training["min_pretoken_count"] == 2
    assert training["sample"] == 0.7


def test_a_sample_is_chosen_by_ids_alone():
    ids = [f"document {n}" for n in range(4000)]
    some = sampled(ids, 0.25)
    assert 900 < len(some) < 1100
    assert [ids[row] for row in some] == [name for name in ids if sampled([name], 0.25)]
    assert set(some) < set(sampled(ids, 0.5))
    assert sampled(ids, 1.0) == list(range(4000))


def test_jsonl_and_plain_text_are_read_too(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS), "utf-8")
    (tmp_path / "b.txt").write_text(english(99), "utf-8")
    folder, pieces = Folder(str(tmp_path / "w")), find_inputs([tmp_path / "*.jsonl", tmp_path / "b.txt"])
    read = count_pretokens(pieces, pattern_of("gpt2"), folder)
    assert as_dict(load_counts(folder)) == counts_by_python([*TEXTS, english(99)], pattern_of("gpt2"))
    assert read["documents"] == len(TEXTS) + 1


def test_a_text_column_of_another_name_is_read(tmp_path):
    pq.write_table(pa.table({"content": TEXTS}), tmp_path / "a.parquet")
    ladder = train_ladder([tmp_path / "a.parquet"], [300], out=tmp_path / "out", text_column="content")
    assert ladder.training["documents"] == len(TEXTS)


def test_unreadable_records_are_counted(tmp_path):
    lines = [json.dumps({"text": t}) for t in TEXTS] + ["{broken", "[]"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert train_ladder([tmp_path / "a.jsonl"], [300], out=tmp_path / "out").training["unreadable"] == 2


def test_an_empty_corpus_is_refused_with_a_clear_message(tmp_path):
    pq.write_table(pa.table({"text": pa.array(["", ""], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="no text to train on in these files"):
        train_ladder([tmp_path / "a.parquet"], [300], out=tmp_path / "out")


def test_files_that_are_missing_or_hold_no_text_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"nothing matches .*none\*\.parquet"):
        train_ladder([tmp_path / "none*.parquet"], [300], out=tmp_path / "out")
    pq.write_table(pa.table({"number": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet"):
        train_ladder([tmp_path / "a.parquet"], [300], out=tmp_path / "out")
    with pytest.raises(UserError, match="no files given"):
        train_ladder([], [300], out=tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"vocab_sizes": (100,)}, "vocab_sizes"),
        ({"pattern": "gpt9"}, "pattern"),
        ({"sample": 0.0}, "sample"),
        ({"sample": 1.5}, "sample"),
        ({"min_pretoken_count": 0}, "min_pretoken_count"),
        ({"min_frequency": -1}, "min_frequency"),
        ({"max_token_length": 0}, "max_token_length"),
        ({"pad_to_multiple": -8}, "pad_to_multiple"),
        ({"vocab_sizes": (300, 1 << 22)}, "vocab_sizes"),
        ({"pad_token": "<pad>"}, "pad_token"),
    ],
)
def test_an_option_that_cannot_work_is_named(change, key):
    with pytest.raises(UserError, match=f"^{key}: "):
        TrainOptions(**{"vocab_sizes": (300,), **change}).check()


def test_progress_is_told_in_both_phases(tmp_path):
    told = []
    train_ladder(files_of(tmp_path), [300, 1000], out=tmp_path / "out", note=lambda *a: told.append(a))
    assert {phase for phase, _, _ in told} == {"counting pretokens", "merging"}
    assert told[-1][1:] == (1.0, 0.0)


def test_nul_and_lone_surrogates_are_trained_on():
    ladder = train_from_counts(count_table(["a\0b\0a\0b\0", "x\ud800y"], "gpt2"), TrainOptions(vocab_sizes=(258,)))
    assert len(ladder.merges) == 1
