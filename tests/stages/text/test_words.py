"""Words and sentences are those of spaCy, found without asking it each time."""

import functools
import itertools

import pytest
import regex
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Document, clean_text
from stages.text import spacy_split, words
from stages.text.vocabulary import Vocabulary
from stages.text.words import (
    count_sentences,
    sentences_of_lines,
    spacy_sentences_of_lines,
    spacy_words,
    split_sentences,
    split_unicode_sentences,
    unicode_words,
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


@settings(max_examples=200, deadline=None)
@given(published.texts)
def test_units_lose_no_character_but_white_space(text):
    assert "".join(spacy_words(text).texts) == "".join(clean_text(text).split())
    assert "".join(whitespace_words(text).texts) == "".join(text.split())
    assert "".join(unicode_words(text).texts) == "".join(text.split()).replace("\u200b", "")


SPACED = regex.compile(r"[\p{L}--[\p{Script=Han}\p{Script=Hiragana}\p{LineBreak=SA}]]", regex.V1)
LETTERS = "áBéβж2٣٤‿אבｶカー\u0301\u200d\u00ad\u0308😀👩🇩🇪· \u2060。«"


def by_the_standard(text):
    """The words of UAX #29 as the library regex finds them."""
    return [word for word in regex.split(r"\b", text, flags=regex.V1 | regex.WORD) if word and not word.isspace()]


@settings(max_examples=500, deadline=None)
@given(st.text(LETTERS, max_size=14).map(lambda text: " ".join(text.split())))
def test_words_without_ascii_marks_are_those_of_the_standard(text):
    assert unicode_words(text).texts == [word for part in text.split() for word in by_the_standard(part)]


def test_each_letter_in_use_is_as_the_standard_has_it():
    spaced = [chr(c) for c in range(0x20000) if SPACED.fullmatch(chr(c))]
    text = " ".join(f"{c}é é{c}é {c}1 «{c}» {c}·{c}" for c in spaced)
    assert unicode_words(text).texts == [word for part in text.split() for word in by_the_standard(part)]


MARKED = "aBß2.,:'’\"-_/\\#@%()!?=+*{}אж\u0301 "


@settings(max_examples=500, deadline=None)
@given(st.text(MARKED, max_size=14), st.sampled_from(["", "don't ", "Mr. ", "a.b@c.de "]))
def test_words_with_ascii_marks_are_the_standards_joined_but_for_clitics(text, before):
    text = before + text
    ours, whole = unicode_words(text), by_the_standard(text)
    ends = set(itertools.accumulate(map(len, regex.split(r"\b", text, flags=regex.V1 | regex.WORD))))
    for start, word in zip(ours.starts.tolist(), ours.texts, strict=True):
        if start and start not in ends and not text[start - 1].isspace():
            assert regex.fullmatch(r"(?i)['’](s|d|m|re|ve|ll)|n['’]t", word), (whole, ours.texts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't, 3.14!", "Do|n't|,|3.14|!"),
        ("it’s, we'LL, n't, rock'n'roll", "it|’s|,|we|'LL|,|n't|,|rock'n'roll"),
        ("well-known ... ------ !!! 2020-21 10-year", "well|-|known|...|------|!|!|!|2020|-|21|10-year"),
        ("see http://a.org/b-c?d=e#f, a@b.org.", "see|http://a.org/b-c?d=e#f|,|a@b.org|."),
        ("and/or a,b 1,000 x=y 5+5 f(x)", "and|/|or|a|,|b|1,000|x|=|y|5|+|5|f(x|)"),
        ("/etc/apt --option C:\\dir \\frac{a}{b}", "/etc|/|apt|--option|C:\\dir|\\frac{a}{b|}"),
        ("Mr. Ng of the U.S. vs. A. End.", "Mr.|Ng|of|the|U.S.|vs.|A.|End|."),
        ('No... (yes) "q"', 'No|...|(|yes|)|"|q|"'),
        ("我爱Python3。", "我|爱|Python3|。"),
        ("これはコンピューターです。", "これは|コンピューター|です|。"),
        ("การเป็นสัตว์ใน", "การ|เป็น|สัตว์|ใน"),
        ("ພາສາລາວເປັນ", "ພາ|ສາ|ລາວ|ເປັນ"),
        ("ภาษา\u200bไทย", "ภา|ษา|ไทย"),
        ("ខ្មែរជាភាសា", "ខ្មែរ|ជា|ភា|សា"),
        ("မြန်မာစာသည်။", "မြန်|မာ|စာ|သည်|။"),
        ("བོད་ཀྱི་སྐད།", "བོད་|ཀྱི་|སྐད|།"),
        ("👩‍👧🇩🇪🇫🇷", "👩‍👧|🇩🇪|🇫🇷"),
        ("हिन्दी है।", "हिन्दी|है|।"),
        ("\u0301\u0301", "\u0301\u0301"),
    ],
)
def test_words_of_a_script_are_found_by_its_spelling(text, expected):
    assert unicode_words(text).texts == expected.split("|")


def test_equal_scanned_words_have_equal_numbers_and_no_others():
    text = " ".join(f"w{n % 700} {n % 700}" for n in range(3000))
    words = unicode_words(text)
    by_number = dict(zip(words.numbers.tolist(), words.texts, strict=True))
    assert [by_number[n] for n in words.numbers.tolist()] == text.split()
    assert len(set(by_number.values())) == len(by_number) == len(words.length)


@settings(max_examples=200, deadline=None)
@given(published.texts)
def test_what_is_known_of_scanned_words_is_what_a_vocabulary_knows(text):
    words = unicode_words("".join(c for c in text if c < "\U00020000"))  # beyond, all of Han are taken for letters
    known = Vocabulary(lambda chunks: [(chunk,) for chunk in chunks])
    numbers = known.words_of(words.texts)
    for ours, theirs in ((words.length, known.length), (words.hash, known.hash), (words.power, known.power)):
        assert ours[words.numbers].tolist() == theirs.array[numbers].tolist()
    assert (words.flags[words.numbers] & 3).tolist() == (known.flags.array[numbers] & 3).tolist()


def test_distinct_words_are_counted_once():
    for unit in (spacy_words, unicode_words, whitespace_words):
        assert unit("the cat and the dog of it").distinct(("the", "and", "nothing", "")) == 2
        assert unit("").distinct(("the",)) == 0


def test_unicode_sentences_end_at_the_marks_of_every_script():
    assert split_unicode_sentences("It is. Is it?) Yes!! 3.14 is. ") == ["It is.", " Is it?)", " Yes!!", " 3.14 is. "]
    assert split_unicode_sentences("你好。我们走！") == ["你好。", "我们走！"]
    lines = ["One. Two.\n", "\n", "no end\n", "A! B? C"]
    assert sentences_of_lines(unicode_words("".join(lines)), lines) == [2, 1, 1, 3]


@settings(max_examples=300, deadline=None)
@given(published.texts.map(clean_text))
def test_spacys_sentences_of_all_lines_are_those_of_each_alone(text):
    lines = text.splitlines(keepends=True)
    counts = spacy_sentences_of_lines(text, spacy_words(text), lines)
    assert counts == [count_sentences(line.strip()) for line in lines]


@settings(max_examples=200, deadline=None)
@given(published.texts)
def test_sentences_of_a_line_are_those_it_has_alone(text):
    lines = text.splitlines(keepends=True)
    assert sentences_of_lines(unicode_words(text), lines) == [len(split_unicode_sentences(line)) for line in lines]
    assert "".join(split_unicode_sentences(text)) == text


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
