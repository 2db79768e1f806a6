"""The validation page: our forecasts against published rows, and worked examples. Nothing is tuned per row."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from planner.estimate.arrangement import MemoryOptions
from planner.estimate.calibration import Fit, left_out, linearise, spread
from planner.estimate.memory import estimate
from planner.estimate.rows import KINDS, Case, cases, layout_of
from planner.facts.configs import CONFIGS_HF
from planner.facts.models import COUNTS
from planner.facts.step_time import BETWEEN, FITTED, NAMES, SPREAD, WITHIN
from planner.model.count import count
from planner.model.device import accelerator
from planner.model.shapes import preset
from planner.report.examples import ACTIVATION_COEFFICIENTS, EXAMPLES, MEMORY_CHECKS, STEP_CHECKS, within
from planner.report.quantity import Answer, Section, Table
from planner.units import GIB


@dataclass(frozen=True)
class RowCheck:
    """One published row against the forecast that never saw its family. Logs of GPU-seconds per token."""

    case: Case
    residual: float
    """log(published / forecast)."""
    spread: float

    @property
    def covered(self) -> bool:
        """Whether the published figure is between p10 and p90."""
        return abs(self.residual) <= P90 * self.spread

    @property
    def ratio(self) -> float:
        """p90 over p10."""
        return math.exp(2 * P90 * self.spread)


@dataclass(frozen=True)
class KindCoverage:
    """How the forecasts do on one kind of rows, each row's family left out of the fit."""

    kind: str
    rows: int
    families: int
    covered: float
    """Share of rows between p10 and p90."""
    covered_by_family: float
    """The same with every family counted once: what a code base never seen may expect."""
    ratio: float
    """Median p90 / p10."""
    median_error: float


P90 = 1.2816
"""Standard deviations from the median to p90 of a normal."""


@cache
def at_the_fit() -> Fit:
    """The rows that are used, at the factors in force."""
    used = tuple(c for c in cases() if c.use == "yes")
    layouts = tuple(layout_of(c) for c in used)
    residuals, slopes = linearise(used, layouts, FITTED)
    return Fit(used, layouts, FITTED, residuals, slopes)


@cache
def row_checks() -> tuple[RowCheck, ...]:
    """Every published row that is used, by factors fitted without its family."""
    found = at_the_fit()
    outside, spreads = left_out(found), spread(found.slopes)
    return tuple(RowCheck(c, float(r), float(s)) for c, r, s in zip(found.cases, outside, spreads, strict=True))


def coverage() -> tuple[KindCoverage, ...]:
    """Leave-one-family-out coverage by kind."""
    return tuple(_kind(kind, [r for r in row_checks() if r.case.kind == kind]) for kind in KINDS)


def _kind(kind: str, rows: Sequence[RowCheck]) -> KindCoverage:
    by_family: dict[str, list[bool]] = {}
    for r in rows:
        by_family.setdefault(r.case.family, []).append(r.covered)
    return KindCoverage(
        kind, len(rows), len(by_family), statistics.mean(r.covered for r in rows),
        statistics.mean(statistics.mean(v) for v in by_family.values()), statistics.median(r.ratio for r in rows),
        statistics.median(math.expm1(-r.residual) for r in rows),
    )  # fmt: skip


def memory_rows() -> list[tuple[str, float, float, str]]:
    """(check, reported GiB, estimated GiB, why it misses)."""
    device = accelerator("h100")
    out = []
    for m in MEMORY_CHECKS:
        e = estimate(preset(m.model), m.layout, MemoryOptions(seq=m.seq, convention="fsdp2"), device)
        out.append((m.what, m.reported_gib, e.total / GIB, m.why))
    return out


