"""Search over parallel layouts: what fits, what is fastest, and what binds.

Every admissible (tp, pp, cp, ep, ZeRO, micro-batch, recompute) is evaluated at once in numpy arrays by the step time
that forecasts are made of (planner/estimate/step_time.py); its terms are the reasons given for a layout.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import PlanError, whole
from planner.estimate.arrangement import Layout, MemoryOptions, layers_per_stage, stages_divide
from planner.estimate.memory import device_terms
from planner.estimate.step_time import TIME_TERMS, bubble_of_ideal, bubble_share, step_times
from planner.facts.optimizers import CONVENTIONS
from planner.model.config import ModelConfig
from planner.model.count import count
from planner.model.device import Accelerator
from planner.model.flops import gemm_intensity

INTERLEAVE = (1, 2, 4, 8)
"""Chunks per pipeline stage that are tried (Narayanan 2021)."""

WORK = ("matrix products", "attention", "elementwise", "logits", "optimizer step")
"""Terms that no layout avoids."""

RECOMPUTE = ("none", "selective-op", "full")


@dataclass(frozen=True)
class Candidate:
    """One layout of the Pareto set. Times in seconds per step and GPU, memory in bytes on the fullest device."""

    layout: Layout
    memory: float
    step_seconds: float
    times: tuple[tuple[str, float], ...]
    relative_time: float
    """Step time over that of the fastest layout that fits."""
    bubble: float
    """Share of cluster time, (P - 1)/(M + P - 1)."""
    bubble_of_ideal: float
    """Relative to ideal time, (P - 1)/(V M)."""
    tokens_per_device: float
    gemm_intensity: float
    binding: str


@dataclass(frozen=True)
class Search:
    """The Pareto set (fastest first), what was tried, and why nothing fits when nothing does."""

    pareto: tuple[Candidate, ...]
    tried: int
    fitting: int
    smallest_memory: float
    ridge: float
    available: float
    leanest: Layout
    """The layout of least memory, fitting or not."""


@dataclass(frozen=True, kw_only=True)
class SearchSpace:
    """What the search may use. Empty tuples mean every admissible value."""

    gpus: int
    global_batch: int
    """Sequences per optimizer step."""
    tp: tuple[int, ...] = ()
    pp: tuple[int, ...] = ()
    cp: tuple[int, ...] = ()
    ep: tuple[int, ...] = ()
    zero: tuple[int, ...] = ()
    micro_batch: tuple[int, ...] = ()
    interleave: tuple[int, ...] = ()
    recompute: tuple[str, ...] = RECOMPUTE


def divisors(n: int, most: int | None = None) -> list[int]:
    """All divisors of n up to `most`."""
    return [d for d in range(1, min(n, most or n) + 1) if n % d == 0]


def _shapes(c: ModelConfig, space: SearchSpace, options: MemoryOptions, device: Accelerator) -> NDArray[np.int64]:
    """Rows of (tp, pp, cp, ep, zero, micro-batch, interleave, dp) that keep the divisibility and node rules."""
    node = min(device.per_node, space.gpus)
    tps = space.tp or tuple(t for t in divisors(node, 64) if _tp_divides(c, t))
    pps = space.pp or tuple(p for p in divisors(space.gpus, 64) if stages_divide(c.layers, p))
    cps = space.cp or tuple(
        k for k in (1, 2, 4, 8, 16) if k == 1 or (options.seq // k >= 4096 and options.seq % (2 * k) == 0)
    )
    eps = space.ep or (tuple(e for e in divisors(c.moe.experts, 64)) if c.moe else (1,))
    zeros = space.zero or CONVENTIONS[options.convention].stages
    sizes = space.micro_batch or (1, 2, 4, 8, 16, 32)
    chunks = space.interleave or INTERLEAVE
    rows = np.array(list(itertools.product(tps, pps, cps, eps, zeros, sizes, chunks)), np.int64).reshape(-1, 7)
    group = rows[:, 0] * rows[:, 1] * rows[:, 2]
    rows = rows[space.gpus % group == 0]
    dp = space.gpus // (rows[:, 0] * rows[:, 1] * rows[:, 2])
    rows = np.column_stack([rows, dp])
    ok = (space.global_batch % (dp * rows[:, 5]) == 0) & ((dp * rows[:, 2]) % rows[:, 3] == 0)
    ok &= _interleaves(c, rows, space.global_batch)
    ok &= ~((rows[:, 4] > 0) & (dp * rows[:, 2] == 1) & (min(zeros) == 0))
    return rows[ok]


def _interleaves(c: ModelConfig, rows: NDArray[np.int64], batch: int) -> NDArray[np.bool_]:
    """Whether a stage's layers divide into its chunks and the micro-batches into the stages, as interleaving needs."""
    pp, size, chunks, dp = rows[:, 1], rows[:, 5], rows[:, 6], rows[:, 7]
    stage = layers_per_stage(c.layers, pp).astype(np.int64)
    micro = batch // np.maximum(dp * size, 1)
    return (chunks == 1) | ((pp > 1) & (stage % chunks == 0) & (micro % pp == 0))


def has_layout(c: ModelConfig, device: Accelerator, space: SearchSpace, options: MemoryOptions) -> bool:
    """Whether any layout of `space` keeps the divisibility rules."""
    return len(_shapes(c, space, options, device)) > 0


def _tp_divides(c: ModelConfig, tp: int) -> bool:
    kv = max(tp, c.kv_heads) % min(tp, c.kv_heads) == 0
    return c.heads % tp == 0 and kv and c.hidden % tp == 0 and c.ffn % tp == 0


