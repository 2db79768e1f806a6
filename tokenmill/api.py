"""The Python interface: stages applied to what is in memory, and whole runs, from a script or a notebook.

    kept, removed, tally = tokenmill.apply([C4(), MinHashDedup()], texts)
    run = tokenmill.run("recipe.toml", out="runs/news", set={"minhash_dedup.threshold": 0.9})
    run = tokenmill.run(stages=[C4(), keep_long], inputs=["crawl/*.jsonl"], out="runs/mine")

A stage is one of tokenmill's, one of your own, or a function of one document (`stages.custom.function`).
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.json as arrow_json
import pyarrow.parquet as pq
import tomli_w

from pipeline.errors import UserError
from pipeline.executors.here import run_here
from pipeline.ledger import LEDGER_SCHEMA
from pipeline.readers import InputFile
from pipeline.recipe import Limits, OutputOptions, Recipe, build_recipe, load_recipe
from pipeline.run.accounts import Summary, read_ledger
from pipeline.run.drive import execute
from pipeline.run.folder import local_folder
from pipeline.run.plan import plan_run
from pipeline.run.progress import Progress, Silent
from pipeline.stage import Stage, StageFault
from pipeline.storage import Folder, temporary_folder
from stages.custom.function import FunctionStage
from tokenizer.counting.budget import TokenBudget
from tokenmill.places import executors
from tokenmill.products import add_products, beside, results_of
from tokenmill.progress import RunProgress
from tokenmill.tables import assemble
from tokenmill.token_shards import write_tokens
from tokenmill.what_if import FinishedRun

AnyStage = Stage | Callable[..., Any]


class Applied(NamedTuple):
    """What `apply` returns.

    Attributes:
        kept: the documents that stay, as what was given: texts, a table, a data frame or a data set; with the columns
            that stages have added.
        removed: the ledger of those that left (`pipeline.ledger.LEDGER_SCHEMA`), as a table or data frame.
        tally: the accounts: read = kept + dropped + failed, by stage and rule.
    """

    kept: Any
    removed: Any
    tally: Summary


def apply(stages: Sequence[AnyStage], documents: Any) -> Applied:
    """Take documents in memory through `stages`, corpus stages included, in this process.

    Args:
        stages: in order.
        documents: a sequence of texts; or an Arrow table, a pandas or polars data frame, or a `datasets.Dataset`, with a
            column ``text`` (or ``html``, for stages that extract) and any others, which are carried along.
    Raises:
        UserError: parameters that cannot work, or no such column.
    """
    table, back = _table_of(documents)
    with temporary_folder() as folder:
        pq.write_table(table, folder / "documents.parquet")
        file = InputFile(str(folder / "documents.parquet"), "documents.parquet")
        options = OutputOptions(signals=False)
        recipe = Recipe("apply", folder, (file,), _stages(stages), Limits(failed_share=1.0), output=options)
        out = local_folder(folder / "run")
        finished = execute(plan_run(recipe), out, workers=1, progress=Silent(), executor=run_here)
        added = [column.name for stage in recipe.stages for column in stage.adds]
        kept = _read(out / "data", finished.standing.schema)
        wanted = [n for n in kept.column_names if n in {*table.column_names, *added, "text"} and n != "html"]
        if "id" not in _names(documents):
            wanted = [n for n in wanted if n != "id"]
        removed = pa.Table.from_batches(list(read_ledger(out)), LEDGER_SCHEMA)
        return Applied(*back(kept.select(wanted), removed), finished.summary)


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its accounts, and what it made.

    Attributes:
        budget: content of ``token_budget.json``; None without a tokenizer.
        unchanged: everything stood already.
        faults: products that could not be made, and why; the documents stand all the same.
    """

    folder: pathlib.Path | str
    summary: Summary
    budget: TokenBudget | None
    unchanged: bool
    faults: Mapping[str, str] = field(default_factory=dict)

    def documents(self) -> dataset.Dataset:
        """Return the kept documents; of a run with ``output.format = "jsonl.zst"``, read into memory."""
        if any(pathlib.Path(self.folder, "data").rglob("*.jsonl.zst")):
            files = sorted(pathlib.Path(self.folder, "data").rglob("*.jsonl.zst"))
            return dataset.dataset(pa.concat_tables([_lines_of(file) for file in files], promote_options="permissive"))
        return dataset.dataset(f"{self.folder}/data", format="parquet")

    def what_if(self, set: Mapping[str, Any]) -> dict[str, Any]:
        """Return what other thresholds would have done, such as ``{"gopher_quality.min_doc_words": 80}``, as
        ``tokenmill what-if --json`` tells it.

        Raises:
            UserError: a change that the run's signals cannot answer for.
        """
        finished = FinishedRun(local_folder(self.folder))
        return finished.answer(finished.changed([f"{key}={_toml(value)}" for key, value in set.items()])).as_dict()

    def removed(self) -> pa.Table:
        """Return the ledger."""
        return pa.Table.from_batches(list(read_ledger(local_folder(self.folder))), LEDGER_SCHEMA)


