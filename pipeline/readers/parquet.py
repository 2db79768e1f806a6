"""Documents out of Parquet files, row group by row group.

Texts may be string, large_string, string_view, binary holding UTF-8, a dictionary of one of them, or lists of paragraphs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.documents import Batch
from pipeline.guard import guard
from pipeline.readers.columns import as_carried, as_labels, as_texts, cast, column_at, decoded
from pipeline.readers.contract import DEFAULT_SOURCE, Fault, Item, Mark, ReadOptions, Split
from pipeline.readers.footers import open_parquet
from pipeline.readers.layout import Layout, Place, layout_of
from pipeline.storage import open_input

PAGE_TYPE = "text/html; charset=utf-8"
"""The content type of pages that a file holds as text."""

MOST_MISSING = 1 << 16
"""Rows of one row group that fail one by one where they cannot be read; a damaged footer may claim any number."""
BOMB = 500
"""Compression beyond this is none of texts."""
MOST_EXPANDED = 1 << 30
"""What a row group may expand to, however little is stored of it: a dictionary of one value repeats for a few bytes."""


@dataclass
class ParquetReader:
    """Reads the row groups of one split: `read` yields their documents and faults."""

    split: Split
    options: ReadOptions
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield batches and faults, in the order of the rows."""
        with open_input(self.split.file.path) as source:
            file = open_parquet(self.split.file, source)
            first = sum(max(0, file.metadata.row_group(g).num_rows) for g in range(self.split.start))
            for group in range(self.split.start, self.split.end):
                yield from self._group(file, group, first)
                first += max(0, file.metadata.row_group(group).num_rows)

    @cached_property
    def _layout(self) -> Layout:
        return self._layout_of_file()

    def _layout_of_file(self) -> Layout:
        with open_input(self.split.file.path) as source:
            return layout_of(self.split.file, open_parquet(self.split.file, source).schema_arrow)

    def _group(self, file: pq.ParquetFile, group: int, first: int) -> Iterator[Item]:
        """Yield the rows of row group `group`, whose first row is number `first` of the file."""
        about = file.metadata.row_group(group)
        found, number = _Rows(file, group, self._rows_at_once(about)), self.number
        done, rule, why = 0, "damaged_row_group", "it ends early"
        size, most = 0, max(MOST_EXPANDED, BOMB * _stored(about))
        singly = 0  # rows of a batch that has killed a worker, which are read one by one
        while done < about.num_rows:
            singly = found.size if self.number in self.options.doubts else max(0, singly - 1)
            guard.working_on(self.number, first + done, batch=not singly)
            if singly and self.number in self.options.stops:
                rule, why = self.options.skip[self.number]
                why = f"{why}, while row {first + done} was read"
                break
            try:
                data = found.next(done, 1 if singly else found.size)
            except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
                why = " ".join(str(error).split())[:200]
                break
            if data is None:
                break
            for item in (
                self._row_left_out(first + done) if self._is_left_out(singly) else self._rows(data, first + done)
            ):
                size += item.data.nbytes if isinstance(item, Batch) else 0
                yield item
            done += data.num_rows
            if size > most:
                why = f"it expands to more than {most} bytes"
                break
        self.number = number + done
        if about.num_rows < 0:
            yield self._fault(first, "damaged_row_group", f"row group {group} claims {about.num_rows} rows")
        yield from self._missing(first + done, about.num_rows - done, rule, f"row group {group} cannot be read: {why}")

    def _is_left_out(self, singly: int) -> bool:
        """Return whether the one row that was read has killed a worker, so that nothing is made of it."""
        return singly > 0 and self.number in self.options.skip

    def _row_left_out(self, row: int) -> Iterator[Item]:
        yield self._fault(row, *self.options.skip[self.number])
        yield Mark(self.number)

    def _missing(self, row: int, count: int, rule: str, why: str) -> Iterator[Item]:
        """Yield the faults of `count` rows from `row` on that the file promised and does not give."""
        for missing in range(min(count, MOST_MISSING)):
            last = missing + 1 == MOST_MISSING < count
            more = f"; {count - MOST_MISSING} more rows that it claims are not counted" if last else ""
            yield self._fault(row + missing, rule if missing == 0 else "damaged_row_group", why + more)
            yield Mark(self.number)

    def _rows_at_once(self, about: pq.RowGroupMetaData) -> int:
        """Return how many rows of a row group to read at once, so that they are about a batch.

        The sizes it states are those of its pages: where they hold a dictionary, the rows may be far larger. Where
        they expand as no text does, any row may be as large as its column.
        """
        columns = [about.column(index) for index in range(about.num_columns)]
        bombs = [
            c.total_uncompressed_size for c in columns if c.total_uncompressed_size > BOMB * c.total_compressed_size
        ]
        if any(size > self.options.batch_bytes // 256 for size in bombs):
            return max(1, int(self.options.batch_bytes // max(bombs)))
        most = 256 if any("DICTIONARY" in encoding for c in columns for encoding in c.encodings) else 4096
        per_row = max(1, about.total_byte_size // max(1, about.num_rows))
        return int(max(1, min(most, self.options.batch_bytes // per_row)))

    def _rows(self, data: pa.RecordBatch, first: int) -> Iterator[Item]:
        """Yield the faults among the rows of `data`, then the others as batches."""
        layout, rows = self._layout, data.num_rows
        columns, bad = self._columns(data)
        payload = next(iter(layout.payload))
        columns["id"] = _filled(columns.get("id"), [f"{self.split.file.name}#{first + row}" for row in range(rows)])
        if self.split.file.source is not None:
            columns["source"] = pa.array([self.split.file.source] * rows, pa.large_string())
        columns["source"] = _filled(columns.get("source"), [DEFAULT_SOURCE] * rows)
        columns["file"] = pa.array([self.split.file.name] * rows, pa.large_string())
        columns["offset"] = pa.array(np.arange(first, first + rows))
        absent = columns[payload].is_null().to_numpy(zero_copy_only=False)
        for other in list(layout.payload)[1:]:
            absent &= columns[other].is_null().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(absent).tolist():
            bad.setdefault(row, ("no_text", f"column {_name(data, layout.payload[payload])!r} is null"))
        bad.update(self._too_large(columns))
        bad.update({n - self.number: cause for n, cause in self.options.skip.items() if 0 <= n - self.number < rows})
        ids, urls = columns["id"], columns.get("url")
        number = self.number
        for row, (rule, detail) in sorted(bad.items()):
            self.number = number + row
            yield self._fault(first + row, rule, detail, ids[row].as_py(), None if urls is None else urls[row].as_py())
        self.number = number + rows
        arrays = [_conformed(columns.get(field.name), field.type, rows) for field in self.options.schema]
        whole = pa.RecordBatch.from_arrays(arrays, schema=self.options.schema)
        good = np.array([row for row in range(rows) if row not in bad], dtype=np.int64)
        if len(good) < rows:
            whole = whole.take(pa.array(good))
        for start, end in _pieces(whole, self.options.batch_bytes):
            yield Batch(whole.slice(start, end - start), numbers=number + good[start:end])
        yield Mark(number + rows)

    def _columns(self, data: pa.RecordBatch) -> tuple[dict[str, pa.Array], dict[int, tuple[str, str]]]:
        """Return our columns of `data` by name, and the rows that hold invalid UTF-8 with what is wrong."""
        layout = self._layout
        columns: dict[str, pa.Array] = {}
        bad: dict[int, tuple[str, str]] = {}
        for ours, place in layout.payload.items():
            if ours == "raw":
                columns[ours] = decoded(column_at(data, place)).cast(pa.large_binary())
                continue
            columns[ours], wrong = as_texts(column_at(data, place))
            bad.update((row, ("bad_encoding", f"column {_name(data, place)!r} is not UTF-8")) for row in wrong)
        for ours, place in layout.labels.items():
            columns[ours] = as_labels(column_at(data, place), ours)
        if layout.text_pages:
            columns["content_type"] = pa.array([PAGE_TYPE] * data.num_rows, pa.large_string())
        for name, index, kind in layout.carried:
            without = [place[1:] for place in layout.without.get(index, [])]
            columns[name], wrong = as_carried(data.column(index), kind, without)
            detail = f"column {data.schema.names[index]!r} holds a value that is damaged or not UTF-8"
            bad.update((row, ("bad_encoding", detail)) for row in wrong)
        return columns, bad

    def _too_large(self, columns: dict[str, pa.Array]) -> dict[int, tuple[str, str]]:
        """Return the rows whose text or page is over the limit, with what is wrong."""
        limit = self.options.max_record_bytes
        found = {}
        for name in self._layout.payload:
            sizes = pc.fill_null(pc.binary_length(columns[name]), 0).to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(sizes > limit).tolist():
                found[row] = ("record_too_large", f"{sizes[row]} bytes")
        return found

    def _fault(self, row: int, rule: str, detail: str, id: str | None = None, url: str | None = None) -> Fault:
        fault = Fault(self.number, row, rule, detail, id or f"{self.split.file.name}#{row}", url)
        self.number += 1
        return fault


class _Rows:
    """The rows of a row group, `size` at a time, and from where that is asked for fewer."""

    def __init__(self, file: pq.ParquetFile, group: int, size: int):
        self.size = size
        self._file, self._group = file, group
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._single = False

    def next(self, done: int, count: int) -> pa.RecordBatch | None:
        """Return up to `count` rows behind the first `done`, None at the end; `count` is `size`, or 1."""
        if count < self.size and not self._single:
            self._single = True
            self._batches = self._open(1)
            for _ in range(done):
                next(self._batches)
        if self._batches is None:
            self._batches = self._open(self.size)
        if not self._single:
            return next(self._batches, None)
        rows = list(itertools.islice(self._batches, count))
        return pa.Table.from_batches(rows).combine_chunks().to_batches()[0] if rows else None

    def _open(self, size: int) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = self._file.iter_batches(
            batch_size=size, row_groups=[self._group], use_threads=False
        )
        return found


def _stored(about: pq.RowGroupMetaData) -> int:
    """Return the bytes that a row group takes in the file."""
    return int(sum(about.column(index).total_compressed_size for index in range(about.num_columns)))


def _name(data: pa.RecordBatch, place: Place) -> str:
    """Return what the column at `place` is called, with dots where it is inside a struct."""
    field = data.schema.field(place[0])
    name = field.name
    for number in place[1:]:
        field = field.type.field(number)
        name = f"{name}.{field.name}"
    return str(name)


def _filled(array: pa.Array | None, values: list[str]) -> pa.Array:
    """Return `array` with its nulls and empty texts replaced by `values`."""
    fallback = pa.array(values, pa.large_string())
    if array is None:
        return fallback
    return pc.if_else(pc.fill_null(pc.not_equal(array, ""), False), array, fallback)


def _conformed(array: pa.Array | None, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.nulls(rows, kind) if array is None else cast(array, kind)


def _pieces(data: pa.RecordBatch, limit: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of pieces of at most `limit` bytes of text and pages, at least one row each."""
    sizes = np.zeros(data.num_rows, dtype=np.int64)
    for name in ("text", "raw"):
        if data.schema.get_field_index(name) >= 0:
            sizes += pc.fill_null(pc.binary_length(data.column(name)), 0).to_numpy(zero_copy_only=False)
    start, total = 0, 0
    for row, size in enumerate(sizes.tolist()):
        if row > start and total + size > limit:
            yield start, row
            start, total = row, 0
        total += size
    if start < data.num_rows:
        yield start, data.num_rows
