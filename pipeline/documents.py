"""Documents: the columns every document has, and the batch that stages hand on.

A batch is an Arrow RecordBatch bounded by bytes, with one Python view per document made on demand and
carried along from stage to stage, so that text crosses from Arrow to Python once per pass and what one
rule derives from it (its words, its lines) is there for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from pipeline.storage import Folder

T = TypeVar("T")

INPUT_FIELDS: tuple[pa.Field, ...] = (
    pa.field("id", pa.large_string()),  # for people and for the ledger; crawls repeat it, so nothing is decided by it
    pa.field("url", pa.large_string()),
    pa.field("source", pa.large_string()),  # the label that mixing and the budget count by
    pa.field("text", pa.large_string()),  # null while only `raw` is known
    pa.field("raw", pa.large_binary()),  # the page as crawled; exists only until extraction
    pa.field("content_type", pa.large_string()),  # as the server said; exists only until extraction
    pa.field("truncated", pa.large_string()),  # WARC-Truncated: length, time, disconnect, unspecified
    pa.field("date", pa.large_string()),
    pa.field("file", pa.large_string()),  # the input file, relative to the recipe
    pa.field("offset", pa.int64()),  # where in it: byte offset of the record or line, or row number
    pa.field("extra", pa.large_string()),  # JSON object of the other keys of a JSONL line
)
"""What readers deliver. Other columns of Parquet inputs are carried behind these under their own names and types."""

POSITION_BITS = 32
"""A position is ``shard << POSITION_BITS | row``: what decisions name a document by. 2^31 shards of 2^32 rows."""


def clean_text(text: str) -> str:
    """Return `text` as valid Unicode: surrogate pairs joined, a lone surrogate replaced by U+FFFD.

    Arrow and every tokenizer refuse lone surrogates; JSON with escapes such as ``"\\ud800"`` produces them.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def text_array(texts: Sequence[str | None]) -> pa.Array:
    """Return an Arrow large_string array of `texts`, lone surrogates replaced by U+FFFD."""
    try:
        return pa.array(texts, pa.large_string())
    except (UnicodeEncodeError, pa.ArrowInvalid):
        return pa.array([None if t is None else clean_text(t) for t in texts], pa.large_string())


class Document:
    """One document as a stage sees it: its text, its other columns, and views derived from the text once.

    >>> Document("a b", language="en").view(str.split)
    ['a', 'b']
    """

    __slots__ = ("_batch", "_row", "_views", "text")

    def __init__(self, text: str, **columns: Any):
        self.text = text
        self._views: dict[Callable[[str], Any], Any] | None = None
        self._batch: Mapping[str, Any] | pa.RecordBatch = columns
        self._row = -1

    def get(self, name: str, default: Any = None) -> Any:
        """Return this document's value of column `name` as a Python object, or `default` where there is none."""
        batch = self._batch
        if isinstance(batch, pa.RecordBatch):
            index = batch.schema.get_field_index(name)
            value = None if index < 0 else batch.column(index)[self._row].as_py()
        else:
            value = batch.get(name)
        return default if value is None else value

    def view(self, function: Callable[[str], T]) -> T:
        """Return ``function(text)``, computed once per document and shared by all stages that ask for it."""
        if self._views is None:
            self._views = {}
        try:
            known: T = self._views[function]
            return known
        except KeyError:
            value = self._views[function] = function(self.text)
            return value


