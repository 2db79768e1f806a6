"""Tokenizers of others, for counting: a `tokenizer.json` or a tiktoken rank file, each by its own library."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.documents import clean_text
from pipeline.errors import InputError, UserError
from pipeline.storage import Folder, local_copy
from tokenizer.counting.counter import count_tokens
from tokenizer.ladder.ladder import LADDER_FILE, Ladder
from tokenizer.pretokens.patterns import is_name, pattern_of


@dataclass(frozen=True)
class TokenCounter:
    """Anything that counts tokens.

    Attributes:
        name: of the columns: one per vocabulary size of a ladder, else the name of the file or its folder.
        kind: what it is, for people.
        columns: names of the counts.
        count: texts -> int64, shape (texts, columns).
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    count: Callable[[list[str]], np.ndarray]

    def renamed(self, name: str) -> TokenCounter:
        """Return the same counter under another name, which begins the names of its columns."""
        several = len(self.columns) > 1
        columns = [f"tokens_{name}" + (column.removeprefix("tokens") if several else "") for column in self.columns]
        return replace(self, name=name, columns=tuple(columns))


def load_counter(path: str, pattern: str | None = None) -> TokenCounter:
    """Return the tokenizer at `path`: a ladder's folder, a `tokenizer.json` (or its folder), or a tiktoken rank file.

    Args:
        pattern: how a tiktoken rank file wants text cut; found in ``tiktoken.json`` beside it, if None.
    Raises:
        UserError: nothing that counts tokens.
    """
    if "://" in path:
        folder = Folder(path.rstrip("/"))
        if not path.endswith(".json") and folder.exists(LADDER_FILE):
            return ladder_counter(Ladder.load(folder))
        file = pathlib.PurePath(path if "." in path.rsplit("/", 1)[-1] else f"{folder.url}/tokenizer.json")
        copy = local_copy(path if path.endswith(file.name) else f"{folder.url}/{file.name}")
        counter = _of_json(copy) if file.suffix == ".json" else _of_ranks(copy, pattern)
        return counter.renamed(file.parent.name if file.name == "tokenizer.json" else file.stem)
    place = pathlib.Path(path)
    if place.is_dir():
        if (place / LADDER_FILE).exists():
            return ladder_counter(Ladder.load(Folder(str(place.resolve()))))
        place = place / "tokenizer.json"
    if not place.is_file():
        raise InputError(f"{place} does not exist; name a ladder's folder, a tokenizer.json or a tiktoken rank file")
    if place.suffix == ".json":
        return _of_json(place)
    return _of_ranks(place, pattern)


def ladder_counter(ladder: Ladder) -> TokenCounter:
    """Return the counter of all sizes of `ladder` at once."""
    columns = tuple(f"tokens_{size}" for size in ladder.vocab_sizes)
    return TokenCounter("ladder", "ladder", columns, lambda texts: count_tokens(texts, ladder))


def is_byte_level_bpe(model: dict[str, Any]) -> bool:
    """Return whether the content of a `tokenizer.json` is a byte-level BPE tokenizer, as ours are."""
    steps = [model.get("pre_tokenizer") or {}]
    steps += steps[0].get("pretokenizers", [])
    return (model.get("model") or {}).get("type") == "BPE" and any(step.get("type") == "ByteLevel" for step in steps)


def json_tokenizer(place: pathlib.Path) -> Any:
    """Return the `tokenizers.Tokenizer` in a ``tokenizer.json``: a special token's name in a text is text, nothing is cut
    off or filled up. Raises InputError where it is none."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(place))
    except Exception as error:  # a bare Exception
        raise InputError(f"{place} is no tokenizer.json ({' '.join(str(error).split())[:200]})") from error
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _of_json(place: pathlib.Path) -> TokenCounter:
    tokenizer = json_tokenizer(place)
    content = json.loads(place.read_bytes())
    model = content["model"].get("type")
    kind = "byte-level BPE" if is_byte_level_bpe(content) else f"{model}, not byte-level BPE: counted by its library"

    def count(texts: list[str]) -> np.ndarray:
        encoded = tokenizer.encode_batch_fast([clean_text(text) for text in texts], add_special_tokens=False)
        return np.array([len(encoding) for encoding in encoded], np.int64).reshape(-1, 1)

    name = place.parent.name if place.name == "tokenizer.json" else place.stem
    return TokenCounter(name, kind, (f"tokens_{name}",), count)


def _of_ranks(place: pathlib.Path, pattern: str | None) -> TokenCounter:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    settings = place.with_name("tiktoken.json")
    if pattern is None and settings.exists():
        pattern = json.loads(settings.read_bytes())["pat_str"]
    if pattern is None:
        raise UserError(f"{place}: a rank file does not say how text is cut; give --pattern (gpt2, cl100k, o200k, …)")
    try:
        ranks = load_tiktoken_bpe(str(place))
        regex = pattern_of(pattern).regex if is_name(pattern) else pattern  # read by tiktoken alone
        encoding = tiktoken.Encoding(place.stem, pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    except (ValueError, AssertionError) as error:
        raise InputError(f"{place} is no tiktoken rank file ({' '.join(str(error).split())[:200]})") from error

    def count(texts: list[str]) -> np.ndarray:
        return np.array([[_tokens(encoding, text)] for text in texts], np.int64).reshape(-1, 1)

    return TokenCounter(place.stem, "tiktoken", (f"tokens_{place.stem}",), count)


def _tokens(encoding: Any, text: str) -> int:
    try:
        return len(encoding.encode_ordinary(clean_text(text)))
    except BaseException as error:  # tiktoken panics on about a million spaces in a row, with no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise UserError(
            f"tiktoken gives up on a text of {len(text):,} characters (a very long run of spaces?); "
            "count with the tokenizer.json of the same tokenizer instead"
        ) from error
