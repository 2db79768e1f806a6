"""Patterns against the three engines that read them: what is accepted means the same to all of them."""

import itertools

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pipeline.errors import UserError
from tests.tokenizer.oracles import MIXED, split_by_regex, split_by_tiktoken, split_by_tokenizers
from tokenizer.pretokens.patterns import CUSTOM, NAMES, Pattern, pattern_of
from tokenizer.pretokens.portable import PROPERTIES, translated
from tokenizer.pretokens.unicode_classes import unassigned_runs

TEXTS = [
    "ab abab  12345 x\n\ny\tZ's don't 99 aaa\n", "a$b^c\\d-e/f'g<i>{j}[k]|l|#m ~n &o ~~ `p`@%,;:!=_.?*+",
    "ßẞ SS ss ﬁ fi ﬀ ff ﬆ st ſt İi K k", "a1b22c333d4444 e55555", "aaaa aaa a\r\n b\u00a0c\u2028d\u0085e",
    "日本語テスト ひら カタ 한국어 é e\u0301", "\u0295 \U00016ea0\u0378x", "",
]  # fmt: skip
"""The last but one: a letter that changed its class, a letter of Unicode 17, a code point without a character."""


def splits(pattern: str, text: str) -> list[list[str]]:
    ours = [piece.decode() for piece in split_by_regex(text, pattern_of(pattern))]
    return [ours, split_by_tokenizers(text, pattern), split_by_tiktoken(text, pattern)]


ACCEPTED = [
    r"a++|b", r"a*+b|.", r"(?>\d{1,3})|[^\d]", r"a{2,3}?|.", r"(?<=a)b|[\s\S]", r"(?<!ab)c|.", r"\Aab|[^x]+|x", r".+\z|[\s\S]",
    r"[a\]b-]+|[^a]", r"[-a]|b", r"[&~|$.*]+|.", r"[ -~]+|.", r"[\x41-\x5A\u0061]+|.", r"\/|\-|\{|\}|\#| ", r"(a)(b)|.", r"(?i:ab|[kst])|.",
    r"(?i:'(?:s|t))|.".replace("(?:s|t)", "[st]"), r"\p{Han}+|\p{Hiragana}|\P{L}", r"[^\p{L}\n]+|\p{Ll}+|\p{Lo}+", r"\s+(?!\S)|\S+|\s",
    r"(?:ab){2,}|.", r"[\p{L}\p{M}\p{N}_]+|[\u4e00-\u9fff]",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+",
]  # fmt: skip
"""The last is that of DeepSeek-V3 but for its end."""


@pytest.mark.parametrize("pattern", [*ACCEPTED, *(pattern_of(name).regex for name in NAMES)])
def test_an_accepted_pattern_means_the_same_to_all_three_engines(pattern):
    for text in TEXTS:
        ours, theirs, tiktokens = splits(pattern, text)
        assert ours == theirs == tiktokens


@pytest.mark.parametrize(
    ("pattern", "construct", "remedy"),
    [
        (r"\p{N}{1,3}+|.", r"\p{N}{1,3}+", r"(?>\p{N}{1,3})"),
        (r"\S+$|\s+", "$", r"\z"),
        (r"^a|b", "^", r"\A"),
        (r"\w+|.", r"\w", r"[\p{L}\p{M}\p{N}_]"),
        (r"a\b", r"\b", r"(?!\p{L})"),
        (r"a\Z", r"\Z", r"\z"),
        (r"a{2}?", "a{2}?", "a{2}"),
        (r"a{,3}b", "{", r"\{"),
        (r"a**", "a**", "(?:a*)*"),
        (r"[a[bc]]", "[…[…]", r"\["),
        (r"[a&&b]", "[…&…]", r"\&"),
        (r"[a--b]", "[…-…]", r"\-"),
        (r"[]a]", "[]", r"\]"),
        (r"[b-a]", "b-a", ""),
        (r"[\d-a]", r"\d-a", r"\-"),
        (r"[a-c-e]", "[…-…]", r"\-"),
        (r"[\u0080-\U0010ffff]", "\\U", ""),
        ("[\u0080-\U0010ffff]", "\\x80-\U0010ffff", r"[^\x00-\x7f]"),
        (r"[^\s\S]", r"[^\s\S]", ""),
        (r"[^\p{L}a\P{L}]", r"[^\p{L}\P{L}]", ""),
        (r"(?i:ss|a)", "(?i:…ss…)", ""),
        (r"(?i:é)", "(?i:…é…)", ""),
        (r"(?i)ab", "(?i)", ""),
        (r"(?P<n>a)", "(?P<", "(?:…)"),
        (r"(a)\1", r"\1", ""),
        (r"(?:a*)+b", "(?:a*)+", ""),
        (r"(?<=a+)b", "a+", ""),
        (r"\p{IsHan}", r"\p{IsHan}", ""),
        (r"\pL", r"\p", ""),
        (r"\x80", r"\x80", ""),
        ("a\\", "\\", ""),
        (r"a)", ")", r"\)"),
        (r"(a", "(", r"\("),
        (r"[a", "[", r"\["),
        (r"*a", "*", r"\*"),
        (r"a|", "empty string", ""),
        (r"a*", "empty string", ""),
        (r"(?=a)|b", "empty string", ""),
    ],
)
def test_what_engines_read_differently_is_refused_by_name_and_with_a_remedy(pattern, construct, remedy):
    with pytest.raises(UserError) as error:
        translated(pattern)
    assert str(error.value).startswith("pattern: ")
    assert construct in str(error.value)
    assert remedy in str(error.value)
    assert "\n" not in str(error.value)


