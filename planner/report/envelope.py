"""Back of the envelope: the sketches that a plan should agree with, each with its formula on the line."""

from __future__ import annotations

from planner.estimate.activations import score_matrix_bytes
from planner.estimate.duration import days
from planner.estimate.run import RunEstimate
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.count import count
from planner.report.quantity import Quantity, Section
from planner.units import big, plain


def sketch_mfu(p: RunEstimate) -> float:
    """The MFU of the sketch: the median of what was given or forecast."""
    return p.schedule.utilisation.p50


def sketch_days(p: RunEstimate) -> float:
    """6 N D / (GPUs x peak x MFU) in days, N active parameters."""
    i = p.inputs
    flops = 6 * count(i.model).active * i.training_tokens
    return days(flops, i.peak, min(1.0, sketch_mfu(p)), i.gpus)


def line(p: RunEstimate) -> str:
    """The sketch of the time beside the plan's own."""
    i, s = p.inputs, p.schedule
    said = (
        f"{plain(sketch_days(p))} days by 6 N D / ({i.gpus:,} GPUs x {i.peak / 1e12:.4g} TFLOP/s x {sketch_mfu(p):.2f})"
    )
    rest = (
        "attention, calendar and goodput"
        if s.forecast
        else "attention and goodput"
        if s.kind == "step"
        else "calendar MFU"
    )
    return f"{said}; {plain(s.days.p50)} with {rest}"


def envelope(p: RunEstimate) -> Section:
    """The sketches as quantities."""
    i, n = p.inputs, count(p.inputs.model)
    kind = CONVENTIONS[i.convention]
    per = kind.weights + kind.gradients + kind.master + MOMENTS[i.optimizer][0]
    flops = 6 * n.active * i.training_tokens
    table = n.embedding + n.head
    ridge = i.peak / i.device.memory_bandwidth
    rows = (
        ("sketch_days", sketch_days(p), "days", f"6 N D / (GPUs x peak x MFU) = 6 x {big(n.active)} x {big(i.training_tokens)} / ({i.gpus:,} x {i.peak / 1e12:.4g}e12 x {sketch_mfu(p):.2f})"),
        ("states", per * n.total, "bytes", f"{per:g} bytes x N (all GPUs together)"),
        ("largest_by_states", i.gpus * i.device.memory_bytes / per, "parameters", f"GPUs x memory / {per:g} (states only)"),
        ("ridge_point", ridge, "", f"peak / memory bandwidth, FLOP per byte = {i.peak / 1e12:.4g}e12 / {i.device.memory_bandwidth / 1e12:.4g}e12"),
        ("chinchilla_size", (flops / 120) ** 0.5, "parameters", f"sqrt(C / 120), C = {flops:.3g}"),
        ("embedding", table / n.total, "share", f"embedding share = {'1' if n.tied else '2'} V h / N = {'1' if n.tied else '2'} x {i.model.vocab:,} x {i.model.hidden:,} / {big(n.total)}"),
        ("score_matrix", score_matrix_bytes(1, i.model.heads, i.seq), "bytes", f"scores that flash attention never writes = heads T T x 2 = {i.model.heads} x {i.seq:,}^2 x 2 a sequence and layer"),
    )  # fmt: skip
    quantities = tuple(
        Quantity(name, value, unit, label, label, {}, "design notes") for name, value, unit, label in rows
    )
    return Section("envelope", "Back of the envelope", quantities)
