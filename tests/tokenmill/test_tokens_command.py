"""``tokenmill tokens`` and ``tokenmill batch`` as scripts meet them."""

import json
import pathlib

import numpy as np
import pytest

from pipeline.storage import Folder
from tests.tokenizer.oracles import english, ladder_of
from tokenizer.ladder.files import write_ladder
from tokenmill.api import run as run_recipe
from tokenmill.cli import main

EOD = "<|endoftext|>"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    texts = [english(seed, 60) for seed in range(60)]
    write_ladder(ladder_of(texts, (300, 400), special=(EOD,)), Folder(str(folder / "ladder")))
    rows = [{"id": f"d{n}", "url": f"https://a.example/{n}", "text": text} for n, text in enumerate(texts)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert tokens(folder, "out", "--eod", EOD) == 0
    return folder


def tokens(folder, out, *more):
    command = ["tokens", str(folder / "docs.jsonl"), "--tokenizer", str(folder / "ladder/400"), "--workers", "1"]
    return main([*command, "--out", str(folder / out), *more])


def batch(folder, *more):
    return main(["batch", str(folder / "out"), "--global-batch", "4", "--seq", "64", *map(str, more)])


def test_the_manifest_has_the_names_that_scripts_rely_on(place, capsys):
    manifest = json.loads((place / "out/manifest.json").read_text())
    assert {"tokens", "documents", "vocab_size", "dtype", "eod", "files"} <= manifest.keys()
    assert [file.keys() for file in manifest["files"]] == [{"name", "tokens", "documents", "sha256"}]
    payload = np.fromfile(place / "out/part-00000.bin", manifest["dtype"])
    assert len(payload) == manifest["tokens"] == manifest["files"][0]["tokens"]
    assert (payload == manifest["eod"]).sum() == manifest["documents"] == 60


def test_documents_of_steps_are_a_json_list(place, capsys):
    assert batch(place, "--step", "2:4", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["step"], row["sample"]) for row in found] == [(2 + k // 4, 8 + k) for k in range(8)]
    assert all(d.keys() == {"id", "url", "source", "tokens"} for row in found for d in row["documents"])
    assert {sum(d["tokens"] for d in row["documents"]) for row in found} == {65}


def test_spikes_of_a_log_are_looked_at_and_the_page_escapes_documents(place, capsys):
    lines = [f"{step},{3 + (step == 9)},{1.0}" for step in range(25)]
    (place / "loss.csv").write_text("step,loss,grad_norm\n" + "\n".join(lines) + "\n")
    assert batch(place, "--losses", place / "loss.csv", "--out", place / "found") == 0
    assert "at step 9" in capsys.readouterr().out
    account = json.loads((place / "found/batch.json").read_text())
    assert [a["steps"] for a in account["looked_at"]] == [[9, 10]]
    page = (place / "found/batch.html").read_text()
    assert "rank among random windows" in page
    assert "<script" not in page


def test_skipping_is_written_as_json(place, capsys):
    assert batch(place, "--skip", "2:5", "--write", place / "skip.json") == 0
    plan = json.loads((place / "skip.json").read_text())
    assert (plan["steps"], plan["samples"], plan["tokens_lost"]) == ([2, 5], [8, 20], 12 * 64)
    assert plan["told"].keys() == {"megatron", "nanogpt", "torchtitan", "any"}
    assert len(plan["protocol"]) == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--step", "9000:9001"], "beyond the end"),
        (["--step", "x"], "is no step"),
        ([], "--step: name the steps"),
        (["--step", "1", "--sampler", "other"], "known are megatron"),
        (["--step", "1", "--weights", "0.5,0.5"], "--weights"),
        (["--step", "1", "--ramp", "3", "2", "10"], "--ramp"),
        (["--losses", "nothing.csv"], "does not exist"),
        (["--write", "x.json"], "--skip A:B"),
    ],
)
def test_a_fault_in_asking_for_a_batch_is_one_clear_line(place, capsys, arguments, said):
    assert batch(place, *arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--eod", "<eod>"], "no token of"),
        (["--format", "arrow"], "known are megatron"),
        (["--workers", "0"], "at least 1"),
        (["--held-out", "2"], "no share"),
    ],
)
def test_a_fault_in_asking_for_shards_is_one_clear_line(place, capsys, arguments, said):
    assert tokens(place, "other", *arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not (place / "other").exists()


RECIPE = """name = "small"
[input]
paths = ["docs.jsonl"]
source = "web"
[tokenizer]
vocab_sizes = [280, 320]
[tokens]
vocab_size = 280
eod = "<|endoftext|>"
"""


def test_a_recipe_makes_shards_whose_tokens_are_the_budgets(place, tmp_path):
    (place / "recipe.toml").write_text(RECIPE)
    run_recipe(place / "recipe.toml", out=tmp_path / "run", workers=1)
    manifest = json.loads((tmp_path / "run/tokens/manifest.json").read_text())
    budget = json.loads((tmp_path / "run/token_budget.json").read_text())["tokenizers"][0]
    assert manifest["text_tokens"] == budget["tokens"] == manifest["tokens"] - manifest["documents"]
    before = pathlib.Path(tmp_path / "run/tokens/manifest.json").stat().st_mtime_ns
    run_recipe(place / "recipe.toml", out=tmp_path / "run", workers=1)
    assert pathlib.Path(tmp_path / "run/tokens/manifest.json").stat().st_mtime_ns == before
    assert (
        main(["tokens", str(tmp_path / "run"), "--tokenizer", "280", "--out", str(tmp_path / "t"), "--workers", "1"])
        == 0
    )
    assert json.loads((tmp_path / "t/manifest.json").read_text())["tokens"] == budget["tokens"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("vocab_size = 300", "none of tokenizer.vocab_sizes"),
        ('eod = "<eos>"', "none of tokenizer.special_tokens"),
        ('format = ["arrow"]', "known are megatron"),
        ("shufle = 3", "did you mean shuffle"),
        ("held_out = 1.0", "no share"),
        ('by = "language"', "known is source"),
        ("epochs = { web = 2 }", "add by"),
        ('by = "source"\nepochs = { default = 0 }', "must be above 0"),
        ('by = "source"\nepochs = { wbe = 2 }', "no input has the source 'wbe'; did you mean web"),
    ],
)
def test_a_fault_in_the_table_is_told_before_any_work(place, capsys, line, said):
    text = RECIPE.replace("vocab_size = 280\n", "").replace('eod = "<|endoftext|>"\n', "") + line + "\n"
    (place / "wrong.toml").write_text(text)
    assert main(["run", str(place / "wrong.toml"), "--out", str(place / "wrong")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "tokens." in error
    assert said in error
