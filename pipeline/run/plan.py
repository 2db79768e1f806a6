"""What running a recipe means, known before any document is read: all that a dry run shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pipeline.documents import INPUT_FIELDS
from pipeline.errors import InputError
from pipeline.executors.contract import Load
from pipeline.readers import InputFile, Split, carried_fields, detect_format, plan_splits, provides
from pipeline.recipe import Recipe, stage_labels
from pipeline.run.bundles import bundled
from pipeline.run.inputs import of_each
from pipeline.run.passes import Pass, plan_passes
from pipeline.stage import Stage
from pipeline.worker.loading import arrow_ready, load_once


@dataclass(frozen=True)
class RunPlan:
    """What a run will do."""

    recipe: Recipe
    passes: tuple[Pass, ...]
    splits: tuple[Split, ...]

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
        steps = self.passes[number - 1 : number]
        return [stage for step in steps for _, stage in (*step.decides, *step.maps, *step.observes)]


def plan_run(recipe: Recipe) -> RunPlan:
    """Return what running `recipe` means. Opens every input and reads its schema; raises UserError for any fault."""
    schema = check_inputs(recipe.inputs, recipe.stages)
    cut = of_each(recipe.inputs, lambda file: plan_splits(file, recipe.limits.split_bytes))
    splits = [split for pieces in cut for split in pieces]
    return RunPlan(recipe, tuple(plan_passes(recipe.stages, schema)), tuple(bundled(splits)))


def preload_of(stages: Sequence[Stage]) -> list[str]:
    """Return the modules that every worker of a run of `stages` needs."""
    wanted = dict.fromkeys(name for stage in stages for name in (type(stage).__module__, *stage.preload))
    return ["pipeline.worker.shard", "pipeline.worker.gather", "pipeline.run.tasks", *wanted]


def loads_of(stages: Sequence[Stage]) -> list[Load]:
    """Return the calls that load once, for all workers, what `stages` allow to be shared."""
    return [arrow_ready, *(partial(load_once, stage.counted_as, stage) for stage in stages if stage.shares_load)]


def check_inputs(files: Sequence[InputFile], stages: Sequence[Stage]) -> pa.Schema:
    """Return the columns of the documents in `files`: those of readers, and those carried from Parquet.

    Every file is opened and its schema read.

    Raises:
        InputError: a file cannot be read, or two give one column different types.
    """
    carried: dict[str, tuple[pa.DataType, str]] = {}
    pages: InputFile | None = None
    for file, fields in zip(files, of_each(files, carried_fields), strict=True):
        for field in fields:
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


def formats(files: Sequence[InputFile]) -> dict[str, str]:
    """Return the format of each file by its name. Raises InputError for one that is of none we read."""
    return {file.name: detect_format(file) for file in files}
