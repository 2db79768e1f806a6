"""Words and sentences are those of spaCy, found without asking it each time."""

import functools

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Document
from stages.text import spacy_split, words
from stages.text.words import (
    character_words,
    count_sentences,
    spacy_words,
    split_sentences,
    whitespace_words,
)
from tests.stages import published


@functools.cache
def pipeline():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


def whole(text):
    """What spaCy says of the whole text."""
    return [token.text.strip() for token in pipeline().tokenizer(text) if token.text.strip()]


def sentences(text):
    spans = [sent.end_char for sent in pipeline()(text).sents]
    return [text[a:b] for a, b in zip([0, *spans[:-1]], [*spans[:-1], len(text)], strict=False)] or [text]


def test_marks_are_words_and_contractions_are_split():
    assert spacy_words("I don't know (yet).").texts == ["I", "do", "n't", "know", "(", "yet", ")", "."]


def test_no_text_has_no_words():
    assert spacy_words("").texts == spacy_words(" \n\t").texts == []


@settings(max_examples=300, deadline=None)
@given(published.texts)
def test_words_are_those_of_spacy(text):
    assert spacy_words(text).texts == whole(text)


@functools.cache
def special_cases():
    return sorted(rule for rule in pipeline().tokenizer.rules if not rule.isspace())


SPECIAL = st.tuples(
    st.sampled_from(["", "", "x", "(", '"', "a-", ":", "'"]),
    st.integers(0, 10**6).map(lambda n: special_cases()[n % len(special_cases())]),
    st.sampled_from(["", "", ")", '"', "x", ".", ":", "'s", "-"]),
    st.sampled_from([" ", " ", " ", "  ", "\n"]),
).map("".join)


@settings(max_examples=500, deadline=None)
@given(st.lists(SPECIAL, max_size=6).map("".join))
def test_special_cases_side_by_side_are_split_as_spacy_splits_them(text):
    assert spacy_words(text).texts == whole(text)


@pytest.mark.parametrize("text", ["x:) -:", "so aa:) -: b\nnext line :)", "Somethin ’’x"])
def test_a_special_case_that_reaches_into_the_next_chunk_is_seen(text):
    by_chunk = [word for chunk in text.split() for word in whole(chunk)]
    assert spacy_words(text).texts == whole(text) != by_chunk


def test_runs_of_letters_are_one_word_in_every_script():
    letters = [chr(c) for c in range(0x110000) if chr(c).isalpha()][::17]
    text = " ".join(f"a{c} {c}a {c}" for c in letters)
    assert whole(text) == text.split()


def by_ourselves(chunk):
    """What is split without asking spaCy; None where it is asked."""
    return list(spacy_split._easy(chunk, spacy_split._rules())) or None


@pytest.mark.parametrize("mark", ["", *')]”“"»«,.;:!?…'])
def test_each_letter_is_split_without_spacy_as_spacy_splits_it(mark):
    letters = [chr(c) for c in range(0x530) if chr(c).isalpha()]
    chunks = [
        before + stem + mark for a in letters for before in ("", "(") for stem in (a, "b" + a, a + "b", "so-" + a + "b")
    ]
    found = [(chunk, words) for chunk in chunks if (words := by_ourselves(chunk))]
    assert len(found) > 100
    for chunk, words in found:
        assert words == whole(chunk)


SHAPED = st.tuples(
    st.sampled_from(["", *'([“„"«»*–#']),
    st.lists(
        st.one_of(
            st.text("abÄéßXYя", min_size=1, max_size=5),
            st.integers(0, 10**6).map(lambda n: special_cases()[n % len(special_cases())].rstrip(".")),
        ),
        min_size=1,
        max_size=3,
    ).map("-".join),
    st.text(')]”"«,.;:!?…', max_size=2),
).map("".join)


@settings(max_examples=500, deadline=None)
@given(SHAPED)
def test_shapes_split_without_spacy_are_split_as_spacy_does(chunk):
    assert by_ourselves(chunk) in (None, whole(chunk))


def test_a_lone_surrogate_is_a_replacement_character():
    assert spacy_words("a \ud800.").texts == ["a", "\ufffd", "."]


def test_a_hundred_thousand_brackets_are_one_word():
    assert len(spacy_words("(" * 100_000)) == 1


def test_equal_words_have_equal_numbers_whatever_came_before():
    first = spacy_words("one two one")
    again = spacy_words("three four three")
    assert first.numbers[0] == first.numbers[2] != first.numbers[1]
    assert again.numbers[0] == again.numbers[2] != again.numbers[1]


def test_a_full_vocabulary_is_left_to_the_documents_that_hold_it(monkeypatch):
    splitter = words._SpacySplitter(spacy_split.split_chunks)
    before = splitter.words("alpha beta.")
    monkeypatch.setattr("stages.text.vocabulary.MOST_CHUNKS", 1)
    after = splitter.words("gamma beta.")
    assert before.vocabulary is not after.vocabulary
    assert before.texts == ["alpha", "beta", "."]
    assert after.texts == ["gamma", "beta", "."]


def test_a_document_is_split_once():
    document = Document("a b")
    assert document.view(spacy_words) is document.view(spacy_words)


def test_whitespace_words_keep_their_marks():
    assert whitespace_words("I don't\u00a0know.").texts == ["I", "don't", "know."]


def test_scripts_without_spaces_are_split_into_letters_and_others_into_words():
    assert character_words("我爱Python3。 สวัส").texts == ["我", "爱", "Python3", "。", "ส", "วั", "ส"]


@settings(max_examples=200, deadline=None)
@given(published.texts)
def test_units_lose_no_character_but_white_space(text):
    for unit in (spacy_words, whitespace_words, character_words):
        assert "".join(unit(text).texts) == "".join(text.split())


@settings(max_examples=300, deadline=None)
@given(published.texts)
def test_sentences_are_those_of_spacy(text):
    assert split_sentences(text) == sentences(text)
    assert count_sentences(text) == len(sentences(text))


@pytest.mark.real
def test_real_documents_have_the_words_and_sentences_of_spacy():
    documents = published.real_documents()[::5]
    if not documents:
        pytest.skip("no real documents here")
    for text in documents:
        assert spacy_words(text).texts == whole(text)
        assert count_sentences(text) == len(sentences(text))
