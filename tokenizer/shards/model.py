"""The tokenizer that shards are written by: any ``tokenizer.json``.

Byte-level BPE is encoded by the kernels of `tokenizer.counting`, whose ids are those of the library. What they do not
cover (a normalizer, added tokens that are no special tokens, merges that make one token twice …) is encoded by the
library itself, and `TokenModel.slow_because` says so.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pipeline.errors import InputError, UserError
from pipeline.registry import did_you_mean
from pipeline.storage import Folder, local_copy, reach
from tokenizer.alphabet import BYTES_BY_ID, to_chars
from tokenizer.counting.encoder import Encoder
from tokenizer.counting.foreign import json_tokenizer
from tokenizer.ladder.ladder import LADDER_FILE, Ladder
from tokenizer.pretokens.patterns import pattern_of
from tokenizer.texts import Texts

TOKENIZER_FILE = "tokenizer.json"

Encode = Callable[[Texts], tuple[np.ndarray, np.ndarray]]
"""Texts -> ids of all of them (int32), and where each text's begin (int64, texts + 1)."""


@dataclass(frozen=True)
class TokenModel:
    """A tokenizer as shards name it. Picklable; loaded where it is used.

    Attributes:
        path: its ``tokenizer.json``.
        digest: SHA-256 of that file.
        vocab_size: one more than its largest id: rows of an embedding that has them all.
        slow_because: why the library encodes and not the kernels; empty where they do.
    """

    path: str
    digest: str
    vocab_size: int
    slow_because: str = ""

    def encoder(self) -> Encode:
        """Return what encodes texts, loaded once per process. No special token is added, and none is read in a text."""
        return _encoder(self)

    def id_of(self, name: str) -> int:
        """Return the id of the token called `name`. Raises UserError where there is none."""
        ids = _ids(json.loads(pathlib.Path(self.path).read_bytes()))
        if name not in ids:
            special = [token for token in ids if token.startswith(("<", "["))]
            known = did_you_mean(name, special) or (f"; special tokens: {', '.join(special[:8])}" if special else "")
            raise UserError(f"{name!r} is no token of {self.path}{known}")
        return ids[name]


def open_model(path: str) -> TokenModel:
    """Return the tokenizer at `path`: a ``tokenizer.json``, or the folder of one, such as ``LADDER/32768``.

    One in an object store is copied into the user's cache.

    Raises:
        UserError: no such tokenizer, in one line.
    """
    file = local_copy(_object_of(path)) if "://" in path else _file_of(pathlib.Path(path)).resolve()
    data = file.read_bytes()
    digest, slow = hashlib.sha256(data).hexdigest(), ""
    try:
        content = json.loads(data)
        ids = _ids(content)
        _ladder_in(str(file), digest)
    except _Beyond as beyond:
        slow = str(beyond)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        json_tokenizer(file)  # says what is wrong with it
        raise InputError(f"{file} is no tokenizer.json of a known form ({error!r})") from error
    if slow:
        json_tokenizer(file)
    return TokenModel(str(file), digest, max(ids.values()) + 1, slow)


def _file_of(place: pathlib.Path) -> pathlib.Path:
    if place.is_file():
        if place.suffix != ".json":
            raise InputError(f"{place} is no tokenizer.json; give that file, or the folder of one size of a ladder")
        return place
    if place.is_dir() and (place / TOKENIZER_FILE).exists():
        return place / TOKENIZER_FILE
    raise _no_size(str(place.absolute()), str(place))


def _object_of(url: str) -> str:
    """Return the URL of the ``tokenizer.json`` that `url` names."""
    if url.endswith(".json"):
        return url
    reach(url)
    if Folder(url).exists(TOKENIZER_FILE):
        return f"{url.rstrip('/')}/{TOKENIZER_FILE}"
    raise _no_size(url, url)


def _no_size(place: str, shown: str) -> InputError:
    """Return the error of a folder that holds no tokenizer: with the sizes of the ladder that it belongs to, if any."""
    for ladder, name in ((place, shown), (place.rstrip("/").rpartition("/")[0], shown.rstrip("/").rpartition("/")[0])):
        if Folder(ladder).exists(LADDER_FILE):
            sizes = ", ".join(map(str, Folder(ladder).get_json(LADDER_FILE)["vocab_sizes"]))
            return InputError(
                f"{shown} names no size of the ladder; its sizes are {sizes}: give {f'{name}/' if name else ''}SIZE"
            )
    return InputError(f"{shown} holds no {TOKENIZER_FILE}; give that file, or a size of a ladder as LADDER/SIZE")


