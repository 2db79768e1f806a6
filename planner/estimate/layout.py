"""Search over parallel layouts: what fits, what is fastest, and what binds.

Every admissible (tp, pp, cp, ep, ZeRO, micro-batch, recompute) is evaluated at once in numpy arrays. The step time
is a ranking model, not a forecast: compute at a sustained matmul share, the pipeline bubble, and the communication
that compute cannot hide (Llama 3 section 3.3.2; jax-ml/scaling-book). Its terms are the reasons given for a layout.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import PlanError, whole
from planner.estimate.memory import Layout, MemoryOptions, device_terms, layers_per_stage, stages_divide
from planner.facts.optimizers import CONVENTIONS
from planner.model.config import ModelConfig
from planner.model.count import count
from planner.model.device import Accelerator
from planner.model.flops import gemm_intensity, token_flops

SUSTAINED = 0.70
"""Share of the best measured matmul that a whole layer sustains (norms, softmax, small kernels): an assumption, and
the same for every layout, so it ranks but does not forecast."""

RECOMPUTE = ("none", "selective-op", "full")
TIME_TERMS = ("compute", "recompute", "pipeline bubble", "tensor-parallel traffic", "context-parallel traffic",
              "pipeline traffic", "data-parallel traffic", "expert traffic")  # fmt: skip


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


def bubble_share(stages: float, microbatches: float) -> float:
    """Idle share of total time: (P - 1)/(M + P - 1) (GPipe and 1F1B, equal stages)."""
    return (stages - 1) / (microbatches + stages - 1)


def bubble_of_ideal(stages: float, microbatches: float, interleave: float = 1) -> float:
    """Bubble relative to ideal time: (P - 1)/(V M) (Narayanan 2021; Llama 3 section 3.3.2)."""
    return (stages - 1) / (interleave * microbatches)


def ring_all_reduce_bytes(size: float, ranks: float) -> float:
    """Bytes each rank sends for a ring all-reduce: 2 (n - 1)/n x size."""
    return 2 * (ranks - 1) / ranks * size


ZERO3_TRAFFIC = 1.5
"""ZeRO-3 moves 1.5 x the bytes of plain data parallelism (ZeRO paper)."""


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
    recompute: tuple[str, ...] = RECOMPUTE


def divisors(n: int, most: int | None = None) -> list[int]:
    """All divisors of n up to `most`."""
    return [d for d in range(1, min(n, most or n) + 1) if n % d == 0]


def _shapes(c: ModelConfig, space: SearchSpace, options: MemoryOptions, device: Accelerator) -> NDArray[np.int64]:
    """Rows of (tp, pp, cp, ep, zero, micro-batch, dp) that keep the divisibility and node rules."""
    node = min(device.per_node, space.gpus)
    tps = space.tp or tuple(t for t in divisors(node, 64) if _tp_divides(c, t))
    pps = space.pp or tuple(p for p in divisors(space.gpus, 64) if stages_divide(c.layers, p))
    cps = space.cp or tuple(
        k for k in (1, 2, 4, 8, 16) if k == 1 or (options.seq // k >= 4096 and options.seq % (2 * k) == 0)
    )
    eps = space.ep or (tuple(e for e in divisors(c.moe.experts, 64)) if c.moe else (1,))
    zeros = space.zero or CONVENTIONS[options.convention].stages
    sizes = space.micro_batch or (1, 2, 4, 8, 16, 32)
    rows = np.array(list(itertools.product(tps, pps, cps, eps, zeros, sizes)), np.int64).reshape(-1, 6)
    group = rows[:, 0] * rows[:, 1] * rows[:, 2]
    rows = rows[space.gpus % group == 0]
    dp = space.gpus // (rows[:, 0] * rows[:, 1] * rows[:, 2])
    rows = np.column_stack([rows, dp])
    ok = (space.global_batch % (dp * rows[:, 5]) == 0) & ((dp * rows[:, 2]) % rows[:, 3] == 0)
    ok &= ~((rows[:, 4] > 0) & (dp * rows[:, 2] == 1) & (min(zeros) == 0))
    return rows[ok]


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
    tp, pp, cp, ep, zero, size, dp = rows.T
    return Layout(dp=dp, tp=tp, pp=pp, cp=cp, ep=ep, zero=zero, micro_batch=size,
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


def step_times(
    c: ModelConfig, device: Accelerator, layout: Layout, options: MemoryOptions, dtype: str = "bf16"
) -> NDArray[np.float64]:
    """Seconds per step by TIME_TERMS, one row per layout.

    Traffic within a node uses the scale-up link, across nodes the network; tensor-parallel traffic is exposed, data-
    parallel traffic hides behind the backward pass and only the rest of it counts.
    """
    flops = token_flops(c, options.seq, "causal", layout.recompute)
    tokens = layout.micro_batch * options.seq / np.asarray(layout.cp, float)
    step_tokens = tokens * layout.microbatches
    speed = device.peak(dtype) * device.matmul_share * SUSTAINED * layout.tp * layout.pp
    compute = step_tokens * flops.model / speed
    recompute = step_tokens * flops.recompute / speed
    bubble = (compute + recompute) * bubble_of_ideal(layout.pp, layout.microbatches, layout.interleave)
    link, network = device.scale_up_bandwidth, device.network_bandwidth
    hidden_bytes = 2.0 * tokens * c.hidden
    layers = layers_per_stage(c.layers, layout.pp)
    tp_bytes = 4 * ring_all_reduce_bytes(1.0, layout.tp) * hidden_bytes * layers * layout.microbatches
    if layout.recompute == "full":
        tp_bytes = tp_bytes * 1.5
    cp_link = np.where(layout.tp * layout.cp <= device.per_node, link, network)
    cp_bytes = (
        3
        * 2.0
        * tokens
        * 2
        * c.kv_heads
        * c.head_dim
        / np.minimum(layout.tp, c.kv_heads)
        * (layout.cp - 1)
        * layers
        * layout.microbatches
    )
    pp_bytes = np.where(np.asarray(layout.pp) > 1, 2 * hidden_bytes / layout.tp * layout.microbatches, 0.0)
    model_group = layout.tp * layout.cp
    pp_link = np.where(model_group * layout.pp <= device.per_node, link, network)
    dp_seconds = _data_parallel_seconds(c, device, layout, model_group)
    hidden = 2 / 3 * compute * np.where(np.asarray(layout.microbatches) > 1, 1 / np.asarray(layout.microbatches), 1.0)
    hidden = np.where(np.asarray(layout.zero) == 3, compute, hidden)
    ep_seconds = _expert_seconds(c, device, layout, hidden_bytes, layers)
    terms = (compute, recompute, bubble, tp_bytes / link, cp_bytes / cp_link, pp_bytes / pp_link,
             np.maximum(0.0, dp_seconds - hidden), ep_seconds)  # fmt: skip
    return np.column_stack([np.broadcast_to(np.atleast_1d(t), np.atleast_1d(step_tokens).shape) for t in terms])


def _data_parallel_seconds(
    c: ModelConfig, device: Accelerator, layout: Layout, model_group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Gradient reduction (and ZeRO-3 gathering) per step. With pipelining, ZeRO-2 and 3 repeat it per micro-batch."""
    ranks = layout.dp * layout.cp
    held = count(c).total / (layout.tp * layout.pp * np.maximum(layout.ep, 1) ** (1 if c.moe else 0))
    traffic = ring_all_reduce_bytes(2.0 * held, ranks) * np.where(np.asarray(layout.zero) == 3, ZERO3_TRAFFIC, 1.0)
    repeats = np.where((np.asarray(layout.zero) >= 2) & (np.asarray(layout.microbatches) > 1), layout.microbatches, 1)
    within = model_group * layout.pp * layout.dp <= device.per_node
    return np.asarray(traffic * repeats / np.where(within, device.scale_up_bandwidth, device.network_bandwidth))


