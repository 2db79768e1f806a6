"""From a recipe to passes: which stages are fused, what columns each pass reads and writes, what identifies it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.documents import INPUT_FIELDS
from pipeline.errors import InputError, RecipeError
from pipeline.readers import InputFile, Split, carried_fields, detect_format, plan_splits, provides
from pipeline.recipe import Recipe, stage_labels
from pipeline.stage import CorpusStage, DocumentStage, MapStage, Stage, digest_of

SHARD_FORMAT = 1
"""Raised when what a shard, ledger or tally looks like changes, so that old run folders are not taken for new."""


@dataclass(frozen=True)
class Pass:
    """One reading of the corpus.

    Attributes:
        number: from 1.
        name: of its folder: the first stage in it.
        decides, decides_label: the corpus stage whose decision the pass begins with, if any.
        maps, labels: the map stages that follow, and the names they are counted under.
        observes, observes_label: the corpus stage that sees what the pass keeps, if any.
        schema_in, schema_out: columns of the documents before and after.
        fingerprint: of everything up to here that decides what its shards hold.
        documents: folder in which the documents stand after the pass: its own if it `writes`, else an earlier one.
        observed: folder of what is observed in it, "" for nothing.
        decision: folder of the decision that the pass begins with, "" for none.
        writes: whether the pass makes new shards; one that only observes reads those that stand.
    """

    number: int
    name: str
    decides: CorpusStage | None
    decides_label: str
    maps: tuple[MapStage, ...]
    labels: tuple[str, ...]
    observes: CorpusStage | None
    observes_label: str
    schema_in: pa.Schema
    schema_out: pa.Schema
    fingerprint: str
    documents: str
    observed: str
    decision: str
    writes: bool


def check_inputs(files: Sequence[InputFile], stages: Sequence[Stage]) -> pa.Schema:
    """Return the columns of the documents in `files`: those of readers, and those carried from Parquet.

    Every file is opened and its schema read.

    Raises:
        InputError: a file cannot be read, or two give one column different types.
    """
    carried: dict[str, tuple[pa.DataType, str]] = {}
    pages: InputFile | None = None
    for file in files:
        for field in carried_fields(file):
            known, other = carried.setdefault(field.name, (field.type, file.name))
            if known != field.type:
                carried[field.name] = (_wider(field.name, known, other, field.type, file.name), other)
        if pages is None and "raw" in provides(file):
            pages = file
    if pages is not None and not any("raw" in stage.removes for stage in stages):
        raise InputError(f'{pages.name} holds pages, not text: begin the recipe with [[stage]] use = "extract"')
    ours = [f for f in INPUT_FIELDS if pages is not None or f.name not in ("raw", "content_type")]
    return pa.schema([*ours, *(pa.field(name, kind) for name, (kind, _) in sorted(carried.items()))])


def _wider(name: str, a: pa.DataType, a_file: str, b: pa.DataType, b_file: str) -> pa.DataType:
    try:
        fields = [pa.schema([pa.field(name, kind)]) for kind in (a, b)]
        return pa.unify_schemas(fields, promote_options="permissive").field(name).type
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            f"column {name!r} is {a} in {a_file} but {b} in {b_file}: read them in separate runs, or rename one"
        ) from error


def input_identity(files: Sequence[InputFile]) -> list[Any]:
    """Return what tells these inputs from others: each file's name, label, columns, size and time of change."""
    identity = []
    for file in files:
        state: Any = None
        if "://" not in file.path:
            stat = os.stat(file.path)
            state = [stat.st_size, stat.st_mtime_ns]
        identity.append([file.name, file.source, [list(pair) for pair in file.columns], state])
    return identity


def all_splits(files: Sequence[InputFile], split_bytes: int) -> list[Split]:
    """Return the pieces of all `files`, in order; a shard's number is its place in this list."""
    return [split for file in files for split in plan_splits(file, split_bytes)]


def formats(files: Sequence[InputFile]) -> dict[str, str]:
    """Return the format of each file by its name. Raises InputError for one that is of none we read."""
    return {file.name: detect_format(file) for file in files}


def plan_passes(recipe: Recipe, schema: pa.Schema) -> list[Pass]:
    """Return the passes of `recipe` over documents with columns `schema`.

    Raises:
        RecipeError: a stage needs a column that nothing before it provides.
    """
    labels = stage_labels([stage.name for stage in recipe.stages])
    chain = digest_of(
        {
            "format": SHARD_FORMAT,
            "input": input_identity(recipe.inputs),
            "split_bytes": recipe.limits.split_bytes,
            "batch_bytes": recipe.limits.batch_bytes,
            "record_bytes": recipe.limits.record_bytes,
            "text_characters": recipe.ledger.text_characters,
        }
    )
    passes: list[Pass] = []
    decides: CorpusStage | None = None
    decides_label = ""
    start = 0
    while True:
        end = start
        while end < len(recipe.stages) and isinstance(recipe.stages[end], MapStage):
            end += 1
        maps = tuple(s for s in recipe.stages[start:end] if isinstance(s, MapStage))
        observes = recipe.stages[end] if end < len(recipe.stages) else None
        if observes is not None and not isinstance(observes, CorpusStage):
            raise RecipeError(f"stages[{end}].use", f"{observes.name} is neither a map stage nor a corpus stage")
        schema_out = schema
        for place, stage in enumerate(recipe.stages[start : end + 1], start):
            schema_out = schema_after(stage, schema_out, f"stages[{place}]")
        chain = digest_of([chain, decides.identity() if decides else None, [stage.identity() for stage in maps]])
        name = (decides_label or (labels[start] if maps else labels[end] if observes else "read")).replace("#", "-")
        writes = not passes or bool(maps) or (decides is not None and decides.transforms)
        documents = f"{len(passes) + 1:02d}-{name}-{chain}" if writes else passes[-1].documents
        observed_by = digest_of([chain, observes.observation_identity()]) if observes else ""
        passes.append(
            Pass(
                number=len(passes) + 1,
                name=name,
                decides=decides,
                decides_label=decides_label,
                maps=maps,
                labels=tuple(labels[start:end]),
                observes=observes,
                observes_label=labels[end] if observes else "",
                schema_in=schema,
                schema_out=schema_out,
                fingerprint=chain,
                documents=documents,
                observed=f"{documents}/observed-{observes.name}-{observed_by}" if observes else "",
                decision=f"{passes[-1].observed}/decision-{decides.fingerprint()}" if decides else "",
                writes=writes,
            )
        )
        if observes is None:
            return passes
        decides, decides_label, schema, start = observes, labels[end], schema_out, end + 1
        chain = digest_of([chain, observed_by])


def schema_after(stage: Stage, schema: pa.Schema, place: str) -> pa.Schema:
    """Return the columns behind `stage`. Raises RecipeError where one that it needs is not there."""
    needs = set(stage.needs) | ({"language"} if isinstance(stage, DocumentStage) and stage.only else set())
    for name in sorted(needs - set(schema.names) - {"raw", "content_type"}):
        raise RecipeError(f"{place}.use", f"{stage.name} needs column {name!r}, which nothing before it provides")
    for field in stage.adds:
        index = schema.get_field_index(field.name)
        schema = schema.append(field) if index < 0 else schema.set(index, field)
    return pa.schema([field for field in schema if field.name not in stage.removes])
