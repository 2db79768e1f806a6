"""Back of the envelope: the sketches that a plan should agree with, each with its formula on the line."""

from __future__ import annotations

from dataclasses import replace

from planner.estimate.activations import score_matrix_bytes
from planner.estimate.arrangement import Layout
from planner.estimate.duration import days
from planner.estimate.forecast import forecast
from planner.estimate.run import RunEstimate
from planner.estimate.schedule import memory_options
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
        "attention, layout slack, calendar and goodput"
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
        Quantity(name, value, unit, label, label, {}, "design notes")
        for name, value, unit, label in (*rows, *batch_sketch(p))
    )
    return Section("envelope", "Back of the envelope", quantities)


def batch_sketch(p: RunEstimate) -> tuple[tuple[str, float, str, str], ...]:
    """What the batch does: tokens per GPU against what hides ZeRO-3, a kept tensor's bytes, and twice the GPUs at this batch."""
    i, layout = p.inputs, p.fit.memory.layout
    batch, device = p.fit.global_batch * i.seq, i.device
    node = min(device.per_node * device.network_bandwidth, device.scale_up_bandwidth)
    kept = 2.0 * layout.micro_batch * i.seq * i.model.hidden * i.model.layers / layout.cp
    rows = [
        ("batch_tokens_per_gpu", batch / i.gpus, "", f"tokens per GPU and step = batch x T / GPUs = {p.fit.global_batch:,} x {i.seq:,} / {i.gpus:,}"),
        ("zero3_floor_tokens_per_gpu", i.peak / node, "", f"wanted to hide ZeRO-3 across nodes = peak / a node's network = {i.peak / 1e12:.4g}e12 / {node / 1e9:.4g}e9"),
        ("kept_tensor", kept, "bytes", f"one kept activation of every layer = 2 b T h L = 2 x {layout.micro_batch} x {i.seq:,} x {i.model.hidden:,} x {i.model.layers} (a layer keeps about 20)"),
    ]  # fmt: skip
    halved = half_batch(layout)
    if p.schedule.forecast is not None and halved is not None:
        mfu = forecast(i.model, i.device, halved, memory_options(i), i.dtype).mfu
        label = f"step MFU with {2 * i.gpus:,} GPUs at the same batch (here {p.schedule.forecast.mfu:.2f})"
        rows.append(("mfu_at_twice_the_gpus", mfu, "share", label))
    return tuple(rows)


def half_batch(layout: Layout) -> Layout | None:
    """The layout on twice the GPUs at the same batch: half the work per replica; None where a replica has one sequence."""
    if layout.microbatches % 2 == 0:
        return replace(layout, dp=2 * layout.dp, microbatches=layout.microbatches // 2)
    if layout.micro_batch % 2 == 0:
        return replace(layout, dp=2 * layout.dp, micro_batch=layout.micro_batch // 2)
    return None
