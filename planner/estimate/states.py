"""Weights, gradients and optimizer state of one device, under a convention and a ZeRO stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.estimate.arrangement import Layout, MemoryOptions, layers_per_stage
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.config import ModelConfig
from planner.model.count import ParameterCount, expert_parameters

Numbers = Any

STATES = ("weights", "gradients", "master copy", "moments", "moving average", "secondary weights")


@dataclass(frozen=True)
class StageParameters:
    """Parameters held by one device of a pipeline stage after tensor and expert sharding; dense and expert apart."""

    dense: Numbers
    expert: Numbers
    largest_unit: Numbers
    layer: Numbers


def key_value_parameters(c: ModelConfig) -> tuple[float, float]:
    """(key and value projections, latent projections) of a layer: the first are replicated where tensor ranks outnumber
    kv heads, the second are on every rank (DeepSeek-V2)."""
    if c.mla is not None:
        return 0.0, float(c.hidden * (c.mla.q_rank + c.mla.kv_rank + c.mla.rope))
    return 2.0 * c.hidden * c.kv_heads * c.head_dim, 0.0


def shard_ranks(options: MemoryOptions, layout: Layout) -> Numbers:
    """Ranks that hold one copy of the sharded states: dp x cp, or the group of HSDP."""
    ranks = np.asarray(layout.dp * layout.cp, float)
    return np.minimum(ranks, options.shard) if options.shard else ranks


def stage_parameters(c: ModelConfig, n: ParameterCount, layout: Layout, first: bool) -> StageParameters:
    """Parameters of one device of the first or the last stage. Norms, biases and routers are not tensor-sharded.

    With more than one stage a tied table is held by both ends. A sparse model's stage is taken as wholly sparse.
    """
    layers = layers_per_stage(c.layers, layout.pp)
    experts = float(c.moe.experts * expert_parameters(c)) if c.moe else 0.0
    sparse = 1 - c.moe.dense_layers / c.layers if c.moe else 0.0
    whole_heads, latent = key_value_parameters(c)
    per_layer = (n.attention + n.mlp) / c.layers - experts * sparse - whole_heads - latent
    unsharded = (n.norms + n.biases + n.router) / c.layers + latent
    layer = per_layer / layout.tp + whole_heads / np.minimum(layout.tp, c.kv_heads) + unsharded
    table = n.embedding / layout.tp
    one_stage = np.asarray(layout.pp) == 1
    ends = (table + n.positions) if first else table
    other = np.where(
        one_stage, (0.0 if c.tied else table) if first else (n.positions if c.tied else table + n.positions), 0.0
    )
    expert = experts * sparse / (layout.ep * layout.tp)
    unit = layer + expert
    return StageParameters(layers * layer + ends + other, layers * expert, np.maximum(unit, table), unit)


def state_bytes(
    options: MemoryOptions, layout: Layout, p: StageParameters, n: ParameterCount, c: ModelConfig
) -> dict[str, Numbers]:
    """Weights, gradients, master copy and moments per device under a convention and ZeRO stage (0 to 3)."""
    kind = CONVENTIONS[options.convention]
    zero = np.asarray(layout.zero)
    shards = shard_ranks(options, layout)
    held = {s: _sharded(p, shards, layout.ep, zero >= s) for s in (1, 2, 3)}
    each = kind.gradients if options.gradient_bytes is None else options.gradient_bytes
    gradients = each * held[3 if kind.name == "megatron" else 2]
    if kind.name == "deepspeed":
        working = np.where(zero == 3, 0.0, 2.0)
        gradients = each * held[1] + working * held[2]
    weights = kind.weights * held[3]
    if kind.name == "fsdp2":
        weights = np.where(zero == 3, 0.0, 2.0) * held[3]
    here = 0.0 if options.offload == "optimizer" else 1.0
    second = (p.dense + p.expert) / max(options.secondary, 1) if options.secondary else 0.0
    return {
        "weights": weights,
        "gradients": gradients,
        "master copy": here * (4 if kind.name == "fsdp2" else kind.master) * held[1],
        "moments": here * _moments(options, c, n) * held[1],
        "moving average": (4.0 if options.ema else 0.0) * held[1],
        "secondary weights": np.where(zero == 3, 2.0 * second, 0.0) + 0.0 * held[1],
    }


def _sharded(p: StageParameters, shards: Numbers, ep: Numbers, on: Numbers) -> Numbers:
    """Parameters held when data-parallel sharding is on: experts are replicated dp x cp / ep times only."""
    return np.where(on, p.dense / shards + p.expert / np.maximum(shards / ep, 1), p.dense + p.expert)


def _moments(options: MemoryOptions, c: ModelConfig, n: ParameterCount) -> float:
    """Mean bytes of optimizer state per parameter."""
    per = MOMENTS[options.optimizer][0]
    if options.optimizer == "muon":
        plain = n.embedding + n.head + n.positions + n.norms + n.biases
        return per + 4 * plain / n.total
    if options.optimizer == "adafactor":
        matrices = n.attention + n.mlp + n.router
        return 4 * (matrices / c.hidden + matrices / c.ffn) / n.total
    return per