def _ids(content: dict[str, Any]) -> dict[str, int]:
    """Return the id of every token, added ones too."""
    vocab = content["model"]["vocab"]
    if isinstance(vocab, list):  # Unigram: pairs of token and score
        vocab = {token: number for number, (token, _) in enumerate(vocab)}
    return {**vocab, **{token["content"]: token["id"] for token in content.get("added_tokens") or ()}}


class _Beyond(Exception):
    """A tokenizer that the kernels do not cover, and why."""


@lru_cache(maxsize=2)
def _ladder_in(path: str, digest: str) -> tuple[Ladder, np.ndarray]:
    """Return `_as_ladder` of file `path`, whose content is told by `digest`."""
    return _as_ladder(json.loads(pathlib.Path(path).read_bytes()))


def _as_ladder(content: dict[str, Any]) -> tuple[Ladder, np.ndarray]:
    """Return a tokenizer as a ladder of one size, and the id of each of its bytes and merges. Raises `_Beyond`."""
    model = content["model"]
    if model.get("type") != "BPE":
        raise _Beyond(f"its model is {model.get('type')}, not BPE")
    if content.get("normalizer"):
        raise _Beyond(f"it has a normalizer ({content['normalizer'].get('type')})")
    for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"):
        if model.get(key):
            raise _Beyond(f"its BPE has {key}")
    if not all(token["special"] for token in content.get("added_tokens") or ()):
        raise _Beyond("it has added tokens that are no special tokens")
    pattern = pattern_of(_pattern_in(content.get("pre_tokenizer") or {}))
    vocab = model["vocab"]
    number = {to_chars(bytes([byte])): k for k, byte in enumerate(BYTES_BY_ID)}
    if not number.keys() <= vocab.keys():
        raise _Beyond("it lacks tokens of single bytes")
    merges = []
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left not in number or right not in number or left + right in number:
            raise _Beyond(f"merge {left!r} {right!r} makes a token twice, or of parts that no merge makes")
        merges.append((number[left], number[right]))
        number[left + right] = len(number)
    ladder = Ladder(pattern, np.array(merges, np.int32).reshape(-1, 2), (len(number),))
    return ladder, np.array([vocab[name] for name in number], np.int32)


def _pattern_in(step: dict[str, Any]) -> str:
    """Return the pattern by which a byte-level pretokenizer cuts text."""
    if step.get("type") == "ByteLevel" and not step.get("add_prefix_space") and step.get("use_regex", True):
        return "gpt2"
    steps = step.get("pretokenizers", [])
    if [s.get("type") for s in steps] == ["Split", "ByteLevel"]:
        split, level = steps
        plain = not level.get("add_prefix_space") and not level.get("use_regex", True) and not split.get("invert")
        regex = split.get("pattern", {}).get("Regex")
        if plain and regex and split.get("behavior") == "Isolated":
            try:
                pattern_of(regex)
            except UserError as error:
                raise _Beyond(str(error)) from error
            return str(regex)
    raise _Beyond(f"its pretokenizer is {step.get('type', 'missing')} of another form than byte-level")


@lru_cache(maxsize=2)
def _encoder(model: TokenModel) -> Encode:
    if model.slow_because:
        return _by_library(model.path)
    ladder, ids = _ladder_in(model.path, model.digest)
    return Encoder(ladder, id_of=ids).encode


def _by_library(path: str) -> Encode:
    tokenizer = json_tokenizer(pathlib.Path(path))

    def encode(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        strings = [texts.bytes_of(k).decode() for k in range(len(texts))]
        found = tokenizer.encode_batch_fast(strings, add_special_tokens=False)
        bounds = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(encoding) for encoding in found], out=bounds[1:])
        ids = [np.array(encoding.ids, np.int32) for encoding in found]
        return np.concatenate([np.zeros(0, np.int32), *ids]), bounds

    return encode
