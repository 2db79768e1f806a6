import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError, StorageError
from pipeline.storage import ROW_GROUP_BYTES, Folder, encode_table, open_input


@pytest.fixture
def folder(tmp_path):
    return Folder(str(tmp_path / "store"))


def test_what_is_put_is_got(folder):
    folder.put("a/b.bin", b"content")
    assert folder.get("a/b.bin") == b"content"
    assert folder.names() == ["a/b.bin"]
    assert folder.names("a") == ["a/b.bin"]
    assert folder.exists("a/b.bin")
    assert not folder.exists("a/c.bin")


def test_a_folder_below_is_reached_by_division(folder):
    (folder / "x").put("f", b"1")
    assert folder.get("x/f") == b"1"


def test_create_refuses_to_replace(folder):
    folder.put("f", b"1", create=True)
    with pytest.raises(StorageError, match="exists already"):
        folder.put("f", b"2", create=True)
    assert folder.get("f") == b"1"


def test_a_missing_file_is_named(folder):
    with pytest.raises(StorageError, match=r"nothing\.parquet is missing"):
        folder.get("nothing.parquet")


def test_an_unfinished_file_left_by_a_killed_writer_is_not_listed(folder):
    folder.put("f", b"1")
    (folder.path() / "g#1").write_bytes(b"half")
    assert folder.names() == ["f"]


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=r"cannot write .*free space or mend permissions"):
        Folder(str(tmp_path)).put("file/below", b"data")


def test_a_table_comes_back_equal_and_columns_can_be_chosen(folder):
    table = pa.table({"n": [1, 2], "text": pa.array(["a", "b"], pa.large_string())})
    digest = folder.put_table("t.parquet", table)
    assert folder.get_table("t.parquet") == table
    assert folder.get_table("t.parquet", ["n"]).column_names == ["n"]
    assert len(digest) == 64


def test_row_groups_are_bounded_by_bytes(folder):
    table = pa.table({"text": pa.array(["x" * (ROW_GROUP_BYTES // 4)] * 10, pa.large_string())})
    folder.put_table("t.parquet", table)
    with folder.open("t.parquet") as file:
        assert pq.ParquetFile(file).num_row_groups >= 3


def test_equal_tables_give_equal_bytes():
    table = pa.table({"n": list(range(1000))})
    assert encode_table(table) == encode_table(pa.table({"n": list(range(1000))}))


def test_a_link_shows_the_same_bytes_and_replaces_what_was_there(folder):
    (folder / "a").put("f", b"new")
    (folder / "b").put("f", b"old")
    (folder / "b").link(folder / "a", "f")
    assert (folder / "b").get("f") == b"new"


def test_an_input_that_is_not_there_is_named_with_the_remedy(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nothing\.warc\.gz"):
        open_input(str(tmp_path / "nothing.warc.gz"))


def test_a_file_named_by_a_url_is_read_seeked_and_closed_like_any_other(tmp_path):
    (tmp_path / "f.bin").write_bytes(bytes(range(256)) * 100)
    with open_input(f"file://{tmp_path}/f.bin") as file:
        assert file.read(3) == b"\x00\x01\x02"
        file.seek(-2, 2)
        assert file.read() == b"\xfe\xff"


def test_a_missing_file_named_by_a_url_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot read file://"):
        open_input(f"file://{tmp_path}/none.bin")