def run(
    recipe: str | os.PathLike[str] | None = None,
    *,
    stages: Sequence[AnyStage] | None = None,
    inputs: Sequence[str | os.PathLike[str] | Mapping[str, Any]] | None = None,
    out: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    tokenizer: Mapping[str, Any] | None = None,
    name: str = "run",
    workers: int | None = None,
    retry_failed: bool = False,
    progress: bool | Progress = False,
    executor: str = "local",
    address: str | None = None,
) -> Run:
    """Carry out a recipe, or `stages` over `inputs`, on this machine or a Ray cluster, or go on with what was stopped.

    Args:
        recipe: a recipe file; or
        stages, inputs: stages in order, and paths, globs or ``{"path": ..., "source": ...}``, relative to the working
            directory.
        out: folder of the run; ``runs/NAME`` if not given.
        set: changes to a recipe, such as ``{"minhash_dedup.threshold": 0.9}``.
        tokenizer: the ``[tokenizer]`` table of a run of `stages`.
        name: of a run of `stages`.
        workers: processes, or tasks at a time on a cluster; by the cores if not given.
        executor: ``local`` or ``ray``; `address`: of the Ray cluster, ``HOST:PORT``.
        progress: True shows it on stderr.
    Raises:
        UserError: anything wrong with what was given, in one line.
    """
    if (recipe is None) == (stages is None):
        raise UserError("give a recipe file, or stages and inputs")
    overrides = [f"{key}={_toml(value)}" for key, value in (set or {}).items()]
    if recipe is not None:
        loaded = load_recipe(pathlib.Path(recipe), overrides)
    else:
        paths = [p if isinstance(p, Mapping) else os.fspath(p) for p in inputs or ()]
        table: dict[str, Any] = {"name": name, "input": {"paths": paths}}
        if tokenizer is not None:
            table["tokenizer"] = dict(tokenizer)
        loaded = dataclasses.replace(build_recipe(table, pathlib.Path.cwd()), stages=_stages(stages or ()))
    place = local_folder(pathlib.Path("runs") / loaded.name if out is None else os.fspath(out))
    watching: Progress = (RunProgress() if progress else Silent()) if isinstance(progress, bool) else progress
    with executors(executor, address) as executor_of:
        plan = assemble(loaded)
        finished = execute(
            plan,
            place,
            workers=workers or (os.cpu_count() or 1 if executor == "local" else 0),
            progress=watching,
            finish=add_products,
            beside=beside(plan),
            retry_failed=retry_failed,
            asked=out is not None,
            executor=executor_of(plan, place),
        )
    write_tokens(loaded, place, workers or os.cpu_count() or 1)
    summary = finished.summary
    return Run(place.path() or place.url, summary, results_of(place).budget, finished.unchanged, summary.faults)


def _lines_of(file: pathlib.Path) -> pa.Table:
    with pa.input_stream(str(file), compression="zstd") as stream:
        return arrow_json.read_json(stream, arrow_json.ReadOptions(block_size=64 << 20))


def _toml(value: Any) -> str:
    return tomli_w.dumps({"v": value}).partition("=")[2].strip()


def _stages(given: Sequence[AnyStage]) -> tuple[Stage, ...]:
    """Return `given` as stages, checked."""
    stages = []
    for number, stage in enumerate(given):
        if isinstance(stage, type) or not (isinstance(stage, Stage) or callable(stage)):
            raise UserError(f"stages[{number}]: {stage!r} is no stage; give an instance, such as C4(), or a function")
        built = stage if isinstance(stage, Stage) else FunctionStage(function=stage)
        try:
            built.check()
        except StageFault as fault:
            raise UserError(f"stages[{number}] ({built.name}).{fault.key}: {fault.problem}") from fault
        stages.append(built)
    return tuple(stages)


def _names(documents: Any) -> Sequence[str]:
    return list(getattr(documents, "column_names", getattr(documents, "columns", ())))


def _table_of(documents: Any) -> tuple[pa.Table, Callable[[pa.Table, pa.Table], tuple[Any, Any]]]:
    """Return `documents` as a table with ids, and the function that turns kept and removed back into their kind."""
    kind = type(documents).__module__.split(".")[0]
    if isinstance(documents, (pa.Table, pa.RecordBatch)):
        table = pa.table(documents) if isinstance(documents, pa.RecordBatch) else documents
        back: Callable[[pa.Table, pa.Table], tuple[Any, Any]] = lambda kept, removed: (kept, removed)  # noqa: E731
    elif kind == "pandas":
        table = pa.Table.from_pandas(documents, preserve_index=False)
        back = lambda kept, removed: (kept.to_pandas(), removed.to_pandas())  # noqa: E731
    elif kind == "polars":
        table = documents.to_arrow()
        back = lambda kept, removed: (type(documents)(kept), type(documents)(removed))  # noqa: E731
    elif kind == "datasets":
        table = documents.with_format("arrow")[:]
        back = lambda kept, removed: (type(documents)(kept), removed)  # noqa: E731
    elif not isinstance(documents, str) and isinstance(documents, Sequence):
        wrong = next((n for n, text in enumerate(documents) if not isinstance(text, str)), None)
        if wrong is not None:
            raise UserError(f"documents[{wrong}] is a {type(documents[wrong]).__name__}, not a text")
        table = pa.table({"text": pa.array(list(documents), pa.large_string())})
        back = lambda kept, removed: (kept["text"].to_pylist(), removed)  # noqa: E731
    else:
        raise UserError(
            f"documents is a {type(documents).__name__}; give a list of texts, an Arrow table, a data frame or a Dataset"
        )
    if not {"text", "html"} & set(table.column_names):
        raise UserError(f"documents has no column 'text'; its columns are {', '.join(table.column_names)}")
    if "id" not in table.column_names:
        table = table.append_column("id", pa.array([str(n) for n in range(table.num_rows)], pa.large_string()))
    return table, back


def _read(folder: Folder, schema: pa.Schema) -> pa.Table:
    tables = [folder.get_table(name) for name in folder.names()]
    return pa.concat_tables(tables) if tables else schema.empty_table()
