"""Estimate against run: which term was missed, by how much, and what to assume next time.

Never a silent rescale: for each candidate the residual that would be left is computed, and among those that explain
the gap the smallest change is named first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.errors import PlanError, positive
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.memory import MemoryEstimate, estimate
from planner.estimate.step_time import TIME_TERMS
from planner.model.config import Experts, LatentAttention, ModelConfig
from planner.model.device import Accelerator
from planner.model.flops import CONVENTIONS as FLOP_CONVENTIONS
from planner.model.flops import token_flops
from planner.report.guess import Score, actual, scores
from planner.report.verdict import Verdict, verdict

NOT_ALLOCATED = ("fragmentation", "device context", "communication buffers")
"""Terms an allocator's own peak does not see."""

TIME_NEAR, MEMORY_NEAR = 0.10, 0.25
"""A candidate explains a gap when it leaves at most 10 % of the time, or 25 % of the missing bytes."""


@dataclass(frozen=True)
class Explanation:
    """A candidate for a gap: its size (a factor of time, or bytes), what is left of the gap, and whether it explains it."""

    term: str
    size: float
    residual: float
    explains: bool


@dataclass(frozen=True)
class Comparison:
    """What a measured run says about a plan. Times in seconds, memory in bytes; `calibration` is for the next plan."""

    time_ratio: float | None
    """Measured over predicted step time at the plan's median utilisation."""
    within_range: bool | None
    mfu: Mapping[str, float]
    time_explanations: tuple[Explanation, ...]
    memory_gap: float | None
    memory_explanations: tuple[Explanation, ...]
    buckets: tuple[tuple[str, float, float], ...]
    """(bucket, predicted bytes, measured bytes)."""
    calibration: Mapping[str, float]
    predicted_step_seconds: float
    predicted_allocated: float
    measured: Mapping[str, Any]
    verdict: Verdict | None
    scores: tuple[Score, ...]
    """Guesses that were recorded with the plan, against the run."""


@dataclass(frozen=True)
class _Planned:
    """The parts of a plan.json that a comparison needs."""

    model: ModelConfig
    layout: Layout
    options: MemoryOptions
    device: Accelerator
    dtype: str
    gpus: int
    batch_tokens: float
    utilisation: Mapping[str, float]
    convention: str
    ceiling: float
    """The best matmul measured on the device, of its peak."""
    step: Mapping[str, float]
    """The forecast's share of a step by term; empty where the utilisation was given."""


def read_plan(table: Mapping[str, Any]) -> _Planned:
    """What a comparison needs of `plan.json`. Raises PlanError when it is not one."""
    try:
        i, layout = table["inputs"], Layout(**table["layout_chosen"])
        moe, mla = i["model"].get("moe"), i["model"].get("mla")
        model = ModelConfig(
            **{**i["model"], "moe": Experts(**moe) if moe else None, "mla": LatentAttention(**mla) if mla else None}
        )
        peaks = tuple((k, float(v)) for k, v in i["device"]["peak_flop_per_s"].items())
        device = Accelerator(i["device"]["name"], i["device"]["name"], peaks, i["device"]["memory_bytes"],
                             i["device"]["memory_bandwidth_bytes_per_s"], 1.0, 1.0, 8, None, 1.0, "plan.json")  # fmt: skip
        time = table["time"]
        kind = "step" if "step_mfu_share" in time else "calendar"
        options = MemoryOptions(seq=i["seq_tokens"], optimizer=i["optimizer"], convention=i["convention"], flash=i["flash"],
                                logits=i["logits"] or "unfused", bytes_each=4 if i["dtype"] in ("fp32", "tf32") else 2,
                                gradient_bytes=i.get("gradient_bytes"), ema=i.get("ema", False), offload=i.get("offload", "none"),
                                shard=i.get("shard", 0), secondary=i.get("secondary", 0), bucket_bytes=i.get("buckets", 0.0))  # fmt: skip
    except (KeyError, TypeError) as error:
        raise PlanError(f"plan.json: not a plan written by tokenmill plan --json ({error})") from error
    batch = layout.dp * layout.micro_batch * layout.microbatches * options.seq
    return _Planned(
        model,
        layout,
        options,
        device,
        i["dtype"],
        i["gpus"],
        batch,
        time[f"{kind}_mfu_share"],
        "palm" if kind == "step" else "6nd",
        i["device"].get("matmul_share", 1.0),
        {t: table.get("step", {}).get(t.replace(" ", "_").replace("-", "_") + "_share", 0.0) for t in TIME_TERMS},
    )


