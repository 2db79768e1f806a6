"""Words on lists, by language."""

import pytest

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, StageFault
from stages.quality.bad_words import BadWords, language_of


def found(text, language=None, **parameters):
    verdict = BadWords(**parameters).judge(Document(text, language=language))
    return verdict.detail if isinstance(verdict, Drop) else None


@pytest.mark.parametrize("text", ["A Foo!", "foo", "(foo)", "x\nFOO\ny"])
def test_a_word_is_found_as_it_stands_alone(text):
    assert found(text, words=("foo",)) == "foo"


@pytest.mark.parametrize("text", ["food", "a_foo", "foo1", "", "fo o"])
def test_a_part_of_a_word_is_none(text):
    assert found(text, words=("foo",)) is None


def test_phrases_are_found_over_line_breaks_and_marks_in_entries_are_marks():
    assert found("some FOO\n bar here", words=("foo bar", "a.b")) == "foo bar"
    assert found("axb a.b", words=("a.b",)) == "a.b"
    assert found("c++ is", words=("c++",)) == "c++"
    assert found("so :-( sad", words=(":-(",)) == ":-("


def test_lists_are_for_the_language_they_are_named_for(tmp_path):
    (tmp_path / "en.txt").write_text("hell\n")
    (tmp_path / "de.txt").write_text("hölle\n")
    (tmp_path / "zh.txt").write_text("坏\n")
    lists = tuple(str(tmp_path / name) for name in ("en.txt", "de.txt", "zh.txt"))
    assert found("es ist hell", "de", lists=lists) is None
    assert found("zur Hölle", "de", lists=lists) == "hölle"
    assert found("to hell", lists=lists) == "hell"
    assert found("好坏话", "zh", lists=lists) == "坏"
    assert found("hell", "fr", lists=lists) is None


def test_a_few_can_be_allowed():
    assert found("foo foo", words=("foo",), most=2) is None
    assert found("foo foo foo", words=("foo",), most=2) == "foo"


def test_which_ones_stay_depends_on_their_text_alone():
    texts = [f"foo {n}" for n in range(400)]
    stage = BadWords(words=("foo",), keep_fraction=0.25)
    kept = stage.apply(Batch.of(texts)).kept.texts
    assert 60 < len(kept) < 140
    assert stage.apply(Batch.of(texts[::-1])).kept.texts == kept[::-1]


def test_occurrences_are_measured_and_annotating_drops_nothing():
    outcome = BadWords(words=("foo",), mode="annotate").apply(Batch.of(["foo foo", "bar"]))
    assert outcome.signals.tolist() == [[2.0], [0.0]]
    assert len(outcome.kept) == 2


def test_what_cannot_work_is_refused():
    for parameters in (
        {},
        {"words": ("a",), "keep_fraction": 2},
        {"words": ("a",), "most": -1},
        {"lists": ("/no/en.txt",)},
    ):
        with pytest.raises(StageFault):
            BadWords(**parameters).check()


def test_a_list_that_is_named_for_no_language_is_refused(tmp_path):
    for name in ("badwords.txt", "german.txt"):
        (tmp_path / name).write_text("nasty\n")
        with pytest.raises(StageFault, match=r"named for no language"):
            BadWords(lists=(str(tmp_path / name),)).check()


@pytest.mark.parametrize(
    ("name", "language"), [("en", "en"), ("fr-CA-u-sd-caqc", "fr"), ("fil", "tl"), ("de.txt.gz", "de")]
)
def test_lists_are_for_the_language_of_their_name(tmp_path, name, language):
    assert language_of(str(tmp_path / name)) == language
