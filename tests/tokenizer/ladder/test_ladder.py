import dataclasses

import numpy as np
import pytest

from pipeline.errors import UserError
from pipeline.storage import Folder
from tests.tokenizer.oracles import MIXED, english, ladder_of, model_of, train_by_library
from tokenizer.ladder.files import merge_names, vocabulary
from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.patterns import pattern_of

TEXTS = [*MIXED * 2, *(english(seed) for seed in range(12))]


@pytest.fixture(scope="module")
def ladder() -> Ladder:
    return ladder_of(TEXTS, (300, 500, 900), special=("<|endoftext|>", "<|pad|>"))


@pytest.mark.parametrize("size", [300, 500, 900])
def test_each_size_is_the_tokenizer_that_a_separate_training_gives_ids_included(ladder, size):
    library = train_by_library(TEXTS, pattern_of("cl100k"), size, ladder.special_tokens)
    vocab, merges = model_of(library)
    assert vocabulary(ladder, size) == vocab
    assert merge_names(ladder, size) == merges


def test_the_decomposition_is_the_sum_of_both_parts(ladder):
    table = ladder.decomposition
    assert table.shape == (900 - 2, 3)
    assert table[:256].tolist() == [[1, 1, 1]] * 256
    for token, (left, right) in enumerate(ladder.merges[: 900 - 258].tolist(), 256):
        for k, size in enumerate(ladder.vocab_sizes):
            present = token < size - ladder.offset
            assert table[token, k] == (1 if present else table[left, k] + table[right, k])


def test_a_saved_ladder_is_loaded_equal(ladder, tmp_path):
    ladder.save(Folder(str(tmp_path)))
    loaded = Ladder.load(str(tmp_path))
    assert loaded == ladder
    assert loaded.training == ladder.training
    assert hash(loaded) == hash(ladder)


def test_a_changed_file_is_refused(ladder, tmp_path):
    folder = Folder(str(tmp_path))
    ladder.save(folder)
    facts = folder.get_json("ladder.json")
    folder.put_json("ladder.json", {**facts, "special_tokens": ["<|endoftext|>", "<|other|>"]})
    with pytest.raises(UserError, match="does not match its digest"):
        Ladder.load(folder)


def test_a_ladder_is_frozen(ladder):
    with pytest.raises(dataclasses.FrozenInstanceError):
        ladder.vocab_sizes = (1,)
    with pytest.raises(ValueError, match="read-only"):
        ladder.merges[0, 0] = 1


def test_ladders_of_other_merges_patterns_or_specials_differ(ladder):
    swapped = ladder.merges[[1, 0, *range(2, len(ladder.merges))]]
    for change in (
        {"special_tokens": ("a1", "b1")},
        {"pattern": pattern_of("gpt2")},
        {"merges": swapped},
        {"vocab_sizes": (900,)},
    ):
        assert dataclasses.replace(ladder, **change) != ladder


@pytest.mark.parametrize(
    ("sizes", "special", "said"),
    [
        ((), (), "at least one size"),
        ((500, 500), (), "must increase"),
        ((900, 300), (), "must increase"),
        ((256,), ("<|x|>",), "less than the 257 tokens"),
        ((400,), ("<|x|>", "<|x|>"), "a name of its own"),
        ((400,), ("a",), "stands for a byte"),
    ],
)
def test_sizes_and_specials_that_cannot_be_are_refused_with_the_reason(sizes, special, said):
    with pytest.raises(UserError, match=said):
        Ladder(pattern_of("gpt2"), np.zeros((800, 2), np.int32), sizes, special)


def test_a_corpus_too_small_for_the_size_says_which_size_was_reached():
    ladder = ladder_of(["ab ab"], (256, 5000), "gpt2")
    assert ladder.vocab_sizes == (256,)
    assert "258 were reached" in ladder.shortfall
    assert ladder_of(["ab ab"], (256, 258), "gpt2").shortfall == ""


def test_a_ladder_of_no_text_says_so():
    ladder = ladder_of([""], (300,), "gpt2", special=("<|x|>",))
    assert ladder.vocab_sizes == (257,)
    assert "no text to train on" in ladder.shortfall
    assert ladder.decomposition.tolist() == [[1]] * 256


def test_a_special_token_that_ordinary_text_would_become_is_refused():
    with pytest.raises(UserError, match="also a token of ordinary text"):
        ladder_of(["user user user"], (256 + 1, 260), "gpt2", special=("user",))
