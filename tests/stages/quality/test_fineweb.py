"""FineWeb's rules, one by one, and all of them against datatrove."""

import pytest
from datatrove.pipeline.filters import FineWebQualityFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop
from stages.quality.fineweb import FineWeb
from tests.stages import published

LINES = [f"This is line number {n} of a page that reads like prose." for n in range(8)]
GOOD = "\n".join(LINES)


def rule(text, **parameters):
    return published.verdict(FineWeb(words="spacy", **parameters), text)[0]


def test_prose_stays():
    assert rule(GOOD) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        (" \n\t\n", "empty"),
        (GOOD.replace(".", ""), "line_punct_ratio"),
        ("Short.\n" * 1 + "\n".join(f"Short {n}." for n in range(30)) + "\n" + GOOD, "short_line_ratio"),
        (f"{GOOD}\n{LINES[0]}", "char_dup_ratio"),
        (GOOD.replace("\n", "\n\n\n\n\n\n"), "list_ratio"),
    ],
)
def test_each_rule_drops_what_breaks_it(text, expected):
    assert rule(text) == expected


def test_a_drop_says_what_was_measured():
    assert FineWeb().judge(Document(GOOD.replace(".", ""))) == Drop("line_punct_ratio", 0.0, 0.12)


def test_a_page_without_any_mark_can_be_let_through():
    assert rule(GOOD.replace(".", ""), line_punct_exclude_zero=True) is None


def test_what_ends_a_sentence_can_be_given():
    assert rule(GOOD.replace(".", " END"), stop_chars=("END",)) is None


def test_signals_are_written_for_what_stays():
    outcome = FineWeb(signals=True).apply(Batch.of([GOOD, ""]))
    assert outcome.kept.column("fineweb.line_punct_ratio") == [1.0]
    assert outcome.kept.column("fineweb.char_dup_ratio") == [0.0]


VARIANTS = [
    {},
    {"line_punct_thr": 0.0, "short_line_thr": 1.0, "char_duplicates_ratio": 1.0},
    {"line_punct_exclude_zero": True, "short_line_length": 5, "char_duplicates_ratio": 0.5},
    {"stop_chars": ("...", "!")},
]


@settings(max_examples=300, deadline=None)
@given(st.one_of(published.texts, published.prose), st.sampled_from(VARIANTS))
def test_the_verdict_is_datatroves(text, parameters):
    ours = published.verdict(FineWeb(words="spacy", **parameters), text)
    assert ours == published.published_verdict(FineWebQualityFilter(**parameters), text)


@pytest.mark.real
def test_the_verdict_on_real_documents_is_datatroves():
    documents = published.real_documents()
    if not documents:
        pytest.skip("no real documents here")
    stage, theirs = FineWeb(words="spacy"), FineWebQualityFilter()
    for text in documents:
        assert published.verdict(stage, text) == published.published_verdict(theirs, text)
