"""What the tokenizer's tests are held against: the `tokenizers` library, and plain Python."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import tarfile
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import tiktoken
import zstandard
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from tokenizer.ladder.files import with_gaps
from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.counts import PretokenTable
from tokenizer.pretokens.merging import ordered
from tokenizer.pretokens.patterns import Pattern, pattern_of
from tokenizer.pretokens.unicode_classes import as_of_unicode_16
from tokenizer.texts import Texts
from tokenizer.training.options import TrainOptions
from tokenizer.training.train import train_from_counts


def real_data(*parts: str) -> pathlib.Path:
    """Return a file or folder of the real inputs, or skip."""
    base = pathlib.Path(__file__).resolve().parents[2] / "../shared/data"
    place = pathlib.Path(os.environ.get("TOKENMILL_REAL_DATA", base)).joinpath(*parts)
    if not place.exists():
        pytest.skip("the folder of real inputs is absent")
    return place


def sentences_by_language() -> dict[str, str]:
    """Return a file of sentences for each of 75 languages, or skip."""
    archive = real_data("langid-lingua", "language-testdata.tar.zst")
    found = {}
    with archive.open("rb") as source, zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(source) as data:
        files = tarfile.open(fileobj=data, mode="r|")  # noqa: SIM115
        for member in files:
            if member.isfile() and "/sentences/" in member.name:
                found[member.name] = files.extractfile(member).read().decode()
    return found


def train_by_library(
    texts: Sequence[str],
    pattern: Pattern,
    vocab_size: int,
    special_tokens: Sequence[str] = (),
    min_frequency: int = 0,
    max_token_length: int | None = None,
) -> Tokenizer:
    """Return what `tokenizers` trains on the same texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern.regex), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    more = {} if max_token_length is None else {"max_token_length": max_token_length}
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        min_frequency=min_frequency,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        **more,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def model_of(tokenizer: Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return vocabulary and merges of a tokenizer of the library."""
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def split_by_regex(text: str, pattern: Pattern) -> list[bytes]:
    """Return the pretokens by the `regex` library; what lies between matches is one too."""
    pieces, at = [], 0
    for match in pattern.compiled().finditer(as_of_unicode_16(text)):
        pieces += [text[at : match.start()], text[match.start() : match.end()]]
        at = match.end()
    return [piece.encode("utf-8", "surrogateescape") for piece in [*pieces, text[at:]] if piece]


def split_by_tokenizers(text: str, pattern: str) -> list[str]:
    """Return the pretokens by the engine of `tokenizers`."""
    return [piece for piece, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)]


def split_by_tiktoken(text: str, pattern: str) -> list[str]:
    """Return the pretokens by the engine of `tiktoken`: every piece of `text`, which has to be short, is a token."""
    data = text.encode()
    pieces = {data[a:b] for a in range(len(data)) for b in range(a + 1, len(data) + 1)}
    ranks = {piece: rank for rank, piece in enumerate(sorted(pieces, key=lambda p: (len(p), p)))}
    encoding = tiktoken.Encoding(
        "pieces", pat_str=with_gaps(pattern), mergeable_ranks=ranks or {b"a": 0}, special_tokens={}
    )
    return [encoding.decode_single_token_bytes(token).decode() for token in encoding.encode_ordinary(text)]


def counts_by_python(texts: Sequence[str], pattern: Pattern) -> Counter[bytes]:
    """Return pretoken counts by the `regex` library and a dictionary."""
    return Counter(piece for text in texts for piece in split_by_regex(text, pattern))


def as_dict(table) -> dict[bytes, int]:
    """Return a table of pretoken counts as a dictionary."""
    return dict(zip(table["pretoken"].to_pylist(), table["count"].to_pylist(), strict=True))


def count_table(texts: Sequence[str], pattern: str = "cl100k"):
    """Return the pretoken counts of texts as the training takes them."""
    table = PretokenTable()
    table.add_texts(Texts.of(texts), pattern_of(pattern))
    return ordered(table.to_table())


def ladder_of(
    texts: Sequence[str], sizes: Sequence[int], pattern: str = "cl100k", special: Sequence[str] = ()
) -> Ladder:
    """Return a ladder trained on texts."""
    options = TrainOptions(vocab_sizes=tuple(sizes), pattern=pattern, special_tokens=tuple(special))
    return train_from_counts(count_table(texts, pattern), options)


def encode_by_python(piece: bytes, ladder: Ladder, merges: int) -> list[int]:
    """Return the ids (special tokens left out) of one pretoken, the lowest merge first, the leftmost of equals."""
    from tokenizer.alphabet import ID_OF_BYTE

    rank = {tuple(pair): number for number, pair in enumerate(ladder.merges[:merges].tolist())}
    ids = [int(ID_OF_BYTE[byte]) for byte in piece]
    while True:
        found = [(rank[pair], at) for at, pair in enumerate(itertools.pairwise(ids)) if pair in rank]
        if not found:
            return ids
        number, at = min(found)
        ids[at : at + 2] = [256 + number]


WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "for",
    "it",
    "with",
    "as",
    "was",
    "on",
    "be",
    "at",
    "by",
    "this",
    "had",
    "not",
    "are",
    "but",
    "from",
    "or",
    "have",
    "an",
    "they",
]


def english(seed: int, words: int = 400) -> str:
    """Return a text of invented sentences: common words and rarer ones, with numbers, quotes and line breaks."""
    rng = np.random.default_rng(seed)
    rare = ["".join(rng.choice(list("abcdefghilmnoprstu"), size=int(rng.integers(3, 11)))) for _ in range(60)]
    chosen = [rng.choice(WORDS) if rng.random() < 0.6 else rng.choice(rare) for _ in range(words)]
    ends = rng.choice([" ", " ", " ", ", ", ". ", ".\n", "'s ", " 1984 ", "\n\n"], size=words)
    return "".join(word + end for word, end in zip(chosen, ends, strict=True))


MIXED = [
    "Überall sind die Häuser größer als früher, sagte sie. Ökonomisch gesehen war das Jahr 2023 gut.",
    "Ёлка стоит в углу; дети ждут подарков, а снег всё идёт и идёт.",
    "東京は今日も雨です。明日は晴れるでしょう。人口は1400万人を超えます。",
    "हिन्दी में लिखा गया एक छोटा सा वाक्य, जिसमें मात्राएँ हैं।",
    "שלום עולם, זה משפט קצר בעברית עם מספר 42.",
    "ภาษาไทยไม่เว้นวรรคระหว่างคำ แต่เว้นระหว่างประโยค",
    "I'LL say it's DON'T; can'ſ we've HTTPServer camelCase snake_case x86_64 a\u0301e\u0308.",
    "   \n\n\t indented\r\n\r\nline   \u00a0\u3000wide spaces   ",
    "👩‍👩‍👧 emoji 🇩🇪, ½ ² Ⅳ ٣٤٥, ﬁ ligature, Ǆ title-case ǅ",
    "<|endoftext|> and <|reserved_0|> are names\x00with NUL\x00\x00",
]
"""Texts of many scripts and shapes, of our own writing."""
