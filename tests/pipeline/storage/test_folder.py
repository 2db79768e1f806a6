import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError, StorageError
from pipeline.storage import ROW_GROUP_BYTES, Folder, encode_table, open_input


@pytest.fixture(params=["local", "s3"])
def folder(request, tmp_path):
    """A folder on this machine, and one of a real S3 server: nothing tells them apart."""
    return Folder(str(tmp_path / "store") if request.param == "local" else request.getfixturevalue("s3"))


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


def test_folders_below_are_listed_and_removed_whole(folder):
    for name in ("a/x/1", "a/x/y/2", "a/z/3", "ab/4", "5"):
        folder.put(name, b"")
    assert folder.children() == ["a", "ab"]
    assert folder.children("a") == ["x", "z"]
    assert (folder / "a").children() == ["x", "z"]
    folder.remove_tree("a")
    assert folder.names() == ["5", "ab/4"]
    folder.remove_tree("none")


def test_a_folder_that_is_not_there_holds_nothing(folder):
    assert folder.names("none") == []
    assert folder.children("none") == []
    folder.delete("none")


def test_a_file_deleted_is_gone(folder):
    folder.put("a/f", b"")
    folder.delete("a/f")
    assert not folder.exists("a/f")


def test_a_folder_is_no_file(folder):
    folder.put("a/f", b"")
    assert not folder.exists("a")


def test_size_and_ranges(folder):
    folder.put("f", b"0123456789")
    assert folder.size("f") == 10
    assert folder.get_range("f", 3, 4) == b"3456"
    assert folder.get_range("f", 8, 4) == b"89"
    assert folder.get_ranges("f", [(0, 1), (9, 1)]) == [b"0", b"9"]


def test_a_copy_is_a_file_of_its_own(folder):
    (folder / "a").put("f", b"first")
    (folder / "b").put("f", b"old")
    (folder / "b").copy(folder / "a", "f")
    (folder / "b").copy(folder / "a", "f", "g")
    (folder / "a").put("f", b"second")
    assert [(folder / "b").get(name) for name in ("f", "g")] == [b"first", b"first"]


def test_a_copy_between_stores(s3, tmp_path):
    here, there = Folder(str(tmp_path)), Folder(s3)
    here.put("f", b"content")
    there.copy(here, "f", "g")
    here.copy(there, "g", "h")
    assert here.get("h") == b"content"


def test_a_file_may_be_written_as_it_grows_and_appears_when_it_is_whole(folder):
    with folder.writing("a/f") as file:
        file.write(b"one")
        assert folder.names() == []
        file.write(b"two")
    assert folder.get("a/f") == b"onetwo"

    def broken():
        with folder.writing("a/f") as file:
            file.write(b"other")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert folder.names() == ["a/f"]
    assert folder.get("a/f") == b"onetwo"


@pytest.mark.parametrize("data", [b"", b'{"a": 1', b"\xff\xfe", b"PAR1"])
def test_a_torn_json_file_is_one_line_with_its_name(folder, data):
    folder.put("a/f.json", data)
    with pytest.raises(StorageError, match=r"a/f\.json is torn .*delete it and run again") as found:
        folder.get_json("a/f.json")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("kept", [0, 3, 100, -9, -1])
def test_a_torn_parquet_file_is_one_line_with_its_name(folder, kept):
    data = encode_table(pa.table({"n": list(range(1000)), "text": ["x" * n for n in range(1000)]}))
    folder.put("a/f.parquet", data[:kept])
    with pytest.raises(StorageError, match=r"a/f\.parquet is torn .*delete it and run again") as found:
        folder.get_table("a/f.parquet")
    assert "\n" not in str(found.value)


def test_a_parquet_file_damaged_in_the_middle_is_one_line_with_its_name(folder):
    data = bytearray(encode_table(pa.table({"text": [str(n) * 50 for n in range(1000)]})))
    data[200:260] = bytes(60)
    folder.put("f.parquet", bytes(data))
    with pytest.raises(StorageError, match=r"f\.parquet is torn"):
        folder.get_table("f.parquet")


def test_a_missing_table_is_missing_not_torn(folder):
    for read in (folder.get_table, folder.get_json, folder.open):
        with pytest.raises(StorageError, match=r"none is missing"):
            read("none")


def test_a_folder_travels_to_workers(folder):
    folder.put("f", b"1")
    assert pickle.loads(pickle.dumps(folder)).get("f") == b"1"
