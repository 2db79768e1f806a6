"""What of a text is language: markup, addresses, code, numbers and strings of models are not."""

import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stages.language import reading_kernels
from stages.language.calibration import CODE
from stages.language.characters import DIGIT, LETTER, NOTHING, SCRIPTS, SPACE, UPPER, tables
from stages.language.reading import WINDOW, WINDOWS, read, spread

SENTENCE = "The keeper of the lighthouse climbs the stairs every evening, and lights the lamp."


@pytest.mark.parametrize(
    "noise",
    [
        "</s>", "<s>", "<|endoftext|>", "<pad>", "[SEP]", "[CLS]", "[MASK]", "[INST]", "__label__fr", "\u200b", "\u200d",
        "\ufeff", "\u00ad", "\x00", "\ud800", "2026", "1,234.50", "&nbsp;", "&#8217;", '<a href="x.html" rel="me">',
        "<!-- ein Kommentar -->", "https://example.org/a/b?c=d#e", "www.beispiel.de", "someone@example.org", "@someone",
        "snake_case_name", "C:\\temp\\x",
    ],
)  # fmt: skip
def test_what_is_no_language_leaves_nothing_behind(noise):
    words = SENTENCE.split()
    mixed = " ".join([noise, *words[:5], noise, *words[5:], noise])
    assert read(mixed).text == SENTENCE
    assert read(mixed).letters.tolist() == read(SENTENCE).letters.tolist()


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2009", "\u202f", "\n", "\t", "\u2028", "  \n\n "])
def test_every_white_space_is_a_space(space):
    assert read(SENTENCE.replace(" ", space)).text == SENTENCE


@pytest.mark.parametrize(
    "text", ["a < b and c", "Tom & Jerry; friends", "see [1] and [Note]", "AT&T", "he/she, e.g. this"]
)
def test_marks_that_are_no_markup_cost_no_words(text):
    assert regex.findall(r"\p{L}{2,}", read(text).text) == [w for w in regex.findall(r"\p{L}{2,}", text) if w != "AT"]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize(
    "text", ["등대지기는 매일 저녁 등불을 켭니다", "Các em bé ngồi ở đó", "Ça a été déjà vu", "ガラスのレンズ"]
)
def test_every_normal_form_reads_the_same(text, form):
    assert read(unicodedata.normalize(form, text)).text == read(text).text


def test_half_width_kana_and_full_width_letters_are_the_usual_ones():
    assert read("ｶﾞﾗｽﾉﾚﾝｽﾞ").text == "ガラスノレンズ"
    assert read("Ｆｕｌｌ ｗｉｄｔｈ").text == "Full width"


def test_capitals_become_small_where_they_are_the_rule():
    assert read("DIE KATZE sitzt AUF DEM TISCH").text == "die katze sitzt auf dem tisch"
    assert read("Die NATO tagt in Brüssel").text == "Die NATO tagt in Brüssel"


def test_letters_are_counted_by_script_and_kana_claim_the_han_beside_them():
    letters = read("日本語です and русский").letters
    assert {SCRIPTS[n]: int(k) for n, k in enumerate(letters) if k} == {"Latn": 3, "Cyrl": 7, "Kana": 3 * 3 + 2 * 2}
    assert read("中文的字").letters[SCRIPTS.index("Hani")] == 12


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def area(self, r):\n    return math.pi * r ** 2\n\nprint(area(3))", True),
        ("for (int i = 0; i < n; ++i) { total += a[i]; }\nreturn total;", True),
        ("const f = (x) => { return x.map(y => y + 1); };", True),
        ("body { margin: 0; } h1.title { font-size:2em; }", True),
        (SENTENCE, False),
        (f"{SENTENCE} data:image/png;base64,{'QUJDREVG' * 200} {SENTENCE}", False),
        ("The file is at https://example.org/x_y, see also the notes (pages 3-5); or ask someone@example.org.", False),
        ("The person(s) named above shall pay 50% of it, i.e. the U.S. share, by 10:30.", False),
    ],
)
def test_code_is_told_from_prose(text, code):
    assert (read(text).code > CODE) is code


