"""Exact parameter counts of a configuration, by component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.model.config import NORM_WIDTHS, ModelConfig


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


def expert_parameters(c: ModelConfig) -> int:
    """Parameters of one routed expert; zero for a dense model."""
    if c.moe is None:
        return 0
    bias = (2 if c.gated else 1) * c.moe.ffn + c.hidden if c.moe.expert_bias else 0
    return mlp_parameters(c, c.moe.ffn) + bias


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
    return qkv + (c.hidden if c.out_bias else 0) + (c.heads if c.sinks else 0) + mlp


@lru_cache(maxsize=4096)
def count(c: ModelConfig) -> ParameterCount:
    """Exact parameters of `c` by component.

    Checked against published models (planner/facts/models.py and configs.py), difference zero.
    """
    table = c.vocab * c.hidden
    per_norm = NORM_WIDTHS[c.norm]
    mlp = active = c.layers * mlp_parameters(c, c.ffn)
    router = biases = 0
    if c.moe is not None:
        sparse = c.layers - c.moe.dense_layers
        one, shared = expert_parameters(c), mlp_parameters(c, c.moe.shared_width)
        dense = c.moe.dense_layers * mlp_parameters(c, c.ffn)
        mlp = dense + sparse * (c.moe.experts * one + shared)
        active = dense + sparse * (c.moe.top_k * one + shared)
        router = sparse * c.hidden * (c.moe.experts + (1 if c.moe.shared_gate else 0))
        biases = sparse * c.moe.experts if c.moe.router_bias else 0
    return ParameterCount(
        embedding=table,
        positions=c.positions * c.hidden,
        attention=c.layers * attention_parameters(c),
        mlp=mlp,
        mlp_active=active,
        router=router,
        norms=c.layers * norm_parameters(c) + c.hidden * per_norm * (2 if c.embedding_norm else 1),
        biases=biases + c.layers * bias_parameters(c) + (c.vocab if c.head_bias else 0),
        head=0 if c.tied else table,
        tied=c.tied,
    )
