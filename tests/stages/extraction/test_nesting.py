import re

from hypothesis import given, settings
from hypothesis import strategies as st

from stages.extraction.nesting import _tags

REFERENCE = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|title)(?![a-zA-Z0-9:-])[^>]*>.*?</\1\s*>|<(/?)([a-zA-Z][a-zA-Z0-9:-]*)[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
PIECES = [
    "<",
    ">",
    "a",
    "<b>",
    "</b>",
    "<i x='<'>",
    "<br/>",
    "<!--",
    "-->",
    "<script>",
    "</script >",
    "<TITLE a>",
    "</title>",
]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_tags_are_those_that_a_regular_expression_finds(page):
    expected = [
        (found.start(), found.end(), bool(found[2]), found[3].lower()) for found in REFERENCE.finditer(page) if found[3]
    ]
    assert list(_tags(page)) == expected
