"""Files of documents for training and counting outside a run: Parquet, JSON lines, WET, or plain text."""

from __future__ import annotations

import glob
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import InputError, UserError
from pipeline.readers import (
    Fault,
    InputFile,
    ReadOptions,
    Split,
    carried_fields,
    plan_splits,
    provides,
    read_split,
)
from pipeline.readers.contract import DEFAULT_SOURCE
from pipeline.readers.encodings import decode
from pipeline.readers.packed import wide_of
from pipeline.storage import below, open_input

SPLIT_BYTES = 64 << 20
BATCH_BYTES = 8 << 20
RECORD_BYTES = 1 << 30
_LOOKED_AT = 1 << 14  # bytes of a text file by which its encoding is told

_TEXT = "text"  # format of plain text files: a document each
COLUMNS = tuple(pa.field(name, pa.large_string()) for name in ("id", "source", "language", "text"))


@dataclass(frozen=True)
class Piece:
    """A part of the inputs that one worker reads: a split of a file, or a whole file of plain text."""

    split: Split

    def read(self, number: int = 0, columns: Sequence[pa.Field] = COLUMNS) -> Iterator[Batch | int]:
        """Yield batches of `columns` (shard `number`), and 1 for every unreadable record."""
        schema = pa.schema(columns)
        if self.split.format == _TEXT:
            yield _whole_file(self.split.file, number, schema)
            return
        options = ReadOptions(schema, BATCH_BYTES, {}, RECORD_BYTES)
        for item in read_split(self.split, options):
            if isinstance(item, Batch):
                item.shard = number
                yield item
            elif isinstance(item, Fault):
                yield 1


def find_inputs(paths: Sequence[str | pathlib.Path], text_column: str = "text") -> list[Piece]:
    """Return the pieces of all files that `paths` (files, folders, globs, URLs) name, in order, each once.

    Raises:
        UserError: a path matches nothing, or a file holds no text.
    """
    files = list(dict.fromkeys(file for path in paths for file in files_named(str(path))))
    if not files:
        raise UserError("paths: no files given; name at least one Parquet, JSONL or text file")
    columns = () if text_column == "text" else (("text", text_column),)
    pieces: list[Piece] = []
    for path in files:
        file = InputFile(path, pathlib.PurePath(path).name, None, columns)
        if path.endswith(".txt"):
            pieces.append(Piece(Split(file, _TEXT, 0, 0)))
            continue
        if "text" not in provides(file):
            raise InputError(f"{path} holds pages, not text; run `tokenmill run` with an extract stage first")
        carried_fields(file)
        pieces += [Piece(split) for split in plan_splits(file, SPLIT_BYTES)]
    return pieces


def files_named(path: str) -> list[str]:
    """Return the files that `path` (a file, a folder or a glob, here or in a bucket) names, as absolute paths or URLs. Raises
    UserError for none."""
    if "://" in path:
        return below(path)
    place = pathlib.Path(path)
    if place.is_dir():
        found = [str(p) for p in sorted(place.rglob("*")) if p.is_file() and not p.name.startswith((".", "_"))]
    elif place.is_file():  # whatever a glob would read into its name
        found = [path]
    else:
        found = sorted(p for p in glob.glob(path, recursive=True) if pathlib.Path(p).is_file())
    if not found:
        raise UserError(f"paths: {path} matches no file; mend the path")
    return [str(pathlib.Path(p).resolve()) for p in found]


def _whole_file(file: InputFile, number: int, schema: pa.Schema) -> Batch:
    with open_input(file.path) as source:
        text = decoded(source.read())
    known = {"id": file.name, "source": DEFAULT_SOURCE, "text": text, "file": file.name, "offset": 0}
    row = {name: [known.get(name)] for name in schema.names}
    return Batch(pa.RecordBatch.from_pydict(row, schema), shard=number)


def decoded(data: bytes) -> str:
    """Return the text of a file: by its byte order mark, which is no part of the text; without one as UTF-16 or UTF-32
    where it is that by every sign, else as UTF-8. What is ill-formed becomes U+FFFD, as everywhere."""
    return decode(data, wide_of(data[:_LOOKED_AT]) or "utf-8").removeprefix("\ufeff")
