import datetime
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.readers import InputFile, carried_fields, plan_splits, provides
from tests.pipeline.readers.made import read

TEXTS = ["eins", "zwei", "", "日本"]


def write(path: pathlib.Path, rows_per_group: int = 100, **columns) -> pathlib.Path:
    pq.write_table(pa.table(columns), path, row_group_size=rows_per_group)
    return path


@pytest.mark.parametrize(
    "array",
    [
        pa.array(TEXTS, pa.string()),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS, pa.string()).dictionary_encode(),
        pa.array([t.encode() for t in TEXTS], pa.binary()),
        pa.array([t.encode() for t in TEXTS], pa.large_binary()),
    ],
    ids=lambda array: str(array.type),
)
def test_a_text_column_of_any_type_is_read(tmp_path, array):
    assert [row["text"] for row in read(write(tmp_path / "a.parquet", text=array)).rows] == TEXTS


def test_labels_become_ours_and_missing_ids_file_name_and_row(tmp_path):
    path = write(
        tmp_path / "a.parquet", text=["a", "b"], id=pa.array([5, None]), url=["u", None], source=["s", None],
        date=pa.array([datetime.date(2024, 5, 6), None]),
    )  # fmt: skip
    first, second = read(path).rows
    assert (first["id"], first["url"], first["source"], first["date"]) == ("5", "u", "s", "2024-05-06")
    assert (second["id"], second["url"], second["source"]) == ("a.parquet#1", None, "default")
    assert [first["offset"], second["offset"]] == [0, 1]


def test_a_source_given_by_the_recipe_wins(tmp_path):
    assert read(write(tmp_path / "a.parquet", text=["a"], source=["s"]), source="web").rows[0]["source"] == "web"


def test_other_columns_are_carried_with_their_types_however_nested(tmp_path):
    nested = pa.array([{"tags": ["x", "y"], "n": 1}], pa.struct([("tags", pa.list_(pa.string())), ("n", pa.int16())]))
    maps = pa.array([[("k", 1.5)]], pa.map_(pa.string(), pa.float64()))
    path = write(tmp_path / "a.parquet", text=["a"], meta=nested, score=pa.array([1.5], pa.float32()), weights=maps)
    assert carried_fields(InputFile(str(path), "a")).names == ["meta", "score", "weights"]
    (row,) = read(path).rows
    assert (row["meta"], row["score"], row["weights"]) == ({"tags": ["x", "y"], "n": 1}, 1.5, [("k", 1.5)])


def test_a_column_named_as_ours_that_cannot_be_ours_is_carried_under_another_name(tmp_path):
    path = write(tmp_path / "a.parquet", text=["a"], offset=[[1, 2]], truncated=[["u"]], language=[7], file=["f"])
    (row,) = read(path).rows
    assert (row["input_offset"], row["input_truncated"], row["input_language"], row["input_file"]) == (
        [1, 2],
        ["u"],
        7,
        "f",
    )
    assert (row["offset"], row["truncated"], row["file"]) == (0, None, "a.parquet")


def test_columns_may_be_called_differently(tmp_path):
    path = write(tmp_path / "a.parquet", content=["a"], doc=["i"], text=["other"])
    (row,) = read(path, columns=(("id", "doc"), ("text", "content"))).rows
    assert (row["text"], row["id"], row["input_text"]) == ("a", "i", "other")


def test_binary_pages_become_raw_and_text_pages_are_known_to_be_utf8(tmp_path):
    path = write(tmp_path / "a.parquet", html=pa.array([b"<p>\xe9"], pa.binary()))
    assert provides(InputFile(str(path), "a")) == {"raw"}
    (row,) = read(path).rows
    assert (row["raw"], row["content_type"]) == (b"<p>\xe9", None)
    (row,) = read(write(tmp_path / "b.parquet", html=["<p>é"])).rows
    assert (row["raw"], row["content_type"]) == ("<p>é".encode(), "text/html; charset=utf-8")


def test_null_texts_and_invalid_utf8_are_faults_with_their_rows(tmp_path):
    path = write(tmp_path / "a.parquet", text=pa.array([b"a", None, b"\xff", b"d"], pa.binary()), id=list("wxyz"))
    found = read(path)
    assert [(row["id"], row["text"]) for row in found.rows] == [("w", "a"), ("z", "d")]
    assert [(f.offset, f.rule, f.id) for f in found.faults] == [(1, "no_text", "x"), (2, "bad_encoding", "y")]
    assert found.numbers == [0, 1, 2, 3]


