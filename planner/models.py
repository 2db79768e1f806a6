"""Transformer configurations and exact parameter counts.

Three counts are kept apart because sources mix them: `total` (what a checkpoint holds), `matmul` (weights that take
part in matrix products; the embedding lookup, norms and biases do not) and `non_embedding` (Kaplan's).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.errors import PlanError, near, one_of, whole
from planner.facts.models import CONFIGS, COUNTS
from planner.units import big

NORM_WIDTHS = {"rms": 1, "layer": 2, "none": 0}
"""Parameters per channel of a norm: weight, weight and bias, or neither (OLMo 1)."""


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A mixture of experts: `experts` routed, `top_k` of them per token, `shared` always; `ffn` is one expert's width."""

    experts: int
    top_k: int
    ffn: int
    shared: int = 0
    dense_layers: int = 0
    """The first layers with an ordinary MLP of the model's `ffn`."""
    router_bias: bool = False


@dataclass(frozen=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2): ranks and head widths."""

    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    v: int


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A decoder-only transformer, by the sizes that decide its cost.

    Raises PlanError when sizes are not whole and positive or heads do not divide.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    name: str = "custom"
    kv_heads: int = 0
    """Zero means as many as heads."""
    head_dim: int = 0
    """Zero means hidden / heads."""
    gated: bool = True
    tied: bool = False
    norm: str = "rms"
    norms_per_layer: int = 2
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: str = "none"
    positions: int = 0
    """Learned position embeddings."""
    embedding_norm: bool = False
    seq: int = 4096
    """Training sequence length assumed when none is given."""
    window: int = 0
    """Sliding-window width of local layers; zero means all layers see the whole sequence."""
    global_every: int = 0
    """With a window: every n-th layer is global; zero means none is."""
    moe: Experts | None = None
    mla: LatentAttention | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for field in ("layers", "hidden", "heads", "ffn", "vocab", "seq"):
            whole(f"{self.name}.{field}", getattr(self, field))
        for field in ("kv_heads", "head_dim", "positions", "window", "global_every"):
            whole(f"{self.name}.{field}", getattr(self, field), 0)
        one_of(f"{self.name}.norm", self.norm, NORM_WIDTHS)
        one_of(f"{self.name}.qk_norm", self.qk_norm, ("none", "head", "full"))
        if not self.head_dim and self.hidden % self.heads:
            raise PlanError(f"{self.name}.heads: hidden size {self.hidden} is not divisible by {self.heads} heads")
        object.__setattr__(self, "kv_heads", self.kv_heads or self.heads)
        object.__setattr__(self, "head_dim", self.head_dim or self.hidden // self.heads)
        if self.heads % self.kv_heads:
            raise PlanError(f"{self.name}.kv_heads: {self.heads} heads are not divisible by {self.kv_heads} kv heads")
        if self.moe is not None:
            self._check_experts(self.moe)

    def _check_experts(self, moe: Experts) -> None:
        whole(f"{self.name}.moe.experts", moe.experts)
        whole(f"{self.name}.moe.ffn", moe.ffn)
        if not 1 <= moe.top_k <= moe.experts:
            raise PlanError(f"{self.name}.moe.top_k: {moe.top_k} of {moe.experts} experts is impossible")
        if not 0 <= moe.dense_layers <= self.layers:
            raise PlanError(f"{self.name}.moe.dense_layers: {moe.dense_layers} of {self.layers} layers is impossible")

    @property
    def query_width(self) -> int:
        """Width of all query heads (nh * hd), or of MLA's queries."""
        return self.heads * (self.mla.nope + self.mla.rope if self.mla else self.head_dim)

    @property
    def value_width(self) -> int:
        """Width of the attention output before its projection."""
        return self.heads * (self.mla.v if self.mla else self.head_dim)

    def with_vocab(self, vocab: int) -> ModelConfig:
        """The same model with another vocabulary size."""
        return replace(self, vocab=vocab)

    def window_layers(self) -> tuple[int, int]:
        """(global layers, sliding-window layers)."""
        if not self.window:
            return self.layers, 0
        full = self.layers // self.global_every if self.global_every else 0
        return full, self.layers - full


