"""Time and money of a run as samples: utilisation, goodput, price, and the shares people forget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.errors import PlanError
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.duration import energy_kwh
from planner.estimate.forecast import SOURCE as FORECAST_SOURCE
from planner.estimate.forecast import Forecast, forecast
from planner.estimate.inputs import PlanInputs
from planner.estimate.memory import checkpoint_bytes
from planner.estimate.reliability import best_interval, goodput, job_mtbf, rate_distribution
from planner.estimate.uncertainty import (
    Distribution,
    Interval,
    LogNormal,
    LogUniform,
    Samples,
    TornadoRow,
    Uniform,
    draw,
    interval,
    tornado,
)
from planner.facts.failures import RESTART_MINUTES, STORAGE_PER_GPU
from planner.model.count import count
from planner.model.device import price
from planner.model.flops import TokenFlops, token_flops
from planner.units import DAY, HOUR


@dataclass(frozen=True)
class Schedule:
    """What the run takes. Intervals are p10, p50, p90."""

    kind: str
    """`step` (step MFU, goodput and calendar on top) or `calendar` (both inside)."""
    forecast: Forecast | None
    """The step by term, where the utilisation is the model's and not given."""
    utilisation_source: str
    convention: str
    flops_per_token: float
    total_flops: float
    flops: TokenFlops
    utilisation: Interval
    goodput: Interval
    ramp_slowdown: float
    """Time relative to the full batch throughout; applied to a step MFU, inside a calendar MFU."""
    days: Interval
    gpu_hours: Interval
    price: Interval | None
    price_source: str
    gpu_usd: Interval | None
    total_usd: Interval | None
    bill: tuple[tuple[str, Interval | None, str], ...]
    """(line, US dollars, basis); the lines of one sample add up to its total."""
    energy_kwh: Interval | None
    finish_chance: float | None
    """Share of samples that meet the deadline."""
    tornado: tuple[TornadoRow, ...]
    tornado_of: str
    checkpoint_bytes: float
    checkpoint_stall: float


def utilisation(i: PlanInputs, f: Forecast | None = None) -> tuple[str, Distribution, str, str]:
    """(kind, distribution, source, convention) of the utilisation a plan uses: given, or of the forecast."""
    if i.mfu is not None:
        return "step", Uniform(*i.mfu), "given: any value in the range equally likely", "palm"
    if i.calendar_mfu is not None:
        return "calendar", Uniform(*i.calendar_mfu), "given: any value in the range equally likely", "6nd"
    if f is None:
        raise PlanError("plan: a utilisation, or a layout to forecast it from, is needed")
    return "step", LogNormal(math.log(f.mfu), f.step_spread), FORECAST_SOURCE, "palm"


def soft_inputs(i: PlanInputs, f: Forecast | None = None) -> dict[str, Distribution]:
    """Every uncertain input and its distribution."""
    out: dict[str, Distribution] = {"utilisation": utilisation(i, f)[1]}
    if f is not None and f.slack_spread:
        out["layout"] = LogNormal(math.log(f.slack), f.slack_spread)
    if f is not None and f.calendar_spread:
        out["calendar"] = LogNormal(math.log(f.calendar), f.calendar_spread)
    mean, spread = rate_distribution()
    out["GPU-days per failure"] = LogUniform(*i.failure_rate) if i.failure_rate else LogNormal(mean, spread)
    out["restart minutes"] = Uniform(*(i.restart or RESTART_MINUTES))
    if i.storage is None:
        default = STORAGE_PER_GPU * i.gpus
        out["storage bytes/s"] = LogUniform(default / 3, default * 3)
    known = i.price or (price(i.device) or (None, None))[:2]
    if known[0] is not None and known[1] is not None:
        out["USD per GPU-hour"] = Uniform(known[0], known[1])
    return out


def forecast_of(i: PlanInputs, where: Layout | None, searched: bool) -> Forecast | None:
    """The forecast a plan rests on; None where the utilisation is given."""
    if i.mfu is not None or i.calendar_mfu is not None or where is None:
        return None
    return forecast(i.model, i.device, where, memory_options(i), i.dtype, searched=searched)


def memory_options(i: PlanInputs) -> MemoryOptions:
    """Memory options of the inputs."""
    return MemoryOptions(
        seq=i.seq, optimizer=i.optimizer, convention=i.convention, flash=i.flash, logits=i.logits or "unfused",
        bytes_each=4 if i.dtype in ("fp32", "tf32") else 2, gradient_bytes=i.gradient_bytes, ema=i.ema, offload=i.offload,
        shard=i.shard, secondary=i.secondary, bucket_bytes=i.buckets,
    )  # fmt: skip


