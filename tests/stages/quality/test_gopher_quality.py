"""Gopher's quality rules, one by one, and all of them against datatrove."""

import pytest
from datatrove.pipeline.filters import GopherQualityFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, Keep, StageFault
from stages.quality.gopher_quality import GopherQuality
from tests.stages import published

GOOD = "The cat sat with the dog and looked to the east. " * 6


def rule(text, **parameters):
    return published.verdict(GopherQuality(words="spacy", **parameters), text)[0]


def test_prose_stays():
    assert rule(GOOD) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Too short.", "gopher_short_doc"),
        ("a I " * 60, "gopher_below_avg_threshold"),
        ("extraordinarily " * 60, "gopher_above_avg_threshold"),
        (GOOD + "# " * 20, "gopher_too_many_hashes"),
        (GOOD + "word... " * 20, "gopher_too_many_ellipsis"),
        (GOOD.replace(". ", ".\n- "), "gopher_too_many_bullets"),
        (GOOD.replace(". ", " through the house and over the garden…\n"), "gopher_too_many_end_ellipsis"),
        (GOOD + "123 " * 60, "gopher_below_alpha_threshold"),
        ("Katzen sitzen neben Hunden " * 20, "gopher_enough_stop_words"),
    ],
)
def test_each_rule_drops_what_breaks_it(text, expected):
    text = "- " + text if expected == "gopher_too_many_bullets" else text
    assert rule(text) == expected


def test_a_very_long_document_is_dropped():
    assert rule(GOOD * 3, max_doc_words=100) == "gopher_long_doc"


def test_a_drop_says_what_was_measured():
    assert GopherQuality().judge(Document("one two, three")) == Drop("gopher_short_doc", 3, 50)


def test_nothing_at_all_is_dropped_even_with_every_rule_switched_off():
    off = GopherQuality(
        min_doc_words=0,
        max_doc_words=0,
        min_avg_word_length=0,
        max_avg_word_length=0,
        max_symbol_word_ratio=0,
        max_bullet_lines_ratio=0,
        max_ellipsis_lines_ratio=0,
        max_non_alpha_words_ratio=0,
        min_stop_words=0,
    )
    assert off.judge(Document(" \n")) == Drop("empty", 0, 1)
    assert isinstance(off.judge(Document("!")), Keep)


def test_other_languages_have_other_stop_words():
    text = "Der Hund und die Katze sitzen mit der Maus. " * 8
    assert rule(text) == "gopher_enough_stop_words"
    assert rule(text, stop_words=("der", "und", "die", "mit")) is None


def test_a_stage_for_one_language_leaves_others_alone():
    batch = Batch.of(["kurz", "short"], language=["de", "en"])
    outcome = GopherQuality(only=("en",)).apply(batch)
    assert outcome.kept.texts == ["kurz"]


def test_signals_are_written_for_what_stays():
    outcome = GopherQuality(signals=True).apply(Batch.of([GOOD, "short"]))
    assert outcome.kept.column("gopher_quality.words") == [66.0]
    assert outcome.kept.column("gopher_quality.stop_words") == [4.0]


def test_limits_that_contradict_each_other_are_refused():
    with pytest.raises(StageFault, match="max_doc_words"):
        GopherQuality(max_doc_words=10).check()
    with pytest.raises(StageFault, match="stop words"):
        GopherQuality(stop_words=("the",)).check()


LOOSE = {"min_doc_words": 3, "min_avg_word_length": 2, "max_bullet_lines_ratio": 0.5, "min_stop_words": 1}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@settings(max_examples=200, deadline=None)
@given(st.one_of(published.texts, published.prose), st.sampled_from([{}, {"min_doc_words": 0}, LOOSE]))
def test_the_verdict_is_datatroves(text, parameters):
    ours = published.verdict(GopherQuality(words="spacy", **parameters), text)
    assert ours == published.published_verdict(GopherQualityFilter(**parameters), text)


@pytest.mark.real
def test_the_verdict_on_real_documents_is_datatroves():
    documents = published.real_documents()
    if not documents:
        pytest.skip("no real documents here")
    stage, theirs = GopherQuality(words="spacy"), GopherQualityFilter()
    for text in documents:
        assert published.verdict(stage, text) == published.published_verdict(theirs, text)
