"""Seconds of a training step, term by term, on one device. Numbers or numpy arrays, so that the search and the fit use it.

Work is counted (matrix products, attention of the causal half within each layer's window, elementwise traffic, logits,
optimizer, collectives over the links they cross); what a device makes of it is ten factors fitted to published rows
(planner/facts/step_time.py). Forms: jax-ml/scaling-book, Narayanan 2021, Llama 3 section 3.3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.estimate.arrangement import LOGITS, Layout, MemoryOptions, layers_per_stage
from planner.estimate.states import shard_ranks
from planner.facts import step_time as facts
from planner.facts.step_time import FITTED, TimeFactors
from planner.model.config import ModelConfig
from planner.model.count import ParameterCount, count, expert_parameters, mlp_parameters
from planner.model.device import Accelerator
from planner.model.flops import attention_flops

Numbers = Any

TIME_TERMS = ("matrix products", "attention", "elementwise", "logits", "recompute", "small kernels", "pipeline bubble",
              "tensor-parallel traffic", "context-parallel traffic", "pipeline traffic", "data-parallel traffic",
              "expert traffic", "optimizer step", "stragglers")  # fmt: skip

ZERO3_TRAFFIC = 1.5
"""ZeRO-3 moves 1.5 x the bytes of plain data parallelism (ZeRO paper)."""


def bubble_share(stages: float, microbatches: float) -> float:
    """Idle share of total time: (P - 1)/(M + P - 1) (GPipe and 1F1B, equal stages)."""
    return (stages - 1) / (microbatches + stages - 1)


def bubble_of_ideal(stages: Numbers, microbatches: Numbers, interleave: Numbers = 1) -> Numbers:
    """Bubble relative to ideal time: (P - 1)/(V M) (Narayanan 2021; Llama 3 section 3.3.2)."""
    return (stages - 1) / (interleave * microbatches)


def ring_all_reduce_bytes(size: Numbers, ranks: Numbers) -> Numbers:
    """Bytes each rank sends for a ring all-reduce: 2 (n - 1)/n x size."""
    return 2 * (ranks - 1) / ranks * size


@dataclass(frozen=True)
class _Step:
    """What every term needs: the model's counts, the device, the layout as arrays, tokens per micro-batch and device."""

    c: ModelConfig
    n: ParameterCount
    device: Accelerator
    layout: Layout
    options: MemoryOptions
    dtype: str
    factors: TimeFactors
    tokens: Numbers
    layers: Numbers

    @property
    def peak(self) -> float:
        """Peak that the factors refer to: fp8 runs are counted from bf16, for fp8 speeds up only a part."""
        return self.device.peak("bf16" if self.dtype == "fp8" else self.dtype)

    @property
    def matmul_speed(self) -> float:
        """FLOP/s of large matrix products in 16 bits (or the dtype's own)."""
        return self.peak * self.device.matmul_share * self.factors.gemm

    def link(self, ranks: Numbers) -> Numbers:
        """Bytes/s of traffic among this many neighbouring devices: within the node the scale-up link, else the network."""
        inside = np.asarray(ranks) <= self.device.per_node
        return self.factors.link * np.where(inside, self.device.scale_up_bandwidth, self.device.network_bandwidth)


def step_times(
    c: ModelConfig,
    device: Accelerator,
    layout: Layout,
    options: MemoryOptions,
    dtype: str = "bf16",
    factors: TimeFactors = FITTED,
) -> NDArray[np.float64]:
    """Seconds per optimizer step by TIME_TERMS, one row per layout.

    Raises PlanError where the device has no such dtype.
    """
    device.peak(dtype)
    tokens = layout.micro_batch * options.seq / np.asarray(layout.cp, float)
    s = _Step(c, count(c), device, layout, options, dtype, factors, tokens, layers_per_stage(c.layers, layout.pp))
    micro = np.asarray(layout.microbatches, float)
    gemm, head, attention, elementwise, logits = _compute(s)
    recompute = _recompute(s, gemm, attention, elementwise)
    work = gemm + head + attention + elementwise + logits + recompute
    launches = s.layers * facts.LAUNCH_SECONDS * np.where(recompute > 0, 4 / 3, 1.0)
    small = np.maximum(0.0, launches - work)
    tensor, context, stage, expert = _model_traffic(s, attention)
    in_pipe = work + small + tensor + context + stage + expert
    bubble = in_pipe * bubble_of_ideal(layout.pp, micro, layout.interleave)
    data = _data_traffic(s, work, micro)
    optimizer = _optimizer(s)
    per_micro = (gemm + head, attention, elementwise, logits, recompute, small)
    total = micro * (in_pipe + bubble) + data + optimizer
    nodes = np.maximum(1.0, np.asarray(layout.gpus) / device.per_node)
    stragglers = total * factors.straggle * np.log2(nodes)
    terms = (*(micro * t for t in per_micro), micro * bubble, micro * tensor, micro * context, micro * stage, data,
             micro * expert, optimizer, stragglers)  # fmt: skip
    shape = np.atleast_1d(total).shape
    return np.column_stack([np.broadcast_to(np.atleast_1d(t), shape) for t in terms])


