"""Token counts of files outside a run: a table of one row a document, batch by batch, in the order of the files."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import UserError
from tokenizer.counting.foreign import TokenCounter
from tokenizer.counting.measures import measure
from tokenizer.files import find_inputs
from tokenizer.texts import Texts


def count_files(
    paths: Sequence[str | pathlib.Path],
    counters: Sequence[TokenCounter],
    text_column: str = "text",
    workers: int | None = None,
    documents: str = "file",
) -> Iterator[pa.Table | int]:
    """Yield tables (id, source, language, bytes, characters, words, one column per count) and 1 per unreadable record.

    Raises:
        UserError: no such files, or two counters of the same name.
    """
    names = [column for counter in counters for column in counter.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UserError(f"--tokenizer: two of them count {twice[0]}; give one another name (--tokenizer NAME=PATH)")
    threads = workers or os.cpu_count() or 1
    waiting: list[Future[pa.Table] | int] = []
    with ThreadPoolExecutor(threads) as pool:
        for number, piece in enumerate(find_inputs(paths, text_column, documents)):
            for item in piece.read(number):
                waiting.append(item if isinstance(item, int) else pool.submit(count_batch, item, counters))
                if len(waiting) > 2 * threads:
                    yield _done(waiting.pop(0))
        for rest in waiting:
            yield _done(rest)


def _done(item: Future[pa.Table] | int) -> pa.Table | int:
    return item if isinstance(item, int) else item.result()


def count_batch(batch: Batch, counters: Sequence[TokenCounter]) -> pa.Table:
    """Return the token counts of a batch, a row a document."""
    texts = batch.data.column("text")
    columns = {name: pa.array(batch.column(name), pa.large_string()) for name in ("id", "source", "language")}
    measured = measure(Texts.of(texts))
    columns.update({name: pa.array(measured[:, k]) for k, name in enumerate(("bytes", "characters", "words"))})
    strings: list[str] | None = None
    for counter in counters:
        if strings is None and counter.kind != "ladder":
            strings = batch.texts
        counts: np.ndarray = counter.count(texts if strings is None or counter.kind == "ladder" else strings)  # type: ignore[arg-type]
        columns.update({name: pa.array(counts[:, k]) for k, name in enumerate(counter.columns)})
    return pa.table(columns)
