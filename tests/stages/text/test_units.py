"""Folding text to units: the kernel against the plain rule, and texts that are the same but for their form."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stages.text.fold_table import CODE, IOTA_BELOW, SEPARATOR, SOLO_RANGES, fold_table, folded
from stages.text.units import FOLDED_A_BYTE, UNITS_A_BYTE, fold, room, utf8_of_text

LETTERS = "aBéßſﬁİIıςΣᾳᾼǅŉｶﾞﾊﾟがは\u3099ヿゟ한ㄱㅏᄒ\u1161\u11abक\u093c\u094dক\u09c7\u09beש\u05b8ب\u064e字豈⼀一²½㎏㈱№Ⓐ℃\u0301\u0345\u200d\ufe0f"
THAI = "กำข\u0e38\u0e39\u0e48\u0e49\u0e3a"
TEXTS = st.text(max_size=60) | st.text(LETTERS + " .,1\n'™\U0002f800", max_size=40) | st.text(THAI + " a", max_size=20)


def units(text: str) -> list[str]:
    data = utf8_of_text(text)
    out, starts, ends = room(np.array([0, len(data)]))
    count = fold(data, 0, len(data), fold_table(), out, starts, ends)
    return [out[a:b].tobytes().decode() for a, b in zip(starts[:count].tolist(), ends[:count].tolist(), strict=True)]


def is_passed_over(character: str) -> bool:
    code, rank = ord(character), unicodedata.combining(character)
    fillers = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
    marks = unicodedata.category(character) in ("Cf", "Me") or code in fillers or code >= 0xE0000
    return marks or rank == 1 or 10 <= rank <= 36 or rank >= 200


def caseless(text: str) -> str:
    return "".join(c if c == IOTA_BELOW else c.casefold() for c in text)


def plain_rule(text: str) -> list[str]:
    """Match without case and compatibility forms (Unicode D146), put in order, compose kana and Hangul, split."""
    pieces = []
    for character in text:
        category, parts = unicodedata.category(character), unicodedata.decomposition(character).split()
        letters = any(unicodedata.category(c)[0] in "LNM" for c in unicodedata.normalize("NFKD", character))
        written_out = parts[:1] in (["<compat>"], ["<square>"], ["<circle>"]) and letters
        piece = character
        if 0x20000 <= ord(character) < 0x2F800 or 0x2FA20 <= ord(character) < 0x40000:
            pass
        elif is_passed_over(character) and character != IOTA_BELOW:
            piece = ""
        elif (category[0] not in "LNM" and not written_out) or 0x40000 <= ord(character) < 0xE0000:
            piece = " "
        else:
            while (further := unicodedata.normalize("NFKD", caseless(unicodedata.normalize("NFD", piece)))) != piece:
                piece = further
            piece = "".join(c if unicodedata.category(c)[0] in "LNMC" else " " for c in piece)
            whole = character if category[0] in "LNM" else " "  # of the few that stand for a phrase
            piece = whole if len(piece) > 4 else piece.replace("ı", "i")
        pieces.append(piece)
    text = unicodedata.normalize("NFD", "".join(pieces)).replace(IOTA_BELOW, "ι")
    text = "".join(c for c in text if not is_passed_over(c))
    marks = "".join(sorted({c for c in text if unicodedata.combining(c)} - {"\u3099", "\u309a"})) or "\u0301"
    voiced = f"([\u3040-\u30ff])([{re.escape(marks)}]*)([\u3099\u309a])"
    text = re.sub(voiced, lambda m: unicodedata.normalize("NFC", m[1] + m[3]) + m[2], text)
    text = re.sub("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?", lambda m: unicodedata.normalize("NFC", m[0]), text)
    text = re.sub("[\u3099\u309a]", "", text)
    alone = "|".join(f"[{chr(a)}-{chr(b)}]" for a, b in (*SOLO_RANGES, (0x20000, 0x3FFFF)))
    return re.findall(f"{alone}|[^ {alone.replace('|', '').replace('][', '').strip('[]')}]+", text)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_the_kernel_folds_as_the_plain_rule(text):
    assert units(text) == plain_rule(text)


WORDS = st.text(st.characters(categories=["L", "Nd", "M", "Zs"], max_codepoint=0x2FA1F), max_size=40)
FORMS = WORDS | st.text(LETTERS + " ", max_size=30) | st.text(THAI + " ", max_size=20)


@settings(max_examples=300, deadline=None)
@given(FORMS, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
@example("カ\u093cﾞ", "NFKC")
@example("か\u093c\u3099\u094d", "NFC")
@example("は\u0345\u3099", "NFC")
@example("ᾳ\u0e38", "NFD")
@example("\U000110b3\U000110b9\U000110ba", "NFC")
def test_the_normal_form_makes_no_difference(text, form):
    text = "".join(c for c in text if len(unicodedata.normalize("NFKD", c)) <= 4)
    assert units(unicodedata.normalize(form, text)) == units(text)


@settings(max_examples=300, deadline=None)
@given(FORMS, st.sampled_from([str.casefold, str.upper, str.lower]))
def test_case_makes_no_difference(text, change):
    text = "".join(c for c in text if len(unicodedata.normalize("NFKD", c)) <= 4)
    if any(0 < unicodedata.combining(c) < 200 for c in unicodedata.normalize("NFKD", text)):
        # a iota that was below, once a letter, is put behind no mark any more
        text = "".join(c for c in text if IOTA_BELOW not in unicodedata.normalize("NFD", c))
    assert units(change(text)) == units(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("don't", ["don", "t"]),
        ("don’t", ["don", "t"]),
        ("caf\u00e9 cafe\u0301 CAFÉ", ["cafe", "cafe", "cafe"]),
        ("co\u00adoperate", ["cooperate"]),
        ("İstanbul ISPARTA ısparta", ["istanbul", "isparta", "isparta"]),
        ("Straße STRASSE STRAẞE", ["strasse"] * 3),
        ("ΣΟΦΟΣ σοφος σοφός", ["σοφοσ"] * 3),
        ("ﬁne ofﬂine", ["fine", "offline"]),
        ("ＡＢＣ１２ m²", ["abc12", "m2"]),
        ("½", ["1", "2"]),
        ("日本語 text", ["日", "本", "語", "text"]),
        ("⼀豈", ["一", "豈"]),
        ("한국 ㅎㅏㄴ", ["한", "국", "하", "ᄂ"]),
        ("ｶﾞｷﾞ ハ\u309a", ["ガ", "ギ", "パ"]),
        ("は\u3099 あ\u3099 \u3099", ["ば", "あ"]),
        ("ภาษา กำ", ["ภ", "า", "ษ", "า", "ก", "\u0e4d", "า"]),
        ("\u0e01\u0e48\u0e38 \u0e01\u0e38\u0e48", ["\u0e01", "\u0e38", "\u0e48"] * 2),
        ("שָׁלוֹם שלום", ["שלום", "שלום"]),
        ("مُحَمَّد محمد", ["محمد", "محمد"]),
        ("𠀀x", ["𠀀", "x"]),
        ("हिन्दी", ["हिन्दी"]),
        ("क़लम क\u093cलम", ["क\u093cलम"] * 2),
        ("love ❤\ufe0f it", ["love", "it"]),
        ("Windows™", ["windows"]),
        ("3㎏ №5 Ⓐ 20℃", ["3kg", "no5", "a", "20", "c"]),
        ("㈱山 ㍿ ㌔", ["株", "山", "株", "式", "会", "社", "キ", "ロ"]),
        ("a\0b", ["a", "b"]),
        ("3.14", ["3", "14"]),
        ("", []),
        ("!!! …", []),
    ],
)
def test_units_of(text, expected):
    assert units(text) == expected


@pytest.mark.parametrize("form", ["NFKC", "NFKD"])
def test_symbols_that_are_letters_in_another_form_are_those_letters(form):
    for code in range(0x2000, 0x3400):
        symbol = chr(code)
        if unicodedata.decomposition(symbol).startswith(("<square>", "<circle>", "<compat>")):
            written = unicodedata.normalize(form, symbol)
            if len(unicodedata.normalize("NFKD", symbol)) <= 4:
                assert units(f"a {symbol} b") == units(f"a {written} b"), symbol


def test_voicing_and_tone_that_tell_words_apart_stay():
    assert units("かき") != units("がき")
    assert units("ข้าว") != units("ขาว")


def test_a_lone_surrogate_separates_words():
    assert units("a\ud800b") == ["a", "b"]


def test_line_breaks_case_and_punctuation_make_no_difference():
    assert units("One two,\nTHREE-four") == units("one   two three four.")


def test_bytes_cut_inside_a_character_do_not_lead_out_of_the_text():
    data = np.frombuffer("é日".encode()[:-1], np.uint8)
    out, starts, ends = room(np.array([0, len(data)]))
    assert fold(data, 0, len(data), fold_table(), out, starts, ends) == 1


def test_no_character_grows_beyond_the_room_that_callers_are_given():
    for code in range(0x2FA20):
        if 0xD800 <= code < 0xE000:
            continue
        size, entries = len(chr(code).encode()), folded(code)
        solos = [entry for entry in entries if entry != SEPARATOR]
        assert len(solos) <= UNITS_A_BYTE * size
        assert sum(len(chr(entry & int(CODE)).encode()) + 1 for entry in solos) <= FOLDED_A_BYTE * size


@pytest.mark.parametrize("character", "㌁㌀㍿ﷺﷻ㎏㊿ŉﬃ")
def test_texts_of_the_symbols_that_grow_most_are_folded_whole(character):
    found = units(character * 50)
    alone = units(character)
    assert "".join(found) == "".join(alone) * 50
