import unicodedata

import numpy as np

from tests.tokenizer.oracles import split_by_tokenizers
from tokenizer.pretokens.unicode_classes import (
    CLASS_PATTERNS,
    LETTER,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    OTHER,
    SPACE,
    UPPER,
    as_of_unicode_16,
    class_table,
    classes_of_tokenizers,
    runs_of,
    two_stage,
    unassigned_runs,
)

CATEGORIES = {"Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lm": LETTER, "Lo": LETTER, "M": MARK, "N": NUMBER}


def test_the_table_is_what_the_installed_tokenizers_library_sees():
    assert np.array_equal(class_table(), classes_of_tokenizers())


def test_code_points_that_this_python_knows_have_the_class_of_their_category():
    table = class_table()
    for point in range(0x110000):
        category = unicodedata.category(chr(point))
        if category not in ("Cn", "Cs") and table[point] not in (SPACE, NEWLINE):
            expected = CATEGORIES.get(category, CATEGORIES.get(category[0], OTHER))
            assert table[point] == expected, hex(point)


def test_line_breaks_are_apart_from_other_white_space():
    table = class_table()
    assert [table[ord(c)] for c in "\r\n \t\u00a0\u3000\u200b"] == [NEWLINE, NEWLINE, SPACE, SPACE, SPACE, SPACE, OTHER]


def test_both_stages_together_are_the_table():
    table = class_table()
    block, classes = two_stage(table)
    points = np.arange(0x110000)
    assert np.array_equal(classes[block[points >> 8] << 8 | points & 0xFF], table)


def test_runs_hold_every_class_point():
    table = class_table()
    for name, bounds in runs_of(table).items():
        covered = sum(last - first + 1 for first, last in zip(bounds[::2], bounds[1::2], strict=True))
        line_breaks = 0
        assert covered == int((table == int(name)).sum()) + line_breaks
    assert set(runs_of(table)) == {str(kind) for kind in CLASS_PATTERNS}


def test_what_is_unassigned_is_what_the_installed_tokenizers_library_sees():
    unassigned = np.zeros(0x110000, bool)
    for first, last in unassigned_runs():
        unassigned[first : last + 1] = True
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    seen = "".join(split_by_tokenizers("".join(map(chr, points)), r"\P{Cn}+")[::2])
    assert seen == "".join(chr(c) for c in points if not unassigned[c])


def test_a_text_as_of_unicode_16_has_every_character_in_its_place():
    text = "a\u0295\U00016ea0z"
    assert as_of_unicode_16("plain") == "plain"
    assert as_of_unicode_16("é中") == "é中"
    assert [len(as_of_unicode_16(text)), as_of_unicode_16(text)[3]] == [4, "z"]
