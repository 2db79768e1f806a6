"""What files hold, found by opening them and by a try-out of their first documents: what a recipe for them is written from."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import UserError
from pipeline.readers import InputFile, carried_fields, detect_format, plan_splits, provides
from pipeline.readers.arrow import open_arrow
from pipeline.readers.delimited import columns_of
from pipeline.readers.jsonl import beginning_of
from pipeline.readers.objects import likely
from pipeline.recipe import Limits, build_recipe
from pipeline.recipe_inputs import name_of
from pipeline.run.drive import execute
from pipeline.run.folder import local_folder
from pipeline.run.plan import plan_run
from pipeline.run.progress import Silent
from pipeline.storage import head_input, open_input

LOOK = 300
"""Documents of the try-out."""
HEAD = 1 << 20
"""Bytes of a text file that show whether blank lines separate its documents."""
ROWS = 20
"""Rows of a table that show which column holds the text."""


@dataclass(frozen=True)
class Kind:
    """Files that are read alike.

    Attributes:
        format: as `detect_format` says.
        columns: what the recipe must say of them.
        pages: they hold pages, not text.
        documents: what is a document of a text file, where it is not the file.
    """

    format: str
    columns: tuple[tuple[str, str], ...] = ()
    pages: bool = False
    documents: str = "file"


@dataclass
class Survey:
    """What files hold.

    Attributes:
        files: those that can be read, with what they are.
        left_out: (file, why) of those that cannot.
    """

    files: list[tuple[InputFile, Kind]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    @property
    def has_pages(self) -> bool:
        """Whether any file holds pages, not text."""
        return any(kind.pages for _, kind in self.files)

    @property
    def inputs(self) -> list[InputFile]:
        """The files that can be read."""
        return [file for file, _ in self.files]


def survey(paths: Sequence[str], folder: pathlib.Path) -> Survey:
    """Return what the files at absolute `paths` are, their names relative to `folder`."""
    found = Survey()
    taken: dict[str, tuple[pa.DataType, str]] = {}
    for path in paths:
        name = name_of(path, folder)
        try:
            file, kind = _looked_at(InputFile(path, name))
            _agrees(file, taken)
        except UserError as error:
            found.left_out.append((name, str(error).removeprefix(name).lstrip(": ")))
            continue
        if kind.format == "empty":
            found.left_out.append((name, "is empty"))
        else:
            found.files.append((file, kind))
    return found


def _looked_at(file: InputFile) -> tuple[InputFile, Kind]:
    """Return `file` with the columns that it needs, and what it is. Raises UserError where it cannot be read."""
    format = detect_format(file)
    if format == "empty":
        return file, Kind(format)
    try:
        given = provides(file)
    except UserError:
        if format.partition(".")[0] == "tar":
            raise
        records = _records(file, format)
        found = likely(records)
        if found is None or found[0] == found[1]:
            raise
        if found[0] == "html" and not any("<" in str(record.get(found[1], "<")) for record in records):
            found = ("text", found[1])  # called a page, but no markup
        file = InputFile(file.path, file.name, file.source, (found,))
        given = provides(file)
    if format == "txt" and head_input(file.path).size > Limits().record_bytes:
        file = dataclasses.replace(file, documents=_documents_of(file))
    plan_splits(file, 1 << 40)
    return file, Kind(format, file.columns, "raw" in given, file.documents)


def _documents_of(file: InputFile) -> str:
    """Return what is a document of a text file that is too large to be one: a paragraph, where blank lines are at its start."""
    with open_input(file.path) as source:
        return "paragraph" if re.search(rb"\n[ \t\r]*\n", source.read(HEAD)) else "line"


def _records(file: InputFile, format: str) -> list[Mapping[str, Any]]:
    """Return the first records of a file of named values."""
    base, _, packing = format.partition(".")
    if base in ("jsonl", "json"):
        return list(beginning_of(file, base, packing).objects)
    if base in ("csv", "tsv"):
        return list(columns_of(file, base, packing)[1])
    try:
        with open_input(file.path) as source:
            if base == "parquet":
                batch = next(pq.ParquetFile(source).iter_batches(ROWS), None)
            else:
                opened = open_arrow(file, base, source)
                batch = opened.get_batch(0) if base == "arrow" else opened.read_next_batch()
            return batch.slice(0, ROWS).to_pylist() if batch is not None else []
    except (pa.ArrowException, OSError, ValueError, StopIteration) as error:
        raise UserError(f"{file.name}: cannot be read ({' '.join(str(error).split())[:120]})") from error


def _agrees(file: InputFile, taken: dict[str, tuple[pa.DataType, str]]) -> None:
    """Raise UserError where a column of `file` has another type than that of a file before."""
    for column in carried_fields(file):
        known = taken.get(column.name)
        if known is not None and known[0] != column.type:
            schemas = [pa.schema([pa.field("x", kind)]) for kind in (known[0], column.type)]
            try:
                pa.unify_schemas(schemas, promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise UserError(
                    f"{file.name}: its column {column.name!r} is {column.type}, that of {known[1]} {known[0]}: a run of its own"
                ) from error
    for column in carried_fields(file):
        taken.setdefault(column.name, (column.type, file.name))


@dataclass(frozen=True)
class Tried:
    """How the first documents went through a recipe.

    Attributes:
        read, kept, failed: documents.
        bytes_kept: of the text of those kept.
        languages: kept documents by language, most first.
        dropped: by stage.
    """

    read: int
    kept: int
    failed: int
    bytes_in: int
    bytes_kept: int
    languages: dict[str, int]
    dropped: dict[str, int]


class TryOut:
    """Runs recipes on the first documents of some files, in a folder that goes away at the end."""

    def __init__(self, inputs: Sequence[InputFile], workers: int):
        self._inputs, self._workers = inputs, workers

    def __enter__(self) -> TryOut:
        self._folder = tempfile.TemporaryDirectory(prefix="tokenmill-init-")
        return self

    def __exit__(self, *_: Any) -> None:
        self._folder.cleanup()

    def run(self, stages: Sequence[Mapping[str, Any]]) -> Tried:
        """Return how the first `LOOK` documents go through `stages`, as a recipe has them; passes are made once."""
        place = pathlib.Path(self._folder.name)
        paths = [
            {"path": typed(file.path), "columns": dict(file.columns), "documents": file.documents}
            for file in self._inputs
        ]
        table = {
            "name": "try", "input": {"paths": paths, "limit": LOOK}, "stage": [dict(s) for s in stages],
            "limits": {"failed_share": 1.0},
        }  # fmt: skip
        recipe = build_recipe(table, place)
        done = execute(plan_run(recipe), local_folder(place / "run"), workers=self._workers, progress=Silent())
        languages: Counter[str] = Counter()
        for batch in _batches(place / "run" / "data"):
            if "language" in batch.schema.names:
                languages.update(batch.column("language").to_pylist())
        summary = done.summary
        dropped = {stage: sum(rules.values()) for stage, rules in summary.dropped.items()}
        return Tried(
            summary.read, summary.kept, summary.failed, summary.bytes_in, summary.bytes_out,
            dict(languages.most_common()), dropped,
        )  # fmt: skip


def typed(path: str) -> str:
    """Return `path` as TOML can hold it: a byte that is no UTF-8 becomes ``?``, which matches it."""
    return re.sub("[\udc80-\udcff]", "?", path)


def _batches(folder: pathlib.Path) -> Iterator[pa.RecordBatch]:
    for file in sorted(folder.glob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches(columns=["language"])
