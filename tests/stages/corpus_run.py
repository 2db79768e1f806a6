"""A corpus stage run over shards built in a test: observe, decide, apply, as the engine does it."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from pipeline.corpus import Corpus, LocalTasks, Observations, Shards
from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch, text_array
from pipeline.stage import Removal
from pipeline.storage import Folder


@dataclass
class Result:
    """What a corpus stage made of a corpus: ids kept, and what was removed by position and by id."""

    kept: list[str] = field(default_factory=list)
    removed: dict[int, Removal] = field(default_factory=dict)
    dropped: dict[str, Removal] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def documents(texts: Sequence[str], ids: Sequence[str] | None = None, **columns: Sequence[Any]) -> pa.Table:
    """Return one shard of `texts`; ids count up from d000 unless given."""
    ids = [f"d{n:03d}" for n in range(len(texts))] if ids is None else ids
    arrays = {name: pa.array(values, pa.large_string()) for name, values in columns.items()}
    return pa.table({"id": pa.array(ids, pa.large_string()), "text": text_array(list(texts)), **arrays})


def run(
    stage: CorpusStage, shards: Sequence[pa.Table], folder: pathlib.Path, *, rows: int = 1000, tasks: Any = None
) -> Result:
    """Run `stage` over `shards`, each observed and applied in batches of at most `rows` documents."""
    root, work = Folder(str(folder / "documents")), Folder(str(folder / "work"))
    observed = Folder(str(folder / "observed"))
    for number, shard in enumerate(shards):
        root.put_table(f"part-{number}.parquet", shard)
        tables = [stage.observe(batch) for batch in _batches(shard, 0, rows, None)]
        observed.put_table(f"part-{number}.parquet", stage.combine(tables))
    listed = Shards.write(root, [f"part-{n}" for n in range(len(shards))], [shard.num_rows for shard in shards])
    decision = stage.decide(Observations(observed, listed), Corpus(root, listed), tasks or LocalTasks(), work)
    assert decision is not None
    result = Result(notes=json.loads(work.get("notes.json")) if work.exists("notes.json") else [])
    for number, shard in enumerate(shards):
        for batch in _batches(shard, number, rows, work):
            outcome = decision.apply(batch)
            assert len(outcome.kept) + len(outcome.removed) == len(batch)
            result.kept += outcome.kept.column("id")
            for removal in outcome.removed:
                result.removed[int(batch.positions[removal.row])] = replace(removal, row=0)
                result.dropped[batch.column("id")[removal.row]] = removal
    return result


def _batches(shard: pa.Table, number: int, rows: int, folder: Folder | None) -> list[Batch]:
    batches, at = [], 0
    for data in shard.combine_chunks().to_batches(max_chunksize=rows) or [pa.RecordBatch.from_pylist([], shard.schema)]:
        batch = Batch(data, shard=number, folder=folder)
        batch.numbers = batch.numbers + at
        at += len(batch)
        batches.append(batch)
    return batches
