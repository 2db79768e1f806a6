"""Signals of documents that no filter has seen yet: rule sets side by side, each on the text as it is."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import UserError
from pipeline.readers import InputFile
from pipeline.recipe import Limits, Recipe, stage_labels
from pipeline.registry import stage_class
from pipeline.run.drive import execute
from pipeline.run.folder import local_folder, read_manifest
from pipeline.run.plan import plan_run
from pipeline.run.progress import Silent
from pipeline.run.signals import PassSignals, read_signals
from pipeline.stage import Stage
from stages.quality.rule_stage import RuleStage
from tokenmill.analyse.sample import Sample

PUBLISHED = ("gopher_repetition", "gopher_quality", "c4", "fineweb")
"""Rule sets looked at where nobody names others, as published."""


@dataclass(frozen=True)
class Measured:
    """Documents with their signals.

    Attributes:
        stages: the rule sets, by the name that their signals have.
        signals: a row a document.
        texts: id, url and text of the same documents, row for row.
        lost: documents that could not be extracted or measured.
    """

    stages: dict[str, RuleStage]
    signals: PassSignals
    texts: pa.Table
    lost: int


def rule_sets(stages: Sequence[Stage]) -> list[RuleStage]:
    """Return the rule sets among `stages`; the published ones where there is none."""
    found = [stage for stage in stages if isinstance(stage, RuleStage)]
    if not found:
        kinds = [stage_class(name) for name in PUBLISHED]
        found = [kind() for kind in kinds if issubclass(kind, RuleStage)]
    return found


def measure(sample: Sample, stages: Sequence[Stage], workers: int) -> Measured:
    """Return the signals of the rule sets among `stages` for every document of `sample`, measured by `workers` processes.

    Raises:
        UserError: the sample holds no document.
    """
    if sample.table.num_rows == 0:
        raise UserError("there is no document in these inputs" + (f"; {sample.unreadable:,} records could not be read" if sample.unreadable else ""))  # fmt: skip
    rules = rule_sets(stages)
    asked = [dataclasses.replace(stage, mode="annotate", signals=False) for stage in rules]
    before = [stage for stage in stages if "raw" in stage.removes][:1]
    if sample.pages and not before:
        before = [stage_class("extract")()]
    language = stage_class("language")
    if "language" not in sample.table.column_names:
        before.append(language(min_score=0.0))  # type: ignore[call-arg]
    with _run(sample.table, (*before, *asked), workers) as folder:
        out = local_folder(folder / "run")
        manifest = read_manifest(out)
        assert manifest is not None
        (signals,) = read_signals(out, manifest, ("source", "language"))
        texts = pa.concat_tables(
            [
                pq.read_table(file, columns=["id", "url", "text"])
                for file in sorted((folder / "run/data").glob("*.parquet"))
            ]
        )
    kept = signals.table.filter(pa.compute.equal(signals.table["left"], -1))
    labels = stage_labels([stage.name for stage in rules])
    named = dict(zip(labels, rules, strict=True))
    signals = dataclasses.replace(signals, table=kept)
    return Measured(named, signals, texts, sample.table.num_rows - kept.num_rows)


@contextlib.contextmanager
def _run(documents: pa.Table, stages: tuple[Stage, ...], workers: int) -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="tokenmill-analyse-") as name:
        folder = pathlib.Path(name)
        rows = max(50, -(-documents.num_rows // (4 * workers)))
        for number, at in enumerate(range(0, documents.num_rows, rows)):
            pq.write_table(documents.slice(at, rows), folder / f"{number:05d}.parquet")
        columns = tuple((name, name) for name in ("html", "text") if name in documents.column_names)
        files = tuple(InputFile(str(path), path.name, None, columns) for path in sorted(folder.glob("*.parquet")))
        recipe = Recipe("analyse", folder, files, stages, Limits(failed_share=1.0), resolved={"name": "analyse"})
        execute(plan_run(recipe), local_folder(folder / "run"), workers=workers, progress=Silent())
        yield folder
