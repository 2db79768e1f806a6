"""Reading evaluation sets in the forms they come in."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.errors import InputError
from stages.decontamination.evaluation_sets import read_items, set_name

ROWS = [{"id": "q-1", "question": "Why?", "n": 4, "choices": ["a", {"text": "b"}]}, {"question": "How?", "choices": []}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
EXPECTED = [
    ("q-1", (("id", "q-1"), ("question", "Why?"), ("choices", "a"), ("choices.text", "b"))),
    ("1", (("question", "How?"),)),
]


def items(path, *fields):
    return [(item.name, item.texts) for item in read_items(str(path), fields)]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("set.jsonl", LINES),
        ("set.JSONL.gz", gzip.compress(LINES)),
        ("set.jsonl.gz", gzip.compress(LINES[:100]) + gzip.compress(LINES[100:])),
        ("set.jsonl.zst", zstandard.compress(LINES)),
        ("set.ndjson", b"\xef\xbb\xbf\n" + LINES + b"\n"),
        ("set.json", json.dumps(ROWS, indent=2).encode()),
        ("set.json", json.dumps(ROWS).encode()),
        ("set.json", LINES),
    ],
)
def test_every_text_of_an_item_is_read_with_its_key(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert items(tmp_path / name) == EXPECTED


def test_columns_of_a_table_are_keys(tmp_path):
    (tmp_path / "set.csv").write_text('question,answer\n"Why,\nindeed?",So\n')
    (tmp_path / "set.tsv").write_text("question\tanswer\nWhy?\tSo\n")
    pq.write_table(pa.table({"question": ["Why?"], "n": [1], "more": [["x", "y"]]}), tmp_path / "set.parquet")
    assert items(tmp_path / "set.csv") == [("0", (("question", "Why,\nindeed?"), ("answer", "So")))]
    assert items(tmp_path / "set.tsv") == [("0", (("question", "Why?"), ("answer", "So")))]
    assert items(tmp_path / "set.parquet") == [("0", (("question", "Why?"), ("more", "x"), ("more", "y")))]


def test_fields_restrict_what_is_read(tmp_path):
    (tmp_path / "set.jsonl").write_bytes(LINES)
    assert items(tmp_path / "set.jsonl", "choices")[0][1] == (("choices", "a"), ("choices.text", "b"))
    assert items(tmp_path / "set.jsonl", "choices.text", "question")[0][1] == (
        ("question", "Why?"),
        ("choices.text", "b"),
    )


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "set.jsonl").write_bytes(LINES + b"{broken\n")
    with pytest.raises(InputError, match="line 3"):
        items(tmp_path / "set.jsonl")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.jsonl.gz", gzip.compress(LINES)[:-9]),
        ("cut.jsonl.zst", zstandard.compress(LINES * 50)[:-9]),
        ("not.jsonl.gz", LINES),
        ("not.parquet", LINES),
        ("latin.jsonl", '{"q": "é"}'.encode("latin-1")),
        ("set.xml", b"<items/>"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_is_named(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=name):
        items(tmp_path / name)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl"):
        items(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/gsm8k_test.jsonl.gz", "gsm8k_test"), ("v1.2.csv", "v1.2"), ("x.parquet", "x"), ("plain", "plain")],
)
def test_a_set_is_called_by_its_file(path, name):
    assert set_name(path) == name
