"""What running a recipe means, known before any document is read: all that a dry run shows."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pipeline.documents import INPUT_FIELDS
from pipeline.errors import BrokenInput, InputError, RecipeError
from pipeline.executors.contract import Load
from pipeline.imports import without_both
from pipeline.paths import leads_into
from pipeline.readers import InputFile, Split, carried_fields, detect_format, plan_splits, provides
from pipeline.recipe import Recipe, stage_labels
from pipeline.registry import did_you_mean
from pipeline.run.bundles import bundled
from pipeline.run.folder import MANIFEST, UNFINISHED
from pipeline.run.inputs import of_each
from pipeline.run.passes import Pass, plan_passes
from pipeline.stage import Stage
from pipeline.storage import Folder
from pipeline.worker.loading import arrow_ready, load_once


@dataclass(frozen=True)
class RunPlan:
    """What a run will do."""

    recipe: Recipe
    passes: tuple[Pass, ...]
    splits: tuple[Split, ...]
    kinds: tuple[str, ...] = ()
    """What each input is, as `pipeline.readers.detect_format` says."""

    @property
    def labels(self) -> list[str]:
        """The stages' names as tallies count them."""
        return stage_labels([stage.counted_as for stage in self.recipe.stages])

    @property
    def notes(self) -> list[str]:
        """What the user should hear before any work."""
        return [
            f"{label}: {note}" for label, s in zip(self.labels, self.recipe.stages, strict=True) for note in s.notes()
        ]

    def stages_of(self, number: int) -> list[Stage]:
        """Return the stages that work in pass `number`; none behind the last."""
        return _working(self.passes[number - 1 : number])

    def stages_from(self, number: int) -> list[Stage]:
        """Return the stages that work in pass `number` and those behind it."""
        return _working(self.passes[number - 1 :])


def _working(steps: Sequence[Pass]) -> list[Stage]:
    return [stage for step in steps for _, stage in (*step.decides, *step.maps, *step.observes)]


def plan_run(recipe: Recipe) -> RunPlan:
    """Return what running `recipe` means. Opens every input and reads its schema; raises UserError for any fault."""
    schema, kinds = check_inputs(recipe.inputs, recipe.stages)
    kind_of = dict(zip(recipe.inputs, kinds, strict=True))
    cut = of_each(recipe.inputs, lambda file: plan_splits(file, recipe.limits.split_bytes, kind_of[file]))
    splits = [split for pieces in cut for split in pieces]
    passes = tuple(plan_passes(recipe.stages, schema))
    check_output(recipe, passes[-1].schema_out)
    return RunPlan(recipe, passes, tuple(bundled(splits)), kinds)


def check_output(recipe: Recipe, schema: pa.Schema) -> None:
    """Raise RecipeError where ``[output]`` names a column that the documents do not have at the end."""
    output = recipe.output
    named = [(f"columns[{n}]", column) for n, column in enumerate(output.columns)]
    named += [("partition_by", output.partition_by)] if output.partition_by else []
    for key, column in named:
        if column not in schema.names:
            near = did_you_mean(column, schema.names)
            stage = '; [[stage]] use = "language" adds it' if column == "language" else ""
            problem = f"the documents have no column {column!r}{near or stage}; they have: {', '.join(schema.names)}"
            raise RecipeError(f"output.{key}", problem)
    twice = next((column for column in output.columns if output.columns.count(column) > 1), None)
    if twice is not None:
        raise RecipeError("output.columns", f"names {twice!r} twice")


def check_place(recipe: Recipe, out: Folder) -> None:
    """Raise RecipeError where the run folder lies among the inputs: the next run would read what this one makes."""
    place = out.path()
    if place is None:
        return
    inside = next((file for file in recipe.inputs if "://" not in file.path and _is_below(file.path, place)), None)
    inside = inside if (place / MANIFEST).exists() or (place / UNFINISHED).exists() else None
    if inside is not None or leads_into(recipe.patterns, place):
        what = (
            f"holds the input {inside.name}"
            if inside
            else "lies among the inputs, which would take in what is written there"
        )
        raise RecipeError("--out", f"{out.url} {what}; name a folder outside input.paths")


