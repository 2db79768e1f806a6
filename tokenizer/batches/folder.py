"""A folder of token shards opened: parts, the tokens and documents in them, and where each document came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError, UserError
from pipeline.storage import Folder
from tokenizer.shards.assemble import DOCUMENTS
from tokenizer.shards.formats import read_megatron_index
from tokenizer.shards.manifest import Manifest, ShardFile, read_manifest

COLUMNS = ("id", "url", "source", "language", "file", "offset")


@dataclass(frozen=True)
class ShardPart:
    """One payload of a folder of shards. What it holds is read when it is asked for."""

    folder: Folder
    file: ShardFile
    dtype: str

    @property
    def lengths(self) -> np.ndarray:
        """int32: tokens of each document."""
        return _lengths(self)

    @property
    def ends(self) -> np.ndarray:
        """int64: where each document ends, in tokens of the part."""
        return _ends(self)

    def tokens(self, starts: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
        """Return `counts` tokens from `starts` of the part on, for each."""
        size = np.dtype(self.dtype).itemsize
        ranges = [(int(s) * size, int(n) * size) for s, n in zip(starts, counts, strict=True)]
        return [np.frombuffer(data, self.dtype) for data in self.folder.get_ranges(self.file.name, ranges)]

    def rows(self, documents: np.ndarray, columns: Sequence[str] = COLUMNS) -> pa.Table:
        """Return `columns` of the table of documents for each of `documents` (int64, any order)."""
        order = np.argsort(documents, kind="stable")
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return _rows(self, documents[order], list(columns)).take(pa.array(back))


@lru_cache(maxsize=16)
def _lengths(part: ShardPart) -> np.ndarray:
    dtype, lengths = read_megatron_index(part.folder, f"{part.file.stem}.idx")
    if dtype != part.dtype or len(lengths) != part.file.documents:
        raise InputError(
            f"{part.folder.url}/{part.file.stem}.idx is not what the manifest says; delete the folder and make it again"
        )
    return lengths


@lru_cache(maxsize=16)
def _ends(part: ShardPart) -> np.ndarray:
    return np.cumsum(part.lengths, dtype=np.int64)


def _rows(part: ShardPart, documents: np.ndarray, columns: list[str]) -> pa.Table:
    with part.folder.parquet(f"{part.file.stem}{DOCUMENTS}") as file:
        sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        groups = np.searchsorted(starts, documents, side="right") - 1
        tables = []
        for group in np.unique(groups).tolist():
            wanted = documents[groups == group] - starts[group]
            tables.append(_group(file, group, columns).take(pa.array(wanted)))
    return pa.concat_tables(tables) if tables else pa.table({name: pa.array([], pa.large_string()) for name in columns})


def _group(file: pq.ParquetFile, group: int, columns: list[str]) -> pa.Table:
    return file.read_row_group(group, columns=columns)


@dataclass(frozen=True)
class ShardFolder:
    """A folder of token shards."""

    folder: Folder
    manifest: Manifest

    @cached_property
    def parts(self) -> list[ShardPart]:
        """The payloads in their order."""
        return [ShardPart(self.folder, file, self.manifest.dtype) for file in self.manifest.files]

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer that the tokens are of, from the copy beside them."""
        from tokenizers import Tokenizer

        return Tokenizer.from_buffer(self.folder.get(self.manifest.tokenizer["file"]))


def open_shards(folders: Sequence[Folder]) -> list[ShardFolder]:
    """Return the shards in `folders`, whole and of one tokenizer.

    Raises:
        InputError: no shards, or a part is missing or cut off.
        UserError: they are of two tokenizers.
    """
    opened = [ShardFolder(folder, read_manifest(folder)) for folder in folders]
    for shards in opened:
        for part in shards.parts:
            for name in (part.file.name, f"{part.file.stem}.idx", f"{part.file.stem}{DOCUMENTS}"):
                if not part.folder.exists(name):
                    raise InputError(f"{part.folder.url}/{name} is missing; copy it back, or make the shards again")
            size, wanted = part.folder.size(part.file.name), np.dtype(part.dtype).itemsize * part.file.tokens
            if size != wanted:
                raise InputError(
                    f"{part.folder.url}/{part.file.name} has {size:,} bytes and not the {wanted:,} of its "
                    f"{part.file.tokens:,} tokens; copy it again, or make the shards again"
                )
        if shards.manifest.tokenizer["sha256"] != opened[0].manifest.tokenizer["sha256"]:
            raise UserError(
                f"{shards.folder.url} is of another tokenizer than {opened[0].folder.url}; encode both by the same one"
            )
    return opened
