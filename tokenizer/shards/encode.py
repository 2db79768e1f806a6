"""The first half of making shards: each piece of the inputs becomes runs of encoded documents.

A run holds at most about `RUN_TOKENS` tokens, so that memory does not depend on the inputs. In a shuffle its documents
lie in the order of their keys, and ``.ranges`` counts them by range of keys, so that the second half finds those of a
range without looking at a document. Where parts are made by source, a run is of one source.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.documents import INPUT_FIELDS
from pipeline.errors import UserError
from pipeline.readers.contract import DEFAULT_SOURCE
from pipeline.storage import Folder
from tokenizer.files import Piece
from tokenizer.shards.layout_kernel import hash_texts, lay_out, shuffle_keys
from tokenizer.shards.options import ShardOptions
from tokenizer.texts import Texts

RUN_TOKENS = 1 << 24
MOST_SOURCES = 1000
"""Sources of a piece beyond which parts by source are refused: each becomes a file at least."""
IPC_ROWS = 4096
"""Rows of a record batch of a run's table: what is read at least to find one document."""

_FIELDS = {field.name: field for field in INPUT_FIELDS}
_KEPT = ("id", "url", "source", "language", "file", "offset")
READ = (
    *(_FIELDS[name] for name in ("id", "url", "source", "text", "file", "offset")),
    pa.field("language", pa.large_string()),
    # a Parquet file that a run has made says where each document came from before
    pa.field("input_file", pa.large_string()),
    pa.field("input_offset", pa.int64()),
)
ROWS = pa.schema(
    [pa.field("tokens", pa.int32()), *(pa.field(n, pa.int64() if n == "offset" else pa.large_string()) for n in _KEPT)]
)
"""What is known of an encoded document: its tokens (with those around it) and where it came from."""


@dataclass(frozen=True)
class EncodeTask:
    """One piece of the inputs to encode.

    Attributes:
        number: of the piece, in the order of the inputs.
        ranges: ranges of keys that a shuffle counts by, a power of two; 0 without a shuffle.
        work: folder of the runs.
    """

    piece: Piece
    number: int
    options: ShardOptions
    ranges: int
    work: Folder

    @property
    def record(self) -> str:
        """Name of the file that is written last, and says that the piece is done."""
        return f"piece-{self.number:06d}.json"


def encode_piece(task: EncodeTask) -> dict[str, Any]:
    """Write the runs of a piece, and last its record, which is returned.

    Returns:
        ``runs``: [name, documents, tokens, held out, source] of each (source: empty where not by source); ``read``, ``unreadable``, ``empty`` documents;
        ``text_tokens``: tokens without those around documents.
    """
    if task.work.exists(task.record):
        found: dict[str, Any] = task.work.get_json(task.record)
        return found
    encode = task.options.model.encoder()
    about: dict[str, Any] = {"runs": [], "read": 0, "unreadable": 0, "empty": 0, "text_tokens": 0}
    runs = _Runs(task)
    for item in task.piece.read(task.number, READ):
        if isinstance(item, int):
            about["unreadable"] += item
            continue
        texts = Texts.of(item.data.column("text"))
        ids, bounds = encode(texts)
        rows = np.flatnonzero(np.diff(bounds))  # a document without a token would be a sequence of nothing
        held = _held_out(texts, task.options.held_out)
        about["runs"] += runs.add(ids, bounds, rows, held, _rows_of(item.data), about["read"])
        about["read"] += len(item)
        about["empty"] += len(item) - len(rows)
        about["text_tokens"] += len(ids)
    about["runs"] += runs.flush()
    task.work.put_json(task.record, about)
    return about


class _Runs:
    """The documents of a piece that wait to become runs, apart by source, and by whether they are held out."""

    def __init__(self, task: EncodeTask):
        self.task = task
        self.waiting: dict[tuple[bool, str], _Run] = {}

    def add(
        self, ids: np.ndarray, bounds: np.ndarray, rows: np.ndarray, held: np.ndarray, kept: pa.Table, first: int
    ) -> list[list[Any]]:
        """Take the documents in `rows` of a batch whose first is document `first` of the piece; return runs made."""
        made: list[list[Any]] = []
        for source, mine in self._by_source(rows, kept):
            for apart in (False, True):
                some = mine[held[mine] == apart]
                if len(some):
                    made += self._run(apart, source).add(ids, bounds, some, kept, first)
        while sum(run.tokens for run in self.waiting.values()) > 2 * RUN_TOKENS:
            made += max(self.waiting.values(), key=lambda run: run.tokens).flush()
        return made

    def flush(self) -> list[list[Any]]:
        return [made for run in self.waiting.values() for made in run.flush()]

    def _by_source(self, rows: np.ndarray, kept: pa.Table) -> list[tuple[str, np.ndarray]]:
        if not self.task.options.by:
            return [("", rows)]
        codes = kept["source"].combine_chunks().fill_null(DEFAULT_SOURCE).dictionary_encode()
        number = codes.indices.to_numpy()[rows]
        return [(name, rows[number == k]) for k, name in enumerate(codes.dictionary.to_pylist())]

    def _run(self, held_out: bool, source: str) -> _Run:
        if (held_out, source) not in self.waiting:
            if len(self.waiting) >= 2 * MOST_SOURCES:
                raise UserError(
                    f"--by source: {self.task.piece.split.file.path} has more than {MOST_SOURCES:,} sources, such as {source!r}; "
                    "leave --by out, or name fewer sources in the recipe's input.paths"
                )
            self.waiting[held_out, source] = _Run(self.task, held_out, source, len(self.waiting))
        return self.waiting[held_out, source]


