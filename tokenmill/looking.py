"""Documents to look at: those a run has kept, those in input files, and what a stage makes of them."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from pipeline.documents import INPUT_FIELDS, Batch
from pipeline.errors import UserError
from pipeline.readers import Fault, InputFile, ReadOptions, carried_fields, plan_splits, read_split
from pipeline.readers.formats import provides
from pipeline.recipe import build_recipe
from pipeline.registry import did_you_mean
from pipeline.run.accounts import read_ledger
from pipeline.run.folder import read_manifest
from pipeline.run.plan import RunPlan
from pipeline.stage import MapStage
from pipeline.storage import Folder
from pipeline.worker.isolate import apply_stage
from pipeline.worker.tryout import tried
from tokenmill.tables import assemble

BATCH_BYTES, RECORD_BYTES, SPLIT_BYTES = 1 << 20, 1 << 28, 1 << 40
Row = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """Which documents are asked for; None asks for any.

    Attributes:
        id, url, text: what the document's id is, and what its url and text hold.
    """

    id: str | None = None
    url: str | None = None
    text: str | None = None

    def __call__(self, row: Mapping[str, Any]) -> bool:
        if self.id is not None and row.get("id") != self.id:
            return False
        if self.url is not None and self.url not in (row.get("url") or ""):
            return False
        return self.text is None or self.text.casefold() in _content(row).casefold()

    def checked(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield `rows`, which all have the same columns. Raises UserError where what is asked for is none of them."""
        for number, row in enumerate(rows):
            for column in ("id", "url", "text") if number == 0 else ():
                if getattr(self, column) is not None and column not in row:
                    there = ", ".join(row)
                    raise UserError(
                        f"--{column}: the documents have no column {column!r} ([output] leaves it out): {there}"
                    )
            yield row


def _content(row: Mapping[str, Any]) -> str:
    raw = row.get("raw")
    return row.get("text") or (raw.decode("utf-8", "replace") if raw else "")


def kept_documents(out: Folder) -> Iterator[Row]:
    """Yield the documents that the finished run in `out` has kept, in their order."""
    names = [n for n in out.names("data") if n.endswith((".parquet", ".jsonl.zst"))]
    if not names and read_manifest(out) is None:
        raise UserError(f"the run in {out.url} has not finished, so there are no documents yet; run its recipe again")
    for name in names:
        with out.open(name) as file:
            if name.endswith(".parquet"):
                for batch in pq.ParquetFile(file).iter_batches(256):
                    yield from batch.to_pylist()
            else:
                reader = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), "utf-8")
                yield from map(json.loads, reader)


def documents_in(files: Sequence[InputFile]) -> Iterator[Row]:
    """Yield the documents in input files; a record that cannot be read as its fault (rule, detail)."""
    for file in files:
        for batch in _batches(file):
            if isinstance(batch, Batch):
                yield from batch.data.to_pylist()
            else:
                yield {"id": batch.id, "url": batch.url, "file": file.name, "offset": batch.offset, "fault": batch.rule,
                       "detail": batch.detail, "text": batch.text}  # fmt: skip


def _batches(file: InputFile, schema: pa.Schema | None = None) -> Iterator[Batch | Fault]:
    if schema is None:
        carried = [f for f in carried_fields(file)]
        ours = [f for f in INPUT_FIELDS if "raw" in provides(file) or f.name not in ("raw", "content_type")]
        schema = pa.schema([*ours, *carried])
    options = ReadOptions(schema, BATCH_BYTES, {}, RECORD_BYTES)
    for split in plan_splits(file, SPLIT_BYTES):
        for item in read_split(split, options):
            if isinstance(item, (Batch, Fault)):
                yield item


def chosen(rows: Iterator[Row], wanted: Callable[[Row], bool], number: int, seed: int | None) -> list[Row]:
    """Return `number` of the rows that are wanted (0: all): the first, or with a `seed` some at random, always the same."""
    if seed is None:
        found = []
        for row in rows:
            if wanted(row):
                found.append(row)
                if number and len(found) >= number:
                    break
        return found
    drawn: list[tuple[bytes, int, Row]] = []
    for place, row in enumerate(rows):
        if wanted(row):
            key = f"{row.get('id')}\0{row.get('file')}\0{row.get('offset')}\0{place}".encode("utf-8", "surrogatepass")
            drawn.append(
                (hashlib.blake2b(key, digest_size=8, key=seed.to_bytes(8, "little", signed=True)).digest(), place, row)
            )
            if number and len(drawn) > 4 * number:
                drawn = sorted(drawn, key=lambda one: one[:2])[:number]
    drawn.sort(key=lambda one: one[:2])
    return [row for _, _, row in (drawn[:number] if number else drawn)]


@dataclass(frozen=True)
class Through:
    """What a stage has made of a document.

    Attributes:
        before, after: the document; after is None where it left.
        removed: what was taken out, and why: rule, kind, value, threshold, detail, text.
    """

    before: Row
    after: Row | None
    removed: list[Row]