def compare(plan: Mapping[str, Any], measured: Mapping[str, Any]) -> Comparison:
    """Holds `measured.json` against `plan.json` (both as dicts).

    Reads step_seconds, tokens_per_second, peak_allocated_bytes, peak_reserved_bytes, device_used_bytes, data_seconds,
    buckets_bytes, and of a finished run days or gpu_hours; any may be absent, but not all. Raises PlanError for numbers
    that cannot be.
    """
    p = read_plan(plan)
    known = (
        "step_seconds",
        "tokens_per_second",
        "peak_allocated_bytes",
        "peak_reserved_bytes",
        "device_used_bytes",
        "data_seconds",
        "days",
        "gpu_hours",
    )
    numbers = {k: positive(f"measured.json: {k}", measured[k]) for k in known if measured.get(k) is not None}
    if not numbers:
        raise PlanError(f"measured.json: has none of {', '.join(known)}")
    p = _with_measured_batch(p, measured)
    flops = token_flops(p.model, p.options.seq, p.convention).model
    predicted = flops * p.batch_tokens / (p.gpus * p.device.peak(p.dtype) * p.utilisation["p50"])
    speed = numbers.get("tokens_per_second") or (
        p.batch_tokens / numbers["step_seconds"] if "step_seconds" in numbers else None
    )
    memory = estimate(p.model, p.layout, p.options, p.device)
    allocated = memory.total - sum(memory.terms[k] for k in NOT_ALLOCATED)
    gap = numbers["peak_allocated_bytes"] - allocated if "peak_allocated_bytes" in numbers else None
    mfu = {} if speed is None else _mfu(p, speed)
    ratio = None if speed is None else p.batch_tokens / predicted / speed
    own = mfu.get(p.convention)
    within = None if own is None else p.utilisation["p10"] <= own <= p.utilisation["p90"]
    buckets = _buckets(memory, measured.get("buckets_bytes") or {})
    return Comparison(
        time_ratio=ratio, within_range=within, mfu=mfu,
        time_explanations=() if ratio is None or within else _explain_time(p, ratio, numbers),
        memory_gap=gap, memory_explanations=() if gap is None else _explain_memory(p, memory, allocated, gap, buckets), buckets=buckets,
        calibration=_calibrate(p, mfu, numbers, buckets), predicted_step_seconds=predicted, predicted_allocated=allocated, measured=numbers,
        verdict=None if not mfu else verdict(mfu["palm"], p.ceiling, p.step, _data_share(numbers, None if speed is None else p.batch_tokens / speed)),
        scores=scores(plan, actual(plan, numbers, p.batch_tokens)),
    )  # fmt: skip


def _data_share(numbers: Mapping[str, float], step_seconds: float | None) -> float | None:
    """Share of the measured step that waited for data, where the run says."""
    if "data_seconds" not in numbers or not step_seconds:
        return None
    return numbers["data_seconds"] / step_seconds


def _with_measured_batch(p: _Planned, measured: Mapping[str, Any]) -> _Planned:
    """The plan at the batch that was run, when the run says so."""
    layout = p.layout
    if measured.get("micro_batch"):
        layout = replace(layout, micro_batch=int(measured["micro_batch"]))
    options = p.options if not measured.get("seq_tokens") else replace(p.options, seq=int(measured["seq_tokens"]))
    batch = float(measured.get("batch_tokens") or layout.dp * layout.micro_batch * layout.microbatches * options.seq)
    return replace(p, layout=layout, options=options, batch_tokens=batch)


