"""Gopher's repetition rules, their kernels against plain Python, and all of them against datatrove."""

import collections

import numpy as np
import pytest
from datatrove.pipeline.filters import GopherRepetitionFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, StageFault
from stages.quality.gopher_repetition import GopherRepetition, all_copies, repeats
from stages.text.ngrams import DCLM, DOLMA, counted_shares, ngram_characters
from stages.text.words import spacy_words, unicode_words, whitespace_words
from tests.stages import published


def rule(text, **parameters):
    return published.verdict(GopherRepetition(words="spacy", **parameters), text)[0]


VARIED = " ".join(f"word{n} thing{n * 7}" for n in range(60))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("One.\n\nOne.\n\nOne.\n\n" + VARIED, "dup_para_frac"),
        ("a b\n\n" * 1 + "\n\n".join([VARIED, VARIED, "x", "y", "z"]), "dup_para_char_frac"),
        ("One.\nOne.\nOne.\n" + VARIED, "dup_line_frac"),
        ("\n".join([VARIED, VARIED, "x", "y", "z"]), "dup_line_char_frac"),
        ("of course " * 10 + VARIED[:100], "top_2_gram"),
        (f"{VARIED} {VARIED}", "duplicated_5_n_grams"),
    ],
)
def test_each_rule_drops_what_breaks_it(text, expected):
    assert rule(text) == expected


def test_varied_text_stays():
    assert rule(VARIED) is None


def test_a_drop_says_what_was_measured():
    text = "One.\n\nOne.\n\nOne.\n\n" + VARIED
    assert GopherRepetition().judge(Document(text)) == Drop("dup_para_frac", 0.5, 0.3)


def test_a_threshold_of_zero_switches_a_rule_off():
    text = "One.\n\nOne.\n\nOne.\n\n" + VARIED
    assert rule(text, dup_para_frac=0, dup_line_frac=0) is None


def test_sizes_left_out_are_not_counted():
    text = "of course " * 10 + VARIED[:100]
    assert rule(text, top_n_grams=(), dup_n_grams=()) is None


def test_signals_are_written_for_what_stays():
    outcome = GopherRepetition(signals=True).apply(Batch.of([VARIED, ""]))
    assert outcome.kept.column("gopher_repetition.dup_line_frac") == [0.0]
    assert outcome.kept.column("gopher_repetition.top_2_gram")[0] > 0


def test_a_size_given_twice_is_refused():
    with pytest.raises(StageFault, match="once"):
        GopherRepetition(top_n_grams=((2, 0.2), (2, 0.3))).check()
    with pytest.raises(StageFault, match="1 to 1000"):
        GopherRepetition(dup_n_grams=((0, 0.2),)).check()


few_words = st.lists(st.sampled_from(["a", "aa", "b", "ab", "ba", "c", "é😀"]), max_size=60)


UNITS = st.sampled_from([whitespace_words, unicode_words, spacy_words])


def characters(words, top=(), dup=()):
    by_number = (words.length, words.hash, words.power, words.at, words.code)
    return ngram_characters(words.numbers, *by_number, np.array(top, np.int64), np.array(dup, np.int64)).tolist()