@dataclass(frozen=True)
class ParameterCount:
    """Parameters by component, over the whole model. `*_active` counts what one token uses (MoE)."""

    embedding: int
    positions: int
    attention: int
    mlp: int
    mlp_active: int
    router: int
    norms: int
    biases: int
    head: int
    """Zero when tied: the embedding table is the head."""
    tied: bool

    @property
    def total(self) -> int:
        """Every parameter in the checkpoint, tied tables once."""
        return self.active + self.mlp - self.mlp_active

    @property
    def active(self) -> int:
        """Parameters one token passes, embeddings and norms included."""
        dense = self.embedding + self.positions + self.attention + self.router + self.norms + self.biases + self.head
        return dense + self.mlp_active

    @property
    def matmul(self) -> int:
        """Active weights inside matrix products; the head counts once whether tied or not."""
        return self.attention + self.mlp_active + self.router + (self.embedding if self.tied else self.head)

    @property
    def non_embedding(self) -> int:
        """Total less token and position tables and the head (Kaplan 2020)."""
        return self.total - self.embedding - self.positions - self.head

    def parts(self) -> dict[str, int]:
        """The terms that add up to `total`."""
        names = ("embedding", "positions", "attention", "mlp", "router", "norms", "biases", "head")
        return {n: getattr(self, n) for n in names}


def attention_parameters(c: ModelConfig) -> int:
    """Projection weights of one attention layer, without biases and norms."""
    if c.mla is None:
        return 2 * c.hidden * c.heads * c.head_dim + 2 * c.hidden * c.kv_heads * c.head_dim
    m = c.mla
    queries = c.hidden * m.q_rank + m.q_rank * c.heads * (m.nope + m.rope) if m.q_rank else c.hidden * c.query_width
    keys = c.hidden * (m.kv_rank + m.rope) + m.kv_rank * c.heads * (m.nope + m.v)
    return queries + keys + c.heads * m.v * c.hidden


def mlp_parameters(c: ModelConfig, ffn: int) -> int:
    """Weights of one MLP of width `ffn`: three matrices when gated, else two."""
    return (3 if c.gated else 2) * c.hidden * ffn


def norm_parameters(c: ModelConfig) -> int:
    """Norm weights of one layer: `norms_per_layer` over hidden, q/k norms, and MLA's two latent norms."""
    per_norm = NORM_WIDTHS[c.norm]
    count = c.norms_per_layer * c.hidden * per_norm
    if c.mla is not None:
        return count + c.mla.q_rank + c.mla.kv_rank
    qk = {"none": 0, "head": 2 * c.head_dim, "full": (c.heads + c.kv_heads) * c.head_dim}
    return count + qk[c.qk_norm] * per_norm


def bias_parameters(c: ModelConfig) -> int:
    """Biases of one layer (router biases apart)."""
    qkv = (c.heads + 2 * c.kv_heads) * c.head_dim if c.qkv_bias else 0
    mlp = (2 if c.gated else 1) * c.ffn + c.hidden if c.mlp_bias else 0
    return qkv + (c.hidden if c.out_bias else 0) + mlp


def count(c: ModelConfig) -> ParameterCount:
    """Exact parameters of `c` by component.

    Checked against 26 published models (planner/facts/models.py), difference zero.
    """
    table = c.vocab * c.hidden
    per_norm = NORM_WIDTHS[c.norm]
    mlp = active = c.layers * mlp_parameters(c, c.ffn)
    router = biases = 0
    if c.moe is not None:
        sparse = c.layers - c.moe.dense_layers
        one = mlp_parameters(c, c.moe.ffn)
        dense = c.moe.dense_layers * mlp_parameters(c, c.ffn)
        mlp = dense + sparse * (c.moe.experts + c.moe.shared) * one
        active = dense + sparse * (c.moe.top_k + c.moe.shared) * one
        router = sparse * c.hidden * c.moe.experts
        biases = sparse * c.moe.experts if c.moe.router_bias else 0
    return ParameterCount(
        embedding=table,
        positions=c.positions * c.hidden,
        attention=c.layers * attention_parameters(c),
        mlp=mlp,
        mlp_active=active,
        router=router,
        norms=c.layers * norm_parameters(c) + c.hidden * per_norm * (2 if c.embedding_norm else 1),
        biases=biases + c.layers * bias_parameters(c),
        head=0 if c.tied else table,
        tied=c.tied,
    )


def preset(name: str) -> ModelConfig:
    """A published model by name. Raises PlanError with near names."""
    key = name.lower()
    if key not in CONFIGS:
        raise PlanError(f"model: {name!r} is unknown{near(key, CONFIGS)} (or give a Hugging Face config.json)")
    row: dict[str, Any] = dict(CONFIGS[key])
    moe = Experts(**row.pop("moe")) if "moe" in row else None
    mla = LatentAttention(**row.pop("mla")) if "mla" in row else None
    return ModelConfig(name=key, moe=moe, mla=mla, source=COUNTS[key][5], **row)


def presets() -> list[str]:
    """Names of all published models known here."""
    return list(CONFIGS)


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


def describe(c: ModelConfig) -> Mapping[str, Any]:
    """The sizes of `c` for a report."""
    return {
        "layers": c.layers,
        "hidden": c.hidden,
        "heads": c.heads,
        "kv_heads": c.kv_heads,
        "ffn": c.ffn,
        "vocab": c.vocab,
    }
