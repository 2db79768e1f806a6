import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.text.normal_form import normal_form

FORMS = pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
MARKS = "\u0301\u0327\u0323\u0344\u05b0\u05bc\u064b\u0651\u0f71\u0f73\u0f74\u3099\U0001d165\u0315\u0334"


@FORMS
@settings(deadline=None)
@given(st.text(st.sampled_from(MARKS + "aA é가か½")))
def test_a_text_has_the_form_that_python_gives_it(form, text):
    assert normal_form(form, text) == unicodedata.normalize(form, text)


@FORMS
@settings(deadline=None)
@given(st.text(st.sampled_from(MARKS), min_size=60, max_size=200), st.text(st.sampled_from("aé가か½ ")))
def test_a_run_of_many_marks_has_the_form_that_python_gives_it(form, marks, around):
    text = around + "a" + marks + around + marks
    assert normal_form(form, text) == unicodedata.normalize(form, text)


def test_marks_without_end_are_put_in_order():
    assert normal_form("NFD", "\u0301\u0327" * 200_000) == "\u0327" * 200_000 + "\u0301" * 200_000