def _is_below(path: str, place: pathlib.Path) -> bool:
    return pathlib.Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place))


def preload_of(stages: Sequence[Stage]) -> list[str]:
    """Return the modules that every worker of a run of `stages` needs."""
    wanted = dict.fromkeys(name for stage in stages for name in (type(stage).__module__, *stage.preload))
    return ["pipeline.worker.shard", "pipeline.worker.gather", "pipeline.run.tasks", *wanted]


def loads_of(stages: Sequence[Stage]) -> list[Load]:
    """Return the calls that load once, for all workers, what `stages` allow to be shared. What lies elsewhere is loaded by each
    worker: who has spoken to an object store cannot be forked, for the threads that speak to it are not in the fork."""
    begin = without_both if all(map(is_ours, stages)) else arrow_ready
    shared = (stage for stage in stages if stage.shares_load and not any("://" in path for path in paths_in(stage)))
    return [begin, *(partial(load_once, stage.counted_as, stage) for stage in shared)]


def paths_in(stage: Stage) -> list[str]:
    """Return the files that the parameters of `stage` name."""
    return [path for key in stage.path_fields for path in getattr(stage, key) or ()]


def is_ours(stage: Stage) -> bool:
    """Tell whether no code runs in `stage` but that of this project and of the libraries it names."""
    return type(stage).__module__.startswith("stages.") and not stage.runs_code


def check_inputs(files: Sequence[InputFile], stages: Sequence[Stage]) -> tuple[pa.Schema, tuple[str, ...]]:
    """Return the columns of the documents in `files`, those of readers and those carried from Parquet, and what each file is.

    Every file is opened and its schema read.

    Raises:
        InputError: a file cannot be read, or two give one column different types.
    """
    carried: dict[str, tuple[pa.DataType, str]] = {}
    pages: InputFile | None = None
    broken: list[BrokenInput] = []
    kinds: list[str] = []
    for file, (kind, fields, carries) in zip(files, of_each(files, _look_at), strict=True):
        kinds.append(sys.intern(kind))
        for field in fields:
            known, other = carried.setdefault(field.name, (field.type, file.name))
            if known != field.type:
                carried[field.name] = (_wider(field.name, known, other, field.type, file.name), other)
        if isinstance(carries, BrokenInput):
            broken.append(carries)
        elif pages is None and "raw" in carries:
            pages = file
    if broken and len(broken) == len(files):
        raise broken[0]
    if pages is not None:
        _check_pages(pages, stages)
    ours = [f for f in INPUT_FIELDS if pages is not None or f.name not in ("raw", "content_type")]
    return pa.schema([*ours, *(pa.field(name, kind) for name, (kind, _) in sorted(carried.items()))]), tuple(kinds)


def _look_at(file: InputFile) -> tuple[str, pa.Schema, set[str] | BrokenInput]:
    """Return what a file is, the columns that it carries beside ours, and what its documents carry, or why none can be read."""
    kind = detect_format(file)
    fields = carried_fields(file, kind)
    try:
        return kind, fields, provides(file, kind)  # of every file: a wrong column is found here
    except BrokenInput as error:
        return kind, fields, error


def _check_pages(pages: InputFile, stages: Sequence[Stage]) -> None:
    """Raise where nothing makes text of the pages, or a stage asks for text before."""
    extracts = next((number for number, stage in enumerate(stages) if "raw" in stage.removes), None)
    if extracts is None:
        raise InputError(f'{pages.name} holds pages, not text: begin the recipe with [[stage]] use = "extract"')
    for number, stage in enumerate(stages[:extracts]):
        if "text" in stage.needs:
            after = stages[extracts].name
            problem = f"{stage.name} needs text, and {pages.name} holds pages: put it behind {after}"
            raise RecipeError(f"stages[{number}].use", problem)


def _wider(name: str, a: pa.DataType, a_file: str, b: pa.DataType, b_file: str) -> pa.DataType:
    try:
        fields = [pa.schema([pa.field(name, kind)]) for kind in (a, b)]
        return pa.unify_schemas(fields, promote_options="permissive").field(name).type
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            f"column {name!r} is {a} in {a_file} but {b} in {b_file}: read them in separate runs, or rename one"
        ) from error
