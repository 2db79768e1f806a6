"""What every rule set promises: verdicts follow from signals, and annotating changes nothing."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop
from pipeline.worker.children import Care
from pipeline.worker.isolate import apply_stage
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition
from stages.quality.rule_stage import KEPT
from tests.stages import published

GOOD = "\n".join(f"The cat sat with the dog number {n} and looked to the east of a house." for n in range(8))
LOOSE = {
    "gopher_quality": {"min_doc_words": 3, "max_bullet_lines_ratio": 0.3, "min_stop_words": 0},
    "gopher_repetition": {"top_n_grams": ((1, 0.2), (3, 0.1)), "dup_para_frac": 0},
    "c4": {"min_num_sentences": 2, "filter_no_terminal_punct": False},
    "fineweb": {"line_punct_exclude_zero": True, "char_duplicates_ratio": 0.3},
}
STAGES = [kind(**given) for kind in (GopherQuality, GopherRepetition, C4, FineWeb) for given in ({}, LOOSE[kind.name])]
NAMES = [f"{stage.name}-{'loose' if n % 2 else 'published'}" for n, stage in enumerate(STAGES)]


@pytest.mark.parametrize("stage", STAGES, ids=NAMES)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.one_of(published.texts, published.prose), min_size=1, max_size=4))
def test_the_verdict_follows_from_the_signals_alone(stage, texts):
    signals = np.array([stage.measure(Document(text)) for text in texts], np.float64)
    first, values, thresholds = stage.first_broken(signals)
    for row, text in enumerate(texts):
        verdict = stage.judge(Document(text))
        if isinstance(verdict, Drop):
            told = (stage.rules[first[row]].name, values[row], thresholds[row])
            assert told == (verdict.rule, verdict.value, verdict.threshold)
        else:
            assert (first[row], np.isnan(values[row]), np.isnan(thresholds[row])) == (KEPT, True, True)


@pytest.mark.parametrize("stage", STAGES, ids=NAMES)
def test_the_signals_of_every_document_are_said_kept_or_not(stage):
    outcome = stage.apply(Batch.of([GOOD, "", "short { text"]))
    assert outcome.signals.shape == (3, len(stage.measures))
    measured = [stage.measure(Document(text)) for text in (GOOD, "", "short { text")]
    np.testing.assert_array_equal(outcome.signals, np.array(measured))
    assert len(outcome.kept) < 3


def test_documents_that_go_alone_have_the_signals_they_have_in_a_batch():
    batch = Batch.of([GOOD, "", "short"])
    stage = GopherQuality()
    apart = apply_stage(stage, batch, care=Care(2_000_000_000))
    np.testing.assert_array_equal(apart.signals, stage.apply(batch).signals)


def test_a_document_in_another_language_than_the_stage_is_for_has_no_signals():
    outcome = GopherQuality(only=("de",)).apply(Batch.of([GOOD], language=["en"]))
    assert np.isnan(outcome.signals).all()


@pytest.mark.parametrize("stage", STAGES, ids=NAMES)
def test_annotating_drops_nothing_and_changes_no_text(stage):
    texts = [GOOD, "", "Menu\n{ Lorem ipsum", "the " * 300]
    outcome = dataclasses.replace(stage, mode="annotate", signals=True).apply(Batch.of(texts))
    assert outcome.kept.texts == texts
    assert outcome.removed == []
    for place, field in enumerate(stage.measures):
        np.testing.assert_array_equal(np.array(outcome.kept.column(field.name), float), outcome.signals[:, place])


@pytest.mark.parametrize("stage", STAGES, ids=NAMES)
def test_a_changed_threshold_is_answered_from_the_old_signals(stage):
    looser = {
        "c4": {"min_num_sentences": 1},
        "fineweb": {"new_line_ratio": 0.9},
        "gopher_quality": {"min_doc_words": 9},
    }
    other = dataclasses.replace(stage, **looser.get(stage.name, {"dup_line_frac": 0.9}))
    assert stage.unanswered(other) == []
    for text in (GOOD, "One. Two.", "a b c d e f g h i the of\n\n\n\n"):
        told = other.first_broken(np.array([stage.measure(Document(text))]), stage.signal_names)[0][0]
        verdict = other.judge(Document(text))
        assert (verdict.rule if isinstance(verdict, Drop) else None) == (
            None if told == KEPT else other.rules[told].name
        )


def test_what_changes_signals_or_texts_is_not_answered_from_signals():
    assert GopherQuality().unanswered(GopherQuality(words="whitespace", min_doc_words=3)) == ["words"]
    assert C4().unanswered(C4(remove_citations=False, filter_curly_bracket=False)) == ["remove_citations"]
    assert GopherRepetition().unanswered(GopherRepetition(top_n_grams=((2, 0.5),))) == []
    assert GopherRepetition().unanswered(GopherRepetition(top_n_grams=((7, 0.5),))) == ["top_n_grams"]


@pytest.mark.parametrize("stage", STAGES, ids=NAMES)
def test_each_rule_names_a_signal_and_a_parameter_that_changes_no_signal(stage):
    assert {rule.signal for rule in stage.rules} <= set(stage.signal_names)
    assert {rule.parameter for rule in stage.rules} - {""} <= stage.answerable
    stage.judge(Document(GOOD))
    assert pickle.loads(pickle.dumps(stage)) == stage


ODD = {
    "nothing": "",
    "one character": "x",
    "one mark": ".",
    "a lone surrogate": "\ud800",
    "white space": " \n\t\u3000\n",
    "zero width spaces": "\u200b\u200b \u200b",
    "marks": "!?—«…-#" * 40,
    "digits": "0123456789 " * 60,
    "digits without spaces": "7" * 3000,
    "right to left": "השפה העברית היא שפה " * 30,
    "combining marks": "\u0301\u0308" * 500,
    "a letter under marks": "e" + "\u0301" * 3000,
    "joined pictographs": "👩‍👧‍👦" * 200,
    "flags": "🇩🇪" * 201,
    "unspaced": "中" * 2000,
    "stacked": "\u1000\u1039" * 500,
}


@pytest.mark.parametrize("unit", ["unicode", "spacy", "whitespace"])
@pytest.mark.parametrize("name", ODD)
def test_every_rule_has_a_number_and_a_verdict_for_odd_texts(name, unit):
    for kind in (GopherQuality, GopherRepetition, C4, FineWeb):
        stage = kind(words=unit)
        values = stage.measure(Document(ODD[name]))
        assert len(values) == len(stage.measures)
        assert all(value != value or abs(value) < 1e9 for value in values)
        assert stage.judge(Document(ODD[name])) is not None


@pytest.mark.parametrize("variant", ["dolma", "dclm", "fineweb2"])
def test_every_variant_has_a_verdict_for_odd_texts(variant):
    for kind in (GopherQuality, GopherRepetition, FineWeb):
        if variant in kind.defaults:
            stage = kind(variant=variant)
            for text in ODD.values():
                assert len(stage.judge(Document(text, language="de")).signals) == len(stage.measures)


@pytest.mark.parametrize("piece", ["ab cd. ", "x", "中文"])
def test_ten_megabytes_without_a_line_break_take_seconds(piece):
    text = (piece * (10_000_000 // len(piece.encode()) + 1))[: 10_000_000 // len(piece.encode()) * len(piece)]
    for kind in (GopherQuality, GopherRepetition, C4, FineWeb):
        assert kind().judge(Document(text)) is not None
