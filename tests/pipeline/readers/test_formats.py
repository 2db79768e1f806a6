import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.errors import InputError
from pipeline.readers import InputFile, carried_fields, detect_format, plan_splits, provides
from tests.pipeline.readers.made import http, page, read, response, warc_record, write_jsonl, write_warc


def file(path, name=None) -> InputFile:
    return InputFile(str(path), name or path.name)


def test_content_decides_not_the_name(tmp_path):
    write_warc(tmp_path / "a.warc.gz", [response(1)]).rename(tmp_path / "a.parquet")
    assert detect_format(file(tmp_path / "a.parquet")) == "warc.gz"
    write_jsonl(tmp_path / "a.jsonl", [{"text": "t"}]).rename(tmp_path / "a.warc")
    assert detect_format(file(tmp_path / "a.warc")) == "jsonl"
    (tmp_path / "b.txt").write_bytes(zstandard.compress(b'{"text": "t"}\n'))
    assert detect_format(file(tmp_path / "b.txt")) == "jsonl.zst"
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "c.jsonl")
    assert detect_format(file(tmp_path / "c.jsonl")) == "parquet"


def test_the_name_decides_where_the_start_is_damaged(tmp_path):
    members = [gzip.compress(response(n), mtime=0) for n in range(3)]
    (tmp_path / "a.warc.gz").write_bytes(members[0][:60] + b"".join(members[1:]))
    assert detect_format(file(tmp_path / "a.warc.gz")) == "warc.gz"
    found = read(tmp_path / "a.warc.gz")
    assert [row["raw"] for row in found.rows] == [page(1), page(2)]
    assert len(found.faults) == 1


def test_an_empty_file_has_no_documents(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    assert detect_format(file(tmp_path / "a.jsonl")) == "empty"
    assert plan_splits(file(tmp_path / "a.jsonl"), 100) == []
    assert carried_fields(file(tmp_path / "a.jsonl")) == pa.schema([])
    assert provides(file(tmp_path / "a.jsonl")) == {"text"}
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b""))
    assert read(tmp_path / "b.jsonl.gz").items == []


@pytest.mark.parametrize("content", [b"plain words\n", b"<html></html>", b"PK\x03\x04zip", bytes(100), b"a,b\n1,2\n"])
def test_an_unknown_format_is_said_with_the_remedy(tmp_path, content):
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(InputError, match=r"crawl/a\.bin"):
        detect_format(file(tmp_path / "a.bin", "crawl/a.bin"))


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.tsv.gz"])
def test_bytes_that_are_no_text_are_not_read_because_of_a_name(tmp_path, name):
    data = bytes(range(256)) * 4
    (tmp_path / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    with pytest.raises(InputError, match="of no format"):
        detect_format(file(tmp_path / name))


def test_a_missing_file_and_a_folder_are_said(tmp_path):
    with pytest.raises(InputError, match="none"):
        detect_format(file(tmp_path / "none.warc"))
    with pytest.raises(InputError, match="cannot read"):
        detect_format(file(tmp_path))


def test_a_file_called_parquet_that_is_none_is_said(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="PAR1"):
        carried_fields(file(tmp_path / "a.parquet"))


def test_texts_and_pages_are_told_apart(tmp_path):
    wet = [warc_record("warcinfo", b"x"), warc_record("conversion", b"text", Content_Type="text/plain")]
    assert provides(file(write_warc(tmp_path / "a.gz", wet))) == {"text"}
    assert provides(file(write_warc(tmp_path / "b.gz", [response(1)]))) == {"raw"}
    assert provides(file(write_jsonl(tmp_path / "c.jsonl", [{"html": "<p>"}]))) == {"raw"}
    assert provides(file(write_jsonl(tmp_path / "d.jsonl", [{"html": "<p>", "text": "t"}]))) == {"text"}


def test_a_page_in_a_file_of_texts_is_a_fault_where_pages_have_no_place(tmp_path):
    records = [warc_record("conversion", b"text", Content_Type="text/plain"), warc_record("response", http(page(1)))]
    path = write_warc(tmp_path / "a.warc.gz", records)
    schema = pa.schema([pa.field(n, pa.large_string()) for n in ("id", "url", "source", "text", "file")])
    found = read(path, schema=schema)
    assert [row["text"] for row in found.rows] == ["text"]
    assert [fault.rule for fault in found.faults] == ["unexpected_page"]


def test_splits_cover_the_file_and_depend_on_it_alone(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(n) for n in range(50)])
    splits = plan_splits(file(path), 1000)
    assert splits == plan_splits(file(path), 1000)
    assert [s.start for s in splits] == [0, *[s.end for s in splits[:-1]]]
    assert splits[-1].end == path.stat().st_size
    assert len(splits) > 3


def test_what_cannot_be_entered_in_the_middle_is_one_split(tmp_path):
    whole = write_warc(tmp_path / "a.warc.gz", [response(n) for n in range(50)], member=False)
    assert len(plan_splits(file(whole), 100)) == 1
    packed = write_jsonl(tmp_path / "a.jsonl.gz", [{"text": str(n)} for n in range(1000)])
    assert len(plan_splits(file(packed), 100)) == 1


def test_a_warc_whose_start_looks_like_utf_16_is_read_as_bytes(tmp_path):
    path = tmp_path / "a.warc"
    path.write_bytes("damage in two bytes a letter ".encode("utf-16-le") * 20 + b"\r\n" + response(1))
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1)]
    assert [fault.rule for fault in found.faults] == ["damaged_region"]
