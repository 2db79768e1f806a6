"""Counts and ids against real encodings, on every text at every size."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import tokenizer
from tests.tokenizer.oracles import MIXED, encode_by_python, english, ladder_of, sentences_by_language
from tokenizer.counting.counter import Counter, count_tokens
from tokenizer.counting.encode_kernel import SHORT
from tokenizer.counting.encoder import Encoder, decode, encode
from tokenizer.ladder.files import tiktoken_ranks, tiktoken_settings, tokenizer_json
from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.merging import ordered
from tokenizer.pretokens.patterns import NAMES

TEXTS = [*MIXED, *(english(seed) for seed in range(12))]
CUSTOM = r"[a-z]+| ?\d|\s+(?=x)"
SIZES = (258, 300, 500, 1000)


@pytest.fixture(scope="module", params=[*NAMES, CUSTOM])
def ladder(request) -> Ladder:
    return ladder_of(TEXTS, SIZES, request.param, special=("<|endoftext|>",))


def library(ladder: Ladder, size: int) -> Tokenizer:
    import json

    return Tokenizer.from_str(json.dumps(tokenizer_json(ladder, size)))


ab = st.text("ab", max_size=3 * SHORT)
any_texts = st.one_of(st.text(), st.sampled_from(TEXTS), ab, st.text("abcde of the's 1\n", max_size=200))


def clean(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(any_texts.map(clean), max_size=6))
def test_counts_and_ids_of_one_encoding_are_those_of_real_encodings_at_every_size(ladder, texts):
    if ladder.pattern.name == "custom":  # written for ASCII; its library has newer Unicode tables than tokenizers
        texts = [text.encode("ascii", "replace").decode() for text in texts]
    counts = count_tokens(texts, ladder)
    assert counts.shape == (len(texts), len(SIZES))
    at_sizes = Encoder(ladder, cached=1 << 12).encode_sizes(texts)
    assert len(at_sizes) == len(SIZES)
    for k, size in enumerate(SIZES):
        encodings = [encoding.ids for encoding in library(ladder, size).encode_batch(texts)]
        assert counts[:, k].tolist() == [len(ids) for ids in encodings]
        ids, bounds = at_sizes[k]
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(bounds.tolist())] == encodings
        assert [encode(text, ladder, size).tolist() for text in texts] == encodings


def test_ids_are_those_of_tiktoken_with_the_rank_file(ladder):
    for size in SIZES:
        ranks = {}
        for line in tiktoken_ranks(ladder, size).splitlines():
            token, rank = line.split()
            ranks[__import__("base64").b64decode(token)] = int(rank)
        settings_ = tiktoken_settings(ladder, size)
        encoding = tiktoken.Encoding(mergeable_ranks=ranks, **settings_)
        for text in TEXTS:
            assert encode(text, ladder, size).tolist() == encoding.encode_ordinary(text)


@settings(max_examples=40, deadline=None)
@given(batches=st.lists(st.lists(any_texts.map(clean), max_size=6), max_size=3), size=st.sampled_from(SIZES))
def test_ids_of_batches_are_those_of_the_library(ladder, batches, size):
    encoder, theirs = Encoder(ladder, size), library(ladder, size)
    for texts in batches:
        if ladder.pattern.name == "custom":
            texts = [text.encode("ascii", "replace").decode() for text in texts]
        ids, bounds = encoder.encode(texts)
        expected = [encoding.ids for encoding in theirs.encode_batch(texts)]
        assert ids.dtype == np.int32
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(bounds.tolist())] == expected


@settings(max_examples=80, deadline=None)
@given(text=any_texts.map(clean))
def test_decoding_gives_the_text_back(ladder, text):
    assert decode(encode(text, ladder), ladder) == text.encode()


def test_a_special_tokens_name_in_a_text_is_text(ladder):
    ids = encode("a<|endoftext|>b", ladder)
    assert 0 not in ids
    assert decode([0], ladder) == b"<|endoftext|>"


@pytest.fixture(scope="module")
def small() -> Ladder:
    return ladder_of(TEXTS, SIZES, "gpt2")


@pytest.mark.parametrize("cached", [1, 2, 50])
def test_a_cache_that_overflows_changes_nothing(small, cached):
    counts = Counter(small).count(TEXTS)
    assert np.array_equal(Counter(small, cached).count(TEXTS), counts)
    for size in SIZES:
        ids, bounds = Encoder(small, size, cached).encode(TEXTS)
        for document, text in enumerate(TEXTS):
            assert ids[bounds[document] : bounds[document + 1]].tolist() == encode(text, small, size).tolist()


def test_a_warm_cache_changes_nothing(small):
    counter = Counter(small)
    assert np.array_equal(counter.count(TEXTS), counter.count(TEXTS))


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, 2 * SHORT), st.sampled_from([b"a", b"ab", b"the", b" ", b"\xff", b"of the"]), st.binary(max_size=5)
)
def test_short_and_long_pretokens_are_encoded_as_by_plain_python(length, unit, tail):
    from tokenizer.counting import ids_kernel
    from tokenizer.memory import padded

    encoder = Encoder(_repeats(), cached=4)
    piece = (unit * length)[:length] + tail
    out, ends = np.empty(len(piece), np.int32), np.array([len(piece)], np.int64)
    number = ids_kernel.encode_given(padded(piece), ends, encoder._id_of, encoder._bpe, 4, encoder._cache, out)
    assert out[:number].tolist() == encode_by_python(piece, encoder.ladder, len(encoder.ladder.merges))


def _repeats() -> Ladder:
    return ladder_of(["a" * 40, "ab" * 30, "the of the" * 9, " " * 30, "ofthe the"] * 3, (256, 290), r"[\s\S]+")


def test_a_pretoken_of_ten_megabytes_is_counted(small):
    text = "the" * 3_333_333
    tokens = {len(piece): count_tokens([piece], small)[0] for piece in ("the" * 1_111_111, text)}
    assert (tokens[9_999_999] == 3 * tokens[3_333_333]).all()
    ids = encode(text, small)
    assert len(ids) == tokens[9_999_999][-1]
    assert decode(ids, small) == text.encode()


def test_empty_texts_none_and_no_texts_have_no_tokens(small):
    assert count_tokens(["", None], small).tolist() == [[0] * 4] * 2
    assert count_tokens([], small).shape == (0, 4)


def test_a_lone_surrogate_counts_as_the_replacement_character(small):
    assert count_tokens(["a\ud800b", b"a\xffb"], small).tolist() == count_tokens(["a\ufffdb"] * 2, small).tolist()


def test_arrow_and_strings_give_the_same_counts(small):
    assert np.array_equal(count_tokens(pa.array(TEXTS), small), count_tokens(TEXTS, small))


def test_counts_do_not_depend_on_how_texts_are_batched(small):
    whole = count_tokens(TEXTS, small)
    assert np.array_equal(np.concatenate([count_tokens([text], small) for text in TEXTS]), whole)


def test_the_public_functions_are_found_in_the_package():
    assert tokenizer.count_tokens is count_tokens
    assert {name for name in tokenizer.__all__ if getattr(tokenizer, name) is None} == set()


@pytest.mark.real
def test_counts_of_75_languages_are_those_of_real_encodings_at_every_size():
    texts = [text[:20_000] for text in sentences_by_language().values()]
    ladder = ladder_of(texts, (1024, 4096, 16_384), "o200k")
    counts = count_tokens(texts, ladder)
    for k, size in enumerate(ladder.vocab_sizes):
        assert counts[:, k].tolist() == [len(e) for e in library(ladder, size).encode_batch_fast(texts)]


def test_a_corpus_whose_counts_exceed_32_bits_is_counted_exactly(small):
    from tests.tokenizer.oracles import count_table
    from tokenizer.counting.usage import token_usage

    counts = count_table(TEXTS, "gpt2")
    times = 3_000_000_000
    huge = counts.set_column(1, "count", pa.array([n * times for n in counts["count"].to_pylist()], pa.int64()))
    assert int(np.asarray(huge["count"].combine_chunks()).sum()) > 2**32
    for k, size in enumerate(SIZES):
        used = token_usage(small, ordered(huge), size)
        assert int(used.sum()) == int(count_tokens(TEXTS, small)[:, k].sum()) * times


def test_more_sizes_than_are_counted_at_once_and_tokens_longer_than_a_cached_pretoken_are_exact():
    texts = ["a" * 300, "ab" * 200, *(english(seed, 80) for seed in range(6))]
    ladder = ladder_of(texts, tuple(range(256, 366, 10)), r"\S+|\s+")
    assert max(map(len, ladder.tokens)) > 127
    counts = count_tokens(texts, ladder)
    for k, size in enumerate(ladder.vocab_sizes):
        assert counts[:, k].tolist() == [len(encode(text, ladder, size)) for text in texts]
