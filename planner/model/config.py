"""Transformer configurations and exact parameter counts.

Three counts are kept apart because sources mix them: `total` (what a checkpoint holds), `matmul` (weights that take
part in matrix products; the embedding lookup, norms and biases do not) and `non_embedding` (Kaplan's).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.errors import PlanError, one_of, whole

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
    """How many layers have an ordinary MLP of the model's `ffn` instead, wherever they stand."""
    router_bias: bool = False
    expert_bias: bool = False
    """Biases in every expert's products (gpt-oss)."""
    shared_ffn: int = 0
    """Width of the shared MLP in all; zero means `shared` times `ffn`."""
    shared_gate: bool = False
    """A sigmoid gate on the shared MLP (Qwen2-MoE)."""

    @property
    def shared_width(self) -> int:
        """Width of what every token passes besides its experts."""
        return self.shared_ffn or self.shared * self.ffn

    @property
    def active_width(self) -> int:
        """MLP width that one token passes."""
        return self.top_k * self.ffn + self.shared_width


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
    global_layers: int = -1
    """With a window: how many layers are global, where a config lists them; -1 means by `global_every`."""
    head_bias: bool = False
    sinks: bool = False
    """One learned attention sink per head (gpt-oss)."""
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
        full = self.global_layers if self.global_layers >= 0 else full
        return full, self.layers - full
