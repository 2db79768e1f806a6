"""A user's own files from the command line: wrong columns found before work, and every kind read in one run."""

from __future__ import annotations

import bz2
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from pipeline.errors import InputError
from pipeline.recipe import load_recipe
from pipeline.run.plan import plan_run
from tests.tokenmill.test_cli import recipe, tokenmill

TEXT = "The lamp burns on the rock tonight, and the keeper writes of it in his book."


@pytest.mark.parametrize("arguments", [["--dry-run"], []])
def test_a_wrong_column_ends_the_dry_run_and_the_run_with_the_likely_one_and_no_work(tmp_path, arguments):
    rows = "".join(json.dumps({"content": f"{TEXT} {n}", "title": "a"}) + "\n" for n in range(20))
    (tmp_path / "docs.jsonl").write_text(rows)
    done = tokenmill("run", recipe(tmp_path), "--out", tmp_path / "out", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "tokenmill: docs.jsonl: its first 20 objects have no key 'text'; there are content, title: say which is the text by "
        'input.columns = { text = "content" }\n'
    )
    assert not (tmp_path / "out").exists()


def test_a_wrong_column_is_found_in_any_of_the_files_pages_or_not(tmp_path):
    (tmp_path / "a.html").write_text("<p>page</p>")
    (tmp_path / "b.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "c.jsonl").write_text('{"body": "a"}\n')
    path = recipe(tmp_path, '[[stage]]\nuse = "extract"\n', paths='["a.html", "b.jsonl", "c.jsonl"]')
    with pytest.raises(InputError, match=r"c\.jsonl: its first object has no key 'text'"):
        plan_run(load_recipe(path))


def test_files_of_every_kind_are_read_in_one_run_and_what_is_no_text_is_counted(tmp_path):
    rows = [{"text": f"{TEXT} {n}"} for n in range(20)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl.bz2").write_bytes(bz2.compress(lines.encode()))
    (folder / "b.jsonl").write_bytes(lines.encode("utf-16"))
    (folder / "c.json").write_text(json.dumps([*rows, {"text": 5}, {"text": None}, {"text": ["a"]}], indent=1))
    (folder / "d.csv").write_text("text\n" + "".join(f'"{row["text"]}"\n' for row in rows))
    (folder / "e.tsv").write_text("id\ttext\n" + "".join(f"{n}\t{row['text']}\n" for n, row in enumerate(rows)))
    (folder / "f.txt").write_text(TEXT)
    feather.write_feather(pa.table({"text": [row["text"] for row in rows]}), folder / "g.feather")
    pq.write_table(pa.table({"text": [[row["text"], "and more"] for row in rows]}), folder / "h.parquet")
    path = recipe(tmp_path, paths='["in/*"]')
    done = tokenmill("run", path, "--out", tmp_path / "out", "--workers", "1", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["read"], summary["kept"], summary["failed"]) == (144, 141, 3)
    ledger = pa.concat_tables(pq.read_table(p) for p in (tmp_path / "out").glob("01-*/ledger/*.parquet"))
    assert sorted(ledger["rule"].to_pylist()) == ["no_text", "not_a_text", "not_a_text"]


def test_a_run_says_of_each_evaluation_set_how_many_items_are_found_and_too_short(tmp_path):
    (tmp_path / "docs.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    items = ["How many loaves does the baker sell on a market day, if she bakes forty and eats two?", "Why?"]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps({"question": item}) + "\n" for item in items))
    path = recipe(tmp_path, '[[stage]]\nuse = "decontaminate"\nevals = ["set.jsonl"]\n')
    said = "decontaminate: set: 2 items found, 1 of them looked for, 1 too short"
    assert said in tokenmill("run", path, "--dry-run").stdout
    assert said in tokenmill("run", path, "--out", tmp_path / "out", "--workers", "1").stderr
