"""The languages of paragraphs: nothing is lost, and a line without language goes with its neighbours."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stages.language.paragraphs import MOST, paragraphs, shares

ENGLISH = "The committee met on Tuesday to talk about the new bridge across the river."
FRENCH = "La commission s'est réunie mardi pour parler du nouveau pont sur la rivière."


def labels(text):
    return [paragraph.label for paragraph in paragraphs(text, "combined")]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([ENGLISH, FRENCH, "", "42", "Paris", "\u2028", "\r\n", "x" * 70]), max_size=8))
def test_paragraphs_joined_are_the_text(lines):
    text = "\n".join(lines)
    found = paragraphs(text, "combined")
    assert "".join(paragraph.text for paragraph in found) == text
    assert sum(shares(found).values()) in (0, 1) or abs(sum(shares(found).values()) - 1) < 1e-9


def test_each_long_line_has_its_own_language():
    assert labels(f"{ENGLISH}\n{FRENCH}\n{ENGLISH}") == ["en", "fr", "en"]


def test_short_lines_go_with_those_that_follow():
    assert labels(f"1.\nIntroduction\n{FRENCH}\n") == ["fr"]


def test_a_line_without_language_has_that_of_the_line_before_or_of_the_first_that_has_one():
    numbers = " ".join("12345678")  # no letters
    numbers = f"{numbers} " * 5
    assert labels(f"{numbers}\n{ENGLISH}\n{numbers}\n{FRENCH}") == ["en", "en", "en", "fr"]


def test_a_text_without_language_is_undetermined_in_all_of_it():
    assert shares(paragraphs("1 2 3", "combined")) == {"und": 1.0}
    assert paragraphs("", "combined") == []


def test_a_long_document_has_no_more_paragraphs_than_are_affordable():
    text = f"{ENGLISH}\n" * 5_000
    found = paragraphs(text, "py3langid")
    assert len(found) <= MOST
    assert {paragraph.label for paragraph in found} == {"en"}
