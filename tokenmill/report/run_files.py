"""The files of a finished run, or of one about to be published, as the page reads them."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from pipeline.errors import UserError
from pipeline.recipe import build_stage, stage_labels
from pipeline.run.accounts import need_finished, read_published
from pipeline.run.folder import Manifest, read_manifest
from pipeline.run.publish import NEXT
from pipeline.run.signals import SIGNALS, PassSignals, read_signals
from pipeline.storage import Folder
from pipeline.storage.folder import AHEAD
from planner.errors import PlanError
from planner.estimate.options import OPTIONS
from stages.quality.rule_stage import RuleStage
from tokenizer.counting.budget import BUDGET, TokenBudget

SIGNAL_ROWS = 1_000_000
"""Documents whose signals are looked at: more are not read, files spread evenly standing for all."""


@dataclass(frozen=True)
class Staged(Folder):
    """A run folder as it will be when what lies in ``.next/`` is in its place."""

    def exists(self, name: str) -> bool:
        return super().exists(f"{NEXT}/{name}") or super().exists(name)

    def open(self, name: str, ahead: int = AHEAD) -> BinaryIO:
        return super().open(f"{NEXT}/{name}" if super().exists(f"{NEXT}/{name}") else name, ahead)


@dataclass
class RunFiles:
    """What the page of a run is made from.

    Attributes:
        out: the run folder, whose passes stand; made: the same, with published files where they will be.
        plan: content of plan.json; plan_lines: the plan in words.
        note: what a person must know first; empty where there is nothing.
        changed: what differs now from what the run has read, in words.
        cpu_price: US dollars of a CPU core's hour, as the recipe's plan names it; None where it does not.
    """

    out: Folder
    made: Folder
    manifest: Manifest
    summary: dict[str, Any]
    budget: TokenBudget | None = None
    unused: list[dict[str, Any]] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)
    plan_lines: list[str] = field(default_factory=list)
    note: str = ""
    changed: list[str] = field(default_factory=list)
    cpu_price: float | None = None

    def __post_init__(self) -> None:
        named = (self.manifest.recipe.get("plan") or {}).get("cpu_price")
        if named is not None and self.cpu_price is None:
            with contextlib.suppress(PlanError):  # what is wrong with it is said where the plan is made
                self.cpu_price = price_of(named)

    def published(self, folder: str) -> list[str]:
        """Return the published files below `folder`."""
        return sorted(name for name in self.manifest.files if name.startswith(f"{folder}/"))

    def passes(self) -> list[tuple[Folder, list[str]]]:
        """Return the folder of each pass that wrote texts, and its shards."""
        found = []
        for name in dict.fromkeys(step["folder"] for step in self.manifest.passes):
            folder = self.out / name
            shards = [n for n in folder.names() if "/" not in n and n.startswith("part-") and n.endswith(".parquet")]
            if shards:
                found.append((folder, shards))
        return found

    def signals(self) -> tuple[list[PassSignals], float]:
        """Return the signals of the run, and the share of the files that they are of; none where it has none."""
        names = self.published(SIGNALS)
        if not names:
            return [], 1.0
        rows = 0
        for name in names:
            with self.made.open(name) as file:
                rows += pq.ParquetFile(file).metadata.num_rows
        step = max(1, -(-rows // SIGNAL_ROWS))
        by_pass: dict[str, list[str]] = {}
        for name in names:
            by_pass.setdefault(name.rpartition("-")[0], []).append(name)
        chosen = [name for some in by_pass.values() for name in some[::step]]
        files = {name: self.manifest.files[name] for name in chosen}
        return read_signals(self.made, dataclasses.replace(self.manifest, files=files), ("rule", "shard")), len(
            chosen
        ) / len(names)

    def rule_stages(self, passes: list[PassSignals]) -> dict[str, RuleStage]:
        """Return the rule sets whose signals are in `passes`, as the recipe has them; those that cannot be built are left out."""
        tables = self.manifest.recipe.get("stage") or []
        labels = stage_labels([str(table.get("use")) for table in tables])
        measured = {label for step in passes for first, end in step.rows for label in step.labels[first:end]}
        folder = pathlib.Path(self.manifest.recipe_file).parent
        found: dict[str, RuleStage] = {}
        for at, label in enumerate(labels):
            if label not in measured:
                continue
            try:
                stage = build_stage(tables[at], folder, f"stages[{at}]")
            except UserError:  # a file of its parameters is gone: the ledger still tells
                continue
            if isinstance(stage, RuleStage):
                found[label] = stage
        return found


def price_of(value: Any) -> float:
    """Return US dollars as ``cpu_price`` gives them. Raises PlanError."""
    return float(OPTIONS["cpu_price"].read("cpu_price", value))


def files_of(out: Folder, plan_lines: list[str], note: str = "") -> RunFiles:
    """Return the files of the finished run in `out`. Raises UserError where there is none."""
    summary, manifest = need_finished(out).as_dict(), read_manifest(out)
    assert manifest is not None
    budget = TokenBudget.load(out) if out.exists(BUDGET) else None
    unused, plan = read_published(out, "tokenizer/unused.json") or [], read_published(out, "plan.json") or {}
    return RunFiles(out, out, manifest, summary, budget, unused, plan, plan_lines, note)