def search(
    c: ModelConfig, device: Accelerator, space: SearchSpace, options: MemoryOptions, dtype: str = "bf16"
) -> Search:
    """All layouts of `space`, reduced to those where less memory costs time (Pareto).

    Raises PlanError when no layout keeps the divisibility rules; returns an empty Pareto set when none fits.
    """
    whole("gpus", space.gpus)
    whole("global_batch", space.global_batch)
    shapes = _shapes(c, space, options, device)
    if not len(shapes):
        raise PlanError(
            f"layout: no layout of {space.gpus} GPUs divides {c.name} ({c.heads} heads, {c.layers} layers) and a global "
            f"batch of {space.global_batch} sequences; a batch that is a multiple of the GPU count always does"
        )
    blocks = [_evaluate(c, device, shapes, space, options, dtype, r) for r in space.recompute]
    memory = np.concatenate([b.memory for b in blocks])
    times = np.concatenate([b.times for b in blocks])
    policy = np.repeat(np.arange(len(blocks)), len(shapes))
    rows = np.concatenate([shapes] * len(blocks))
    step = times.sum(axis=1)
    fits = memory <= device.memory_bytes
    chosen = _pareto(memory, step, fits)
    faster = np.sort(step[~fits])[:1]
    pareto = tuple(
        _candidate(
            c,
            space,
            options,
            rows[i],
            space.recompute[policy[i]],
            memory[i],
            times[i],
            rank == 0,
            faster,
            float(step[chosen[0]]),
        )
        for rank, i in enumerate(chosen)
    )
    lean = int(np.lexsort((step, memory))[0])
    leanest = _one_layout(rows[lean], space, space.recompute[policy[lean]])
    return Search(
        pareto, len(memory), int(fits.sum()), float(memory.min()), device.ridge(dtype), device.memory_bytes, leanest
    )


@dataclass(frozen=True)
class _Block:
    memory: NDArray[np.float64]
    times: NDArray[np.float64]


def _as_layout(rows: NDArray[np.int64], space: SearchSpace, recompute: str) -> Layout:
    tp, pp, cp, ep, zero, size, chunks, dp = rows.T
    return Layout(dp=dp, tp=tp, pp=pp, cp=cp, ep=ep, zero=zero, micro_batch=size, interleave=chunks,
                  microbatches=space.global_batch // (dp * size), recompute=recompute)  # fmt: skip


def _evaluate(
    c: ModelConfig,
    device: Accelerator,
    rows: NDArray[np.int64],
    space: SearchSpace,
    options: MemoryOptions,
    dtype: str,
    recompute: str,
) -> _Block:
    layout = _as_layout(rows, space, recompute)
    n = count(c)
    first = np.asarray(sum(device_terms(c, layout, options, True, n).values()))
    last = np.asarray(sum(device_terms(c, layout, options, False, n).values()))
    return _Block(np.maximum(first, last), step_times(c, device, layout, options, dtype))


def _pareto(memory: NDArray[np.float64], step: NDArray[np.float64], fits: NDArray[np.bool_]) -> list[int]:
    """Indices of fitting layouts, fastest first, each needing at least 2 % less memory than all before it."""
    order = np.lexsort((memory, step))
    order = order[fits[order]]
    chosen: list[int] = []
    least = np.inf
    for i in order:
        if memory[i] < least * 0.98:
            chosen.append(int(i))
            least = memory[i]
    return chosen


def _one_layout(row: NDArray[np.int64], space: SearchSpace, recompute: str) -> Layout:
    tp, pp, cp, ep, zero, size, chunks, dp = (int(v) for v in row)
    microbatches = space.global_batch // (dp * size)
    return Layout(
        dp=dp,
        tp=tp,
        pp=pp,
        cp=cp,
        ep=ep,
        zero=zero,
        micro_batch=size,
        microbatches=microbatches,
        recompute=recompute,
        interleave=chunks,
    )


def _candidate(
    c: ModelConfig,
    space: SearchSpace,
    options: MemoryOptions,
    row: NDArray[np.int64],
    recompute: str,
    memory: float,
    times: NDArray[np.float64],
    best: bool,
    faster: NDArray[np.float64],
    fastest: float,
) -> Candidate:
    layout = _one_layout(row, space, recompute)
    step = float(times.sum())
    tokens = layout.micro_batch * options.seq / layout.cp
    return Candidate(
        layout=layout, memory=float(memory), step_seconds=step,
        times=tuple((k, float(v)) for k, v in zip(TIME_TERMS, times, strict=True)),
        relative_time=step / fastest, bubble=bubble_share(layout.pp, layout.microbatches),
        bubble_of_ideal=bubble_of_ideal(layout.pp, layout.microbatches, layout.interleave), tokens_per_device=space.global_batch * options.seq / space.gpus,
        gemm_intensity=gemm_intensity(tokens, c.ffn / layout.tp, c.hidden), binding=_binding(times, step, best and any(f < step * 0.999 for f in faster)),
    )  # fmt: skip


def _binding(times: NDArray[np.float64], step: float, memory_binds: bool) -> str:
    """What keeps this layout from being faster: memory, when a faster one was refused for it, and the largest loss."""
    losses = {k: float(v) for k, v in zip(TIME_TERMS, times, strict=True) if k not in WORK}
    worst = max(losses, key=lambda k: losses[k])
    loss = losses[worst] / step
    reason = f"{worst} {100 * loss:.1f} %" if loss > 0.005 else "compute"
    return f"memory, then {reason}" if memory_binds else reason
