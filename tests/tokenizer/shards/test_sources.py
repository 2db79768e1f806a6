"""Parts by source: what each holds, the weights that a trainer blends them by, and the batches of that blend."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UserError
from pipeline.storage import Folder
from tests.tokenizer.oracles import english, ladder_of
from tokenizer.batches.folder import open_shards
from tokenizer.ladder.files import write_ladder
from tokenizer.shards import encode
from tokenizer.shards.make import folders_of, make_shards
from tokenizer.shards.manifest import read_manifest
from tokenizer.shards.model import open_model
from tokenizer.shards.options import ShardOptions
from tokenmill.api import run as run_recipe
from tokenmill.cli import main

SOURCES = ["web", "books", "web", "law: codes/acts", None, "web"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A ladder, and two files of 60 documents of four sources that take turns."""
    folder = tmp_path_factory.mktemp("sources")
    texts = [english(seed, 40) for seed in range(120)]
    write_ladder(ladder_of(texts, (300,)), Folder(str(folder / "ladder")))
    sources = [SOURCES[n % len(SOURCES)] for n in range(120)]
    for k in range(2):
        rows = slice(60 * k, 60 * k + 60)
        ids = [f"d{n}" for n in range(120)[rows]]
        pq.write_table(pa.table({"id": ids, "text": texts[rows], "source": sources[rows]}), folder / f"{k}.parquet")
    return folder


def made(place, out, workers=1, epochs=None, **options):
    model = open_model(str(place / "ladder/300"))
    files = [str(place / f"{k}.parquet") for k in range(2)]
    options = ShardOptions(model, by="source", **options)
    return make_shards(files, options, Folder(str(out)), epochs=epochs, workers=workers).manifest


def rows_of(out):
    """Return (file, source, id, tokens) of every document that trains."""
    found = []
    for part in open_shards([Folder(str(out))])[0].parts:
        rows = part.rows(np.arange(part.file.documents)).to_pylist()
        tokens = part.tokens(part.ends - part.lengths, part.lengths)
        found += [(part.file.name, row["source"], row["id"], t.tolist()) for row, t in zip(rows, tokens, strict=True)]
    return found


@pytest.mark.parametrize("shuffle", [None, 5])
def test_each_part_is_of_one_source_and_together_they_are_what_was_made_of_all(place, tmp_path, shuffle):
    manifest = made(place, tmp_path / "by", shuffle=shuffle, part_tokens=3000)
    rows = rows_of(tmp_path / "by")
    assert list(manifest.sources) == ["books", "default", "law: codes/acts", "web"]
    folder_of = {name: about.folder for name, about in manifest.sources.items()}
    assert all(name.startswith(f"{folder_of[source or 'unknown']}/part-") for name, source, _, _ in rows)
    assert {name: about.documents for name, about in manifest.sources.items()} == {
        "books": 20, "law: codes/acts": 20, "default": 20, "web": 60
    }  # fmt: skip
    model = open_model(str(place / "ladder/300"))
    together = make_shards(
        [str(place / f"{k}.parquet") for k in range(2)], ShardOptions(model), Folder(str(tmp_path / "all")), workers=1
    ).manifest
    assert sorted(row[2:] for row in rows) == sorted(row[2:] for row in rows_of(tmp_path / "all"))
    assert manifest.tokens == together.tokens == sum(about.tokens for about in manifest.sources.values())
    if shuffle is None:
        assert [row[2] for row in rows if row[1] == "web"] == [f"d{n}" for n in range(120) if n % 6 in (0, 2, 5)]


def test_bytes_by_source_do_not_depend_on_workers_or_on_how_much_is_held_at_once(place, tmp_path, monkeypatch):
    options = {"shuffle": 3, "held_out": 0.2, "part_tokens": 2000}
    made(place, tmp_path / "one", **options)
    made(place, tmp_path / "two", workers=2, **options)
    monkeypatch.setattr(encode, "RUN_TOKENS", 500)
    made(place, tmp_path / "small", **options)
    files = [
        {
            str(p.relative_to(tmp_path / name)): p.read_bytes()
            for p in (tmp_path / name).rglob("*.*")
            if "part-" in p.name
        }
        for name in ("one", "two", "small")
    ]
    assert len([name for name in files[0] if name.startswith("held_out/")]) >= 4
    assert files[0] == files[1] == files[2]