def _mfu(p: _Planned, speed: float) -> dict[str, float]:
    """Measured MFU by every convention."""
    whole = p.gpus * p.device.peak(p.dtype)
    return {k: token_flops(p.model, p.options.seq, k).model * speed / whole for k in FLOP_CONVENTIONS}


def _explain_time(p: _Planned, ratio: float, numbers: Mapping[str, float]) -> tuple[Explanation, ...]:
    found = [
        Explanation(term, factor, ratio / factor - 1, abs(math.log(ratio / factor)) <= math.log1p(TIME_NEAR))
        for term, factor in _time_candidates(p, numbers)
        if abs(math.log(factor)) > 0.01
    ]
    return tuple(
        sorted(
            found, key=lambda e: (not e.explains, abs(math.log(e.size)) if e.explains else abs(math.log1p(e.residual)))
        )
    )


def _time_candidates(p: _Planned, numbers: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """(cause, factor on step time) of what plans commonly miss."""
    flops = token_flops(p.model, p.options.seq, "palm", p.layout.recompute)
    for policy in ("none", "selective-op", "full"):
        other = token_flops(p.model, p.options.seq, "palm", policy)
        yield f"recompute {policy} instead of {p.layout.recompute}", other.hardware / flops.hardware
    attention = token_flops(p.model, p.options.seq, "palm").model / token_flops(p.model, p.options.seq, "matmul").model
    yield (
        "attention was not counted in the plan" if p.convention == "6nd" else "causal attention skips half",
        attention if p.convention == "6nd" else (1 + 1 / attention) / 2,
    )
    peaks = dict(p.device.peaks)
    for dtype in ("fp16", "tf32", "fp32"):
        if dtype in peaks and dtype != p.dtype:
            yield f"matrix products fell back to {dtype}", peaks[p.dtype] / peaks[dtype]
    stages, micro = p.layout.pp, p.layout.microbatches
    yield "the pipeline bubble", (micro + stages - 1) / micro
    if micro > 1:
        yield "the time is of one micro-batch, not of a step", 1 / micro
    if p.gpus > 1:
        yield "tokens per second are per GPU, not of the job", float(p.gpus)
    if "data_seconds" in numbers and numbers.get("step_seconds", 0) > numbers["data_seconds"]:
        yield "waiting for data", numbers["step_seconds"] / (numbers["step_seconds"] - numbers["data_seconds"])
    yield "utilisation at the low end of the plan's range", p.utilisation["p50"] / p.utilisation["p10"]
    yield "utilisation at the high end of the plan's range", p.utilisation["p50"] / p.utilisation["p90"]


def _explain_memory(
    p: _Planned, base: MemoryEstimate, allocated: float, gap: float, buckets: Sequence[tuple[str, float, float]]
) -> tuple[Explanation, ...]:
    """Candidates for the gap. Where the run told its buckets apart, each is held against its own bucket's gap."""
    gaps = {
        name: measured - predicted
        for name, predicted, measured in buckets
        if abs(measured - predicted) > 0.1 * predicted
    }
    if abs(gap) < 0.05 * allocated and not gaps:
        return ()
    found = []
    for term, bucket, size in _memory_candidates(p, base):
        if buckets and bucket in {b[0] for b in buckets} and bucket not in gaps:
            continue
        own = gaps.get(bucket, gap)
        if abs(size) > 0.01 * abs(own):
            found.append(Explanation(term, size, own - size, abs(own - size) <= MEMORY_NEAR * abs(own)))
    return tuple(sorted(found, key=lambda e: (not e.explains, abs(e.size) if e.explains else abs(e.residual))))


def _memory_candidates(p: _Planned, base: MemoryEstimate) -> Iterator[tuple[str, str, float]]:
    """(cause, bucket, bytes it would add) of what plans commonly miss; each is the estimate with one assumption changed."""

    def change(layout: Layout | None = None, **options: Any) -> float:
        e = estimate(p.model, layout or p.layout, replace(p.options, **options), p.device)
        return _allocated(e) - _allocated(base)

    for logits in ("unfused", "fp32", "fused"):
        if logits != p.options.logits:
            yield f"logits are {logits}, not {p.options.logits}", "logits", change(logits=logits)
    for policy in ("none", "selective-op", "full"):
        if policy != p.layout.recompute:
            yield (
                f"recompute is {policy}, not {p.layout.recompute}",
                "activations",
                change(replace(p.layout, recompute=policy)),
            )
    if not p.options.eager:
        yield "eager layers keep fp32 norm copies and rotary temporaries", "activations", change(eager=True)
    if p.options.flash:
        yield "attention is not flash: the score matrix is kept", "activations", change(flash=False)
    if p.options.bytes_each == 2:
        yield (
            "activations are fp32, not 16-bit",
            "activations",
            base.terms["activations"] + base.terms["layer being recomputed"],
        )
    yield "a second unsharded copy of the largest layer", "weights", base.terms["unsharded layers"]
    yield from _state_candidates(p, base)


def _state_candidates(p: _Planned, base: MemoryEstimate) -> Iterator[tuple[str, str, float]]:
    """Weights, gradients and optimizer state kept otherwise than planned."""
    places = {"weights": "weights", "gradients": "gradients", "master copy": "weights", "moments": "optimizer"}
    if p.options.convention == "zero":
        yield "gradients are fp32 (2 more bytes per parameter)", "gradients", base.terms["gradients"]
    shards = p.layout.dp * p.layout.cp
    if shards > 1:
        for name in places:
            yield f"{name} are not sharded over data parallelism", places[name], base.terms[name] * (shards - 1)
    if base.terms["master copy"]:
        yield "no fp32 master copy is kept", "weights", -base.terms["master copy"]
    yield "gradients are freed before the peak", "", -base.terms["gradients"]


def _allocated(e: MemoryEstimate) -> float:
    return e.total - sum(e.terms[k] for k in NOT_ALLOCATED)


def _buckets(memory: MemoryEstimate, measured: Mapping[str, float]) -> tuple[tuple[str, float, float], ...]:
    """Predicted and measured bytes of the buckets a run can tell apart."""
    t = memory.terms
    predicted = {
        "weights": t["weights"] + t["master copy"], "gradients": t["gradients"], "optimizer": t["moments"],
        "activations": t["activations"] + t["embedding output"], "logits": t["logits and loss"],
    }  # fmt: skip
    return tuple(
        (k, predicted[k], positive(f"measured.json: buckets_bytes.{k}", measured[k]))
        for k in predicted
        if measured.get(k)
    )


def _calibrate(
    p: _Planned, mfu: Mapping[str, float], numbers: Mapping[str, float], buckets: tuple[tuple[str, float, float], ...]
) -> dict[str, float]:
    """Coefficients for the next plan."""
    out = {}
    if p.convention in mfu:
        out["step_mfu"] = mfu["palm"]
    for name, predicted, measured in buckets:
        if name == "activations" and predicted:
            out["activation_coefficient"] = measured / predicted
    if "peak_reserved_bytes" in numbers and "peak_allocated_bytes" in numbers:
        out["fragmentation_share"] = numbers["peak_reserved_bytes"] / numbers["peak_allocated_bytes"] - 1
    if "device_used_bytes" in numbers and "peak_reserved_bytes" in numbers:
        out["context_and_communication_bytes"] = numbers["device_used_bytes"] - numbers["peak_reserved_bytes"]
    return out
