"""Reading evaluation sets in the forms they come in."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from pyarrow import ipc

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
        ("set.JSONL.gz", gzip.compress(LINES, mtime=0)),
        ("set.jsonl.gz", gzip.compress(LINES[:100], mtime=0) + gzip.compress(LINES[100:], mtime=0)),
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
        ("cut.jsonl.gz", gzip.compress(LINES, mtime=0)[:-9]),
        ("cut.jsonl.zst", zstandard.compress(LINES * 50)[:-9]),
        ("not.parquet", LINES),
        ("latin.jsonl", '{"q": "é"}'.encode("latin-1")),
        ("set.xml", b"<items/>"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_is_named(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=name):
        items(tmp_path / name)


def test_how_a_set_is_packed_is_told_by_its_bytes(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(LINES)
    (tmp_path / "b.jsonl").write_bytes(gzip.compress(LINES, mtime=0))
    assert items(tmp_path / "a.jsonl.gz") == items(tmp_path / "b.jsonl") == EXPECTED


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl"):
        items(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/gsm8k_test.jsonl.gz", "gsm8k_test"), ("v1.2.csv", "v1.2"), ("x.parquet", "x"), ("plain", "plain")],
)
def test_a_set_is_called_by_its_file(path, name):
    assert set_name(path) == name


def texts_of(path) -> list[list[str]]:
    return [[text for _, text in item.texts] for item in read_items(str(path))]


def test_a_tsv_has_no_quoting(tmp_path):
    (tmp_path / "set.tsv").write_text('sentence\tlabel\n"Never closed\t1\nNext\t0\nsaid "so"\t1\n')
    assert [texts[0] for texts in texts_of(tmp_path / "set.tsv")] == ['"Never closed', "Next", 'said "so"']


MMLU = '"Find the degree, over Q, of Q(sqrt 2)?",0,4,2,6,B\nThe capital of France,Rome,Paris,Bonn,Bern,B\n"Which, then?",a,b,c,d,A\n'


def test_a_csv_without_a_header_loses_no_item(tmp_path):
    (tmp_path / "mmlu.csv").write_text(MMLU)
    (tmp_path / "turned.csv").write_text("".join(reversed(MMLU.splitlines(keepends=True)[:2])))
    assert [texts[0] for texts in texts_of(tmp_path / "mmlu.csv")][1:] == ["The capital of France", "Which, then?"]
    assert len(texts_of(tmp_path / "turned.csv")) == 2
    assert items(tmp_path / "mmlu.csv", "column 1")[1] == ("1", (("column 1", "The capital of France"),))


@pytest.mark.parametrize(
    "header",
    ["question,answer", "Question,Best Answer", ",prompt,label", "goal,sol1", "story,ending one", "id,sentence"],
)
def test_a_header_is_no_item(tmp_path, header):
    row = ",".join(["What happens to those who eat seeds?", "They grow, they say", "0"][: header.count(",") + 1])
    (tmp_path / "set.csv").write_text(f"{header}\n{row}\n")
    assert len(texts_of(tmp_path / "set.csv")) == 1


def test_a_csv_may_be_cut_by_semicolons_and_have_marks_that_nobody_doubled(tmp_path):
    (tmp_path / "semicolons.csv").write_text('question;answer\n"Why; indeed?";So\n')
    (tmp_path / "sloppy.csv").write_text('question,answer\n"He said "so" and went",So\nHow?,Thus\n')
    assert texts_of(tmp_path / "semicolons.csv") == [["Why; indeed?", "So"]]
    assert len(texts_of(tmp_path / "sloppy.csv")) == 2


def test_a_csv_with_a_mark_that_is_never_closed_is_named_with_the_line(tmp_path):
    (tmp_path / "set.csv").write_text('question,answer\nWhy?,So\n"How,Thus\nWhen?,Now\n')
    with pytest.raises(InputError, match=r"set\.csv.*line 3 is never closed"):
        texts_of(tmp_path / "set.csv")


@pytest.mark.parametrize(
    "value",
    [
        [{"q": "one"}, {"q": "two"}],
        {"name": "task", "canary": "x", "examples": [{"q": "one"}, {"q": "two"}]},
        {"version": "1.1", "data": [{"q": "one"}, {"q": "two"}]},
        {"train": [{"q": "one"}], "test": [{"q": "two"}]},
        {"rows": [{"row_idx": 0, "row": {"q": "one"}}, {"row_idx": 1, "row": {"q": "two"}}]},
        {"q": ["one", "two"], "n": [1, 2]},
        {"q": {"0": "one", "1": "two"}, "n": {"0": 1, "1": 2}},
        {"a-17": {"q": "one"}, "a-18": {"q": "two"}},
        {"version": 1, "items": {"a-17": {"q": "one"}, "a-18": {"q": "two"}}},
        ["one", "two"],
        [["one", 1], ["two", 2]],
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_file_holds_its_items_in_any_shape(tmp_path, value, indent):
    (tmp_path / "set.json").write_text(json.dumps(value, indent=indent))
    found = [[text for text in texts if text in ("one", "two")] for texts in texts_of(tmp_path / "set.json")]
    assert found == [["one"], ["two"]]


def test_items_by_key_are_called_by_it(tmp_path):
    (tmp_path / "set.json").write_text(json.dumps({"a-17": {"q": "one"}, "a-18": {"q": "two", "id": "own"}}))
    assert [name for name, _ in items(tmp_path / "set.json")] == ["a-17", "own"]


def test_choices_by_column_stay_with_their_item(tmp_path):
    (tmp_path / "set.json").write_text(json.dumps({"q": ["one", "two"], "choices": [["a", "b"], ["c", "d"]]}))
    assert texts_of(tmp_path / "set.json") == [["one", "a", "b"], ["two", "c", "d"]]


def test_a_single_object_is_one_item(tmp_path):
    (tmp_path / "set.json").write_text(json.dumps({"question": "Why?", "choices": ["a", "b"]}, indent=1))
    assert texts_of(tmp_path / "set.json") == [["Why?", "a", "b"]]


def test_a_parquet_file_may_hold_lists_structs_bytes_and_dictionaries(tmp_path):
    choices = pa.array(
        [{"text": ["a", "b"], "label": ["A", "B"]}],
        pa.struct({"text": pa.list_(pa.string()), "label": pa.list_(pa.string())}),
    )
    table = pa.table(
        {"question": pa.array(["Why?"]).dictionary_encode(), "choices": choices, "raw": pa.array([b"caf\xc3\xa9"])}
    )
    pq.write_table(table, tmp_path / "set.parquet")
    expected = (
        ("question", "Why?"),
        ("choices.text", "a"),
        ("choices.text", "b"),
        ("choices.label", "A"),
        ("choices.label", "B"),
        ("raw", "café"),
    )
    assert items(tmp_path / "set.parquet") == [("0", expected)]


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("name", ["a.jsonl", "b.csv", "c.tsv", "d.json"])
def test_a_set_in_any_unicode_encoding_is_read(tmp_path, name, codec):
    content = {
        "a.jsonl": '{"question": "Wie viele Brücken?"}\n{"question": "Und Häuser?"}\n',
        "b.csv": "question\nWie viele Brücken?\nUnd Häuser?\n",
        "c.tsv": "question\tanswer\nWie viele Brücken?\t7\nUnd Häuser?\t8\n",
        "d.json": '{"examples": [{"question": "Wie viele Brücken?"}, {"question": "Und Häuser?"}]}',
    }[name]
    (tmp_path / name).write_bytes(content.encode(codec))
    items = list(read_items(str(tmp_path / name), ("question",)))
    assert [text for item in items for _, text in item.texts] == ["Wie viele Brücken?", "Und Häuser?"]


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_set_may_be_packed_and_called_as_it_likes(tmp_path, ending, pack):
    path = tmp_path / f"loaves.jsonl.{ending}"
    path.write_bytes(pack(b'{"question": "How many loaves?"}\n'))
    assert set_name(str(path)) == "loaves"
    assert [item.texts for item in read_items(str(path))] == [(("question", "How many loaves?"),)]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="to its end"):
        list(read_items(str(path)))


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
def test_an_arrow_file_of_either_form_is_a_set(tmp_path, new):
    table = pa.table({"question": ["How many loaves?"], "choices": [["two", "three"]]})
    with new(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    (item,) = read_items(str(tmp_path / "a.arrow"))
    assert item.texts == (("question", "How many loaves?"), ("choices", "two"), ("choices", "three"))
