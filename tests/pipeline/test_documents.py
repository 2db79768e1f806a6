import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents import POSITION_BITS, Batch, Document, clean_text, text_array

ANY_TEXT = st.text(st.characters(), max_size=40)  # lone surrogates included


@given(ANY_TEXT)
def test_clean_text_is_valid_unicode_and_changes_nothing_else(text):
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert cleaned == text


def test_a_lone_surrogate_becomes_the_replacement_character_and_a_pair_becomes_its_character():
    assert clean_text("a\ud800b") == "a�b"
    assert clean_text("\ud83d\ude00") == "😀"


def test_an_arrow_array_can_be_made_of_texts_with_lone_surrogates_and_of_none():
    assert text_array(["\udfff", None, "ok"]).to_pylist() == ["�", None, "ok"]


def test_a_view_is_computed_once_for_a_document():
    calls = []

    def words(text):
        calls.append(text)
        return text.split()

    document = Document("a b")
    assert document.view(words) == document.view(words) == ["a", "b"]
    assert calls == ["a b"]


def test_views_come_along_when_documents_are_selected():
    batch = Batch.of(["a b", "c d", "e f"])
    first = batch.documents[2].view(str.split)
    assert batch.select([2]).documents[0].view(str.split) is first


def test_a_new_text_has_new_views():
    batch = Batch.of(["a b"])
    assert batch.documents[0].view(str.split) == ["a", "b"]
    assert batch.with_texts(["c"]).documents[0].view(str.split) == ["c"]


def test_a_document_sees_columns_that_a_stage_before_it_added():
    batch = Batch.of(["a", "b"])
    assert batch.documents[1].get("language") is None
    batch = batch.with_columns({"language": pa.array(["en", "de"], pa.large_string())}).select([1])
    assert batch.documents[0].get("language") == "de"


def test_positions_hold_shard_and_row():
    batch = Batch.of(["a", "b"])
    batch.shard = 3
    assert batch.positions.tolist() == [3 << POSITION_BITS, (3 << POSITION_BITS) | 1]


def test_selected_documents_keep_their_numbers():
    assert Batch.of(list("abcd")).select([1, 3]).numbers.tolist() == [1, 3]
