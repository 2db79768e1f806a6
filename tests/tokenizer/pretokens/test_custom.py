import itertools

import numpy as np
import pytest

from tests.tokenizer.oracles import MIXED, split_by_regex
from tokenizer.pretokens.custom import custom_ends
from tokenizer.pretokens.patterns import pattern_of


@pytest.mark.parametrize("pattern", [r"[\p{L}\p{N}]+", r"\d", r"[^ ]+ ?", r"(?<=a)b"])
@pytest.mark.parametrize("text", MIXED)
def test_a_custom_pattern_keeps_what_lies_between_matches(pattern, text):
    data, ends = custom_ends(text.encode(), pattern_of(pattern))
    bounds = [0, *ends.tolist()]
    pieces = [data[a:b].tobytes() for a, b in itertools.pairwise(bounds)]
    assert pieces == split_by_regex(text, pattern_of(pattern))
    assert np.all(np.diff(bounds) > 0)
