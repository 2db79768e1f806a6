"""A plan as sections of quantities, each number with its formula, inputs and source."""

from __future__ import annotations

from planner.estimate.run import RunEstimate
from planner.facts.optimizers import CONVENTIONS
from planner.model.flops import CONVENTIONS as FLOP_CONVENTIONS
from planner.report.envelope import envelope
from planner.report.quantity import Section
from planner.report.sections_data import data, reliability, serving, vocabulary
from planner.report.sections_fit import compute, layouts, memory, model
from planner.report.sections_time import bill, moves, step, time, uncertainty

__all__ = [
    "all_sections",
    "bill",
    "compute",
    "conventions",
    "data",
    "envelope",
    "layouts",
    "memory",
    "model",
    "moves",
    "reliability",
    "serving",
    "step",
    "time",
    "uncertainty",
    "vocabulary",
]


def all_sections(p: RunEstimate) -> tuple[Section, ...]:
    """All sections of a plan, in reading order."""
    parts = [model(p), compute(p), memory(p), layouts(p), time(p)]
    parts += [step(p)] if p.schedule.forecast else []
    parts += [envelope(p), bill(p), moves(p), data(p)]
    parts += [vocabulary(p)] if p.vocabulary else []
    parts += [reliability(p)]
    parts += [serving(p)] if p.serving else []
    return tuple([*parts, uncertainty(p)])


def conventions(p: RunEstimate) -> dict[str, str]:
    """Every convention the plan's numbers rest on."""
    return {
        "flops": FLOP_CONVENTIONS[p.schedule.convention],
        "utilisation": f"{p.schedule.kind} MFU",
        "bytes_per_parameter": CONVENTIONS[p.inputs.convention].source,
        "units": "GB = 1e9 bytes, GiB = 2^30 bytes; FLOP counts, FLOP/s rates; peaks are dense",
        "intervals": f"p10, p50, p90 of {p.inputs.samples} seeded samples (seed {p.inputs.seed})",
        "parameters_in_scaling_laws": "total (active for a mixture of experts), as Hoffmann",
    }
