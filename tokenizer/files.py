"""Files of documents for training and counting outside a run: Parquet, JSON lines, WET, or plain text."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import InputError, UserError
from pipeline.paths import PathFault, find_files
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
from pipeline.storage import Folder, expand, is_pattern, open_input, reach

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


def find_inputs(paths: Sequence[str | pathlib.Path], text_column: str = "text", documents: str = "file") -> list[Piece]:
    """Return the pieces of all files that `paths` (files, folders, globs, URLs) name, in order, each once.

    Args:
        documents: of text files: what in them is a document, ``file``, ``line`` or ``paragraph``.
    Raises:
        UserError: a path matches nothing, or a file holds no text.
    """
    files = list(dict.fromkeys(file for path in paths for file in files_named(str(path))))
    if not files:
        raise UserError("paths: no files given; name at least one Parquet, JSONL or text file")
    pieces: list[Piece] = []
    for path in files:
        file = file_at(path, text_column, documents)
        if path.endswith(".txt") and documents == "file":
            pieces.append(Piece(Split(file, _TEXT, 0, 0)))
            continue
        if "text" not in provides(file):
            raise InputError(f"{path} holds pages, not text; run `tokenmill run` with an extract stage first")
        carried_fields(file)
        pieces += [Piece(split) for split in plan_splits(file, SPLIT_BYTES)]
    return pieces


def file_at(path: str, text_column: str = "text", documents: str = "file") -> InputFile:
    """Return the file at `path` as a command was told of it."""
    columns = () if text_column == "text" else (("text", text_column),)
    return InputFile(path, pathlib.PurePath(path).name, None, columns, documents, "--text-column")


def files_named(path: str) -> list[str]:
    """Return the files that `path` (a file, a folder, a pattern or a URL) means, as absolute paths. Raises UserError for none."""
    if "://" in path:
        return _in_store(path)
    try:
        return find_files(path, pathlib.Path.cwd()).files
    except PathFault as fault:
        raise UserError(f"paths: {fault}") from fault


def _in_store(url: str) -> list[str]:
    """Return the objects that `url` (an object, a folder, a pattern, a list of paths) names."""
    folder, _, name = url.rstrip("/").rpartition("/")
    if is_pattern(url) or url.startswith(("http://", "https://")) or Folder(folder).exists(name):
        return expand([url])
    reach(url)
    found = [n for n in Folder(url).names() if not n.rsplit("/", 1)[-1].startswith((".", "_"))]
    if not found:
        raise UserError(f"paths: {url} is no object, and no folder that holds any; mend the path")
    return [f"{url.rstrip('/')}/{n}" for n in found]


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
