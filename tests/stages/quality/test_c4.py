"""C4's rules, one by one, and verdict and text against datatrove."""

import pytest
from datatrove.pipeline.filters import C4QualityFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, Keep, Span, StageFault
from stages.quality.c4 import C4
from tests.stages import published

GOOD = "\n".join(f"This is sentence number {n} of a page." for n in range(5))


def left(text, **parameters):
    rule, text = published.verdict(C4(words="spacy", **parameters), text)
    return rule or text


def test_a_page_of_sentences_stays_as_it_is():
    assert C4().judge(Document(GOOD)).text is None


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Home | About | Contact", "no_terminal_punc"),
        ("And so on and so on...", "no_terminal_punc"),
        ("Read more.", "too_few_words"),
        ("Please enable JavaScript in your browser.", "javascript"),
        ("We use cookies to serve you.", "policy"),
        ("Look at " + "x" * 1001 + " and wonder.", "too_long_word"),
    ],
)
def test_a_line_that_is_no_sentence_becomes_a_span(line, rule):
    verdict = C4().judge(Document(f"{line}\n{GOOD}"))
    assert isinstance(verdict, Keep)
    assert verdict.text == GOOD
    assert [(span.rule, span.text) for span in verdict.spans] == [(rule, line)]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Lorem Ipsum dolor sit amet.", "lorem_ipsum"),
        ("function f() { return 1 } is code.", "curly_bracket"),
    ],
)
def test_a_line_that_gives_a_page_away_drops_it(line, rule):
    assert left(f"{GOOD}\n{line}") == rule


def test_a_brace_in_a_line_already_taken_out_drops_nothing():
    assert left(f"a {{ menu\n{GOOD}") == GOOD


def test_too_few_sentences_are_dropped_with_their_number():
    assert C4().judge(Document("One is here. Two is here.")) == Drop("too_few_sentences", 2, 5)


def test_nothing_at_all_is_dropped():
    assert C4().judge(Document("")) == Drop("too_few_sentences", 0, 5)


def test_citations_are_cut_out_and_blank_lines_leave_no_span():
    verdict = C4().judge(Document(GOOD.replace("number 1", "number[1] 1").replace("\n", "\n\n")))
    assert (verdict.text, list(verdict.spans)) == (GOOD, [])


def test_a_short_line_says_how_many_words_it_has():
    verdict = C4().judge(Document(f"Read more.\n{GOOD}"))
    assert verdict.spans == [Span("too_few_words", "Read more.", 2, 3)]


def test_fineweb_keeps_lines_without_a_full_stop():
    text = f"A heading of some words\n{GOOD}"
    assert left(text, filter_no_terminal_punct=False) == text


def test_sentences_can_be_judged_in_place_of_lines():
    text = "One is here. Menu. Two is here."
    assert left(text, split_paragraph=False, min_num_sentences=2) == "One is here. Two is here."


def test_signals_are_written_for_what_stays():
    outcome = C4(signals=True).apply(Batch.of([f"Menu\n{GOOD}", "no"]))
    assert outcome.kept.column("c4.sentences") == [5.0]
    assert outcome.kept.column("c4.lines_kept") == [5 / 6]


def test_a_word_length_of_zero_is_refused():
    with pytest.raises(StageFault, match="max_word_length"):
        C4(max_word_length=0).check()


VARIANTS = [
    {},
    {"min_num_sentences": 1},
    {"min_num_sentences": -1},
    {"filter_no_terminal_punct": False, "min_num_sentences": 2, "max_word_length": 9},
    {"split_paragraph": False, "min_num_sentences": 1},
    {"remove_citations": False, "filter_curly_bracket": False, "filter_lorem_ipsum": False, "min_words_per_line": -1},
]


@settings(max_examples=400, deadline=None)
@given(st.one_of(published.texts, published.prose), st.sampled_from(VARIANTS))
def test_verdict_and_text_are_datatroves(text, parameters):
    ours = published.verdict(C4(words="spacy", **parameters), text)
    assert ours == published.published_verdict(C4QualityFilter(**parameters), text)


@pytest.mark.real
@pytest.mark.parametrize("parameters", [{}, {"filter_no_terminal_punct": False}, {"split_paragraph": False}])
def test_verdict_and_text_on_real_documents_are_datatroves(parameters):
    documents = published.real_documents()[::2]
    if not documents:
        pytest.skip("no real documents here")
    stage, theirs = C4(words="spacy", **parameters), C4QualityFilter(**parameters)
    for text in documents:
        assert published.verdict(stage, text) == published.published_verdict(theirs, text)
