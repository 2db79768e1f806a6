import base64
import json
import pathlib

import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from pipeline.storage import Folder
from tests.tokenizer.oracles import MIXED, english, ladder_of
from tokenizer.counting.encoder import encode
from tokenizer.ladder.files import FileOptions, padded_size, tokenizer_json, write_ladder
from tokenizer.ladder.ladder import Ladder
from tokenizer.training.options import TrainOptions

TEXTS = [*MIXED, *(english(seed) for seed in range(8))]
SIZES = (300, 600)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[Ladder, pathlib.Path]:
    ladder = ladder_of(TEXTS, SIZES, "o200k", special=("<|endoftext|>", "<|fim|>"))
    folder = tmp_path_factory.mktemp("ladder")
    write_ladder(ladder, Folder(str(folder)), FileOptions(pad_to_multiple=128))
    return ladder, folder


@pytest.mark.parametrize("size", SIZES)
def test_tokenizer_json_encodes_identically_in_tokenizers(written, size):
    ladder, folder = written
    tokenizer = Tokenizer.from_file(str(folder / str(size) / "tokenizer.json"))
    for text in TEXTS:
        assert tokenizer.encode(text).ids == encode(text, ladder, size).tolist()
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "load",
    [
        lambda p: AutoTokenizer.from_pretrained(p),
        lambda p: PreTrainedTokenizerFast(tokenizer_file=str(p / "tokenizer.json")),
    ],
)
def test_tokenizer_json_encodes_identically_in_transformers(written, size, load):
    ladder, folder = written
    tokenizer = load(folder / str(size))
    for text in TEXTS:
        assert tokenizer(text)["input_ids"] == encode(text, ladder, size).tolist()


@pytest.mark.parametrize("size", SIZES)
def test_the_rank_file_encodes_identically_in_tiktoken(written, size):
    ladder, folder = written
    ranks = load_tiktoken_bpe(str(folder / str(size) / "tokens.tiktoken"))
    settings = json.loads((folder / str(size) / "tiktoken.json").read_text("utf-8"))
    encoding = tiktoken.Encoding(mergeable_ranks=ranks, **settings)
    for text in TEXTS:
        assert encoding.encode_ordinary(text) == encode(text, ladder, size).tolist()
    assert encoding.encode("<|fim|>", allowed_special="all") == [1]


def test_merges_and_vocabulary_load_in_the_form_of_gpt2(written):
    from tokenizers import models

    ladder, folder = written
    vocab, merges = models.BPE.read_file(str(folder / "600/vocab.json"), str(folder / "600/merges.txt"))
    assert len(merges) == ladder.merges_at(600)
    assert vocab["<|endoftext|>"] == 0


def test_the_vocabulary_is_padded_to_the_multiple_with_reserved_tokens(written):
    _, folder = written
    tokenizer = Tokenizer.from_file(str(folder / "600/tokenizer.json"))
    assert tokenizer.get_vocab_size() == padded_size(600, 128) == 640
    assert tokenizer.token_to_id("<|reserved_0|>") == 600
    assert tokenizer.token_to_id("<|reserved_39|>") == 639


@pytest.mark.parametrize("name", ["<|endoftext|>", "<|fim|>", "<|reserved_0|>"])
def test_a_special_tokens_name_in_a_text_stays_text_in_every_library(written, name):
    ladder, folder = written
    text = f"so {name} it is"
    as_text = encode(text, ladder, 600).tolist()
    assert len(as_text) > 8
    assert Tokenizer.from_file(str(folder / "600/tokenizer.json")).encode(text).ids == as_text
    assert AutoTokenizer.from_pretrained(folder / "600")(text)["input_ids"] == as_text


def test_a_special_tokens_name_becomes_the_token_where_asked(written):
    ladder, _ = written
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json(ladder, 600, special_tokens_in_text=True)))
    assert tokenizer.encode("<|fim|>").ids == [1]