def test_of_a_long_text_pieces_from_everywhere_are_read():
    text = "".join(chr(0x4E00 + n) for n in range(20_000))
    pieces = spread(text, WINDOW, WINDOWS).split("\n")
    assert [len(piece) for piece in pieces] == [WINDOW] * WINDOWS
    assert pieces == sorted(pieces)
    assert text.index(pieces[0]) < 2_000
    assert text.index(pieces[-1]) > 18_000


# ----- plain references of the kernels

MARKUP = regex.compile(r"<[A-Za-z/!|?][^<>]{0,999}>|&#?[A-Za-z0-9]{1,10};|\[[A-Z]{2,12}\]")
ADDRESS = regex.compile(r"[@\\]|://|__|[A-Za-z0-9]_[A-Za-z0-9]|www\.")


def is_code(run):
    before, word, behind = regex.fullmatch(r"([^A-Za-z0-9]*)(.*?)([^A-Za-z0-9]*)", run, regex.S).groups()
    return bool(
        regex.search("[{}=;<]", before)
        or regex.search(r"[{}=(\[]", behind)
        or regex.search(r"[^A-Za-z0-9'\-.,/!?`]|[a-z]{2}\.[a-z]", word)
    )


def blank_code(text):
    """Return `text` with spaces for addresses and code, and the letters of the code."""
    letters = 0

    def blank(match):
        nonlocal letters
        run = match[0]
        if ADDRESS.search(run) or regex.fullmatch("[^A-Za-z]*[0-9][^A-Za-z]*", run):
            return " " * len(run)
        if not is_code(run):
            return run
        letters += min(len(regex.findall("[A-Za-z]", run)), reading_kernels.MOST_OF_A_RUN) or 4
        return " " * len(run)

    return regex.sub("[!-~]+", blank, text), letters


def words(text):
    """Return the words of `text` with one space between them, its letters by script, and how many are capitals."""
    kinds, scripts = tables()
    out, letters, upper, gap = "", [0] * len(SCRIPTS), 0, False
    for c in text:
        kind = kinds[ord(c)] if ord(c) < len(kinds) else NOTHING
        if kind in (SPACE, DIGIT):
            gap = True
        elif kind != NOTHING:
            out += (" " if gap and out else "") + c
            gap = False
            upper += kind == UPPER
            if kind in (LETTER, UPPER):
                letters[scripts[ord(c)]] += 1
    return out, letters, upper


def codes_of(text):
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).copy()


def text_of(codes):
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


noisy = st.text(alphabet="aZ0 <>/&#;[]{}()=_:@.w\\|!?'-,é漢\n\u200b", max_size=60) | st.text(max_size=40)


@settings(max_examples=300, deadline=None)
@given(noisy)
@example("<" + "a" * 999 + ">")
@example("<" + "a" * 1001 + ">")
@example("&abcdefghij; &abcdefghijk; [AB] [A] [ABCDEFGHIJKLM]")
def test_markup_is_blanked_as_the_reference_does(text):
    codes = codes_of(text)
    reading_kernels.blank_markup(codes)
    assert text_of(codes) == MARKUP.sub(lambda m: " " * len(m[0]), text)


@settings(max_examples=300, deadline=None)
@given(noisy)
def test_code_is_blanked_as_the_reference_does(text):
    codes = codes_of(text)
    letters = reading_kernels.blank_code(codes)
    assert (text_of(codes), letters) == blank_code(text)


@settings(max_examples=300, deadline=None)
@given(noisy)
def test_words_are_those_of_the_reference(text):
    out, letters, upper, others = reading_kernels.words(codes_of(text), *tables(), len(SCRIPTS))
    assert (text_of(out), letters.tolist(), upper) == words(text)
    assert upper + others == letters.sum()
