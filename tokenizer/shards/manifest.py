"""``manifest.json`` of a folder of token shards: what the files are and how they came about."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from pipeline.errors import InputError
from pipeline.storage import Folder

MANIFEST = "manifest.json"
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

    def names(self) -> list[str]:
        """Return the names of all files but the manifest."""
        return [*(file.name for file in [*self.files, *self.held_out]), *self.others, self.tokenizer["file"]]

    def is_whole(self, folder: Folder) -> bool:
        """Return whether every file is there, payloads with the size that their tokens take."""
        size = 2 if self.dtype == "uint16" else 4
        payloads = [*self.files, *self.held_out]
        return all(folder.exists(name) for name in self.names()) and all(
            folder.size(file.name) == size * file.tokens for file in payloads
        )

    def save(self, folder: Folder) -> None:
        """Write ``manifest.json``."""
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
