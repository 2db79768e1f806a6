import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from pipeline.errors import InputError, UserError
from pipeline.storage import Folder
from tests.tokenizer.oracles import MIXED, english, ladder_of
from tokenizer.counting.counter import count_tokens
from tokenizer.counting.foreign import load_counter
from tokenizer.ladder.files import tokenizer_json, write_ladder

TEXTS = [*MIXED, *(english(seed) for seed in range(4))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("ladder")
    write_ladder(ladder_of(TEXTS, (300, 500), "cl100k", special=("<|endoftext|>",)), Folder(str(place)))
    return place


def test_a_ladder_a_tokenizer_json_and_a_rank_file_count_alike(folder):
    ladder = load_counter(str(folder))
    assert ladder.columns == ("tokens_300", "tokens_500")
    for path in (folder / "500", folder / "500/tokenizer.json", folder / "500/tokens.tiktoken"):
        assert np.array_equal(load_counter(str(path)).count(TEXTS)[:, 0], ladder.count(TEXTS)[:, 1])


def test_counts_of_a_loaded_ladder_are_those_of_the_trained_one(folder):
    ladder = ladder_of(TEXTS, (300, 500), "cl100k", special=("<|endoftext|>",))
    assert np.array_equal(load_counter(str(folder)).count(TEXTS), count_tokens(TEXTS, ladder))


def test_a_tokenizer_that_is_no_byte_level_bpe_is_counted_by_its_library_and_says_so(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"the": 0, "of": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "words.json"))
    counter = load_counter(str(tmp_path / "words.json"))
    assert counter.kind == "WordLevel, not byte-level BPE: counted by its library"
    assert counter.count(["the of and", ""]).tolist() == [[3], [0]]


def test_special_tokens_truncation_and_templates_of_others_do_not_count(tmp_path):
    ladder = ladder_of(TEXTS, (300, 500), special=("<|endoftext|>",))
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json(ladder, 500, special_tokens_in_text=True)))
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    text = "of the <|endoftext|> and more of it"
    assert load_counter(str(tmp_path)).count([text])[0, 0] == count_tokens([text], ladder)[0, 1]


def test_a_lone_surrogate_does_not_stop_a_library(folder):
    for path in ("500/tokenizer.json", "500/tokens.tiktoken"):
        assert (
            load_counter(str(folder / path)).count(["a\ud800b"]) == load_counter(str(folder)).count(["a\ufffdb"])[0, 1]
        )


def test_a_run_of_spaces_that_tiktoken_gives_up_on_is_explained(folder):
    with pytest.raises(UserError, match=r"tokenizer\.json of the same tokenizer"):
        load_counter(str(folder / "500/tokens.tiktoken")).count([" " * 1_000_000 + "x"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{not json", "no tokenizer.json"),
        ("b.json", b'{"model": {}}', "no tokenizer.json"),
        ("c.tiktoken", b"AAA= x\n", "no tiktoken rank file"),
    ],
)
def test_a_file_that_is_no_tokenizer_is_named(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_counter(str(tmp_path / name), "gpt2")


def test_a_missing_file_and_a_missing_pattern_are_named(tmp_path, folder):
    with pytest.raises(InputError, match="does not exist"):
        load_counter(str(tmp_path / "none"))
    ranks = tmp_path / "x.tiktoken"
    ranks.write_bytes((folder / "300/tokens.tiktoken").read_bytes())
    with pytest.raises(UserError, match="--pattern"):
        load_counter(str(ranks))
    assert load_counter(str(ranks), "cl100k").count(["the"]).shape == (1, 1)
