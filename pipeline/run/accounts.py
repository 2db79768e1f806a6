"""The accounts of a run: the summary of what every stage was given, kept, dropped and failed on, and the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus import rows_of
from pipeline.errors import AccountingError, StorageError, UserError
from pipeline.ledger import LEDGER_SCHEMA
from pipeline.run.decide import Decided
from pipeline.run.folder import must_exist, read_manifest, read_unfinished
from pipeline.run.plan import RunPlan
from pipeline.storage import Folder
from pipeline.tally import READ, Rules, StageTally, Tally, merge_rules


@dataclass
class PassSummary:
    """How a pass went.

    Attributes:
        folder: where its shards or observations lie.
        texts: folder of the pass that wrote the texts its documents stand in.
        seconds: wall time in this execution; cpu_seconds: of all that stands, decisions before it included.
        bytes_in, bytes_out: bytes of page or text read, and of text kept; bytes_written: of files.
    """

    name: str
    folder: str
    texts: str
    read: int
    kept: int
    seconds: float
    cpu_seconds: float
    bytes_in: int
    bytes_out: int
    bytes_written: int
    notes: list[str] = field(default_factory=list)


@dataclass
class StageSummary:
    """What one stage was given and handed on, and its CPU seconds, observation and decision included.

    Attributes:
        bytes_out: of the text that it handed on; 0 with documents: not known, of shards that an earlier version made.
    """

    stage: str
    documents_in: int
    documents_out: int
    cpu_seconds: float
    bytes_out: int = 0


@dataclass
class Summary:
    """Content of ``summary.json``. `dropped`, `failed_by` and `spans` are by stage and rule, most first.

    Attributes:
        tryout: how much of the input was read, in words; empty for all of it.
        faults: products that could not be made, and why; the corpus stands all the same.
    """

    name: str
    read: int
    kept: int
    failed: int
    dropped: Rules
    balanced: bool
    failed_by: Rules
    spans: Rules
    ignored: dict[str, int]
    bytes_in: int
    bytes_out: int
    cpu_seconds: float
    passes: list[PassSummary]
    stages: list[StageSummary]
    tryout: str = ""
    faults: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as JSON holds it."""
        return dict(msgspec.to_builtins(self))