def test_a_string_column_that_is_not_utf8_does_not_end_the_file(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff"], pa.binary()).buffers())
    path = write(tmp_path / "a.parquet", text=bad, other=pa.array(["x", "y"]))
    found = read(path)
    assert [row["text"] for row in found.rows] == ["ok"]
    assert [fault.rule for fault in found.faults] == ["bad_encoding"]


def test_a_carried_text_that_is_not_utf8_costs_no_document(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"caf\xe9"], pa.binary()).buffers())
    found = read(write(tmp_path / "b.parquet", text=["a", "b"], other=bad))
    assert [(row["text"], row["other"]) for row in found.rows] == [("a", "ok"), ("b", "caf\ufffd")]
    assert found.faults == []


def test_row_groups_are_grouped_by_size_and_lose_nothing(tmp_path):
    texts = [f"text {n * 7919 % 9973} " * 50 for n in range(100)]
    path = write(tmp_path / "a.parquet", 10, text=texts)
    splits = plan_splits(InputFile(str(path), "a"), 1000)
    assert [split.start for split in splits][1:] == [split.end for split in splits][:-1]
    assert (splits[0].start, splits[-1].end, len(splits) > 3) == (0, 10, True)
    for size in (1, 1000, 3000, 1 << 40):
        found = read(path, split=size)
        assert [row["text"] for row in found.rows] == texts
        assert [row["offset"] for row in found.rows] == list(range(100))


def test_batches_are_bounded_by_bytes_however_uneven_the_rows(tmp_path):
    texts = ["x" * (50_000 if n % 10 == 0 else 10) for n in range(100)]
    found = read(write(tmp_path / "a.parquet", text=texts), batch=100_000)
    assert [row["text"] for row in found.rows] == texts
    assert all(sum(map(len, batch.texts)) <= 100_000 for batch in found.batches)


def test_a_damaged_row_group_fails_each_of_its_rows_and_the_rest_is_read(tmp_path):
    texts = [f"{n * 7919 % 9973} {n * 104729 % 99991} " * 20 for n in range(300)]
    path = write(tmp_path / "a.parquet", 100, text=texts)
    about = pq.read_metadata(path).row_group(1).column(0)
    data = bytearray(path.read_bytes())
    at = (about.dictionary_page_offset or about.data_page_offset) + about.total_compressed_size // 2
    data[at : at + 200] = bytes(200)
    path.write_bytes(data)
    found = read(path)
    assert len(found.rows) + len(found.faults) == 300
    assert {f.rule for f in found.faults} == {"damaged_row_group"}
    assert {f.offset for f in found.faults} <= set(range(100, 200))
    assert {row["offset"] for row in found.rows} >= {*range(100), *range(200, 300)}


def test_a_text_over_the_limit_is_a_fault(tmp_path):
    found = read(write(tmp_path / "a.parquet", text=["a", "b" * 1000]), limit=100)
    assert [(f.rule, f.offset) for f in found.faults] == [("record_too_large", 1)]


def test_a_skipped_row_is_failed_by_its_cause(tmp_path):
    found = read(
        write(tmp_path / "a.parquet", text=["a", "b", "c"], url=["u", "v", "w"]), skip={1: ("cpu_time", "30 s")}
    )
    assert [row["text"] for row in found.rows] == ["a", "c"]
    assert [(f.number, f.rule, f.url) for f in found.faults] == [(1, "cpu_time", "v")]


@pytest.mark.parametrize(
    ("columns", "theirs", "named"),
    [
        ({"body": ["a"], "n": [1]}, (), ["body, n", "input.columns"]),
        ({"text": [1]}, (), ["'text'", "int64"]),
        ({"text": ["a"]}, (("text", "content"),), ["'content'", "text", "input.columns"]),
    ],
)
def test_a_missing_or_wrong_text_column_is_said_with_the_remedy(tmp_path, columns, theirs, named):
    path = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(InputError) as error:
        carried_fields(InputFile(str(path), "crawl/a.parquet", None, theirs))
    assert all(part in str(error.value) for part in ["crawl/a.parquet", *named])


def test_a_cut_parquet_file_is_said_to_be_one(tmp_path):
    path = write(tmp_path / "a.parquet", text=["a"] * 1000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"a\.parquet"):
        carried_fields(InputFile(str(path), "a.parquet"))


def test_a_file_without_rows_gives_nothing(tmp_path):
    path = write(tmp_path / "a.parquet", text=pa.array([], pa.string()))
    assert read(path).items == []
