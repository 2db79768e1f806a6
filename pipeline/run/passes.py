"""From stages to passes: which stages share one reading of the corpus, and what columns each pass reads and writes.

A pass ends behind a costly stage, so that its text is kept; and in front of corpus stages, which observe what it
keeps. Corpus stages in a row observe in the same pass and decide one after the other, unless one has to wait for what
an earlier one decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.errors import RecipeError
from pipeline.recipe import stage_labels
from pipeline.stage import DocumentStage, MapStage, Stage


@dataclass(frozen=True)
class Pass:
    """One reading of the corpus.

    Attributes:
        number: from 1.
        name: of its folder: the first stage in it.
        decides: label and stage of the corpus stages whose decisions it begins with.
        maps: label and stage of the map stages that follow.
        observes: label and stage of the corpus stages that see what it keeps.
        schema_in, schema_out: columns of the documents before and after.
        writes: whether the texts are written anew; else only which rows are left.
    """

    number: int
    name: str
    decides: tuple[tuple[str, CorpusStage], ...]
    maps: tuple[tuple[str, MapStage], ...]
    observes: tuple[tuple[str, CorpusStage], ...]
    schema_in: pa.Schema
    schema_out: pa.Schema
    writes: bool


def plan_passes(stages: Sequence[Stage], schema: pa.Schema) -> list[Pass]:
    """Return the passes of `stages` over documents with columns `schema`.

    Raises:
        RecipeError: a stage needs a column, or a product, that nothing before it provides.
    """
    labels = stage_labels([stage.counted_as for stage in stages])
    _check_products(stages)
    passes: list[Pass] = []
    decides: tuple[tuple[str, CorpusStage], ...] = ()
    at = 0
    while True:
        maps: list[tuple[str, MapStage]] = []
        schema_in, is_costly = schema, False
        while at < len(stages) and not is_costly and isinstance(stage := stages[at], MapStage):
            schema = schema_after(stage, schema, f"stages[{at}]")
            maps.append((labels[at], stage))
            at, is_costly = at + 1, stage.costly
        observes = [] if is_costly and maps_follow(stages, at) else _group(stages, labels, at)
        for offset, (_, stage) in enumerate(observes):
            schema = schema_after(stage, schema, f"stages[{at + offset}]")
        at += len(observes)
        first = next(iter([*(label for label, _ in (*decides, *maps, *observes)), "read"]))
        changing = [stage.decides for _, stage in decides if stage.decides is not None]
        only_drops = all(kind.only_drops for kind in changing) and all(stage.only_drops for _, stage in maps)
        passes.append(
            Pass(
                number=len(passes) + 1,
                name=first.replace("#", "-"),
                decides=decides,
                maps=tuple(maps),
                observes=tuple(observes),
                schema_in=schema_in,
                schema_out=schema,
                writes=not passes or not only_drops,
            )
        )
        decides = tuple(observes)
        if at >= len(stages) and not decides:
            return passes


def maps_follow(stages: Sequence[Stage], at: int) -> bool:
    """Return whether stage number `at` is a map stage: a costly pass ends before it, and need not before observers."""
    return at < len(stages) and isinstance(stages[at], MapStage)


def _group(stages: Sequence[Stage], labels: Sequence[str], start: int) -> list[tuple[str, CorpusStage]]:
    """Return the corpus stages from `start` on that can observe the same documents."""
    group: list[tuple[str, CorpusStage]] = []
    for at in range(start, len(stages)):
        stage = stages[at]
        if isinstance(stage, MapStage):
            break
        if not isinstance(stage, CorpusStage):
            raise RecipeError(f"stages[{at}].use", f"{stage.name} is neither a map stage nor a corpus stage")
        earlier = [other for _, other in group]
        if any(other.gives in stage.takes for other in earlier if other.gives):
            break
        changed = any(other.decides is not None for other in earlier)
        if changed and (stage.sums or any(o.decides not in (None, DropPositions) for o in earlier)):
            break
        group.append((labels[at], stage))
    return group


def _check_products(stages: Sequence[Stage]) -> None:
    given: set[str] = set()
    for at, stage in enumerate(stages):
        if isinstance(stage, CorpusStage):
            for product in stage.takes:
                if product not in given:
                    raise RecipeError(
                        f"stages[{at}].use", f"{stage.name} needs a {product}, which no stage before it makes"
                    )
            if stage.gives:
                given.add(stage.gives)


def schema_after(stage: Stage, schema: pa.Schema, place: str) -> pa.Schema:
    """Return the columns behind `stage`. Raises RecipeError where one that it needs is not there."""
    needs = set(stage.needs) | ({"language"} if isinstance(stage, DocumentStage) and stage.only else set())
    for name in sorted(needs - set(schema.names) - {"raw", "content_type"}):
        raise RecipeError(f"{place}.use", f"{stage.name} needs column {name!r}, which nothing before it provides")
    for field in stage.adds:
        index = schema.get_field_index(field.name)
        schema = schema.append(field) if index < 0 else schema.set(index, field)
    return pa.schema([field for field in schema if field.name not in stage.removes])
