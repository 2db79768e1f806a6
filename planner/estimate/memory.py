"""Memory of one device, term by term, for any mix of ZeRO, tensor, pipeline, sequence, context and expert parallelism.

All formulas take numpy arrays for the layout's numbers, so the layout search and a single estimate are one code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planner.errors import PlanError, not_negative, one_of, whole
from planner.estimate.activations import kept, layer_terms, logits_bytes
from planner.facts.hardware import CONTEXT_GIB, FRAGMENTATION, NCCL_GIB
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.config import ModelConfig
from planner.model.count import ParameterCount, count, expert_parameters
from planner.model.device import Accelerator
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


@dataclass(frozen=True)
class StageParameters:
    """Parameters held by one device of a pipeline stage after tensor and expert sharding; dense and expert apart."""

    dense: Numbers
    expert: Numbers
    largest_unit: Numbers
    layer: Numbers


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes per device by term, for the first and the last pipeline stage; the larger one decides.

    `terms` are those of the deciding stage and add up to `total`.
    """

    layout: Layout
    stages: Mapping[str, Mapping[str, float]]
    deciding: str
    available: float
    options: MemoryOptions = field(repr=False)

    @property
    def terms(self) -> Mapping[str, float]:
        """Bytes by term of the fuller stage."""
        return self.stages[self.deciding]

    @property
    def total(self) -> float:
        """Bytes of the fuller stage."""
        return float(sum(self.terms.values()))

    @property
    def headroom(self) -> float:
        """Bytes left; negative when it does not fit."""
        return self.available - self.total

    @property
    def fits(self) -> bool:
        """Whether the fuller stage is within what the device has."""
        return self.headroom >= 0

    @property
    def states(self) -> float:
        """Weights, gradients, master copy and moments."""
        return sum(self.terms[k] for k in STATES)


STATES = ("weights", "gradients", "master copy", "moments", "moving average", "secondary weights")


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


def device_terms(
    c: ModelConfig, layout: Layout, options: MemoryOptions, first: bool, n: ParameterCount | None = None
) -> dict[str, Numbers]:
    """Bytes per device by term, for the first or the last pipeline stage. Arrays in, arrays out."""
    n = n or count(c)
    p = stage_parameters(c, n, layout, first)
    terms = state_bytes(options, layout, p, n, c)
    terms |= _dynamic_terms(c, layout, options, first)
    kind = CONVENTIONS[options.convention]
    shards = np.asarray(layout.dp * layout.cp)
    gathers = (np.asarray(layout.zero) == 3) & (shards > 1)
    terms["unsharded layers"] = np.where(
        gathers, kind.gathered / 2 * (p.largest_unit + p.layer) if kind.name != "deepspeed" else 4 * p.largest_unit, 0.0
    )
    terms["gradient buffer"] = np.where(
        (np.asarray(layout.zero) >= 2) & (shards > 1), kind.reduce_buffer * p.layer, 0.0
    )
    dynamic = sum(terms[k] for k in terms if k not in STATES)
    terms["fragmentation"] = options.fragmentation * dynamic
    terms["device context"] = np.asarray(options.context_bytes) + 0.0 * dynamic
    buffers = options.nccl_bytes + options.bucket_bytes
    terms["communication buffers"] = np.where(np.asarray(layout.gpus) > 1, buffers, 0.0) + 0.0 * dynamic
    return terms


def _dynamic_terms(c: ModelConfig, layout: Layout, options: MemoryOptions, first: bool) -> dict[str, Numbers]:
    """Activations kept by the micro-batches in flight, the layer at work when recomputing, and the logits."""
    tokens = layout.micro_batch * options.seq / np.asarray(layout.cp, float)
    sp = layout.tp if layout.sequence_parallel else 1
    one = layer_terms(c, tokens, options.seq, layout.tp, sp, options.flash, options.eager, options.bytes_each)
    per_layer = kept(c, one, layout.recompute, tokens, sp, options.bytes_each)
    whole_layer = sum(one.values())
    layers = layers_per_stage(c.layers, layout.pp)
    in_flight = np.minimum(layout.pp, layout.microbatches) if first else 1.0
    if first:
        more = 1 + (layout.pp - 1) / (layout.pp * np.asarray(layout.interleave, float))
        in_flight = in_flight * np.where(np.asarray(layout.interleave) > 1, more, 1.0)
    table_in = options.bytes_each * tokens * c.hidden / sp
    has_head = ~np.asarray(first) | (np.asarray(layout.pp) == 1)
    head = logits_bytes(tokens, c.vocab, LOGITS[options.logits], layout.tp) + table_in
    working = whole_layer - per_layer if layout.recompute != "none" else 0.0
    return {
        "activations": per_layer * layers * in_flight,
        "layer being recomputed": np.asarray(working) + 0.0 * layers,
        "embedding output": table_in * in_flight if first else 0.0 * layers,
        "logits and loss": np.where(has_head, head, 0.0),
    }


def estimate(c: ModelConfig, layout: Layout, options: MemoryOptions, device: Accelerator) -> MemoryEstimate:
    """Memory of the fullest device. Raises PlanError when the layout cannot run (see `check_layout`)."""
    check_layout(c, layout, options)
    n = count(c)
    ends = {"first stage": True, "last stage": False} if layout.pp > 1 else {"only stage": True}
    stages = {k: {t: float(v) for t, v in device_terms(c, layout, options, f, n).items()} for k, f in ends.items()}
    deciding = max(stages, key=lambda k: sum(stages[k].values()))
    return MemoryEstimate(layout, stages, deciding, device.memory_bytes, options)


def largest_by_states(gpus: int, memory_bytes: float, optimizer: str = "adamw", convention: str = "zero") -> float:
    """n x HBM / bytes per parameter: the ceiling with even sharding and nothing but states (design note 1)."""
    kind = CONVENTIONS[convention]
    return gpus * memory_bytes / (kind.weights + kind.gradients + kind.master + MOMENTS[optimizer][0])


def largest_micro_batch(c: ModelConfig, layout: Layout, options: MemoryOptions, device: Accelerator) -> int:
    """The largest micro-batch that fits; 0 when none does. Doubles, then bisects (memory rises with it)."""

    def fits(size: int) -> bool:
        return estimate(c, replace(layout, micro_batch=size), options, device).fits

    if not fits(1):
        return 0
    high = 2
    while fits(high) and high < 1 << 20:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def checkpoint_bytes(parameters: float, optimizer: str = "adamw", with_weights: bool = True) -> float:
    """What a checkpoint writes: fp32 master and moments, and the 16-bit weights: 14 bytes per parameter with AdamW.

    BigScience tr11 README: 176e9 x 14 = 2,294.77 GiB. nanoGPT writes 12 (fp32 weights and two moments).
    """
    return parameters * (4 + MOMENTS[one_of("optimizer", optimizer, MOMENTS)][0] + (2 if with_weights else 0))
