"""Bytes per parameter of optimizers and of framework conventions."""

from __future__ import annotations

from dataclasses import dataclass

MOMENTS: dict[str, tuple[float, str]] = {
    "sgd": (0, "no state (design note 1, P)"),
    "momentum": (4, "one tensor (design note 1, P)"),
    "adagrad": (4, "one tensor (design note 1, P)"),
    "rmsprop": (4, "one tensor (design note 1, P)"),
    "adam": (8, "two tensors (ZeRO paper)"),
    "adamw": (8, "two tensors (ZeRO paper)"),
    "lion": (4, "one tensor (stas00/ml-engineering, P)"),
    "muon": (4, "one tensor on matrices, two on embeddings, head and norms (EleutherAI cookbook, P)"),
    "adafactor": (0, "one row and one column per matrix (stas00/ml-engineering, P)"),
    "adam-8bit": (2, "two 8-bit tensors (stas00/ml-engineering, P)"),
    "adamw-bf16": (4, "two bf16 moments (torchtitan, DeepSeek-V3, P)"),
}
"""Bytes of optimizer state per parameter, master copy apart."""


@dataclass(frozen=True)
class Convention:
    """Bytes per parameter a framework keeps besides the moments, and how its ZeRO stages shard them.

    `gathered` is what ZeRO-3 holds unsharded at once, in bytes per parameter of a layer (two layers of 16-bit weights);
    `reduce_buffer` the bytes per parameter of a layer's gradients before they are reduced.
    """

    name: str
    weights: float
    gradients: float
    master: float
    stages: tuple[int, ...]
    gathered: float
    reduce_buffer: float
    source: str


CONVENTIONS: dict[str, Convention] = {
    "zero": Convention("zero", 2, 2, 4, (0, 1, 2, 3), 4, 2, "ZeRO paper: 2 + 2 + 4 and Adam's 8 = 16 bytes per parameter (P)"),
    "megatron": Convention("megatron", 2, 4, 4, (0, 1), 0, 0, "Megatron-LM: fp32 gradients, 18 or 6 + 12/dp bytes per parameter (P)"),
    "deepspeed": Convention("deepspeed", 2, 4, 4, (1, 2, 3), 4, 0, "DeepSpeed estimators: 2 + 18/n with 16-bit gradients beside fp32 (ZeRO-2), 18/n + 4 x largest layer (ZeRO-3) (P)"),
    "fsdp2": Convention("fsdp2", 0, 4, 4, (2, 3), 4, 4, "torchtitan FSDP2: fp32 weights, gradients, two moments sharded, bf16 layers gathered; 16 bytes per parameter (P)"),
    "fp32": Convention("fp32", 4, 4, 0, (0, 1, 2, 3), 8, 4, "pure fp32 training: 4 + 4 and Adam's 8 = 16, no master copy (nanoGPT, P)"),
}  # fmt: skip
