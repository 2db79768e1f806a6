import pytest

from pipeline.errors import UserError
from tokenizer.pretokens.patterns import CUSTOM, NAMES, pattern_of


def test_published_names_mean_the_same_pattern():
    assert pattern_of("o200k_base") == pattern_of("gpt-4o") == pattern_of("O200K")


@pytest.mark.parametrize("name", NAMES)
def test_the_regex_of_a_built_in_pattern_is_recognised(name):
    assert pattern_of(pattern_of(name).regex) == pattern_of(name)


def test_a_regular_expression_is_a_custom_pattern():
    assert pattern_of(r"\p{L}+|\s").kind == CUSTOM


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpt5", "unknown name"),
        (r"(a", "is never closed"),
        (r"\p{L}{100000}", "no regular expression"),
        (r"a*", "empty string"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused_with_the_reason(text, said):
    with pytest.raises(UserError, match=said):
        pattern_of(text)
