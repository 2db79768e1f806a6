"""What is assumed where nothing is said."""

from __future__ import annotations


def batch_sequences(tokens: float | None, seq: int, gpus: int) -> int:
    """Sequences per step when none is given, rounded to a power of two per GPU so that layouts divide it.

    About 4M tokens (LLaMA, Llama 2), growing with the root of the data beyond 2T (Llama 3 405B: 16M at 15.6T), less
    for short runs (20,000 steps, at least 0.25M tokens; GPT-3's smallest is 0.5M).
    """
    tokens = tokens or 8e10
    batch = 4e6 * max(1.0, (tokens / 2e12) ** 0.5)
    target = min(batch, max(tokens / 20_000, 0.25e6)) / seq / gpus
    per_gpu = 1
    while per_gpu * 1.5 < target:
        per_gpu *= 2
    return per_gpu * gpus