def _compute(s: _Step) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Seconds per micro-batch and stage: body matrix products, head, attention core, elementwise, logits."""
    c, lay, tp = s.c, s.layout, np.asarray(s.layout.tp, float)
    table = s.n.embedding if s.n.tied else s.n.head
    routed = 0.0
    if c.moe is not None:
        routed = float((c.layers - c.moe.dense_layers) * c.moe.top_k * mlp_parameters(c, c.moe.ffn))
    dense = s.n.matmul - table - routed
    width = c.ffn if c.moe is None else max(c.moe.ffn, c.hidden // 2)
    small = 1 + facts.TILE / s.tokens + facts.TILE / np.minimum(c.hidden, width / tp)
    speed = s.matmul_speed * (s.factors.fp8 if s.dtype == "fp8" else 1.0) / small
    share = s.layers / c.layers
    gemm = 6 * s.tokens * share / tp * (dense + routed / s.factors.experts) / speed
    head = 6 * s.tokens * table / tp / (s.matmul_speed / small)
    short_end = (np.asarray(lay.pp) > 1) & (c.layers % np.asarray(lay.pp) != 0)
    head = np.maximum(0.0, head - np.where(short_end, gemm / s.layers, 0.0))
    reach = s.factors.attention_hopper if s.device.recent else s.factors.attention
    pairs = attention_flops(c, s.options.seq, "causal" if s.options.flash else "full")
    attention = facts.ATTENTION_BACKWARD * pairs * s.tokens * share / tp / (s.peak * reach)
    traffic = (s.factors.elementwise * elementwise_bytes(c) + permuted_bytes(c)) * s.options.bytes_each / 2
    if not s.options.flash:
        traffic = traffic + 8 * s.options.bytes_each * c.heads * s.options.seq
    elementwise = traffic * s.tokens * s.layers / tp / s.device.memory_bandwidth
    kept = max(LOGITS[s.options.logits], 4.0)
    logits = facts.LOGIT_PASSES * kept * c.vocab * s.tokens / tp / s.device.memory_bandwidth
    return gemm, head, attention, elementwise, logits


def elementwise_bytes(c: ModelConfig) -> float:
    """Bytes per token and layer that fused norms, residuals, rotary and activations move, forward and backward, 16-bit."""
    mlp = (3 if c.gated else 2) * (c.ffn if c.moe is None else c.moe.active_width)
    attention = 2 * (c.query_width + (c.kv_heads * c.head_dim if c.mla is None else c.query_width))
    return 3 * 2.0 * (10 * c.hidden + attention + mlp)


def permuted_bytes(c: ModelConfig) -> float:
    """Bytes per token and layer to sort tokens by expert and back, each copy read and written, forward and backward."""
    return 0.0 if c.moe is None else 2.0 * 8 * c.moe.top_k * c.hidden * (1 - c.moe.dense_layers / c.layers)


def _recompute(s: _Step, gemm: Numbers, attention: Numbers, elementwise: Numbers) -> Numbers:
    """Forward work done twice: all of it, half the products and the elementwise work, or the attention core."""
    core = attention / facts.ATTENTION_BACKWARD
    return {
        "none": 0.0 * gemm,
        "selective": core,
        "selective-op": gemm / 6 + elementwise / 3,
        "full": gemm / 3 + core + elementwise / 3,
    }[s.layout.recompute]


def _model_traffic(s: _Step, attention: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Seconds per micro-batch of tensor, context, pipeline and expert traffic."""
    c, lay = s.c, s.layout
    hidden = 2.0 * s.tokens * c.hidden
    again = 1.5 if lay.recompute == "full" else 1.0
    reduce = 4 * again * s.layers
    tensor = reduce * ring_all_reduce_bytes(hidden, lay.tp) / s.link(lay.tp)
    tensor = tensor + np.where(np.asarray(lay.tp) > 1, 2 * reduce * facts.COLLECTIVE_SECONDS, 0.0)
    kv = 2.0 * s.tokens * 2 * c.kv_heads * c.head_dim / np.minimum(lay.tp, c.kv_heads)
    ring = 3 * kv * (np.asarray(lay.cp) - 1) * s.layers / s.link(np.asarray(lay.tp) * lay.cp)
    context = _exposed(ring, attention, s.factors.exposed)
    group = np.asarray(lay.tp) * lay.cp * lay.pp
    stage = np.where(np.asarray(lay.pp) > 1, 2 * lay.interleave * hidden / lay.tp / s.link(group), 0.0)
    return tensor, context, stage, _expert_traffic(s, hidden)


