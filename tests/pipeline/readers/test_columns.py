"""Shapes of Parquet and Arrow columns: nested texts, paragraphs, labels of any type, names that come twice."""

import contextlib
import datetime
import decimal
import io
import json
import random
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, ipc

from pipeline.errors import InputError
from pipeline.readers import InputFile, carried_fields, detect_format, plan_splits
from tests.pipeline.readers.made import read


def write(path, table: pa.Table, **options):
    pq.write_table(table, path, **options)
    return path


@pytest.mark.parametrize(
    ("array", "ids"),
    [
        (pa.array([bytes.fromhex("ff00" * 10)], pa.binary()), ["ff00" * 10]),
        (pa.array([b"\xff\xfe\x01\x02"], pa.binary(4)), ["fffe0102"]),
        (pa.array([uuid.UUID(int=7).bytes], pa.uuid()), [str(uuid.UUID(int=7))]),
        (pa.array([2**63], pa.uint64()), ["9223372036854775808"]),
        (pa.array([decimal.Decimal("1.50")], pa.decimal128(5, 2)), ["1.50"]),
        (pa.array([[1, 2]], pa.list_(pa.int8())), ["[1,2]"]),
        (pa.array([{"a": "x", "b": None}], pa.struct([("a", pa.string()), ("b", pa.int8())])), ['{"a":"x","b":null}']),
        (pa.array([datetime.time(1, 2, 3)], pa.time64("us")), ["01:02:03.000000"]),
        (pa.array([1], pa.timestamp("ns")), ["1970-01-01 00:00:00.000000001"]),
        (pa.array([0], pa.timestamp("s", "Europe/Berlin")), ["1970-01-01 00:00:00Z"]),
        (pa.array([5], pa.duration("s")), ["5"]),
        (pa.array([True], pa.bool_()), ["true"]),
        (pa.array(["x"]).dictionary_encode(), ["x"]),
        (pa.nulls(1), ["a.arrow#0"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_an_id_of_any_type_is_a_label_and_costs_no_document(tmp_path, array, ids):
    path = tmp_path / "a.arrow"
    feather.write_feather(pa.table({"text": ["t"], "id": array}), path)
    found = read(path)
    assert ([row["id"] for row in found.rows], found.faults) == (ids, [])


def test_a_url_that_is_no_utf8_keeps_what_can_be_read(tmp_path):
    urls = pa.array([b"http://e.test/caf\xe9", None, b"http://e.test/b"], pa.binary())
    rows = read(write(tmp_path / "a.parquet", pa.table({"text": ["a", "b", "c"], "url": urls}))).rows
    assert [row["url"] for row in rows] == ["http://e.test/caf\ufffd", None, "http://e.test/b"]


def test_a_column_named_by_the_recipe_may_be_of_any_type(tmp_path):
    ids = pa.array([uuid.UUID(int=n).bytes for n in (1, 2)], pa.uuid())
    path = write(tmp_path / "a.parquet", pa.table({"text": ["a", "b"], "doc_id": ids}))
    assert [row["id"] for row in read(path, columns=(("id", "doc_id"),)).rows] == [
        str(uuid.UUID(int=n)) for n in (1, 2)
    ]


def test_columns_of_one_name_are_all_carried(tmp_path):
    columns = [pa.array(["a"]), pa.array([1]), pa.array([4]), pa.array(["i"]), pa.array(["j"])]
    path = write(tmp_path / "a.parquet", pa.Table.from_arrays(columns, names=["text", "m", "m", "id", "id"]))
    (row,) = read(path).rows
    assert (row["m"], row["m_2"], row["id"], row["input_id"]) == (1, 4, "i", "j")


def test_two_text_columns_of_one_name_are_refused(tmp_path):
    path = write(
        tmp_path / "a.parquet", pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    )
    with pytest.raises(InputError, match="more than one column 'text'"):
        carried_fields(InputFile(str(path), "a.parquet"))


def test_a_shard_whose_texts_are_all_null_is_counted_row_by_row(tmp_path):
    found = read(write(tmp_path / "a.parquet", pa.table({"text": pa.nulls(3), "id": ["x", "y", "z"]})))
    assert [(f.rule, f.id) for f in found.faults] == [("no_text", "x"), ("no_text", "y"), ("no_text", "z")]


NESTED = pa.table({
    "data": pa.array([{"content": "one", "n": 1, "meta": {"id": "i"}}, None, {"content": None, "n": 3, "meta": None}]),
    "k": [1, 2, 3],
})  # fmt: skip


def test_a_text_inside_a_struct_is_found_by_dots_and_the_rest_of_the_struct_is_carried(tmp_path):
    path = write(tmp_path / "a.parquet", NESTED)
    found = read(path, columns=(("text", "data.content"), ("id", "data.meta.id")))
    (row,) = found.rows
    assert (row["text"], row["id"], row["data"], row["k"]) == ("one", "i", {"n": 1}, 1)
    assert [(f.rule, f.offset) for f in found.faults] == [("no_text", 1), ("no_text", 2)]
    assert "'data.content'" in found.faults[0].detail


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.binary())])
def test_a_list_of_paragraphs_is_a_text(tmp_path, kind):
    texts = pa.array([["one", "two"], ["three", None], [], None], kind)
    found = read(write(tmp_path / "a.parquet", pa.table({"text": texts})))
    assert [row["text"] for row in found.rows] == ["one\ntwo", "three", ""]
    assert [f.rule for f in found.faults] == ["no_text"]


def test_times_in_nanoseconds_are_carried_as_they_are(tmp_path):
    times = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    path = write(tmp_path / "a.parquet", pa.table({"text": ["a"], "at": times}))
    assert carried_fields(InputFile(str(path), "a")).field("at").type == pa.timestamp("ns")
    assert read(path).batches[0].data.column("at").equals(times)


def test_row_groups_without_rows_are_passed_over(tmp_path):
    table = pa.table({"text": ["a", "b"]})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for piece in (table.slice(0, 0), table.slice(0, 1), table.slice(0, 0), table.slice(1), table.slice(0, 0)):
            writer.write_table(piece)
    for size in (1, 1 << 30):
        assert [row["text"] for row in read(tmp_path / "a.parquet", split=size).rows] == ["a", "b"]


@pytest.mark.parametrize("kind", ["file", "stream", "feather"])
def test_arrow_files_and_streams_are_read_like_parquet(tmp_path, kind):
    table = pa.table({"text": [f"text {n}" for n in range(3000)] + [None], "n": range(3001)})
    path = tmp_path / "a.arrow"
    if kind == "feather":
        feather.write_feather(table, path, compression="zstd")
    else:
        with (ipc.new_file if kind == "file" else ipc.new_stream)(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    assert detect_format(InputFile(str(path), "a.arrow")) == ("arrows" if kind == "stream" else "arrow")
    found = read(path, split=100)
    assert [row["text"] for row in found.rows] == table["text"].to_pylist()[:-1]
    assert [row["offset"] for row in found.rows] == [row["n"] for row in found.rows] == list(range(3000))
    assert [(f.rule, f.offset) for f in found.faults] == [("no_text", 3000)]
    assert len(plan_splits(InputFile(str(path), "a.arrow"), 100)) == 1


def test_a_damaged_record_batch_is_a_fault_and_a_cut_stream_gives_what_it_has(tmp_path):
    table = pa.table({"text": [f"text {n}" * 50 for n in range(1000)]})
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    data = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(data[: len(data) * 2 // 3])
    found = read(tmp_path / "a.arrow")
    assert 500 <= len(found.rows) < 1000
    assert [f.rule for f in found.faults] == ["damaged_row_group"]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_no_damage_of_an_arrow_file_leads_out_of_its_memory(tmp_path, kind):
    """Bytes of offsets are changed as well as those of metadata: the library takes both at their word."""
    table = pa.table({"text": [f"abc äöü {n}" for n in range(40)], "l": [[1, 2]] * 40, "s": [{"a": "x"}] * 40})
    sink = io.BytesIO()
    with (ipc.new_file if kind == "file" else ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=9)
    dice, whole = random.Random(7), sink.getvalue()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 5)):
            data[dice.randrange(8, len(data))] = dice.randrange(256)
        (tmp_path / "a.arrow").write_bytes(data[: dice.choice([len(data), dice.randrange(8, len(data))])])
        with contextlib.suppress(InputError):
            found = read(tmp_path / "a.arrow")
            assert len(found.rows) <= 40


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"content": ["a"], "n": [1]}, 'text = "content"'),
        ({"doc": [{"body": "long text"}], "title": ["a"]}, 'text = "doc.body"'),
        ({"raw_html": ["<p>"]}, 'html = "raw_html"'),
        ({"n": [1]}, "none holds text"),
    ],
)
def test_the_likely_column_is_proposed(tmp_path, columns, named):
    path = write(tmp_path / "a.parquet", pa.table(columns))
    with pytest.raises(InputError) as error:
        carried_fields(InputFile(str(path), "a.parquet"))
    assert named in str(error.value)
    assert json.dumps(sorted(columns)[0])[1:-1] in str(error.value)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_record_batch_that_killed_a_worker_is_passed_over_and_the_others_are_read(tmp_path, kind):
    table = pa.table({"text": [f"text {n}" for n in range(12)]})
    with (ipc.new_file if kind == "file" else ipc.new_stream)(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    found = read(tmp_path / "a.arrow", doubts={4}, skip={4: ("memory", "2 GB")}, stops={4})
    assert [(f.number, f.rule) for f in found.faults] == [(4, "memory")]
    assert [row["text"] for row in found.rows] == [
        f"text {n}" for n in ([*range(4), *range(8, 12)] if kind == "file" else range(4))
    ]