def schedule(i: PlanInputs, where: Layout | None = None, searched: bool | None = None) -> Schedule:
    """Samples the run's time and cost in the layout `where`, found by a search unless the inputs give it.

    Raises PlanError without a token total.
    """
    f = forecast_of(i, where, not i.layout_given if searched is None else searched)
    kind, _, source, convention = utilisation(i, f)
    flops = token_flops(i.model, i.seq, convention, i.recompute or "none")
    total = flops.model * i.training_tokens
    inputs = soft_inputs(i, f)
    draws = draw(inputs, i.samples, i.seed)
    ramp = i.ramp.slowdown(where.dp, where.pp) if i.ramp and where else 1.0
    state = checkpoint_bytes(count(i.model).total, i.optimizer)

    def share_of_time(d: Mapping[str, Samples]) -> Samples:
        stall = state / d.get("storage bytes/s", np.array([i.storage or 1.0]))
        mtbf = job_mtbf(d["GPU-days per failure"], i.gpus)
        restart = 60 * d["restart minutes"]
        every = best_interval(stall, mtbf) if i.checkpoint_hours is None else 3600 * i.checkpoint_hours
        return np.maximum(goodput(every, stall, mtbf, restart), 1e-6)

    def days_of(d: Mapping[str, Samples]) -> Samples:
        step = total / (i.peak * d["utilisation"] * i.gpus * DAY) * d.get("calendar", 1.0) * d.get("layout", 1.0)
        return step * ramp / share_of_time(d) if kind == "step" else step

    def hours_of(d: Mapping[str, Samples]) -> Samples:
        return days_of(d) * i.gpus * 24

    def bill_of(d: Mapping[str, Samples]) -> Samples:
        return hours_of(d) * d["USD per GPU-hour"] * (1 + i.ablations + i.failed_runs) + data_usd(i)

    priced = "USD per GPU-hour" in inputs
    answer = bill_of if priced else days_of
    relevant = {k: v for k, v in inputs.items() if kind == "step" or k in ("utilisation", "USD per GPU-hour")}
    hours = interval(hours_of(draws))
    watts = i.device.watts
    stall = state / (i.storage or STORAGE_PER_GPU * i.gpus)
    return Schedule(
        kind=kind, forecast=f, utilisation_source=source, convention=convention, flops_per_token=flops.model, total_flops=total,
        flops=flops, utilisation=interval(draws["utilisation"]), goodput=interval(share_of_time(draws)), ramp_slowdown=ramp,
        days=interval(days_of(draws)), gpu_hours=hours, price=interval(draws["USD per GPU-hour"]) if priced else None,
        price_source="given" if i.price else (price(i.device) or (0, 0, "no published price; give --price"))[2],
        gpu_usd=interval(hours_of(draws) * draws["USD per GPU-hour"]) if priced else None,
        total_usd=interval(bill_of(draws)) if priced else None, bill=_bill(i, hours_of(draws), draws.get("USD per GPU-hour")),
        energy_kwh=_scaled(hours, energy_kwh(1.0, watts, i.pue)) if watts else None,
        finish_chance=None if i.deadline is None else float(np.mean(days_of(draws) <= i.deadline)),
        tornado=tornado(answer, relevant, {k: draws[k] for k in relevant}), tornado_of="cost" if priced else "days",
        checkpoint_bytes=state, checkpoint_stall=stall,
    )  # fmt: skip


def data_usd(i: PlanInputs) -> float:
    """Data preparation: the run's own CPU-seconds, extrapolated to the planned corpus, at the CPU price."""
    seconds = i.corpus.cpu_seconds if i.corpus else None
    return 0.0 if seconds is None else seconds / HOUR * i.cpu_price


def _bill(i: PlanInputs, hours: Samples, usd: Samples | None) -> tuple[tuple[str, Interval | None, str], ...]:
    main = None if usd is None else hours * usd
    lines: list[tuple[str, Interval | None, str]] = [("GPUs of the main run", _of(main), "GPU-hours x price")]
    for name, share in (("ablations", i.ablations), ("failed and repeated runs", i.failed_runs)):
        lines.append(
            (name, _of(None if main is None else main * share), f"{100 * share:.3g} % of the main run, as stated")
        )
    if i.corpus is not None and i.corpus.cpu_seconds is not None:
        basis = f"{i.corpus.cpu_seconds / HOUR:.3g} CPU-hours at ${i.cpu_price:g}, scaled from the run's own tally"
        lines.append(("data preparation", Interval(*[data_usd(i)] * 3), basis))
    return tuple(lines)


def _of(values: Samples | None) -> Interval | None:
    return None if values is None else interval(values)


def _scaled(v: Interval, factor: float) -> Interval:
    return Interval(v.p10 * factor, v.p50 * factor, v.p90 * factor)