@settings(max_examples=300, deadline=None)
@given(few_words, UNITS, st.integers(1, 6))
def test_the_most_frequent_ngram_is_the_first_seen_of_the_most_frequent(words, unit, n):
    split = unit(" ".join(words))
    words = split.texts
    grams = [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
    expected = 0
    if grams:
        gram, count = collections.Counter(grams).most_common(1)[0]
        expected = len(gram) * count
    assert characters(split, top=(n,)) == [expected]


@settings(max_examples=300, deadline=None)
@given(few_words, UNITS, st.integers(1, 6))
def test_ngrams_are_the_same_where_their_letters_are_wherever_words_end(words, unit, n):
    split = unit(" ".join(words))
    words = split.texts
    seen, expected, at = set(), 0, 0
    while at < len(words) - n + 1:
        gram = "".join(words[at : at + n])
        if gram in seen:
            expected += len(gram)
            at += n
        else:
            seen.add(gram)
            at += 1
    assert characters(split, dup=(n,)) == [expected]


def test_all_sizes_at_once_are_as_each_alone():
    split = whitespace_words("a b c a b c a b d e a b c d e f " * 9)
    together = characters(split, top=(2, 3, 4), dup=(5, 6, 7))
    assert together == [characters(split, (n,))[0] for n in (2, 3, 4)] + [
        characters(split, (), (n,))[0] for n in (5, 6, 7)
    ]


def shares_by_the_book(words, n, top, system):
    """What Dolma and DCLM take: see `counted_shares`."""
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    counts = collections.Counter(grams)
    size = {gram: sum(map(len, gram)) for gram in counts}
    letters = sum(map(len, words))
    if not grams:
        return 0.0
    if top:
        gram, count = counts.most_common(1)[0]
        if system == DOLMA:
            return count * size[gram] / letters
        return count * max(size[g] for g in counts if counts[g] == count) / letters if count > 1 else 0.0
    if system == DOLMA:
        return sum(size[g] for g in grams if counts[g] > 1) / sum(size[g] for g in grams)
    covered = {i + k for i, gram in enumerate(grams) if counts[gram] > 1 for k in range(n)}
    return sum(len(words[i]) for i in covered) / letters


@settings(max_examples=200, deadline=None)
@given(few_words, st.integers(1, 6), st.booleans(), st.sampled_from([DOLMA, DCLM]))
def test_shares_of_all_copies_are_those_of_dolma_and_dclm(words, n, top, system):
    split = whitespace_words(" ".join(words))
    sizes = (np.array([n], np.int64), np.array([], np.int64))
    found = counted_shares(split.numbers, split.length, *(sizes if top else sizes[::-1]), system)
    assert found.tolist() == pytest.approx([shares_by_the_book(words, n, top, system)])


@given(st.lists(st.sampled_from(["", "a", "bb", "ccc"])))
def test_all_copies_are_counted(parts):
    again = [part for part in parts if parts.count(part) > 1]
    expected = (len(again), sum(map(len, again)), len(parts), sum(map(len, parts)))
    assert all_copies(parts) == expected


@given(st.lists(st.sampled_from(["", "a", "bb", "ccc"])))
def test_repeats_are_what_has_stood_before(parts):
    again = [part for n, part in enumerate(parts) if part in parts[:n]]
    assert repeats(parts) == (len(again), sum(map(len, again)))


OFF = {"dup_line_frac": 0, "dup_para_frac": 0, "dup_line_char_frac": 0, "dup_para_char_frac": 0}


@settings(max_examples=300, deadline=None)
@given(st.one_of(published.texts, published.prose), st.sampled_from([{}, OFF, {**OFF, "top_n_grams": ()}]))
def test_the_verdict_is_datatroves(text, parameters):
    ours = published.verdict(GopherRepetition(words="spacy", **parameters), text)
    assert ours == published.published_verdict(GopherRepetitionFilter(**parameters), text)


@pytest.mark.real
def test_the_verdict_on_real_documents_is_datatroves():
    documents = published.real_documents()
    if not documents:
        pytest.skip("no real documents here")
    for parameters in ({}, OFF):
        stage, theirs = GopherRepetition(words="spacy", **parameters), GopherRepetitionFilter(**parameters)
        for text in documents:
            assert published.verdict(stage, text) == published.published_verdict(theirs, text)


def test_n_grams_of_few_letters_are_not_asked_by_default_where_a_word_is_a_letter():
    letters = iter(map(chr, range(0x4E00, 0x5000)))
    phrases = ["".join(next(letters) for _ in range(5)) for _ in range(10)] * 2
    text = "".join(phrase + next(letters) + next(letters) for phrase in phrases)
    found = GopherRepetition().judge(Document(text))
    assert not isinstance(found, Drop)
    assert found.signals[-1] == 1.0
    for stage in (GopherRepetition(dup_n_grams=[[5, 0.15]]), GopherRepetition(words="whitespace")):
        assert stage.judge(Document(" ".join(text))).rule == "duplicated_5_n_grams"