def test_weights_are_tokens_times_epochs_and_megatron_reads_them_from_a_file(place, tmp_path):
    manifest = made(place, tmp_path / "out", epochs={"books": 2.5}, part_tokens=3000)
    weights = [file.tokens * (2.5 if file.name.startswith("books/") else 1) for file in manifest.files]
    assert manifest.weights() == weights
    words = (tmp_path / "out/data_path.txt").read_text().split()  # as Megatron's get_blend_and_blend_per_split does
    assert [float(word) for word in words[::2]] == weights
    assert words[1::2] == [str(tmp_path / "out" / file.stem) for file in manifest.files]
    assert sum(about.weight for about in manifest.sources.values()) == pytest.approx(1)
    assert manifest.sources["books"].weight == pytest.approx(2.5 * manifest.sources["books"].tokens / sum(weights))


def test_other_epochs_of_the_same_parts_only_change_what_is_said_of_them(place, tmp_path):
    first = made(place, tmp_path / "out")
    times = [(tmp_path / "out" / file.name).stat().st_mtime_ns for file in first.files]
    again = made(place, tmp_path / "out", epochs={"web": 4})
    assert [(tmp_path / "out" / file.name).stat().st_mtime_ns for file in again.files] == times
    assert read_manifest(Folder(str(tmp_path / "out"))).sources["web"].epochs == 4
    assert first.files == again.files
    with pytest.raises(UserError, match="no source 'wbe'; there are books"):
        made(place, tmp_path / "out", epochs={"wbe": 4})


def test_a_piece_of_very_many_sources_is_refused_with_what_to_do(place, tmp_path, monkeypatch):
    monkeypatch.setattr(encode, "MOST_SOURCES", 1)
    with pytest.raises(UserError, match=r"0\.parquet has more than 1 sources.*leave --by out"):
        made(place, tmp_path / "out")


@given(st.sets(st.text(max_size=100), max_size=8))
def test_sources_get_folders_of_their_own_that_any_disk_takes(names):
    folders = folders_of(names)
    assert folders.keys() == names
    assert len({folder.lower() for folder in folders.values()}) == len(names)
    for folder in folders.values():
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,90}", folder)
        assert folder not in ("held_out", "llmc")


RECIPE = """name = "mixed"
[input]
paths = [{ path = "0.parquet", source = "web" }, { path = "1.parquet", source = "books" }]
[[stage]]
use = "mix"
weights = { web = 1, books = 3 }
epochs = { books = 2 }
[tokenizer]
vocab_sizes = [300]
[tokens]
by = "source"
"""


def test_the_mix_of_a_run_says_how_often_each_source_is_read(place, tmp_path, capsys):
    (place / "recipe.toml").write_text(RECIPE)
    run_recipe(place / "recipe.toml", out=tmp_path / "run", workers=1)
    sources = read_manifest(Folder(str(tmp_path / "run/tokens"))).sources
    assert {name: about.epochs for name, about in sources.items()} == {"web": 1, "books": 2}
    assert sources["books"].weight == pytest.approx(0.75, abs=0.03)  # of tokens; the mixture is of bytes
    command = ["tokens", str(tmp_path / "run"), "--tokenizer", "300", "--workers", "1", "--by", "source"]
    assert main([*command, "--out", str(tmp_path / "again")]) == 0
    said = capsys.readouterr().out
    assert "2 epochs" in said
    assert f"--data-args-path {tmp_path}/again/data_path.txt" in said
    assert read_manifest(Folder(str(tmp_path / "again"))).sources == sources


def test_a_batch_of_parts_by_source_is_blended_by_their_weights(place, tmp_path, capsys):
    manifest = made(place, tmp_path / "out", epochs={"books": 3})
    command = ["batch", str(tmp_path / "out"), "--global-batch", "8", "--seq", "64", "--json"]
    samples = int(sum(manifest.weights())) // 64
    assert main([*command, "--step", f"0:{samples // 8}"]) == 0
    found = json.loads(capsys.readouterr().out)
    of = [sample["documents"][0]["source"] for sample in found]
    for name, about in manifest.sources.items():
        assert abs(of.count(name) / len(of) - about.weight) < 2 / len(of)
    weights = ["--weights", "1", "--train-samples", str(samples)]
    assert main([*command, "--step", f"0:{samples // 8}", *weights]) == 0
    assert json.loads(capsys.readouterr().out) == found  # one folder's weight is shared as it says


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "language"], "by source"),
        (["--epochs", "web=2"], "add --by source"),
        (["--by", "source", "--epochs", "web"], "is not SOURCE=NUMBER"),
        (["--by", "source", "--epochs", "web=0"], "must be above 0"),
    ],
)
def test_what_cannot_be_made_by_source_is_one_clear_line(place, tmp_path, capsys, arguments, said):
    command = ["tokens", str(place / "0.parquet"), "--tokenizer", str(place / "ladder/300"), "--workers", "1"]
    assert main([*command, "--out", str(tmp_path / "out"), *arguments]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert said in error