@dataclass
class PassReport:
    """How a pass went, while the run goes on.

    Attributes:
        tally: of its shards; None for a pass that only observes.
        looked: CPU seconds of each observation, by label.
        decided: the decisions it began with.
        worst: documents that failed in one shard of this execution, and the file it is of, where these are most.
    """

    name: str
    folder: str
    texts: str
    kept: int
    bytes_kept: int
    tally: Tally | None = None
    looked: dict[str, float] = field(default_factory=dict)
    decided: list[Decided] = field(default_factory=list)
    seconds: float = 0.0
    bytes_written: int = 0
    worst: tuple[int, str] = (0, "")

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of shards, observations and decisions."""
        own = self.tally.cpu_seconds if self.tally else 0.0
        return own + sum(self.looked.values()) + sum(d.cpu_seconds for d in self.decided)


def summarise(plan: RunPlan, reports: Sequence[PassReport]) -> Summary:
    """Return the run's accounts.

    Raises:
        AccountingError: they do not balance.
    """
    tallies = [report.tally for report in reports if report.tally is not None]
    first, last = tallies[0], tallies[-1]
    failed, dropped, spans = (_in_order(plan, [getattr(t, k) for t in tallies]) for k in ("failed", "dropped", "spans"))
    failures, drops = (sum(n for rules in counts.values() for n in rules.values()) for counts in (failed, dropped))
    summary = Summary(
        name=plan.recipe.name,
        read=first.read,
        kept=last.kept,
        failed=failures,
        dropped=dropped,
        balanced=first.read == last.kept + drops + failures,
        failed_by=failed,
        spans=spans,
        ignored=first.ignored,
        bytes_in=first.bytes_in,
        bytes_out=last.bytes_out,
        cpu_seconds=sum(report.cpu_seconds for report in reports),
        passes=[_pass_summary(report) for report in reports],
        stages=_stage_lines(plan, reports, last.kept),
        tryout=str(plan.recipe.tryout),
    )
    if not summary.balanced:
        raise AccountingError(f"the run does not balance: {json.dumps(summary.as_dict())}")
    return summary


def _pass_summary(report: PassReport) -> PassSummary:
    tally = report.tally or Tally(
        read=report.kept, kept=report.kept, bytes_in=report.bytes_kept, bytes_out=report.bytes_kept
    )
    return PassSummary(
        name=report.name,
        folder=report.folder,
        texts=report.texts,
        read=tally.read,
        kept=tally.kept,
        seconds=report.seconds,
        cpu_seconds=report.cpu_seconds,
        bytes_in=tally.bytes_in,
        bytes_out=tally.bytes_out,
        bytes_written=report.bytes_written,
        notes=[note for decided in report.decided for note in decided.notes],
    )


def _stage_lines(plan: RunPlan, reports: Sequence[PassReport], kept: int) -> list[StageSummary]:
    """Return one line a stage; what a corpus stage observes and decides counts as its own."""
    counted: dict[str, StageTally] = {}
    for line in (line for report in reports if report.tally for line in report.tally.stages):
        first = counted.get(line.stage, line)  # documents that it could not observe are counted before its decision
        counted[line.stage] = StageTally(
            line.stage, first.documents_in, line.documents_out,
            line.cpu_seconds + (first.cpu_seconds if first is not line else 0.0), line.bytes_out,
        )  # fmt: skip
    cpu: dict[str, float] = {}
    for report in reports:
        for label, seconds in report.looked.items():
            cpu[label] = cpu.get(label, 0.0) + seconds
        for decided in report.decided:
            cpu[decided.label] = cpu.get(decided.label, 0.0) + decided.cpu_seconds
    texts, text = {}, reports[0].tally.bytes_in if reports[0].tally else 0
    for label in plan.labels:  # a stage that changes nothing hands on what it was given
        texts[label] = text = counted[label].bytes_out if label in counted else text
    lines, left = [], kept
    for label in reversed(plan.labels):
        own = counted.get(label, StageTally(label, left, left))
        given, handed = own.documents_in, own.documents_out
        lines.append(StageSummary(label, given, handed, own.cpu_seconds + cpu.get(label, 0.0), texts[label]))
        left = given
    return lines[::-1]


def _in_order(plan: RunPlan, counts: Sequence[Rules]) -> Rules:
    """Return the sum of `counts`: stages in the order of the recipe, rules by documents, most first."""
    total: Rules = {}
    for rules in counts:
        merge_rules(total, rules)
    order = [stage for stage in [READ, *plan.labels] if stage in total]
    return {stage: dict(sorted(total[stage].items(), key=lambda rule: (-rule[1], rule[0]))) for stage in order}


def read_summary(out: Folder) -> Summary | None:
    """Return the summary of the finished run in `out`, None where none has finished."""
    if not out.exists("summary.json"):
        return None
    try:
        return msgspec.json.decode(out.get("summary.json"), type=Summary)
    except msgspec.DecodeError as error:
        raise StorageError(f"{out.url}/summary.json is damaged ({error}); run the recipe again") from error


def read_published(out: Folder, name: str) -> Any:
    """Return the JSON value in published file `name` of the finished run in `out`; None where it has none.

    Raises:
        StorageError: it is not what the run wrote.
    """
    manifest = read_manifest(out)
    about = manifest.files.get(name) if manifest else None
    if about is None:
        return None
    if hashlib.sha256(out.get(name)).hexdigest() != about.sha256:
        raise StorageError(f"{out.url}/{name} is not what the run wrote; delete it and run the recipe again")
    return out.get_json(name)


def ledger_files(out: Folder) -> list[tuple[str, str]]:
    """Return (folder, file) of every ledger of the run in `out`, in the order in which documents left.

    Of a run that has not finished, those of the passes it has begun.
    """
    must_exist(out)
    unfinished, manifest = read_unfinished(out), read_manifest(out)
    passes = unfinished.passes if unfinished and unfinished.passes else manifest.passes if manifest else []
    folders = list(dict.fromkeys(step["folder"] for step in passes))
    return [(f"{folder}/ledger", name) for folder in folders for name in (out / folder / "ledger").names()]


def read_ledger(out: Folder, stage: str | None = None, rule: str | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the ledger rows of the run in `out`, restricted to `stage` and `rule` where given."""
    for folder, name in ledger_files(out):
        with (out / folder).parquet(name) as file:
            if file.schema_arrow.names != LEDGER_SCHEMA.names:
                raise (out / folder).foreign(name, "lines of a ledger")
            for batch in file.iter_batches():
                for column, wanted in (("stage", stage), ("rule", rule)):
                    if wanted is not None:
                        batch = batch.filter(pc.equal(batch.column(column), wanted))
                if batch.num_rows:
                    yield batch


def partner_url(out: Folder, stage: str, partner: str) -> str | None:
    """Return the url of the document at `partner` (``SHARD:ROW``, as in the ledger), for which `stage` dropped another;
    None where it has none. The row counts in the texts that the stage has seen, not in those that later passes wrote."""
    shard, _, row = partner.rpartition(":")
    manifest, unfinished = read_manifest(out), read_unfinished(out)
    seen = f"/observed-{stage.replace('#', '-')}-"
    for step in (unfinished.passes if unfinished else []) or (manifest.passes if manifest else []):
        folder = out / step["texts"]
        if row.isdigit() and any(seen in place for place in step["observed"]) and folder.exists(f"{shard}.parquet"):
            value = rows_of(folder, shard, np.array([int(row)]), ["url"])["url"][0].as_py()
            return str(value) if value else None
    return None


def need_finished(out: Folder) -> Summary:
    """Return the summary of the finished run in `out`. Raises UserError where there is none."""
    must_exist(out)
    summary = read_summary(out)
    if summary is None:
        state = read_unfinished(out)
        why = f": {state.error}" if state and state.error else ""
        raise UserError(f"the run in {out.url} has not finished{why}; run its recipe again to go on")
    return summary