class Batch:
    """Documents on their way through the stages of one pass.

    Attributes:
        data: RecordBatch, one row a document.
        shard: number of the split or shard the documents were read from.
        numbers: int64, shape (rows,): each document's number within that split or shard.
        folder: where the files of the decision that is being applied lie; None outside a run.
        inputs: folders of the products that a corpus stage takes, by product.
    """

    __slots__ = ("_documents", "data", "folder", "inputs", "numbers", "shard")

    def __init__(
        self,
        data: pa.RecordBatch,
        *,
        shard: int = 0,
        numbers: np.ndarray | None = None,
        folder: Folder | None = None,
        inputs: Mapping[str, Folder] | None = None,
        documents: list[Document] | None = None,
    ):
        self.data = data
        self.shard = shard
        self.numbers = np.arange(data.num_rows, dtype=np.int64) if numbers is None else numbers
        self.folder = folder
        self.inputs = inputs or {}
        self._documents = documents

    @classmethod
    def of(cls, texts: Sequence[str], **columns: Sequence[Any]) -> Batch:
        """Return a batch of `texts` with ids ``0, 1, …`` unless given: for tests and for use from Python."""
        arrays: dict[str, Any] = {"text": text_array(texts)}
        arrays.update({name: pa.array(values) for name, values in columns.items()})
        if "id" not in arrays:
            arrays = {"id": pa.array([str(n) for n in range(len(texts))], pa.large_string()), **arrays}
        return cls(pa.RecordBatch.from_pydict(arrays))

    def __len__(self) -> int:
        return int(self.data.num_rows)

    @property
    def positions(self) -> np.ndarray:
        """int64, shape (rows,): what a decision names each document by."""
        return (np.int64(self.shard) << POSITION_BITS) | self.numbers

    @property
    def documents(self) -> list[Document]:
        """One view per document, made once and carried along by `select` and `with_columns`."""
        if self._documents is None:
            self._documents = [Document(text or "") for text in self.column("text")]
            self.bound()
        return self._documents

    @property
    def texts(self) -> list[str]:
        """The text of each document; an absent one is the empty string."""
        return [document.text for document in self.documents]

    def column(self, name: str) -> list[Any]:
        """Return column `name` as Python objects; a list of None where the batch has no such column."""
        index = self.data.schema.get_field_index(name)
        return [None] * len(self) if index < 0 else self.data.column(index).to_pylist()

    def select(self, rows: Sequence[int]) -> Batch:
        """Return the documents at `rows`, in that order; their views come along."""
        index = np.asarray(rows, np.int64)
        if len(index) == len(self) and bool((index == np.arange(len(self))).all()):
            return self
        documents = None if self._documents is None else [self._documents[row] for row in rows]
        return self._like(self.data.take(pa.array(index)), self.numbers[index], documents)

    def with_columns(self, columns: Mapping[str, pa.Array]) -> Batch:
        """Return the batch with `columns` set: replaced in place where they exist, else behind the others.

        Replacing `text` makes new views, for what was derived from the old text no longer holds.
        """
        data = self.data
        for name, array in columns.items():
            index = data.schema.get_field_index(name)
            field = pa.field(name, array.type)
            data = data.append_column(field, array) if index < 0 else data.set_column(index, field, array)
        return self._like(data, self.numbers, None if "text" in columns else self._documents)

    def with_texts(self, texts: Sequence[str]) -> Batch:
        """Return the batch with new texts; a document whose text is the same object keeps its views."""
        old = self.documents
        documents = [d if d.text is text else Document(text) for d, text in zip(old, texts, strict=True)]
        index = self.data.schema.get_field_index("text")
        array = text_array(texts)
        field = pa.field("text", pa.large_string())
        data = self.data.append_column(field, array) if index < 0 else self.data.set_column(index, field, array)
        return self._like(data, self.numbers, documents)

    def replaced(self, data: pa.RecordBatch) -> Batch:
        """Return the batch with `data` in place of its columns; the texts must be the same."""
        return self._like(data, self.numbers, self._documents)

    def remade(self, data: pa.RecordBatch, numbers: np.ndarray) -> Batch:
        """Return `data`, made of these documents elsewhere, in place of them; views are made anew."""
        return self._like(data, numbers, None)

    def numbered(self, first: int) -> Batch:
        """Return the batch with its documents numbered from `first` on."""
        return self._like(self.data, np.arange(first, first + len(self), dtype=np.int64), self._documents)

    def without(self, names: Sequence[str]) -> Batch:
        """Return the batch without columns `names`."""
        keep = [name for name in self.data.schema.names if name not in names]
        return self._like(self.data.select(keep), self.numbers, self._documents)

    def _like(self, data: pa.RecordBatch, numbers: np.ndarray, documents: list[Document] | None) -> Batch:
        batch = Batch(
            data, shard=self.shard, numbers=numbers, folder=self.folder, inputs=self.inputs, documents=documents
        )
        return batch.bound()

    def bound(self) -> Batch:
        """Return this batch, its documents' columns taken from its data."""
        for row, document in enumerate(self._documents or ()):
            document._batch = self.data
            document._row = row
        return self
