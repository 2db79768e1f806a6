import numpy as np

from tests.tokenizer.oracles import count_table, english, ladder_of
from tokenizer.alphabet import to_chars
from tokenizer.counting.encoder import encode
from tokenizer.counting.usage import token_usage, unused_tokens

TEXTS = [english(seed) for seed in range(6)]


def test_usage_is_how_often_each_token_stands_in_the_encoded_corpus():
    ladder = ladder_of(TEXTS, (300, 700), special=("<|x|>",))
    for size in ladder.vocab_sizes:
        ids = np.concatenate([encode(text, ladder, size) for text in TEXTS]) - 1
        expected = np.bincount(ids, minlength=size - 1)
        assert token_usage(ladder, count_table(TEXTS), size).tolist() == expected.tolist()


def test_tokens_never_used_are_told_by_size():
    ladder = ladder_of(["abc abc abc"], (256, 259), "gpt2")
    rows = unused_tokens(ladder, count_table(["abc abc abc"], "gpt2"))
    assert [row["unused"] for row in rows] == [256 - 4, 256 + 3 - 2]
    assert rows[1]["examples"] == [to_chars(token) for token in ladder.tokens[256:258] if token in (b"ab", b"bc")]