def _expert_seconds(
    c: ModelConfig, device: Accelerator, layout: Layout, hidden_bytes: NDArray[np.float64], layers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Four all-to-alls per sparse layer (dispatch and combine, forward and backward) when experts are spread."""
    if c.moe is None:
        return np.zeros_like(hidden_bytes)
    away = (np.asarray(layout.ep) - 1) / np.asarray(layout.ep)
    sent = (
        4
        * hidden_bytes
        / layout.tp
        * c.moe.top_k
        * away
        * layers
        * layout.microbatches
        * (1 - c.moe.dense_layers / c.layers)
    )
    inside = layout.tp * layout.ep <= device.per_node
    return np.asarray(sent / np.where(inside, device.scale_up_bandwidth, device.network_bandwidth))


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
    tp, pp, cp, ep, zero, size, dp = (int(v) for v in row)
    microbatches = space.global_batch // (dp * size)
    return Layout(
        dp=dp, tp=tp, pp=pp, cp=cp, ep=ep, zero=zero, micro_batch=size, microbatches=microbatches, recompute=recompute
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
        bubble_of_ideal=bubble_of_ideal(layout.pp, layout.microbatches), tokens_per_device=space.global_batch * options.seq / space.gpus,
        gemm_intensity=gemm_intensity(tokens, c.ffn / layout.tp, c.hidden), binding=_binding(times, step, best and any(f < step * 0.999 for f in faster)),
    )  # fmt: skip


def _binding(times: NDArray[np.float64], step: float, memory_binds: bool) -> str:
    """What keeps this layout from being faster: memory, when a faster one was refused for it, and the largest loss."""
    losses = {k: float(v) for k, v in zip(TIME_TERMS[1:], times[1:], strict=True)}
    worst = max(losses, key=lambda k: losses[k])
    loss = losses[worst] / step
    reason = f"{worst} {100 * loss:.1f} %" if loss > 0.005 else "compute"
    return f"memory, then {reason}" if memory_binds else reason
