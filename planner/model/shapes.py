"""Configurations by name, and assumed ones by size."""

from __future__ import annotations

from typing import Any

from planner.errors import PlanError, near
from planner.facts.configs import CONFIGS_HF
from planner.facts.models import CONFIGS, COUNTS
from planner.model.config import Experts, LatentAttention, ModelConfig
from planner.model.hf_config import from_hf
from planner.units import big


def preset(name: str) -> ModelConfig:
    """A published model by name. Raises PlanError with near names."""
    key = name.lower()
    if key in CONFIGS_HF:
        return from_hf(CONFIGS_HF[key][0], key)
    if key not in CONFIGS:
        raise PlanError(f"model: {name!r} is unknown{near(key, presets())} (or give a Hugging Face config.json)")
    row: dict[str, Any] = dict(CONFIGS[key])
    moe = Experts(**row.pop("moe")) if "moe" in row else None
    mla = LatentAttention(**row.pop("mla")) if "mla" in row else None
    return ModelConfig(name=key, moe=moe, mla=mla, source=COUNTS[key][5], **row)


def presets() -> list[str]:
    """Names of all published models known here."""
    return sorted([*CONFIGS, *CONFIGS_HF])


def shape_for(parameters: float, vocab: int = 128256, seq: int = 4096, name: str = "") -> ModelConfig:
    """A Llama-like shape whose total is as near `parameters` as MLP widths in steps of 16 allow.

    Depth and width follow layers ~ hidden / 128, which Llama 2 and 3 keep (32 x 4096, 126 x 16384); the embedding
    is tied where two tables would take more than half of the parameters. Raises PlanError when the tables alone
    are larger than the model asked for.
    """
    for width in _widths(parameters):
        for tied in (parameters < 2.5e9, True):
            shape = _shape(parameters, width, vocab, seq, tied, name or big(parameters).replace(" ", "").lower())
            if shape is not None:
                return shape
    raise PlanError(
        f"parameters: no transformer of {parameters:.3g} parameters has a vocabulary of {vocab:,}; "
        "ask for more parameters or a smaller vocabulary"
    )


def _widths(parameters: float) -> list[int]:
    """Hidden sizes to try, the best aspect first."""
    ideal = (parameters * 128 / 12) ** (1 / 3)
    step = next(s for bound, s in ((3500, 1024), (1000, 256), (300, 128), (0, 64)) if ideal >= bound)
    first = max(64, round(ideal / step) * step)
    return [first, *(w for w in range(first - 64, 63, -64))]


def _shape(parameters: float, hidden: int, vocab: int, seq: int, tied: bool, name: str) -> ModelConfig | None:
    tables = vocab * hidden * (1 if tied else 2)
    rest = parameters - tables
    if rest < (0.5 if not tied else 0.15) * parameters:
        return None
    dim = 128 if hidden >= 1024 else 64
    heads = max(1, hidden // dim)
    kv = 8 if heads % 8 == 0 and heads > 8 else heads
    layers = max(1, round(rest / (12 * hidden * hidden)))
    layers = layers // 4 * 4 if layers >= 8 else layers
    attention = 2 * hidden * dim * (heads + kv)
    ffn = round((rest / layers - attention - 2 * hidden) / (3 * hidden) / 16) * 16
    if ffn < hidden:
        return None
    return ModelConfig(
        name=name, layers=layers, hidden=hidden, heads=heads, kv_heads=kv, head_dim=dim, ffn=ffn, vocab=vocab,
        tied=tied, seq=seq, source="assumed Llama-like shape",
    )  # fmt: skip
