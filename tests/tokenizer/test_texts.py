import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer.texts import Texts


def contents(texts: Texts) -> list[bytes]:
    return [texts.bytes_of(document) for document in range(len(texts))]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_arrow_type_of_text_is_taken_with_null_as_empty(kind):
    array = pa.array(["ä", None, "", "b"], pa.string()).cast(kind)
    assert contents(Texts.of(array)) == ["ä".encode(), b"", b"", b"b"]


def test_a_slice_of_an_array_is_its_rows_alone():
    assert contents(Texts.of(pa.array(["x" * 50, "b", "c"], pa.large_string())[1:2])) == [b"b"]


def test_a_chunked_array_is_taken_whole():
    assert contents(Texts.of(pa.chunked_array([["a"], [], ["b", "c"]]))) == [b"a", b"b", b"c"]


def test_lone_surrogates_and_bad_bytes_become_replacement_characters():
    assert contents(Texts.of(["a\ud800b", "\ud83d\ude00", b"\xff!"])) == [
        "a\ufffdb".encode(),
        "😀".encode(),
        "\ufffd!".encode(),
    ]


def test_arrow_text_that_is_no_utf8_is_replaced_too():
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"a\xff"], pa.binary()).buffers())
    assert contents(Texts.of(bad)) == ["a\ufffd".encode()]


def test_no_documents_are_no_documents():
    for nothing in ([], pa.array([], pa.large_string()), pa.chunked_array([], pa.string())):
        assert len(Texts.of(nothing)) == 0
        assert Texts.of(nothing).nbytes == 0


@given(st.lists(st.text(), max_size=8))
def test_strings_and_arrow_give_the_same(texts):
    clean = [t.encode("utf-8", "replace").decode() for t in texts]
    assert contents(Texts.of(clean)) == contents(Texts.of(pa.array(clean, pa.large_string())))