def test_the_card_names_what_the_tokenizer_was_made_of(written):
    ladder, folder = written
    card = json.loads((folder / "300/card.json").read_text("utf-8"))
    assert card["vocab_size"] == 300
    assert card["padded_vocab_size"] == 384
    assert card["ladder"] == [300, 600]
    assert card["pattern"] == "o200k"
    assert card["training"]["corpus_fingerprint"] == ladder.training["corpus_fingerprint"]
    assert card["training"]["min_pretoken_count"] == 1
    assert card["sha256"] != json.loads((folder / "600/card.json").read_text("utf-8"))["sha256"]


def test_the_rank_file_of_a_smaller_size_is_the_beginning_of_the_larger_one(written):
    _, folder = written
    small, large = ((folder / f"{size}/tokens.tiktoken").read_bytes() for size in SIZES)
    assert large.startswith(small)
    assert base64.b64decode(small.split()[0]) == b"!"


def test_what_is_written_is_the_same_each_time(written, tmp_path):
    ladder, folder = written
    write_ladder(ladder, Folder(str(tmp_path)), FileOptions(pad_to_multiple=128))
    files = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert len(files) == 1 + 7 * len(SIZES)
    for name in files:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


SPECIAL = ("<|endoftext|>", "<s>", "<|fim|>", "<pad>", "<unk>")


@pytest.fixture(scope="module", params=[False, True], ids=["names are text", "names become tokens"])
def for_transformers(request, tmp_path_factory):
    """A ladder written for transformers, and its tokenizer loaded from there."""
    options = TrainOptions(vocab_sizes=(400,), special_tokens=SPECIAL, special_tokens_in_text=request.param)
    ladder = ladder_of(TEXTS, (400,), special=SPECIAL)
    folder = tmp_path_factory.mktemp("transformers")
    write_ladder(ladder, Folder(str(folder)), options.files())
    return request.param, ladder, AutoTokenizer.from_pretrained(folder / "400")


def test_transformers_knows_the_roles_by_their_usual_names(for_transformers):
    _, _, tokenizer = for_transformers
    assert (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id) == (
        0,
        1,
        3,
        4,
    )
    assert len(tokenizer) == 400


def test_transformers_skips_every_special_token_where_asked(for_transformers):
    _, ladder, tokenizer = for_transformers
    ids = [1, *encode("hello wörld", ladder).tolist(), 2, 3, 0]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "hello wörld"
    assert tokenizer.decode(ids) == "<s>hello wörld<|fim|><pad><|endoftext|>"


def test_transformers_pads_batches(for_transformers):
    _, ladder, tokenizer = for_transformers
    batch = tokenizer(["a", "the of and"], padding=True)
    short, long = (encode(text, ladder).tolist() for text in ("a", "the of and"))
    assert batch["input_ids"] == [short + [3] * (len(long) - len(short)), long]
    assert batch["attention_mask"][0] == [1] * len(short) + [0] * (len(long) - len(short))


def test_transformers_makes_a_name_in_a_text_the_token_only_where_asked(for_transformers):
    in_text, ladder, tokenizer = for_transformers
    text = "so <|endoftext|> it <|fim|> is"
    ids = tokenizer(text)["input_ids"]
    assert [token for token in ids if token < len(SPECIAL)] == ([0, 2] if in_text else [])
    assert in_text or ids == encode(text, ladder).tolist()
    assert tokenizer("<|endoftext|>", split_special_tokens=False)["input_ids"] == [0]


def test_a_chat_template_of_ones_own_works_where_names_become_tokens(for_transformers):
    in_text, ladder, tokenizer = for_transformers
    template = "{% for m in messages %}<s>{{ m['content'] }}<|endoftext|>{% endfor %}"
    found = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], chat_template=template, return_dict=True,
        tokenizer_kwargs={} if in_text else {"split_special_tokens": False},
    )  # fmt: skip
    assert found["input_ids"] == [1, *encode("hi", ladder).tolist(), 0]


def test_transformers_saves_and_loads_the_same_tokenizer(for_transformers, tmp_path):
    _, _, tokenizer = for_transformers
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    for text in (*MIXED, "so <|endoftext|> it"):
        assert again(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert (again.eos_token, again.pad_token, again.decode([0, 2], skip_special_tokens=True)) == (
        "<|endoftext|>",
        "<pad>",
        "",
    )
