"""Words and sentences are those of spaCy, found without asking it each time."""

import functools
import itertools
import unicodedata

import pytest
import regex
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Document, clean_text
from stages.text import kernels, spacy_split, spacy_table
from stages.text.punctuation import SENTENCE_ENDS, SYMBOLS
from stages.text.spacy_scan import scan
from stages.text.words import (
    code_points,
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


BEFORE = ["", *'([“„"«»*–#+$', "..", "US$", "…", "''"]
BEHIND = ["", *')]”"«,.;:!?…+', "..", "'s", "’s", "km", "°C.", "$", ":)", "):", "—"]
CORES = st.one_of(
    st.text("abÄéßXYя漢", min_size=1, max_size=5),
    st.text("019", min_size=1, max_size=3),
    st.integers(0, 10**6).map(lambda n: special_cases()[n % len(special_cases())]),
    st.integers(0, 10**6).map(lambda n: special_cases()[n % len(special_cases())].rstrip(".")),
    st.characters(codec="utf-8"),
)
JOINTS = st.sampled_from(
    ["-", "--", "---", "–", "—", "——", "~", "/", ":", "=", "<", ".", "..", ",", "+", "*", "^", "@", "'", "_", "://"]
)
CHUNKS = st.tuples(
    st.lists(st.sampled_from(BEFORE), max_size=2).map("".join),
    st.tuples(CORES, st.lists(st.tuples(JOINTS, CORES).map("".join), max_size=3).map("".join)).map("".join),
    st.lists(st.sampled_from(BEHIND), max_size=3).map("".join),
).map("".join)


def left_to_spacy(text):
    """How many of the chunks of `text` the scanner leaves to spaCy."""
    return len(scan(code_points(text), spacy_split.tables())[2])


@settings(max_examples=1000, deadline=None)
@given(st.lists(CHUNKS, min_size=1, max_size=4))
def test_chunks_of_affixes_infixes_and_special_cases_are_split_as_spacy_splits_them(chunks):
    text = " ".join(chunks)
    assert spacy_words(text).texts == whole(text)


@settings(max_examples=500, deadline=None)
@given(st.text(min_size=1, max_size=6), st.sampled_from(["", *BEFORE]), st.sampled_from(["", *BEHIND]))
def test_any_code_points_between_affixes_are_split_as_spacy_splits_them(core, before, behind):
    text = clean_text(before + core + behind)
    assert spacy_words(text).texts == whole(text)


def test_each_code_point_is_split_as_spacy_splits_it_before_and_behind_letters_digits_and_stops():
    marks = [chr(c) for c in range(0x20000) if not chr(c).isspace() and chr(c).isprintable()]
    some = [m for m in marks if ord(m) < 0x2500 and not m.isalpha()] + marks[::29]
    for form in ("{0}", "{0}a", "a{0}", "a{0}b", "5{0}", "5{0}5", "a.{0}", "{0}.", "a{0}.", "A{0}.B"):
        for at in range(0, len(some), 500):
            text = "  ".join(form.format(mark) for mark in some[at : at + 500])
            assert spacy_words(text).texts == whole(text)


def test_each_special_case_is_split_as_spacy_splits_it_whatever_stands_around():
    for form in ("{0}", "({0})", "{0},", "a-{0}", "{0}-a", "5{0}", "“{0}.”", "{0}{0}"):
        text = "  ".join(form.format(case) for case in special_cases())
        assert spacy_words(text).texts == whole(text)


def test_prose_is_split_without_asking_spacy():
    assert left_to_spacy("Don't say “Mr. Smith's 3.5km (or 2-3 miles)...” at 10 a.m., or: it's $5—at best!") == 0
    assert left_to_spacy("see a.org or 10.1.2.3 :) x:)") == 3


def test_patterns_that_the_scanner_was_not_written_after_leave_every_chunk_to_spacy(monkeypatch):
    monkeypatch.setattr(spacy_table, "PATTERNS", "others")
    made = spacy_split.tables.__wrapped__()
    assert len(scan(code_points("plain words."), made)[2]) == 2
    monkeypatch.setattr(spacy_split, "tables", lambda: made)
    assert spacy_words("It's plain (words).").texts == ["It", "'s", "plain", "(", "words", ")", "."]


def test_the_scanner_was_written_after_the_patterns_of_the_spacy_that_is_installed():
    assert spacy_table.digest(spacy.blank("en").Defaults) == spacy_table.PATTERNS


def test_a_lone_surrogate_is_a_replacement_character():
    assert spacy_words("a \ud800.").texts == ["a", "\ufffd", "."]


def test_a_hundred_thousand_brackets_are_one_word():
    assert len(spacy_words("(" * 100_000)) == 1


def test_equal_words_have_equal_numbers_whatever_came_before():
    first = spacy_words("one two one")
    again = spacy_words("three four three")
    assert first.numbers[0] == first.numbers[2] != first.numbers[1]
    assert again.numbers[0] == again.numbers[2] != again.numbers[1]


def test_what_spacy_said_is_forgotten_where_it_becomes_much(monkeypatch):
    monkeypatch.setattr(spacy_split, "_MOST_REMEMBERED", 2)
    for at in range(9):
        text = f"a{at}.org x:)"
        assert spacy_words(text).texts == whole(text)
    assert len(spacy_split._remembered) <= 4


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


def flags(word):
    """What a word is, by its characters: no symbol, with a letter, a mark that ends a sentence, punctuation alone."""
    return (
        (not SYMBOLS.issuperset(word))
        + 2 * any(map(str.isalpha, word))
        + 4 * (word in SENTENCE_ENDS)
        + 8 * all(unicodedata.category(c)[0] == "P" for c in word)
    )


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(published.texts, st.lists(CHUNKS, max_size=4).map(" ".join)),
    st.sampled_from([spacy_words, whitespace_words]),
)
def test_what_is_known_of_words_is_so_of_their_characters(text, unit):
    found = unit(text)
    assert found.flags[found.numbers].tolist() == [flags(word) for word in found.texts]


@settings(max_examples=200, deadline=None)
@given(published.texts)
def test_words_have_the_length_and_hash_of_their_characters(text):
    found = unicode_words(text)
    assert found.length[found.numbers].tolist() == [len(word) for word in found.texts]
    codes = code_points("".join(found.texts))
    hashes, powers = kernels.hash_words(codes, found.length[found.numbers])
    assert found.hash[found.numbers].tolist() == hashes.tolist()
    assert found.power[found.numbers].tolist() == powers.tolist()
    inside = [flags(word) & 3 for word in found.texts if max(word) < "\U00020000"]  # beyond, all of Han are letters
    places = [n for n, word in zip(found.numbers.tolist(), found.texts, strict=True) if max(word) < "\U00020000"]
    assert (found.flags[places] & 3).tolist() == inside


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
    counts = spacy_sentences_of_lines(spacy_words(text), lines)
    assert counts == [len(split_sentences(line.strip())) for line in lines]


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


@pytest.mark.real
def test_real_documents_have_the_words_and_sentences_of_spacy():
    documents = published.real_documents()[::5]
    if not documents:
        pytest.skip("no real documents here")
    for text in documents:
        assert spacy_words(text).texts == whole(text)
