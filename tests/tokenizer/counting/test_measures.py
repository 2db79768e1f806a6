import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizer.oracles import MIXED
from tokenizer.counting.measures import measure
from tokenizer.texts import Texts


@settings(deadline=None)
@given(st.lists(st.one_of(st.text(), st.text(" a\n\u3000中"), st.sampled_from(MIXED)), max_size=5))
def test_bytes_characters_and_words_are_those_of_python(texts):
    expected = [[len(t.encode()), len(t), len(regex.findall(r"\S+", t))] for t in texts]
    assert measure(Texts.of(texts)).tolist() == expected
