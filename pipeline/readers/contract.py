"""What the engine and the readers say to each other: files, the pieces they are cut into, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import pyarrow as pa

from pipeline.documents import Batch

DEFAULT_SOURCE = "default"
"""The label of documents for which neither the recipe nor the file names a source."""


DOCUMENTS = ("file", "line", "paragraph")
"""What can be a document of a text file; paragraphs are what blank lines separate."""


@dataclass(frozen=True)
class InputFile:
    """One input file.

    Attributes:
        path: absolute path, or a URL of an object store.
        name: relative to the recipe; shown to people and stored in column `file`.
        source: label of its documents; None lets a `source` column of the file speak, else `DEFAULT_SOURCE`.
        columns: our name -> theirs, such as ``(("text", "content"), ("id", "doc_id"))``.
        documents: of a text file: what in it is a document, one of `DOCUMENTS`.
        option: the option of a command that names the column of the text, where no recipe does.
    """

    path: str
    name: str
    source: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    documents: str = "file"
    option: str = ""

    def theirs(self, ours: str) -> str | None:
        """Return what the recipe says the file calls our column `ours`, or None where it says nothing."""
        return dict(self.columns).get(ours)


@dataclass(frozen=True)
class Split:
    """A piece of an input file: bytes `start` to `end`, or row groups `start` to `end` of a Parquet file.

    Attributes:
        until: number of the first document of the piece that is not read any more; None reads all.
        size: about its bytes as stored.
        more: whole small files that are read behind it, as one piece with it.
    """

    file: InputFile
    format: str
    start: int
    end: int
    until: int | None = None
    size: int = 0
    more: tuple[Split, ...] = ()

    @property
    def pieces(self) -> tuple[Split, ...]:
        """This piece, and those read behind it."""
        return (self, *self.more)


@dataclass(slots=True)
class Fault:
    """A record that was met and could not be read.

    Attributes:
        number: its number in the split.
        offset: where it lies in the file, as in column `offset`.
        rule: ``damaged_record``, ``damaged_region``, ``cut_file``, ``incomplete_record``, ``record_too_large``, ``bad_content_encoding``,
            ``bad_json``, ``not_an_object``, ``bad_encoding``, ``no_text``, ``damaged_row_group``, or the rule that a
            skipped document was given.
        detail: what is wrong, for people.
        text: the record, where it is a line of text.
    """

    number: int
    offset: int
    rule: str
    detail: str
    id: str | None = None
    url: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Ignored:
    """How many records were no documents, and why: requests, metadata, images, answers other than 2xx."""

    reason: str
    count: int


@dataclass(frozen=True)
class Mark:
    """Everything before document `number` of the split has been delivered: what is read from here on can be a new shard,
    and reading can go on from here after a crash."""

    number: int


Item = Batch | Fault | Ignored | Mark
"""What a reader yields."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a split. What is known of records that kill may grow while the split is read.

    Attributes:
        schema: columns of the batches, which conform exactly.
        batch_bytes: documents are handed on once they have this many bytes.
        skip: number of a document that killed a worker before -> (rule, detail) of the fault to answer for it.
        number: of the first document.
        max_record_bytes: a record or line larger than this after decompression is a fault.
        doubts: numbers of the first rows of batches that have killed a worker: these are read row by row.
        stops: numbers of documents at which reading killed a worker again though they were skipped: a row group, or
            else the split, ends there.
    """

    schema: pa.Schema
    batch_bytes: int
    skip: Mapping[int, tuple[str, str]]
    max_record_bytes: int
    number: int = 0
    doubts: Set[int] = frozenset()
    stops: Set[int] = frozenset()

    @property
    def opens(self) -> bool:
        """Whether the split may be opened: nothing has died of that."""
        return self.number not in self.stops or self.number in self.doubts
