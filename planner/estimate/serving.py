"""Serving: KV cache, bandwidth-bound decoding, and what a token costs."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PlanError, not_negative, positive, whole
from planner.model.config import ModelConfig
from planner.model.count import count, expert_parameters
from planner.model.device import Accelerator
from planner.units import HOUR


@dataclass(frozen=True)
class Decode:
    """Decoding at one batch size on `gpus` devices."""

    batch: int
    gpus: int
    kv_bytes_per_token: float
    weight_bytes: float
    step_seconds: float
    bound: str
    tokens_per_second: float
    usd_per_million_tokens: float | None
    largest_batch: int
    """Sequences whose cache fits beside the weights."""


def kv_bytes_per_token(c: ModelConfig, bytes_each: float = 2) -> float:
    """2 L kv hd bytes per token of context; MLA keeps its latent and rotary key: L (kv_rank + rope)."""
    if c.mla is not None:
        return c.layers * (c.mla.kv_rank + c.mla.rope) * bytes_each
    return 2.0 * c.layers * c.kv_heads * c.head_dim * bytes_each


def kv_bytes(c: ModelConfig, context: float, bytes_each: float = 2) -> float:
    """Bytes of one sequence's cache at a context: sliding-window layers keep their window only."""
    if not c.window:
        return kv_bytes_per_token(c, bytes_each) * context
    full, local = c.window_layers()
    per_layer = kv_bytes_per_token(c, bytes_each) / c.layers
    return per_layer * (full * context + local * min(context, c.window))


def decode_intensity(batch: float, bytes_each: float = 2) -> float:
    """FLOP per byte of decoding: 2 N B FLOP against N x bytes of weights, about the batch size in bf16."""
    return 2 * batch / bytes_each


def experts_touched(c: ModelConfig, batch: int) -> float:
    """Share of all weights that a batch reads: with independent routing, 1 - (1 - k/E)^B of the routed experts."""
    if c.moe is None:
        return 1.0
    n = count(c)
    routed = (c.layers - c.moe.dense_layers) * c.moe.experts * expert_parameters(c)
    touched = 1 - (1 - c.moe.top_k / c.moe.experts) ** batch
    return min(1.0, (n.total - routed * (1 - touched)) / n.total)


def decode(
    c: ModelConfig,
    device: Accelerator,
    *,
    batch: int,
    context: int,
    gpus: int = 0,
    bytes_each: float = 2,
    dtype: str = "bf16",
    usd_per_gpu_hour: float | None = None,
    bandwidth_share: float = 0.8,
) -> Decode:
    """One decoding step: the larger of bytes / bandwidth and FLOP / peak.

    Bytes are the weights touched and the whole batch's cache; `bandwidth_share` is what kernels reach of the memory
    bandwidth (assumption). Zero `gpus` means the fewest that hold weights and cache. Raises PlanError when the given
    ones cannot.
    """  # fmt: skip
    whole("batch", batch)
    not_negative("context", context)
    n = count(c)
    weights = n.total * bytes_each
    cache = kv_bytes(c, context)
    usable = 0.9 * device.memory_bytes
    fewest = int(-(-(weights + batch * cache) // usable))
    gpus = gpus or fewest
    if gpus < fewest:
        raise PlanError(
            f"serve: {gpus} GPUs cannot hold the weights and a batch of {batch} at {context} tokens; {fewest} can"
        )
    read = weights * experts_touched(c, batch) + batch * cache
    memory_time = read / (gpus * device.memory_bandwidth * bandwidth_share)
    compute_time = 2 * n.matmul * batch / (gpus * device.peak(dtype) * device.matmul_share)
    step = max(memory_time, compute_time)
    speed = batch / step
    usd = None if usd_per_gpu_hour is None else usd_per_gpu_hour * gpus / HOUR / speed * 1e6
    return Decode(
        batch=batch, gpus=gpus, kv_bytes_per_token=kv_bytes_per_token(c), weight_bytes=weights, step_seconds=step,
        bound="memory bandwidth" if memory_time >= compute_time else "compute", tokens_per_second=speed,
        usd_per_million_tokens=usd, largest_batch=int(max(0.0, gpus * usable - weights) // cache) if cache else batch,
    )  # fmt: skip


def break_even_tokens(
    extra_training_usd: float, usd_per_million_large: float, usd_per_million_small: float
) -> float | None:
    """Served tokens at which a smaller, longer-trained model repays its extra training; None when it never does."""
    positive("price of the larger model's tokens", usd_per_million_large)
    saved = usd_per_million_large - usd_per_million_small
    return None if saved <= 0 else max(0.0, extra_training_usd) / saved * 1e6