def failures() -> list[str]:
    """Examples and counts that are not reproduced; empty when all are."""
    bad = [
        f"{e.id}: {e.value():.8g} instead of {e.expected:.8g}"
        for e in EXAMPLES
        if not within(e.value(), e.expected, e.rtol)
    ]
    bad += [
        f"{s.what}: {s.value():.6g} instead of {s.expected:.6g}"
        for s in STEP_CHECKS
        if not within(s.value(), s.expected, s.rtol)
    ]
    bad += [f"{name}: {ours} instead of {theirs}" for name, ours, theirs, _ in totals() if theirs and ours != theirs]
    return bad


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def markdown() -> str:
    """The page as Markdown."""
    lines = [
        "# The planner against what was published", "",
        "Written by `tokenmill plan validate --write docs/planner-validation.md`; do not edit. Nothing is tuned per row: the same",
        "code and defaults as a plan. Status marks: P primary source read, S secondary, C computed, R recalled.", "",
        "## In short", "",
        f"- **Forecasts.** {len(row_checks())} published rows of {len({r.case.family for r in row_checks()})} families (code bases, labs). Each is forecast by factors fitted"
        " without its family; the table below says how many lie between p10 and p90, where 80 % is the aim.",
        f"- **Worked examples.** {len(EXAMPLES) - sum(not within(e.value(), e.expected, e.rtol) for e in EXAMPLES)} of {len(EXAMPLES)} formulas,"
        f" {sum(within(s.value(), s.expected, s.rtol) for s in STEP_CHECKS)} of {len(STEP_CHECKS)} step-level figures and"
        f" {len(totals()) - sum(ours != theirs for _, ours, theirs, _ in totals() if theirs)} of {len(totals())} parameter totals are reproduced.", "",
    ]  # fmt: skip
    return (
        "\n".join(
            [*lines, *_coverage_page(), *_runs_page(), *_families_page(), *_steps_page(), *_memory_page(), *_examples_page(), *_models_page()]
        ).rstrip()
        + "\n"
    )  # fmt: skip


def coverage_table() -> Table:
    """Coverage by kind as a table."""
    columns = (("kind", "kind"), ("rows", "rows"), ("families", "families"), ("covered_share", "in p10 to p90"),
               ("covered_by_family_share", "each family once"), ("p90_over_p10", "median p90/p10"), ("median_error_share", "median error"))  # fmt: skip
    rows = tuple(
        (k.kind, k.rows, k.families, k.covered, k.covered_by_family, round(k.ratio, 2), k.median_error)
        for k in coverage()
    )
    return Table(columns, rows)


def _coverage_page() -> Iterator[str]:
    yield "## Coverage, each row's family left out"
    yield ""
    rows = [
        (k.kind, str(k.rows), str(k.families), f"{k.covered:.0%}", f"{k.covered_by_family:.0%}", f"{k.ratio:.2f}", f"{k.median_error:+.0%}")
        for k in coverage()
    ]  # fmt: skip
    yield from _table(
        ("kind", "rows", "families", "in p10 to p90", "each family once", "median p90/p10", "median error"), rows
    )
    yield "The fitted factors, with what they may differ by from code base to code base (standard deviation of the log):"
    yield ""
    factors = [(n, f"{getattr(FITTED, n):.4g}", f"{SPREAD.get(n, 0.0):.2f}") for n in NAMES]
    yield from _table(("factor", "value", "spread"), factors)
    yield f"Beside them every family has an offset of its own ({BETWEEN:g}) and every row ({WITHIN:g})."
    yield ""


def _runs_page() -> Iterator[str]:
    yield "## Published runs, by the calendar"
    yield ""
    yield "GPU-hours as published, and the forecast by factors that never saw the run's family. Effective MFU is 6 N D over hours and bf16 peak"
    yield "(fp16 on V100)."
    yield ""
    rows = []
    for r in row_checks():
        if not r.case.calendar:
            continue
        hours = r.case.seconds * r.case.tokens / 3600
        median = hours * math.exp(-r.residual)
        low, high = median * math.exp(-P90 * r.spread), median * math.exp(P90 * r.spread)
        rows.append(
            (r.case.name, r.case.device.title, f"{r.case.gpus:,}", f"{hours:.4g}", f"{effective_mfu(r.case):.3f}", f"{median:.3g}",
             f"{low:.3g} to {high:.3g}", f"{median / hours - 1:+.0%}", "yes" if r.covered else "**no**", r.case.source)
        )  # fmt: skip
    yield from _table(
        ("run", "device", "GPUs", "hours", "effective MFU", "forecast", "p10 to p90", "error", "inside", "source"), rows
    )
    yield "Left out of the fit:"
    yield ""
    for c in cases():
        if c.use != "yes":
            yield f"- **{c.name}** (effective MFU {effective_mfu(c):.3f}): {c.use}."
    yield ""


def effective_mfu(c: Case) -> float:
    """6 N per GPU-second and token over the 16-bit dense peak; active parameters for experts."""
    peaks = dict(c.device.peaks)
    return 6 * count(c.model).active / (c.seconds * (peaks.get("bf16") or peaks["fp16"]))


