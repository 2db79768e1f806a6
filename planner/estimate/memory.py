"""Memory of one device, term by term, for any mix of ZeRO, tensor, pipeline, sequence, context and expert parallelism.

All formulas take numpy arrays for the layout's numbers, so the layout search and a single estimate are one code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planner.errors import one_of
from planner.estimate.activations import kept, layer_terms, logits_bytes
from planner.estimate.arrangement import LOGITS, Layout, MemoryOptions, check_layout, layers_per_stage
from planner.estimate.states import STATES, stage_parameters, state_bytes
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.config import ModelConfig
from planner.model.count import ParameterCount, count
from planner.model.device import Accelerator

Numbers = Any


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
