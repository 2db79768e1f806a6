"""`tokenmill init`: a recipe that runs on the files that it was written for."""

import functools
import gzip
import io
import json
import os
import pathlib
import tarfile
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from pipeline.executors.here import run_here
from pipeline.recipe import Limits, build_recipe, load_recipe
from pipeline.run import execute, local_folder
from pipeline.run.plan import plan_run
from tokenmill.cli import main
from tokenmill.commands.init import patterns_of, vocab_sizes
from tokenmill.products import add_products, beside
from tokenmill.recipes import recipe_names, recipe_text
from tokenmill.survey import survey
from tokenmill.tables import assemble

ENGLISH = "The miller and the farmers have grain that they bring to the mill of the river, and it is good. "
GERMAN = "Der Müller und die Bauern haben Korn, das sie zur Mühle am Fluss bringen, und es ist gut so. "


def prose(sentence, number):
    return "".join(f"{sentence}{n} " for n in range(number, number + 12))


def write_lines(path, key, sentence, number=8, **more):
    rows = [{"id": f"{path.stem}{n}", key: prose(sentence, n * 100), **more} for n in range(number)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_warc(path, pages):
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number, text in enumerate(pages):
            html = f"<html lang=en><title>t</title><body><article><p>{text}</p></article></body></html>".encode()
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    f"https://a.example/{number}", "response", io.BytesIO(html), http_headers=head
                )
            )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tokenmill.survey.execute", functools.partial(execute, executor=run_here))
    return tmp_path


def init(*arguments):
    assert main(["init", "--workers", "1", *map(str, arguments)]) == 0
    return pathlib.Path("recipe.toml")


def run(recipe, out="out"):
    plan = assemble(load_recipe(recipe))
    place = local_folder(out)
    return execute(plan, place, workers=1, executor=run_here, finish=add_products, beside=beside(plan)).summary


def test_a_recipe_for_files_of_many_kinds_runs_on_them(folder, capsys):
    (folder / "in").mkdir()
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        write_lines(folder / "in" / name, "text", ENGLISH)
    write_lines(folder / "in/content.jsonl.gz", "content", ENGLISH, date="2024")
    pq.write_table(pa.table({"body": [prose(ENGLISH, 9)], "n": [1]}), folder / "in/t.parquet")
    write_warc(folder / "in/crawl.warc.gz", [prose(ENGLISH, n * 1000) for n in range(3)])
    (folder / "in/broken.parquet").write_bytes(b"PAR1 and nothing else")
    (folder / "in/notes.pdf").write_text("no documents")
    (folder / "in/README.md").write_text("about the documents")
    recipe = init("in")
    table = tomllib.loads(recipe.read_text())
    assert "in/*.jsonl" in table["input"]["paths"]
    assert {"path": "in/content.jsonl.gz", "columns": {"text": "content"}} in table["input"]["paths"]
    assert {"path": "in/t.parquet", "columns": {"text": "body"}} in table["input"]["paths"]
    assert "# left out: in/broken.parquet: " in recipe.read_text()
    assert [stage["use"] for stage in table["stage"]][:2] == ["extract", "language"]
    summary = run(recipe)
    assert (summary.read, summary.faults) == (36, {})
    assert "Languages of 36 documents: en 100 %" in capsys.readouterr().out


def test_what_is_not_english_is_given_a_recipe_for_its_languages(folder):
    write_lines(folder / "de.jsonl", "text", GERMAN)
    table = tomllib.loads(init("de.jsonl").read_text())
    assert table["stage"][0] == {"use": "language", "keep": ["de"], "min_score": 0.65}
    assert "language" not in run("recipe.toml").dropped


def test_a_recipe_for_files_of_which_much_is_damaged_runs_to_its_end(folder):
    write_lines(folder / "a.jsonl", "text", ENGLISH, 20)
    with open("a.jsonl", "a") as file:
        file.write("no json\n" * 400)
    summary = run(init("a.jsonl"))
    assert (summary.read, summary.failed) == (420, 400)


