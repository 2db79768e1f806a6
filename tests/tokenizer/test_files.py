import codecs

import pytest

from tests.tokenizer.oracles import MIXED, english
from tokenizer.counting.of_files import count_files
from tokenizer.files import decoded, find_inputs

TEXT = "plain words of a small text, again and again\n" * 50
ENCODINGS = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
MARKS = {
    "utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE, "utf-32-be": codecs.BOM_UTF32_BE,
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", [TEXT, english(3), "x", "", *(text for text in MIXED if "\0" not in text)])
def test_a_byte_order_mark_says_how_a_file_is_encoded_and_is_no_text(encoding, text):
    assert decoded(MARKS[encoding] + text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", [TEXT, english(3), "\n".join(MIXED[:9]) * 3, f"{MIXED[2]}\n" * 9, f"{MIXED[1]}\n" * 9])
def test_a_file_without_a_mark_is_told_by_where_its_zero_bytes_stand(encoding, text):
    assert decoded(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data", [b"", b"a\0b\0\0c", b"\0" * 40, b"\xff\0 broken", bytes(range(256)) * 4, MIXED[-1].encode()]
)
def test_other_bytes_are_utf_8_with_what_is_ill_formed_replaced(data):
    assert decoded(data) == data.decode("utf-8", "replace")


def test_files_of_any_encoding_are_counted_alike(tmp_path):
    for encoding in ENCODINGS:
        (tmp_path / f"{encoding}.txt").write_bytes(MARKS[encoding] + TEXT.encode(encoding))
    sizes = {row["bytes"] for table in count_files([tmp_path], []) for row in table.to_pylist()}  # type: ignore[union-attr]
    assert sizes == {len(TEXT)}


def test_a_name_with_brackets_is_a_name_and_a_file_named_twice_is_read_once(tmp_path):
    (tmp_path / "a[1].txt").write_text("one")
    (tmp_path / "a1.txt").write_text("other")
    pieces = find_inputs([tmp_path / "a[1].txt", tmp_path / "a?1?.txt", tmp_path / "a[1].txt"])
    assert [piece.split.file.name for piece in pieces] == ["a[1].txt"]
