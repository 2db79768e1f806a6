"""The language of documents: what is added, what is dropped, and the model's own answers kept."""

import pytest
from fasttext.FastText import _FastText
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, Keep, StageFault
from stages.language import language
from stages.language.language import Language
from stages.language.names import NAMES
from tests.stages import published

ENGLISH = "The committee met on Tuesday to talk about the new bridge across the river."
GERMAN = "Der Ausschuss traf sich am Dienstag, um über die neue Brücke über den Fluss zu sprechen."
JAPANESE = "委員会は火曜日に会合を開き、川に架かる新しい橋について話し合いました。"


@pytest.mark.parametrize(("text", "label"), [(ENGLISH, "en"), (GERMAN, "de"), (JAPANESE, "ja")])
def test_language_and_score_become_columns(text, label):
    outcome = Language().apply(Batch.of([text]))
    assert outcome.kept.column("language") == [label]
    assert outcome.kept.column("language_score")[0] > 0.8


def test_another_language_is_dropped_and_named():
    verdict = Language(keep=("en", "fr")).judge(Document(GERMAN))
    assert isinstance(verdict, Drop)
    assert (verdict.rule, verdict.threshold, verdict.detail[:2]) == ("language", 0.65, "de")
    assert verdict.value < 0.1


def test_a_low_score_is_dropped_with_the_score():
    verdict = Language().judge(Document("42 17"))
    assert isinstance(verdict, Drop)
    assert verdict.rule == "score"
    assert 0 < verdict.value <= 0.65


def test_a_wanted_language_below_the_score_is_dropped_for_its_score():
    label, score = Language().identify("42 17")
    assert Language(keep=(label,)).judge(Document("42 17")) == Drop("score", score, 0.65, label)


def test_the_score_must_be_above_the_threshold_not_at_it():
    _, score = Language().identify("ok then")
    assert isinstance(Language(min_score=score).judge(Document("ok then")), Drop)
    assert isinstance(Language(min_score=score - 1e-9).judge(Document("ok then")), Keep)


def test_a_listed_language_that_is_not_the_first_keeps_as_published():
    mixed = f"{ENGLISH} {GERMAN}"
    label, _ = Language().identify(mixed)
    other = "de" if label == "en" else "en"
    verdict = Language(keep=(other,), min_score=0.01).judge(Document(mixed))
    assert isinstance(verdict, Keep)
    assert verdict.columns["language"] == label


def test_the_first_characters_can_stand_for_all():
    text = ENGLISH + GERMAN * 10
    assert Language().identify(text)[0] == "de"
    assert Language(characters=len(ENGLISH)).identify(text) == Language().identify(ENGLISH)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "a\ud800b", "\n\n", "\r", "x" * 1_000_000])
def test_hostile_texts_have_a_language_too(text):
    assert Language().identify(text)[0] in NAMES


def test_the_known_labels_are_those_of_the_model():
    model = _FastText(str(language._model_path()))
    assert {label.removeprefix("__label__") for label in model.get_labels()} == set(NAMES)


@pytest.mark.parametrize(
    ("wanted", "hint"), [("english", "'en'"), ("EN", "'en'"), ("deu", "'de'"), ("en-US", "'en'"), ("germn", "'de'")]
)
def test_an_unknown_language_is_refused_with_a_near_one(wanted, hint):
    with pytest.raises(StageFault, match=f"did you mean.*{hint}"):
        Language(keep=(wanted,)).check()


def test_an_unknown_language_near_to_none_is_refused():
    with pytest.raises(StageFault, match="unknown language 'q!'"):
        Language(keep=("q!",)).check()


def test_a_score_that_nothing_reaches_is_refused():
    with pytest.raises(StageFault, match="min_score"):
        Language(min_score=1.5).check()


def test_a_missing_model_says_to_install_again(monkeypatch):
    monkeypatch.setattr(language, "_MODEL", "no-such.ftz")
    with pytest.raises(StageFault, match="install tokenmill again"):
        Language().check()


def test_the_model_belongs_to_the_fingerprint():
    assert set(Language().resources()) == {"lid.176.ftz"}


def fasttext_says(text):
    model = _FastText(str(language._model_path()))
    labels, scores = model.predict(text.encode("utf-8", "replace").decode().replace("\n", " "), k=1)
    return labels[0].removeprefix("__label__"), float(scores[0])


@settings(max_examples=30, deadline=None)
@given(st.one_of(published.texts, published.prose))
def test_language_and_score_are_fasttexts(text):
    label, score = Language().identify(text)
    expected, expected_score = fasttext_says(text)
    assert (label, score) == (expected, pytest.approx(expected_score, abs=2e-6))