def _families_page() -> Iterator[str]:
    yield "## Throughput of training steps"
    yield ""
    yield "Rows of a family: how many, how many inside, and the mean and the largest error of the forecast that never saw the family."
    yield ""
    rows = []
    for family in dict.fromkeys(r.case.family for r in row_checks() if not r.case.calendar):
        mine = [r for r in row_checks() if r.case.family == family and not r.case.calendar]
        errors = [math.expm1(-r.residual) for r in mine]
        source = mine[0].case.source if family != "llm-foundry" else "llm-foundry scripts/train/benchmarking (P)"
        rows.append(
            (family, str(len(mine)), f"{statistics.mean(r.covered for r in mine):.0%}", f"{statistics.mean(errors):+.0%}",
             f"{max(errors, key=abs):+.0%}", source)
        )  # fmt: skip
    yield from _table(("family", "rows", "inside", "mean error", "largest", "source"), rows)


def _steps_page() -> Iterator[str]:
    yield "## Step-level figures"
    yield ""
    rows = [
        (s.what, s.reported, f"{s.value():.5g}", f"{s.value() / s.expected - 1:+.2%}", s.source) for s in STEP_CHECKS
    ]
    yield from _table(("check", "reported", "ours", "difference", "source"), rows)


def _memory_page() -> Iterator[str]:
    yield "## Peak memory"
    yield ""
    yield "Reported is what torchtitan prints as reserved; ours is the FSDP2 convention with unfused logits, context 1 GiB, NCCL 1.5 GiB and 5 % fragmentation."
    yield ""
    rows = [
        (what, f"{reported:.1f}", f"{ours:.1f}", f"{ours / reported - 1:+.1%}", why or "-")
        for what, reported, ours, why in memory_rows()
    ]
    yield from _table(("run", "reported GiB", "ours GiB", "error", "why it misses"), rows)
    yield "Activations of eager Hugging Face layers, in units of 2 s b h. The terms were completed with these measurements in view: calibrated, not blind."
    yield ""
    layers = [
        (name, f"{ours:.2f}", f"{measured:.1f}", f"{ours / measured - 1:+.1%}")
        for name, ours, measured, _ in ACTIVATION_COEFFICIENTS
    ]
    yield from _table(("model", "ours", "measured", "error"), layers)


def _examples_page() -> Iterator[str]:
    yield "## Worked examples"
    yield ""
    rows = [
        (
            e.id,
            e.what,
            f"{e.expected:.7g}",
            f"{e.value():.7g}",
            f"{e.rtol:g}",
            "yes" if within(e.value(), e.expected, e.rtol) else "**no**",
            e.source,
        )
        for e in EXAMPLES
    ]
    yield from _table(("id", "example", "expected", "ours", "tolerance", "within", "source"), rows)


def totals() -> list[tuple[str, int, int | None, str]]:
    """(model, our total, published total, source) of every known model."""
    rows: list[tuple[str, int, int | None, str]] = [
        (name, count(preset(name)).total, row[1], row[5]) for name, row in COUNTS.items()
    ]
    return [
        *rows,
        *(
            (name, count(preset(name)).total, total, "planner/facts/configs.py")
            for name, (_, total) in CONFIGS_HF.items()
        ),
    ]


def _models_page() -> Iterator[str]:
    yield "## Parameter totals"
    yield ""
    rows = [
        (name, f"{ours:,}", "-" if published is None else f"{published:,}", "-" if published is None else f"{ours - published:+,}", source)
        for name, ours, published, source in totals()
    ]  # fmt: skip
    yield from _table(("model", "ours", "published", "difference", "source"), rows)


def answer() -> Answer:
    """The short form for the terminal."""
    bad = failures()
    inside = statistics.mean(r.covered for r in row_checks())
    lines = [
        f"{len(row_checks())} published rows, each forecast without its family: {inside:.0%} between p10 and p90, "
        f"median p90/p10 {statistics.median(r.ratio for r in row_checks()):.2f}",
        f"{len(EXAMPLES)} worked examples, {len(STEP_CHECKS)} step figures and {len(totals())} parameter totals: "
        + ("all reproduced" if not bad else f"{len(bad)} not reproduced"),
    ]
    missed = [r for r in row_checks() if not r.covered and r.case.calendar]
    notes = tuple(f"outside: {r.case.name}, published {math.exp(r.residual):.2f} x the forecast" for r in missed)
    return Answer(
        "validate", (*lines, *bad),
        (Section("coverage", "Coverage by kind, each row's family left out of the fit", (), coverage_table(), notes),),
    )  # fmt: skip
