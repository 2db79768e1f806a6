"""The validation page: our estimates against published runs and worked examples. Nothing is tuned per row."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.estimate.memory import MemoryOptions, estimate
from planner.facts.models import COUNTS
from planner.facts.runs import CALENDAR_DEFAULT, RUNS, Run, calendar_values
from planner.model.count import count
from planner.model.device import accelerator
from planner.model.shapes import preset
from planner.report.examples import ACTIVATION_COEFFICIENTS, EXAMPLES, MEMORY_CHECKS, STEP_CHECKS, within
from planner.report.quantity import Answer, Quantity, Section
from planner.units import GIB


@dataclass(frozen=True)
class RunRow:
    """One published run against the default plan: hours in GPU-hours, errors relative to the published hours."""

    run: Run
    effective_mfu: float
    predicted_hours: float
    error: float
    covered: bool
    error_at_reported: float | None


def run_rows() -> list[RunRow]:
    """Every published run by C = 6 N D at the default calendar MFU."""
    low, point, high = CALENDAR_DEFAULT
    out = []
    for r in RUNS:
        flops = 6 * r.parameters * r.tokens
        at_peak = flops / (r.peak_tflops * 1e12 * 3600)
        effective = at_peak / r.gpu_hours
        reported = None if r.reported_mfu is None else at_peak / r.reported_mfu / r.gpu_hours - 1
        out.append(
            RunRow(r, effective, at_peak / point, at_peak / point / r.gpu_hours - 1, low <= effective <= high, reported)
        )
    return out


@dataclass(frozen=True)
class Coverage:
    """How the default does: on all runs, and on those that are multi-node calendar time."""

    runs: int
    covered: int
    multi_node: int
    multi_node_covered: int
    median_absolute_error: float
    multi_node_median_absolute_error: float
    multi_node_median_error: float
    left_out_covered: int
    """Multi-node runs inside the p10 to p90 of the other ones (leave one out)."""


def coverage() -> Coverage:
    """Coverage and median error of the default interval and point."""
    rows = run_rows()
    multi = [r for r in rows if r.run.prior]
    values = calendar_values()
    left_out = 0
    for k, v in enumerate(values):
        others = values[:k] + values[k + 1 :]
        cuts = statistics.quantiles(others, n=10, method="inclusive")
        left_out += cuts[0] <= v <= cuts[-1]
    return Coverage(
        runs=len(rows), covered=sum(r.covered for r in rows), multi_node=len(multi), multi_node_covered=sum(r.covered for r in multi),
        median_absolute_error=statistics.median(abs(r.error) for r in rows),
        multi_node_median_absolute_error=statistics.median(abs(r.error) for r in multi),
        multi_node_median_error=statistics.median(r.error for r in multi), left_out_covered=left_out,
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
    bad += [
        f"{name}: {count(preset(name)).total} instead of {row[0]}"
        for name, row in COUNTS.items()
        if count(preset(name)).total != row[0]
    ]
    return bad


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def markdown() -> str:
    """The page as Markdown."""
    c = coverage()
    low, point, high = CALENDAR_DEFAULT
    lines = [
        "# The planner against what was published", "",
        "Written by `tokenmill plan validate --write docs/planner-validation.md`; do not edit. Nothing is tuned per row: the same",
        "code and defaults as a plan. Status marks: P primary source read, S secondary, C computed, R recalled.", "",
        "## In short", "",
        f"- **Runs.** The default calendar interval ({low:.2f} to {high:.2f} of peak, by 6 N D over GPU-hours) covers {c.multi_node_covered} of {c.multi_node}"
        f" published multi-node runs ({c.multi_node_covered / c.multi_node:.0%}) and {c.covered} of all {c.runs} ({c.covered / c.runs:.0%}). The point"
        f" ({point:.2f}) has a median absolute error of {c.multi_node_median_absolute_error:.0%} on the multi-node runs ({c.median_absolute_error:.0%} on all),"
        f" and a median error of {c.multi_node_median_error:+.0%}.",
        f"- **The sampled prior** (p10 to p90 of the {c.multi_node} runs, 0.25 to 0.44) is in-sample by construction; leaving each run out of its own prior,"
        f" {c.left_out_covered} of {c.multi_node} fall inside ({c.left_out_covered / c.multi_node:.0%}, where 80 % is the aim).",
        f"- **Worked examples.** {len(EXAMPLES) - sum(not within(e.value(), e.expected, e.rtol) for e in EXAMPLES)} of {len(EXAMPLES)} formulas,"
        f" {sum(within(s.value(), s.expected, s.rtol) for s in STEP_CHECKS)} of {len(STEP_CHECKS)} step-level figures and"
        f" {sum(count(preset(n)).total == r[0] for n, r in COUNTS.items())} of {len(COUNTS)} parameter totals are reproduced.", "",
    ]  # fmt: skip
    return (
        "\n".join([*lines, *_runs_page(), *_steps_page(), *_memory_page(), *_examples_page(), *_models_page()]).rstrip()
        + "\n"
    )


def _runs_page() -> Iterator[str]:
    yield "## Published runs, by the calendar"
    yield ""
    yield "Hours are GPU-hours. `error` is ours at 0.35 against the published hours; `at reported` uses the step MFU that the run itself reported, and shows"
    yield "what goodput costs: a step MFU alone promises too little time."
    yield ""
    rows = [
        (r.run.name, f"{r.run.parameters:.3g}", f"{r.run.tokens:.3g}", f"{r.run.gpu_hours:.4g}", f"{r.effective_mfu:.3f}", f"{r.predicted_hours:.3g}",
         f"{r.error:+.0%}", "-" if r.error_at_reported is None else f"{r.error_at_reported:+.1%}", "yes" if r.covered else "**no**",
         "yes" if r.run.prior else "no", r.run.source)
        for r in run_rows()
    ]  # fmt: skip
    yield from _table(
        (
            "run",
            "N",
            "D",
            "hours",
            "effective MFU",
            "ours",
            "error",
            "at reported",
            "covered",
            "multi-node calendar",
            "source",
        ),
        rows,
    )
    yield "### The misses, and what stays out of the prior"
    yield ""
    for r in run_rows():
        if not r.covered or r.run.why:
            where = f"effective MFU {r.effective_mfu:.3f}" + ("" if r.covered else f", error {r.error:+.0%}")
            yield f"- **{r.run.name}** ({where}): {r.run.why}."
    yield ""


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


def _models_page() -> Iterator[str]:
    yield "## Parameter totals"
    yield ""
    rows = []
    for name, (_, published, *_rest, source) in COUNTS.items():
        total = count(preset(name)).total
        rows.append(
            (
                name,
                f"{total:,}",
                "-" if published is None else f"{published:,}",
                "-" if published is None else f"{total - published:+,}",
                source,
            )
        )
    yield from _table(("model", "ours", "published", "difference", "source"), rows)


def answer() -> Answer:
    """The short form for the terminal."""
    c, bad = coverage(), failures()
    lines = [
        f"{c.multi_node_covered} of {c.multi_node} multi-node runs inside the default calendar interval ({c.covered} of all {c.runs}); "
        f"median absolute error {c.multi_node_median_absolute_error:.0%}",
        f"{len(EXAMPLES)} worked examples, {len(STEP_CHECKS)} step figures and {len(COUNTS)} parameter totals: "
        + ("all reproduced" if not bad else f"{len(bad)} not reproduced"),
    ]
    rows = (
        Quantity("covered_share", c.multi_node_covered / c.multi_node, "", "multi-node runs covered"),
        Quantity("median_absolute_error", c.multi_node_median_absolute_error, "share", "median absolute error"),
        Quantity("median_error", c.multi_node_median_error, "share", "median error"),
    )
    return Answer("validate", (*lines, *bad), (Section("runs", "Published runs", rows),))
