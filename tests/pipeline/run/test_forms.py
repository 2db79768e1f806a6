"""What the final corpus looks like: format, columns, size of files, folders by source or language."""

import dataclasses
import json

import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.errors import RecipeError
from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder, plan_run
from pipeline.worker.gather import folder_of
from tests.pipeline.run.toy import Shorts
from tokenmill.commands.run import add_products
from tokenmill.products import beside
from tokenmill.tables import assemble

SOURCES = ("web", "books/old", None, "_x", "web", "books/old")


@pytest.fixture
def corpus(tmp_path):
    rows = [{"id": f"d{n}", "source": s, "text": f"text number {n} " * 9, "tags": [n]} for n, s in enumerate(SOURCES)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(folder, name="out", **output):
    recipe = build_recipe({"name": "t", "input": {"paths": "a.jsonl"}, "output": output}, folder)
    recipe = dataclasses.replace(recipe, stages=(Shorts(),))
    execute(plan_run(recipe), local_folder(folder / name), workers=1, executor=run_here)
    return folder / name / "data"


def lines(file):
    return [
        json.loads(line) for line in zstandard.ZstdDecompressor().stream_reader(file.open("rb")).readall().splitlines()
    ]


def test_lines_hold_what_parquet_holds(corpus):
    whole = pq.read_table(run(corpus) / "part-00000.parquet").to_pylist()
    (file,) = run(corpus, "lines", format="jsonl.zst").iterdir()
    assert file.name == "part-00000.jsonl.zst"
    assert lines(file) == [{k: v for k, v in row.items() if v is not None} for row in whole]


def test_only_the_columns_asked_for_are_written_in_their_order(corpus):
    (file,) = run(corpus, columns=["text", "id"]).iterdir()
    assert pq.read_table(file).column_names == ["text", "id"]


def test_a_folder_for_each_source_holds_its_documents_and_no_others(corpus):
    data = run(corpus, partition_by="source")
    found = {
        f.parent.name: [row["id"] for row in pq.ParquetFile(f).read().to_pylist()] for f in data.rglob("*.parquet")
    }
    assert found == {"web": ["d0", "d4"], "books%2Fold": ["d1", "d5"], "default": ["d2"], "%5Fx": ["d3"]}


def test_no_value_makes_another_s_folder_or_one_elsewhere():
    values = ["", None, "_none", "..", ".", "a/b", "a%2Fb", "a", "é", "\n", "~", "A B"]
    folders = [folder_of(value) for value in values[1:]]
    assert len(set(folders)) == len(folders)
    assert folder_of("") == folder_of(None) == "_none/"
    assert all(f.count("/") == 1 and f.isascii() and not f.startswith(".") for f in folders)


def test_files_are_of_the_size_asked_for_in_each_folder(corpus):
    data = run(corpus, partition_by="source", shard_bytes=200)
    assert sorted(f.name for f in (data / "web").iterdir()) == ["part-00000-000.parquet", "part-00000-001.parquet"]


def test_another_form_makes_the_files_anew_and_removes_the_old(corpus):
    run(corpus)
    data = run(corpus, format="jsonl.zst", partition_by="source")
    assert sorted(f.suffixes[-2:] for f in data.rglob("*") if f.is_file()) == [[".jsonl", ".zst"]] * 4
    assert [f.name for f in run(corpus).iterdir() if f.is_file()] == ["part-00000.parquet"]


def test_token_counts_stay_row_for_row_beside_the_texts(corpus):
    recipe = build_recipe(
        {
            "name": "t",
            "input": {"paths": "a.jsonl"},
            "tokenizer": {"vocab_sizes": [260]},
            "output": {"partition_by": "source"},
        },
        corpus,
    )
    plan = assemble(recipe)
    out = corpus / "out"
    execute(plan, local_folder(out), workers=1, executor=run_here, finish=add_products, beside=beside(plan))
    texts = sorted(f.relative_to(out / "data") for f in (out / "data").rglob("*.parquet"))
    assert texts == sorted(f.relative_to(out / "token_counts") for f in (out / "token_counts").rglob("*.parquet"))
    for file in texts:
        counts = pq.ParquetFile(out / "token_counts" / file).read()
        assert counts["id"].to_pylist() == pq.ParquetFile(out / "data" / file).read()["id"].to_pylist()


@pytest.mark.parametrize(
    ("output", "place", "says"),
    [
        ({"format": "csv"}, "output.format", "none of: parquet, jsonl.zst"),
        ({"columns": ["txt"]}, "output.columns[0]", "did you mean text?"),
        ({"columns": ["id", "id"]}, "output.columns", "twice"),
        ({"partition_by": "language"}, "output.partition_by", 'use = "language" adds it'),
        ({"shard_bytes": 0}, "output.shard_bytes", "at least 1"),
    ],
)
def test_a_form_that_cannot_be_is_said_before_work(corpus, output, place, says):
    with pytest.raises(RecipeError) as caught:
        run(corpus, **output)
    assert (caught.value.place, says in caught.value.problem) == (place, True)
    assert not (corpus / "out").exists()
