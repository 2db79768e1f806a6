"""``manifest.json`` of a folder of token shards: what the files are and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from pipeline.errors import InputError, UserError
from pipeline.storage import Folder

MANIFEST = "manifest.json"
DATA_PATH = "data_path.txt"
HELD_OUT = "held_out"


@dataclass(frozen=True)
class ShardFile:
    """One payload: tokens one behind the other."""

    name: str
    tokens: int
    documents: int
    sha256: str

    @property
    def stem(self) -> str:
        """The name without its ending: Megatron's path prefix below the folder."""
        return self.name.removesuffix(".bin")


@dataclass
class SourceParts:
    """The parts of one source.

    Attributes:
        folder: where they lie.
        tokens, documents: of the parts that train.
        epochs: how often a training reads them.
        weight: their share of the tokens that a training reads: tokens times epochs, of all.
    """

    folder: str
    tokens: int = 0
    documents: int = 0
    epochs: float = 1.0
    weight: float = 0.0


@dataclass
class Manifest:
    """Content of ``manifest.json``, written last.

    Attributes:
        tokens: of all `files`, those around documents included.
        vocab_size: one more than the largest id.
        eod: id of the token behind every document; None: none.
        held_out: payloads kept apart, not in `tokens` and `documents`.
        tokenizer: copy of its file, SHA-256 of that, and what encoded.
        text_tokens: tokens of the texts alone, of `files` and `held_out`: the token budget's total.
        empty: documents without a token, which are in no file.
        unreadable: records of the inputs that could not be read.
        lengths: shortest and longest document in tokens, and how many have 2^(k-1) to 2^k - 1 tokens, by k.
        others: SHA-256 of every other file.
        sources: the parts of each source, where they were made by source.
        identity: stands for inputs and options.
    """

    tokens: int
    documents: int
    vocab_size: int
    dtype: str
    eod: int | None
    files: list[ShardFile]
    held_out: list[ShardFile] = field(default_factory=list)
    bos: int | None = None
    eod_token: str | None = None
    bos_token: str | None = None
    tokenizer: dict[str, str] = field(default_factory=dict)
    order: str = "inputs"
    text_tokens: int = 0
    empty: int = 0
    unreadable: int = 0
    lengths: dict[str, Any] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    identity: str = ""
    sources: dict[str, SourceParts] = field(default_factory=dict)

    def set_epochs(self, epochs: Mapping[str, float]) -> None:
        """Say how often each source is read; 1 where `epochs` does not. Raises UserError for what cannot be."""
        for name, number in epochs.items():
            if name not in self.sources:
                raise UserError(f"--epochs: there is no source {name!r}; there are {', '.join(self.sources)}")
            if not 0 < number < float("inf"):
                raise UserError(f"--epochs: {name} = {number} must be above 0")
        for name, source in self.sources.items():
            source.epochs = float(epochs.get(name, 1.0))
        read = sum(source.tokens * source.epochs for source in self.sources.values())
        for source in self.sources.values():
            source.weight = round(source.tokens * source.epochs / read, 9)

    def is_repeated(self) -> bool:
        """Return whether a training reads a source another number of times than once."""
        return any(source.epochs != 1 for source in self.sources.values())

    def weights(self) -> list[float]:
        """Return the tokens that a training reads of each file: its tokens, times the epochs of its source."""
        epochs = {source.folder: source.epochs for source in self.sources.values()}
        return [file.tokens * epochs.get(file.name.rpartition("/")[0], 1.0) for file in self.files]

    def data_path(self, place: str) -> list[tuple[str, str]]:
        """Return weight and prefix of each file for Megatron's ``--data-path``, the shards lying at `place`."""
        told = [f"{weight:.0f}" if weight == int(weight) else repr(weight) for weight in self.weights()]
        return [(weight, f"{place.rstrip('/')}/{file.stem}") for weight, file in zip(told, self.files, strict=True)]

    def names(self) -> list[str]:
        """Return the names of all files but the manifest."""
        return [*(file.name for file in [*self.files, *self.held_out]), *self.others, self.tokenizer["file"], DATA_PATH]

    def is_whole(self, folder: Folder) -> bool:
        """Return whether every file is there, payloads with the size that their tokens take."""
        size = 2 if self.dtype == "uint16" else 4
        payloads = [*self.files, *self.held_out]
        return all(folder.exists(name) for name in self.names()) and all(
            folder.size(file.name) == size * file.tokens for file in payloads
        )

    def save(self, folder: Folder) -> None:
        """Write ``data_path.txt``, as ``--data-args-path`` of Megatron takes it, and last ``manifest.json``."""
        paths = self.data_path(folder.url)
        lines = [" ".join(pair) for pair in paths] if len(paths) > 1 else [paths[0][1]]
        folder.put(DATA_PATH, "".join(f"{line}\n" for line in lines).encode())
        folder.put_json(MANIFEST, asdict(self))


def read_manifest(folder: Folder) -> Manifest:
    """Return the manifest of the shards in `folder`. Raises InputError where there are none."""
    if not folder.exists(MANIFEST):
        raise InputError(
            f"{folder.url} holds no finished token shards (no {MANIFEST}); give the --out of `tokenmill tokens`"
        )
    try:
        return msgspec.json.decode(folder.get(MANIFEST), type=Manifest)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{folder.url}/{MANIFEST} is no manifest of token shards ({error})") from error