def _exposed(traffic: Numbers, work: Numbers, leak: float) -> Numbers:
    """What overlap leaves of `traffic` beside `work`: a share of it always, and all that is longer than the work."""
    return leak * np.minimum(traffic, work) + np.maximum(0.0, traffic - work)


def _expert_traffic(s: _Step, hidden: Numbers) -> Numbers:
    """Four all-to-alls per sparse layer (dispatch and combine, forward and backward) when experts are spread.

    Within a node a token is sent to each of its experts, across nodes once to each of a few nodes.
    """
    if s.c.moe is None:
        return 0.0 * hidden
    ep = np.asarray(s.layout.ep, float)
    spread = s.layout.tp * ep
    inside = spread <= s.device.per_node
    copies = np.where(inside, s.c.moe.top_k, np.minimum(facts.EXPERT_NODES, s.c.moe.top_k))
    sparse = 1 - s.c.moe.dense_layers / s.c.layers
    sent = 4 * hidden / s.layout.tp * copies * (ep - 1) / ep * s.layers * sparse
    return s.factors.dispatch * sent / s.link(spread)


def _data_traffic(s: _Step, work: Numbers, micro: Numbers) -> Numbers:
    """Seconds per step of gradient reduction and ZeRO-3 gathering that the step does not hide.

    A group that spans nodes uses the network cards of all its members on a node together (scaling-book, GPUs). ZeRO-3
    repeats its traffic per micro-batch and ZeRO-2 the reducing half of it; ZeRO-1 and plain data parallelism reduce
    once, behind the last backward pass.
    """
    c, lay, zero = s.c, s.layout, np.asarray(s.layout.zero)
    experts = c.moe.experts * expert_parameters(c) * (c.layers - c.moe.dense_layers) if c.moe else 0
    held = (s.n.total - experts + experts / np.maximum(lay.ep, 1)) / (np.asarray(lay.tp) * lay.pp)
    ranks = np.asarray(lay.dp) * lay.cp
    shards = shard_ranks(s.options, lay)
    gathers = np.where(zero == 3, 1.0 if s.options.secondary else ZERO3_TRAFFIC, 1.0)
    traffic = ring_all_reduce_bytes(2.0 * held, shards) * gathers
    members = np.clip(s.device.per_node / np.asarray(lay.tp, float), 1, ranks)
    pooled = np.minimum(members * s.device.network_bandwidth, s.device.scale_up_bandwidth)
    inside = (np.asarray(lay.gpus) <= s.device.per_node) | (shards * lay.tp <= s.device.per_node)
    rate = s.factors.link * np.where(inside, s.device.scale_up_bandwidth, pooled)
    hops = np.where(inside, 0.0, shards * lay.tp / s.device.per_node)
    latency = facts.COLLECTIVE_SECONDS * np.log2(np.maximum(shards, 1) + 1) + facts.HOP_SECONDS * hops
    start = 3 * s.layers * latency
    copies = ranks / shards
    between = ring_all_reduce_bytes(2.0 * held / shards, copies) / (s.factors.link * s.device.network_bandwidth)
    once = np.where(ranks > 1, traffic / rate + start, 0.0)
    repeats = np.where(zero == 3, micro, np.where(zero == 2, (1 + micro) / 2, 1.0))
    beside = np.where(zero == 3, work, 2 / 3 * work)
    reduced = np.where(copies > 1, _exposed(between, beside, s.factors.exposed), 0.0)
    return repeats * _exposed(once, beside, s.factors.exposed) + reduced


def _optimizer(s: _Step) -> Numbers:
    """Seconds to read and write the optimizer's state once: bound by memory."""
    lay = s.layout
    shards = np.where(np.asarray(lay.zero) >= 1, shard_ranks(s.options, lay), 1)
    held = s.n.total / (np.asarray(lay.tp) * lay.pp * shards)
    return facts.OPTIMIZER_BYTES * held / s.device.memory_bandwidth
