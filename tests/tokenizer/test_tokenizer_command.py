import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tokenizer.oracles import MIXED, english
from tokenizer.counting.counter import count_tokens
from tokenizer.ladder.ladder import Ladder
from tokenmill.cli import main

TEXTS = [*MIXED, *(english(seed) for seed in range(12))]


@pytest.fixture
def corpus(tmp_path):
    languages = ["en" if text.isascii() else "xx" for text in TEXTS]
    pq.write_table(
        pa.table({"text": TEXTS, "source": ["web", "books"] * 11, "language": languages}), tmp_path / "c.parquet"
    )
    return str(tmp_path / "c.parquet")


def test_train_then_count_gives_exact_totals(corpus, tmp_path, capsys):
    out = str(tmp_path / "ladder")
    assert main(["tokenizer", "train", corpus, "--out", out, "--vocab-sizes", "300,600", "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    ladder = Ladder.load(out)
    assert trained["digest"] == ladder.digest
    counted = str(tmp_path / "counted")
    assert main(["tokenizer", "count", corpus, "--tokenizer", out, "--out", counted, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    expected = count_tokens(TEXTS, ladder)
    assert [r["tokens"] for r in rows if r["group"] == "all"] == expected.sum(axis=0).tolist()
    table = pq.read_table(f"{counted}/counts.parquet")
    assert table["tokens_600"].to_pylist() == expected[:, 1].tolist()
    assert set(table["language"].to_pylist()) == {"en", "xx"}


def test_people_are_shown_a_table(corpus, tmp_path, capsys):
    out = str(tmp_path / "ladder")
    main(["tokenizer", "train", corpus, "--out", out, "--vocab-sizes", "300"])
    assert f"{out}/300/tokenizer.json" in capsys.readouterr().out
    assert main(["tokenizer", "count", corpus, "--tokenizer", out, "--tokenizer", f"theirs={out}/300"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    totals = {line[0]: line[4] for line in lines if line[1:3] == ["all", "all"]}
    assert totals["300"] == totals["theirs"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--vocab-sizes", "many"], "no list of numbers"),
        (["--vocab-sizes", "600,300"], "must increase"),
        (["--vocab-sizes", "300,2000000"], "were reached"),
        (["--vocab-sizes", "9000000"], "more than 2,097,152"),
        (["--vocab-sizes", "300", "--eos-token", "</s>"], "none of special_tokens"),
        (["--vocab-sizes", "300", "--pattern", "gpt7"], "unknown name"),
    ],
)
def test_a_fault_is_one_clear_line_and_exit_code_2(corpus, tmp_path, capsys, arguments, said):
    assert main(["tokenizer", "train", corpus, "--out", str(tmp_path / "o"), *arguments]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert said in error[0]


def test_two_tokenizers_of_the_same_name_are_refused(corpus, tmp_path, capsys):
    out = str(tmp_path / "ladder")
    main(["tokenizer", "train", corpus, "--out", out, "--vocab-sizes", "300"])
    capsys.readouterr()
    assert main(["tokenizer", "count", corpus, "--tokenizer", out, "--tokenizer", out]) == 2
    assert "two of them count tokens_300" in capsys.readouterr().err