def stage_number(plan: RunPlan, label: str) -> int:
    """Return the number of the stage called `label`. Raises UserError where the recipe has none, or it is no map stage."""
    if label not in plan.labels:
        raise UserError(f"--stage: the run has no stage {label!r}{did_you_mean(label, plan.labels)}")
    number = plan.labels.index(label)
    if not isinstance(plan.recipe.stages[number], MapStage):
        raise UserError(
            f"--stage: {label} sees the corpus as a whole and changes no text; --diff shows a pair of duplicates, "
            f"`tokenmill inspect RUN --stage {label}` what it took out"
        )
    return number


def through(plan: RunPlan, label: str, wanted: Wanted) -> Iterator[Through]:
    """Yield what stage `label` makes of the documents of the input that reach it, read anew; what corpus stages before it
    decided is passed over."""
    number = stage_number(plan, label)
    stages = [stage for stage in plan.recipe.stages[: number + 1] if isinstance(stage, MapStage)]
    schema = plan.passes[0].schema_in
    sample = plan.recipe.tryout.sample
    for split in plan.splits:
        options = ReadOptions(schema, BATCH_BYTES, {}, plan.recipe.limits.record_bytes)
        for batch in tried(read_split(split, options), None, sample, split.file.name):
            if not isinstance(batch, Batch):
                continue
            for row in range(len(batch)):
                one = batch.select([row])
                if Wanted(wanted.id, wanted.url)(one.data.to_pylist()[0]):  # its text is known only later
                    yield from _one(one, stages, wanted)


def _one(batch: Batch, stages: Sequence[MapStage], wanted: Callable[[Row], bool]) -> Iterator[Through]:
    for stage in stages[:-1]:
        batch = apply_stage(stage, batch).kept
        if not len(batch):
            return
    before = batch.data.to_pylist()[0]
    outcome = apply_stage(stages[-1], batch)
    after = outcome.kept.data.to_pylist()[0] if len(outcome.kept) else None
    if not (wanted(before) or (after is not None and wanted(after))):
        return
    removed = [
        {"rule": r.rule, "kind": r.kind, "value": r.value, "threshold": r.threshold, "detail": r.detail,
         "text": r.text if r.kind == "span" else None}
        for r in outcome.removed
    ]  # fmt: skip
    yield Through(before, after, removed)


@dataclass(frozen=True)
class Pair:
    """A document that was removed as a duplicate, and the one kept in its place."""

    removed: Row
    kept: Row
    ledger: Row


def pairs(out: Folder, wanted: Wanted) -> Iterator[Pair]:
    """Yield the duplicates that the run in `out` removed, each with the document kept in its place."""
    manifest = read_manifest(out)
    folders = list(dict.fromkeys(step["texts"] for step in manifest.passes)) if manifest else []
    for batch in read_ledger(out):
        for row in batch.to_pylist():
            if row["partner"] is None or not Wanted(wanted.id, wanted.url)(row):
                continue
            shard, _, number = row["partner"].rpartition(":")
            folder = next((out / f for f in reversed(folders) if out.exists(f"{f}/{shard}.parquet")), None)
            if folder is None:
                continue
            kept = _row_of(folder, f"{shard}.parquet", int(number))
            removed = _same(folder, row) or row
            if wanted.text is None or wanted(removed) or wanted(kept):
                yield Pair(removed, kept, row)


def _row_of(folder: Folder, name: str, number: int) -> Row:
    with folder.open(name) as file:
        parquet = pq.ParquetFile(file)
        starts = np.cumsum([0] + [parquet.metadata.row_group(g).num_rows for g in range(parquet.num_row_groups)])
        group = int(np.searchsorted(starts, number, side="right")) - 1
        row: Row = parquet.read_row_group(group).slice(number - int(starts[group]), 1).to_pylist()[0]
        return row


def _same(folder: Folder, ledger: Row) -> Row | None:
    """Return the whole document that a line of the ledger is about."""
    for name in folder.names():
        if "/" in name or not name.endswith(".parquet") or name.startswith("shards-"):
            continue
        with folder.open(name) as file:
            parquet = pq.ParquetFile(file)
            for group in range(parquet.num_row_groups):
                ids = parquet.read_row_group(group, columns=["id"])["id"].to_pylist()
                for row in (n for n, id in enumerate(ids) if id == ledger["id"]):
                    found: Row = parquet.read_row_group(group).slice(row, 1).to_pylist()[0]
                    if (found["text"] or "").startswith(ledger["text"] or "") and found["url"] == ledger["url"]:
                        return found
    return None


def plan_of(out: Folder) -> RunPlan:
    """Return the plan of the finished run in `out`, as its recipe was then. Raises UserError where it cannot be made again."""
    manifest = read_manifest(out)
    if manifest is None or not manifest.recipe_file or "input" not in manifest.recipe:
        raise UserError(f"the run in {out.url} was not made by a recipe file; --stage reads the inputs that one names")
    return assemble(build_recipe(manifest.recipe, pathlib.Path(manifest.recipe_file).parent))
