"""A forecast of one layout's speed: the step by term, its MFU, and how far published runs of its like lie from such forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.step_time import TIME_TERMS, step_times
from planner.facts.step_time import BETWEEN, FITTED, NAMES, SPREAD, WITHIN, TimeFactors
from planner.model.config import ModelConfig
from planner.model.device import Accelerator
from planner.model.flops import token_flops

SOURCE = "step time by term, factors fitted to published rows (tokenmill plan validate)"


@dataclass(frozen=True)
class Forecast:
    """Seconds per step by term and what they mean. Spreads are standard deviations of logs, for a run never seen."""

    terms: Mapping[str, float]
    tokens_per_step: float
    tokens_per_second_per_gpu: float
    mfu: float
    """By the PaLM convention, of the training dtype's dense peak."""
    step_spread: float
    slack: float
    """Time of the layouts that people run over the best that a search finds; 1 where the layout was given."""
    slack_spread: float
    calendar: float
    """Time of the calendar over that of the steps, failures apart."""
    calendar_spread: float
    leans_on: tuple[tuple[str, float], ...]
    """Factors by how far their spread from code base to code base moves this forecast, largest first."""

    @property
    def seconds(self) -> float:
        """One optimizer step."""
        return sum(self.terms.values())


def scale(gpus: float) -> float:
    """How much of a calendar a job of this size has: none on a node, all from 1,024 GPUs, smooth between."""
    return min(1.0, max(0.0, math.log(gpus / 8) / math.log(128)))


def calendar(device: Accelerator, gpus: float, factors: TimeFactors = FITTED) -> float:
    """Calendar over step time beyond failures: ramps, evaluation, repeated steps, waiting for people; 1 on one node."""
    return math.exp((factors.calendar_hopper if device.recent else factors.calendar) * scale(gpus))


def layout_slack(c: ModelConfig, factors: TimeFactors = FITTED) -> float:
    """Time of the layouts that people run over the best that the search finds; 1 with experts, whose published layouts
    are no slower than what the search finds for them."""
    return 1.0 if c.moe is not None else math.exp(factors.slack)


def slopes(
    c: ModelConfig,
    device: Accelerator,
    layout: Layout,
    options: MemoryOptions,
    dtype: str,
    factors: TimeFactors = FITTED,
) -> dict[str, float]:
    """Of the log of step time by the log of each factor, numerically; factors of the calendar have none."""
    base = float(step_times(c, device, layout, options, dtype, factors).sum())
    out = {}
    for name in NAMES:
        moved = replace(factors, **{name: getattr(factors, name) * 1.02})
        out[name] = math.log(float(step_times(c, device, layout, options, dtype, moved).sum()) / base) / math.log(1.02)
    return out


def forecast(
    c: ModelConfig,
    device: Accelerator,
    layout: Layout,
    options: MemoryOptions,
    dtype: str = "bf16",
    searched: bool = False,
) -> Forecast:
    """The forecast of a layout, given or found by a search. Raises PlanError where the device has no such dtype."""
    gpus = float(layout.gpus)
    times = step_times(c, device, layout, options, dtype)[0]
    tokens = float(layout.dp * layout.micro_batch * layout.microbatches * options.seq)
    speed = tokens / float(times.sum()) / gpus
    own = {k: v * SPREAD.get(k, 0.0) for k, v in slopes(c, device, layout, options, dtype).items()}
    factor = calendar(device, gpus)
    slack = layout_slack(c) if searched else 1.0
    name = "calendar_hopper" if device.recent else "calendar"
    leans = sorted(((k, abs(v)) for k, v in own.items() if abs(v) > 0.01), key=lambda pair: -pair[1])
    return Forecast(
        terms=dict(zip(TIME_TERMS, (float(v) for v in times), strict=True)), tokens_per_step=tokens,
        tokens_per_second_per_gpu=speed, mfu=token_flops(c, options.seq).model * speed / device.peak(dtype),
        step_spread=float(np.sqrt(WITHIN**2 + BETWEEN**2 + sum(v * v for v in own.values()))),
        slack=slack, slack_spread=math.log(slack) * SPREAD["slack"],
        calendar=factor, calendar_spread=math.log(factor) * SPREAD[name], leans_on=tuple(leans),
    )  # fmt: skip