def _held_out(texts: Texts, share: float) -> np.ndarray:
    """Return which texts are held out: the same text always is, or never."""
    if not share:
        return np.zeros(len(texts), bool)
    return hash_texts(texts.data, texts.offsets) < np.uint64(min(share, 1.0) * 2.0**64)


def _rows_of(data: pa.RecordBatch) -> pa.Table:
    """Return what is kept of each document beside its tokens; where it came from first wins over where it lies now."""
    columns = {name: data.column(name) for name in _KEPT}
    for name in ("file", "offset"):
        before = data.schema.get_field_index(f"input_{name}")
        if before >= 0:
            columns[name] = pc.coalesce(data.column(before), columns[name])
    return pa.table(columns)


@dataclass
class _Run:
    """Documents that wait to become one run."""

    task: EncodeTask
    held_out: bool
    source: str
    place: int
    number: int = 0
    tokens: int = 0
    ids: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    keys: list[np.ndarray] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)

    def add(self, ids: np.ndarray, bounds: np.ndarray, rows: np.ndarray, kept: pa.Table, first: int) -> list[list[Any]]:
        """Take the documents in `rows` of a batch whose first is document `first` of the piece; return runs made."""
        made: list[list[Any]] = []
        options = self.task.options
        around = sum(end >= 0 for end in options.ends)
        limit = min(RUN_TOKENS, options.part_tokens)
        sums = np.cumsum(bounds[rows + 1] - bounds[rows] + around)
        start = 0
        while start < len(rows):
            taken = sums[start - 1] if start else 0
            end = int(np.searchsorted(sums, taken + limit - self.tokens, side="right"))
            if end == start and not self.tokens:
                end = start + 1
            if end > start:
                self._take(ids, bounds, rows[start:end], kept, first)
                self.tokens += int(sums[end - 1] - taken)
            if end < len(rows):
                made += self.flush()
            start = end
        return made

    def _take(self, ids: np.ndarray, bounds: np.ndarray, rows: np.ndarray, kept: pa.Table, first: int) -> None:
        lengths = (bounds[rows + 1] - bounds[rows]).astype(np.int64)
        part = np.empty(int(lengths.sum()), np.int32)
        lay_out(ids, bounds[rows], lengths, np.arange(len(rows)), -1, -1, part)
        self.ids.append(part)
        self.lengths.append(lengths)
        self.tables.append(kept.take(pa.array(rows)))
        if self.task.ranges:
            seed = self.task.options.shuffle
            keys = shuffle_keys(seed, self.task.number, first, int(rows[-1]) + 1)
            self.keys.append(keys[rows])

    def flush(self) -> list[list[Any]]:
        """Write what waits as a run, and return [name, documents, tokens, held out, source] of it; nothing where nothing does."""
        if not self.lengths:
            return []
        options, ranges = self.task.options, self.task.ranges
        name = f"run-{self.task.number:06d}-{self.place:04d}-{self.number:04d}"
        lengths = np.concatenate(self.lengths)
        ids = np.concatenate(self.ids)
        order = np.arange(len(lengths))
        if ranges:
            keys = np.concatenate(self.keys)
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        out = np.empty(self.tokens, options.type)
        bos, eod = options.ends
        lay_out(ids, np.cumsum(lengths) - lengths, lengths, order, bos, eod, out)
        table = pa.concat_tables(self.tables).take(pa.array(order))
        sizes = lengths[order] + sum(end >= 0 for end in options.ends)
        table = table.add_column(0, ROWS.field("tokens"), pa.array(sizes.astype(np.int32))).cast(ROWS)
        if ranges:
            table = table.append_column("key", pa.array(keys))
            where = (keys >> np.uint64(64 - ranges.bit_length() + 1)).astype(np.int64) if ranges > 1 else keys * 0
            counts = [np.bincount(where.astype(np.int64), weights, ranges) for weights in (None, sizes)]
            self.task.work.put(f"{name}.ranges", np.stack(counts).astype("<i8").tobytes())
        self.task.work.put(f"{name}.rows", _ipc(table))
        self.task.work.put(f"{name}.bin", out.tobytes())
        made = [[name, len(lengths), self.tokens, self.held_out, self.source]]
        self.number, self.tokens = self.number + 1, 0
        self.ids, self.lengths, self.keys, self.tables = [], [], [], []
        return made


def _ipc(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=IPC_ROWS)
    return sink.getvalue()
