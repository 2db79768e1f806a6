"""Activation bytes of one layer for one micro-batch on one device, term by term.

Every function takes plain numbers or numpy arrays, so that the layout search evaluates thousands of layouts at once.
`tokens` is micro-batch x sequence / context-parallel size; tp divides what tensor parallelism shards, and `sp` what
sequence parallelism shards (1 where it is off).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.model.config import ModelConfig

Numbers = Any  # float or numpy array of one shape

IDEAL_SOURCE = "flash + gated MLP + GQA, bf16, fused norms: 2 s b (4 h + 2 nh hd + 2 kv hd + 4 f) + 4 s b nh (C)"
EAGER_SOURCE = "the above and fp32 norm copies, rotary temporaries and the live output of eager Hugging Face layers (C)"
KORTHIKANTI_SOURCE = "Korthikanti 2022 equation 1: s b h (34 + 5 a s / h) (S)"


def layer_terms(
    c: ModelConfig,
    tokens: Numbers,
    seq: Numbers,
    tp: Numbers = 1,
    sp: Numbers = 1,
    flash: bool = True,
    eager: bool = False,
    bytes_each: float = 2,
) -> Mapping[str, Numbers]:
    """Bytes kept for the backward pass by one layer, by term. Without recomputation.

    Llama-3-8B sums to 20.5 units of 2 s b h without the softmax statistics; with `eager` to 28.0, as measured.
    """
    unit = bytes_each * np.asarray(tokens, float)
    h, kv = c.hidden, _kv_width(c, tp)
    q = c.query_width / tp
    terms = {
        "norm inputs": unit * 2 * h / sp,
        "normed outputs": unit * 2 * h / sp,
        "queries, keys, values": unit * (q + kv),
        "attention output": unit * c.value_width / tp,
        "softmax statistics": 4.0 * np.asarray(tokens, float) * c.heads / tp,
        "mlp": unit * mlp_width(c) / tp,
    }
    if not flash:
        terms["attention scores"] = unit * c.heads / tp * np.asarray(seq, float)
    if c.mla is not None:
        terms["latent projections"] = unit * (c.mla.q_rank + c.mla.kv_rank + c.mla.rope)
    if c.moe is not None:
        terms["dispatched tokens"] = (
            unit * 2 * h * (c.moe.top_k + c.moe.shared) / sp + 4.0 * np.asarray(tokens, float) * c.moe.experts
        )
    if eager:
        terms["eager copies"] = _eager_copies(c, unit, q, kv, sp)
    return terms


def _kv_width(c: ModelConfig, tp: Numbers) -> Numbers:
    """Keys and values per device; heads are replicated when there are fewer than tensor ranks."""
    if c.mla is not None:
        return c.heads * (c.mla.nope + c.mla.rope + c.mla.v) / tp
    return 2 * c.kv_heads * c.head_dim / np.minimum(tp, c.kv_heads)


def mlp_width(c: ModelConfig) -> float:
    """Widths kept by the MLP of the widest kind of layer: 4 f gated (gate, up, silu, product), 2 f plain."""
    kept = 4 if c.gated else 2
    if c.moe is None:
        return kept * c.ffn
    sparse = kept * c.moe.active_width
    return sparse if c.moe.dense_layers < c.layers else kept * c.ffn


def _eager_copies(c: ModelConfig, unit: Numbers, q: Numbers, kv: Numbers, sp: Numbers) -> Numbers:
    """Beyond the ideal, eager Hugging Face layers keep 4 h of fp32 norm copies, the live output h, and 2 (q + k) of
    rotary temporaries (5 where q and k are normed)."""
    copies = 2 if c.qk_norm == "none" else 5
    return unit * (5 * c.hidden / sp + copies * (q + kv / 2))


def kept(
    c: ModelConfig,
    terms: Mapping[str, Numbers],
    recompute: str,
    tokens: Numbers,
    sp: Numbers = 1,
    bytes_each: float = 2,
) -> Numbers:
    """Bytes one layer still keeps between forward and backward under a recompute policy."""
    total = sum(terms.values())
    layer_input = bytes_each * np.asarray(tokens, float) * c.hidden / sp
    if recompute == "none":
        return total
    if recompute == "full":
        return layer_input
    if recompute == "selective":
        return total - terms["softmax statistics"] - terms.get("attention scores", 0.0)
    gate = terms["mlp"] / 2
    products = terms["queries, keys, values"] + gate + 2 * layer_input
    return layer_input + terms["attention output"] + terms["softmax statistics"] + products / 2


def korthikanti(
    seq: int, batch: int, hidden: int, heads: int, tp: int = 1, policy: str = "none", sequence_parallel: bool = False
) -> float:
    """Bytes per layer of a GPT-2/3 style layer with dropout, 16-bit (Korthikanti 2022, equations 1 to 4).

    Not for flash attention, gated MLPs or GQA: it predicts 354 GiB for Llama-3-8B at 8k.
    """
    base = float(seq * batch * hidden)
    scores = 5 * heads * seq / hidden if policy == "none" else 0.0
    if policy == "full":
        return 2 * base
    if sequence_parallel:
        return base * (34 + scores) / tp
    return base * (10 + 24 / tp + scores / tp)


def eager_coefficient(c: ModelConfig, gemma: bool = False) -> float:
    """Activation of an eager Hugging Face layer in units of 2 s b h, checked on six measured models (C, calibrated)."""
    q, k, f = c.heads * c.head_dim / c.hidden, c.kv_heads * c.head_dim / c.hidden, c.ffn / c.hidden
    norms = 10 if gemma else 8
    return norms + 2 * q + 2 * k + 2 * (q + k) + (3 * (q + k) if c.qk_norm != "none" else 0) + 4 * f + 1


def ideal_coefficient(c: ModelConfig) -> float:
    """Activation of a fused layer in units of 2 s b h, without the softmax statistics."""
    terms = layer_terms(c, 1.0, 1.0)
    return float(sum(v for k, v in terms.items() if k != "softmax statistics")) / (2 * c.hidden)


def logits_bytes(tokens: Numbers, vocab: Numbers, bytes_each: float, tp: Numbers = 1) -> Numbers:
    """Logits and what the loss keeps of them: bytes x s x b x V / tp, 4 (fp32 only) to 12 unfused bytes each."""
    return bytes_each * np.asarray(tokens, float) * vocab / tp


def score_matrix_bytes(batch: int, heads: int, seq: int, bytes_each: float = 2) -> float:
    """The attention scores that flash attention never writes: B H T T bytes."""
    return float(batch) * heads * seq * seq * bytes_each
