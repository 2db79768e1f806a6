"""Try-outs: the first documents, or a sample of them."""

import dataclasses
import json

import pyarrow.parquet as pq
import pytest

from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder, plan_run
from pipeline.run.drive import forecast
from pipeline.run.folder import read_manifest
from tests.pipeline.run.toy import Shorts


@pytest.fixture
def corpus(tmp_path):
    for name, texts in (("a", 30), ("b", 50), ("c", 40)):
        lines = [
            json.dumps({"id": f"{name}{n}", "url": f"u/{name}{n}", "text": f"text {n} of {name}"}) for n in range(texts)
        ]
        lines[7:7] = ["no json", ""]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(
    folder, name="out", paths=("a.jsonl", "b.jsonl", "c.jsonl"), workers=1, executor=run_here, limits=None, **tryout
):
    table = {"name": "t", "input": {"paths": list(paths), **tryout}, "limits": limits or {}}
    recipe = dataclasses.replace(build_recipe(table, folder), stages=(Shorts(),))
    out = local_folder(folder / name)
    done = execute(plan_run(recipe), out, workers=workers, executor=executor)
    return done, [
        row["id"] for f in sorted((folder / name / "data").glob("*.parquet")) for row in pq.read_table(f).to_pylist()
    ]


def test_a_limit_reads_the_first_documents_in_the_order_of_the_files(corpus):
    done, ids = run(corpus, limit=40)
    assert done.summary.read == 40
    assert ids == [f"a{n}" for n in range(30)] + [f"b{n}" for n in range(8)]
    assert (done.summary.failed, done.summary.tryout) == (2, "the first 40 documents (input.limit)")


@pytest.mark.parametrize("limit", [1, 7, 8, 9, 31, 32, 82, 122, 123, 1000])
def test_a_limit_is_kept_to_the_document(corpus, limit):
    whole, ids = run(corpus, "whole")
    done, first = run(corpus, limit=limit)
    assert done.summary.read == min(limit, whole.summary.read)
    assert first == ids[: len(first)]


def test_a_limit_does_not_depend_on_how_the_input_is_cut(corpus):
    _, ids = run(corpus, limit=60)
    _, cut = run(corpus, "cut", limit=60, limits={"split_bytes": 300, "batch_bytes": 200})
    assert ids == cut


def test_workers_of_their_own_read_the_same_first_documents(corpus):
    _, ids = run(corpus, limit=60, limits={"split_bytes": 500})
    _, theirs = run(corpus, "two", limit=60, limits={"split_bytes": 500}, workers=2, executor=None)
    assert ids == theirs


def test_a_run_goes_on_from_a_try_out_to_the_whole(corpus):
    run(corpus, limit=40)
    done, ids = run(corpus)
    _, whole = run(corpus, "whole")
    assert ids == whole
    assert done.summary.tryout == ""


def test_a_try_out_that_is_run_again_does_nothing(corpus):
    run(corpus, limit=40)
    before = read_manifest(local_folder(corpus / "out"))
    done, _ = run(corpus, limit=40)
    assert done.unchanged
    assert read_manifest(local_folder(corpus / "out")).identity == before.identity


def test_a_forecast_of_a_try_out_says_what_stands(corpus):
    run(corpus, limit=40)
    table = {"name": "t", "input": {"paths": ["a.jsonl", "b.jsonl", "c.jsonl"], "limit": 40}}
    recipe = dataclasses.replace(build_recipe(table, corpus), stages=(Shorts(),))
    assert [(f.todo, f.total) for f in forecast(plan_run(recipe), local_folder(corpus / "out"))] == [(0, 2)]


def test_a_sample_is_always_of_the_same_documents_and_a_larger_one_holds_it(corpus):
    _, ids = run(corpus, sample=0.2)
    _, again = run(corpus, "again", paths=("c.jsonl", "b.jsonl", "a.jsonl"), sample=0.2, limits={"split_bytes": 300})
    done, more = run(corpus, "more", sample=0.5)
    assert 8 <= len(ids) <= 40
    assert sorted(ids) == sorted(again)
    assert set(ids) < set(more)
    assert done.summary.read + done.summary.ignored["not in the sample"] == 123


def test_a_limit_counts_documents_of_the_sample(corpus):
    _, sampled = run(corpus, "sampled", sample=0.5)
    done, ids = run(corpus, sample=0.5, limit=20)
    assert done.summary.read == 20
    assert ids == sampled[: len(ids)]
    assert done.summary.tryout == "the first 20 documents (input.limit) of 50 % of the documents (input.sample)"


@pytest.mark.parametrize("limit", [1, 33, 250, 519, 520])
def test_a_limit_ends_within_a_bundle_of_small_files(tmp_path, limit):
    for number in range(260):
        lines = [json.dumps({"id": f"{number}-{n}", "text": f"text {number} {n}"}) for n in range(2)]
        (tmp_path / f"{number:03d}.jsonl").write_text("\n".join(lines))
    done, ids = run(tmp_path, paths=("*.jsonl",), limit=limit)
    assert done.summary.read == limit
    assert ids == [f"{n // 2}-{n % 2}" for n in range(limit)]
