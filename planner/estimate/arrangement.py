"""How a model is spread over devices, what else decides memory, and which layouts divide a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.errors import PlanError, not_negative, one_of, whole
from planner.facts.hardware import CONTEXT_GIB, FRAGMENTATION, NCCL_GIB
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.config import ModelConfig
from planner.units import GIB

Numbers = Any

LOGITS = {"unfused": 12.0, "fp32": 4.0, "in-place": 2.0, "fused": 0.0}
"""Bytes per logit: bf16 + fp32 + both gradients; one fp32 copy; 16-bit logits that the loss turns into their own gradient
(flash-attn's cross-entropy, llm-foundry); a chunked loss that never holds them."""
OFFLOAD = ("none", "optimizer")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a model is spread: sizes of each kind of parallelism (ints, or numpy arrays in the search).

    World size is dp x tp x pp x cp; expert parallelism divides dp x cp. `microbatches` is per step and replica.
    """

    dp: Numbers = 1
    tp: Numbers = 1
    pp: Numbers = 1
    cp: Numbers = 1
    ep: Numbers = 1
    zero: Numbers = 0
    micro_batch: Numbers = 1
    microbatches: Numbers = 1
    interleave: Numbers = 1
    sequence_parallel: bool = True
    recompute: str = "none"

    @property
    def gpus(self) -> Numbers:
        """World size."""
        return self.dp * self.tp * self.pp * self.cp

    def text(self) -> str:
        """For people: only what is not 1."""
        parts = [f"{k} {getattr(self, k)}" for k in ("tp", "cp", "pp", "interleave", "ep") if getattr(self, k) > 1]
        parts += [f"dp {self.dp}", f"ZeRO-{self.zero}"] if self.dp * self.cp > 1 else []
        parts += [f"micro-batch {self.micro_batch}"]
        return ", ".join([*parts, f"recompute {self.recompute}"])


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """What else decides memory. `logits` is one of LOGITS; overheads are in bytes, fragmentation a share of dynamic memory."""

    seq: int
    optimizer: str = "adamw"
    convention: str = "zero"
    flash: bool = True
    eager: bool = False
    logits: str = "unfused"
    bytes_each: float = 2
    """Of an activation: 2 in 16-bit training, 4 in fp32."""
    gradient_bytes: float | None = None
    """Of an accumulated gradient; None means the convention's."""
    ema: bool = False
    """A moving average of the weights in fp32, sharded as the master copy is."""
    offload: str = "none"
    """`optimizer` keeps master copy and moments in the host's memory (ZeRO-Offload)."""
    shard: int = 0
    """Ranks that ZeRO shards over, replicas of them beyond (HSDP, MiCS); 0 means all."""
    secondary: int = 0
    """Ranks over which a second 16-bit copy of the weights is kept for the backward pass (ZeRO++ hpZ); 0 means none."""
    bucket_bytes: float = 0.0
    """Flat buffers of the framework's collectives (DeepSpeed's reduce and all-gather buckets), all together."""
    context_bytes: float = CONTEXT_GIB[1] * GIB
    nccl_bytes: float = NCCL_GIB[1] * GIB
    fragmentation: float = FRAGMENTATION

    def __post_init__(self) -> None:
        whole("seq", self.seq)
        one_of("optimizer", self.optimizer, MOMENTS)
        one_of("convention", self.convention, CONVENTIONS)
        one_of("logits", self.logits, LOGITS)
        one_of("offload", self.offload, OFFLOAD)
        whole("shard", self.shard, 0)
        whole("secondary", self.secondary, 0)
        for name in ("context_bytes", "nccl_bytes", "fragmentation", "bucket_bytes"):
            not_negative(name, getattr(self, name))


def check_layout(c: ModelConfig, layout: Layout, options: MemoryOptions) -> None:
    """Refuses what cannot run. Raises PlanError naming the rule: heads, layers, experts, sequence, ZeRO stage."""
    for name in ("dp", "tp", "pp", "cp", "ep", "micro_batch", "microbatches", "interleave"):
        whole(name, getattr(layout, name))
    whole("zero", layout.zero, 0)
    check_model_divides(c, layout.tp, layout.pp * layout.interleave)
    if options.seq % (2 * layout.cp if layout.cp > 1 else 1):
        raise PlanError(f"cp: sequence {options.seq} is not divisible by 2 x cp = {2 * layout.cp}")
    experts = c.moe.experts if c.moe else 1
    if experts % layout.ep or (layout.dp * layout.cp) % layout.ep:
        raise PlanError(f"ep: {layout.ep} must divide {experts} experts and dp x cp = {layout.dp * layout.cp}")
    convention = CONVENTIONS[options.convention]
    if layout.zero not in convention.stages:
        known = " or ".join(str(s) for s in convention.stages)
        raise PlanError(f"zero: the {convention.name} convention has ZeRO stage {known}, not {layout.zero}")


def check_model_divides(c: ModelConfig, tp: int, stages: int) -> None:
    """Raises PlanError when tensor parallelism does not divide the model's widths or stages its layers."""
    if c.heads % tp:
        raise PlanError(f"tp: {c.heads} attention heads of {c.name} are not divisible by tp = {tp}")
    if max(tp, c.kv_heads) % min(tp, c.kv_heads):
        raise PlanError(f"tp: {c.kv_heads} kv heads of {c.name} and tp = {tp} do not divide one another")
    for name, width in (("hidden size", c.hidden), ("MLP width", c.ffn)):
        if width % tp:
            raise PlanError(f"tp: {name} {width} of {c.name} is not divisible by tp = {tp}")
    if not stages_divide(c.layers, stages):
        raise PlanError(
            f"pp: {stages} pipeline stages do not divide the {c.layers} layers of {c.name}, nor {c.layers + 2} (both ends a layer short)"
        )


def stages_divide(layers: int, stages: int) -> bool:
    """Whether pipeline stages can hold the layers: evenly, or with the first and last one layer short as in Llama 3
    405B (126 layers on 16 stages), which counts the embedding and the head as a layer each."""
    return layers % stages == 0 or (stages > 2 and (layers + 2) % stages == 0)


def layers_per_stage(layers: int, stages: Numbers) -> Numbers:
    """Layers of a full stage; also used for the shorter end stages, which is on the safe side."""
    stages = np.asarray(stages)
    return np.where(layers % stages == 0, layers / stages, (layers + 2) / stages)