def test_names_that_a_pattern_would_misread_are_read(folder):
    for name in ("a[1].jsonl", "a1.jsonl", "x y.jsonl", '"q".jsonl', "$HOME.jsonl"):
        write_lines(folder / name, "text", ENGLISH, 1)
    pathlib.Path(os.fsdecode(b"z\xff.jsonl")).write_text(json.dumps({"text": prose(ENGLISH, 1)}))
    init()
    assert len(load_recipe("recipe.toml").inputs) == 6


def test_a_pattern_is_written_only_where_it_means_just_the_files_found(folder):
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        write_lines(folder / name, "text", ENGLISH, 1)
    paths = [str(folder / name) for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    assert [(path, kind.columns) for path, kind in patterns_of(survey(paths, folder))] == [("*.jsonl", ())]
    write_lines(folder / "d.jsonl", "text", ENGLISH, 1)
    assert [path for path, _ in patterns_of(survey(paths, folder))] == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_an_archive_of_pages_and_texts_is_given_a_recipe_that_runs_on_it(folder):
    with tarfile.open("in.tar.gz", "w:gz") as archive:
        for number in range(12):
            kind = "txt" if number % 3 else "html"
            text = prose(ENGLISH, number * 100)
            data = (text if kind == "txt" else f"<html><body><article><p>{text}</p></article></body></html>").encode()
            info = tarfile.TarInfo(f"in/{number}.{kind}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    table = tomllib.loads(init("in.tar.gz").read_text())
    assert (table["input"]["paths"], table["stage"][0]["use"]) == (["in.tar.gz"], "extract")
    summary = run("recipe.toml")
    assert (summary.read, summary.failed, summary.faults) == (12, 0, {})


@pytest.mark.parametrize(("mark", "documents"), [("\n\n", "paragraph"), ("\n", "line")])
def test_a_text_file_too_large_for_one_document_is_cut(folder, monkeypatch, mark, documents):
    monkeypatch.setattr("tokenmill.survey.Limits", lambda: Limits(record_bytes=2000))
    (folder / "all.txt").write_text(mark.join(prose(ENGLISH, n * 100) for n in range(9)))
    (folder / "one.txt").write_text(prose(ENGLISH, 0)[:900])
    recipe = init()
    paths = tomllib.loads(recipe.read_text())["input"]["paths"]
    assert paths == [{"path": "all.txt", "documents": documents}, "one.txt"]
    assert '# documents = "line"' in recipe.read_text()
    assert run(recipe).read == 10


def test_columns_of_other_types_are_not_read_together(folder):
    pq.write_table(pa.table({"text": ["a"], "n": [1]}), "a.parquet")
    pq.write_table(pa.table({"text": ["b"], "n": [[1]]}), "b.parquet")
    found = survey([str(folder / "a.parquet"), str(folder / "b.parquet")], folder)
    assert [file.name for file in found.inputs] == ["a.parquet"]
    assert found.left_out[0][0] == "b.parquet"


@pytest.mark.parametrize("name", recipe_names())
def test_a_published_recipe_is_a_recipe(tmp_path, name):
    write_lines(tmp_path / "a.jsonl", "text", ENGLISH)
    table = tomllib.loads(recipe_text(name))
    table["input"]["paths"] = ["a.jsonl"]
    plan = plan_run(build_recipe(table, tmp_path))
    assert table["name"] == name
    assert set(plan.labels) & {"minhash_dedup", "exact_dedup"}


def test_vocabularies_are_of_a_size_that_the_text_can_give():
    assert vocab_sizes(0) == vocab_sizes(100_000) == []
    assert vocab_sizes(10**12) == [32768, 65536, 131072]
    assert all(max(vocab_sizes(10**n), default=0) <= 10**n // 400 for n in range(4, 9))


def test_the_sample_is_copied_whole(folder):
    assert main(["init", "--sample", "new/sample"]) == 0
    assemble(load_recipe("new/sample/recipe.toml"))