_char = st.sampled_from(["a", "b", "1", " ", "é", "中", "s", "k", r"\n", r"\.", "'"])
_item = st.one_of(
    _char, st.sampled_from([r"\p{L}", r"\P{N}", r"\s", r"\S", r"\d", "a-c", "0-9", r"\-", r"\p{Lu}", r"\p{M}"])
)
_class = st.tuples(st.sampled_from(["[", "[^"]), st.lists(_item, min_size=1, max_size=4)).map(
    lambda t: f"{t[0]}{''.join(t[1])}]"
)
_caseless = st.lists(st.text("astk'", min_size=1, max_size=2), min_size=1, max_size=3).map(
    lambda t: f"(?i:{'|'.join(t)})"
)
_atom = st.one_of(_char, _class, _caseless, st.sampled_from([r"\p{L}", r"\s", r"\S", ".", r"\p{Lu}"]))
_quantifier = st.sampled_from(
    ["", "", "+", "*", "?", "{2}", "{1,}", "{1,3}", "+?", "*?", "??", "{1,2}?", "++", "*+", "?+"]
)
_looks = st.sampled_from([r"(?!\S)", r"(?=\s|\z)", r"(?<=a)", r"(?<!\s)", r"\A", r"\z", ""])
_repeated = st.tuples(_atom, _quantifier, _looks).map("".join)
_pattern = st.recursive(
    _repeated,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map("|".join),
        st.tuples(st.sampled_from(["(?:", "(?>", "("]), inner, _quantifier).map(lambda t: f"{t[0]}{t[1]}){t[2]}"),
    ),
    max_leaves=6,
)
_text = st.one_of(st.text("ab1 éÉ中sSſkK\u212a\n'-_\u0301", max_size=14), st.text(max_size=8), st.sampled_from(TEXTS))


@settings(max_examples=400, deadline=None)
@given(pattern=_pattern, text=_text)
@example(r"(?i:s)+", "sSſ")
def test_whatever_is_accepted_means_the_same_to_all_three_engines(pattern, text):
    text = text.encode("utf-8", "replace").decode()
    try:
        pattern_of(pattern)
    except UserError:
        assume(False)
    ours, theirs, tiktokens = splits(pattern, text)
    assert ours == theirs == tiktokens


@pytest.mark.parametrize("name", NAMES)
def test_the_built_in_patterns_are_portable_and_translate_to_the_same(name):
    published = pattern_of(name)
    for text in MIXED:
        plain = regex.findall(published.regex.replace(r"\z", r"\Z"), text)
        assert regex.findall(translated(published.regex), text) == plain


@pytest.mark.parametrize("name", ["gpt2", "cl100k"])
def test_the_strings_that_tiktoken_ships_are_the_built_in_patterns(name):
    from tokenizer.pretokens.patterns import _AS_SHIPPED

    shipped = next(text for text, known in _AS_SHIPPED.items() if known == name)
    assert pattern_of(shipped) == pattern_of(name)
    for text in [*TEXTS, *(text[:40] for text in MIXED)]:
        assert split_by_tiktoken(text, shipped) == split_by_tokenizers(text, pattern_of(name).regex)


SOME_POINTS = sorted(
    {*range(0x3400), *range(0x3400, 0x110000, 41), *itertools.chain.from_iterable(unassigned_runs())}
    - set(range(0xD800, 0xE000))
)
"""Code points by which properties are told apart; on all of them, the engines agreed when the list was made."""


@pytest.mark.parametrize("name", [*sorted(PROPERTIES), "s", "S", "d", "D"])
def test_a_property_is_the_same_characters_to_ours_and_to_the_engine_of_tokenizers(name):
    pattern = rf"\{name}+" if len(name) == 1 and name in "sSdD" else rf"\p{{{name}}}+"
    text = "".join(map(chr, SOME_POINTS))
    whole = Pattern("custom", pattern, CUSTOM)
    assert [piece.decode() for piece in split_by_regex(text, whole)] == split_by_tokenizers(text, pattern)
