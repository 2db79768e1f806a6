"""Merges against the trainer of `tokenizers`, its oracle: the same pairs in the same order."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizer.oracles import MIXED, count_table, english, model_of, sentences_by_language, train_by_library
from tokenizer.alphabet import BYTES_BY_ID, to_chars
from tokenizer.pretokens.counts import SCHEMA
from tokenizer.pretokens.patterns import NAMES, pattern_of
from tokenizer.training.trainer import Merges, train_merges


def names(merges: Merges) -> list[tuple[str, str]]:
    tokens = [bytes([byte]) for byte in BYTES_BY_ID]
    for left, right in merges.pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
    return [(to_chars(tokens[a]), to_chars(tokens[b])) for a, b in merges.pairs.tolist()]


adversarial = st.lists(
    st.one_of(st.text("ab", max_size=60), st.text("aab c", max_size=60), st.text("aé中 ", max_size=40)), max_size=25
)


@settings(max_examples=250, deadline=None)
@given(
    texts=adversarial,
    name=st.sampled_from(NAMES),
    wanted=st.sampled_from([1, 10, 300]),
    least=st.sampled_from([0, 1, 2, 5]),
    longest=st.sampled_from([None, None, 2, 3, 4, 8]),
    kept=st.sampled_from([1, 3, 1 << 20]),
)
def test_merges_are_those_of_the_library_on_texts_full_of_ties_and_runs(texts, name, wanted, least, longest, kept):
    merges = train_merges(
        count_table(texts, name), wanted, min_frequency=least, max_token_length=longest, pairs_kept=kept
    )
    library = train_by_library(texts, pattern_of(name), 256 + wanted, (), least, longest)
    assert names(merges) == model_of(library)[1]


@pytest.mark.parametrize("name", NAMES)
def test_merges_are_those_of_the_library_on_texts_of_many_scripts(name):
    texts = [*MIXED * 3, *(english(seed) for seed in range(40))]
    merges = train_merges(count_table(texts, name), 1500)
    assert names(merges) == model_of(train_by_library(texts, pattern_of(name), 1756))[1]


@pytest.mark.real
@pytest.mark.parametrize(("name", "vocab_size"), [("cl100k", 1024), ("o200k", 32_768), ("cl100k", 131_072)])
def test_merges_are_those_of_the_library_on_75_languages(name, vocab_size):
    texts = list(sentences_by_language().values())
    texts = [text[: 40_000 if vocab_size < 100_000 else None] for text in texts]
    merges = train_merges(count_table(texts, name), vocab_size - 256)
    assert len(merges) == vocab_size - 256
    assert names(merges) == model_of(train_by_library(texts, pattern_of(name), vocab_size))[1]


def test_the_result_does_not_depend_on_how_many_pairs_are_kept():
    counts = count_table([english(seed) for seed in range(30)])
    merges = train_merges(counts, 800)
    few = train_merges(counts, 800, pairs_kept=1)
    assert few.pairs.tolist() == merges.pairs.tolist()
    assert few.counts.tolist() == merges.counts.tolist()


def test_the_result_does_not_depend_on_the_order_of_pretokens():
    counts = count_table([english(seed) for seed in range(10)])
    backwards = counts.take(pa.array(range(counts.num_rows - 1, -1, -1)))
    assert train_merges(backwards, 300).pairs.tolist() == train_merges(counts, 300).pairs.tolist()


def test_frequencies_beyond_32_bits_are_exact():
    # in 32 bits the first would be 705,032,704 and lose against the second
    counts = pa.table(
        {"pretoken": [b"ab", b"cd", b"abab"], "count": [5_000_000_000, 4_000_000_000, 3_000_000_000]}, SCHEMA
    )
    merges = train_merges(counts, 3)
    assert names(merges) == [("a", "b"), ("c", "d"), ("ab", "ab")]
    assert merges.counts.tolist() == [11_000_000_000, 4_000_000_000, 3_000_000_000]


def test_too_few_pairs_give_fewer_merges():
    assert len(train_merges(count_table(["ab ab"], "gpt2"), 50)) == 2


def test_no_text_gives_no_merges():
    assert len(train_merges(count_table([]), 10)) == 0


def test_a_pretoken_of_a_megabyte_is_trained_on():
    text = "ab" * 500_000
    assert names(train_merges(count_table([text], "gpt2"), 6))[:2] == [("a", "b"), ("ab", "ab")]


def test_progress_is_told_up_to_the_end():
    told = []
    train_merges(count_table([english(seed) for seed in range(30)]), 1200, progress=lambda *a: told.append(a))
    assert told[-1] == (1200, 1200, 0.0)
    assert [made for made, _, _ in told] == sorted(made for made, _, _ in told)
    assert len(told) > 1
