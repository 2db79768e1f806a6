"""Mojibake is mended, right text stays as it is."""

import pytest

from pipeline.documents import Document
from stages.quality.fix_text import FixText


def fixed(text, **parameters):
    verdict = FixText(**parameters).judge(Document(text))
    return text if verdict is None else verdict.text


def test_wrong_decoding_is_undone():
    assert fixed("schÃ¶n, naÃ¯ve â€“ sÃ­") == "schön, naïve – sí"
    assert fixed("schÃ¶n", fix_encoding=False) == "schÃ¶n"


@pytest.mark.parametrize("text", ["", "“Curly” ﬁne Ｆｕｌｌ", "naïve – sí\r\nzwei", "日本語。", "e\u0301"])
def test_right_text_is_left_alone(text):
    assert FixText().judge(Document(text)) is None


def test_entities_are_characters_where_the_text_has_no_brackets():
    assert fixed("caf&eacute;") == "café"
    assert fixed("<b>caf&eacute;") == "<b>caf&eacute;"
    assert fixed("<b>caf&eacute;", unescape_html="yes") == "<b>café"
    assert fixed("caf&eacute;", unescape_html="no") == "caf&eacute;"


def test_control_characters_leave_unless_wanted():
    assert fixed("a\x00b\x1b[31mc\x07") == "abc"
    assert fixed("a\x07", remove_control_characters=False) == "a\x07"


def test_looks_change_on_demand():
    assert (
        fixed("“ﬁ” Ａ\r\ne\u0301", straighten_quotes=True, fix_widths=True, fix_line_breaks=True, normalization="NFC")
        == '"fi" A\né'
    )
