"""A plain decoder in torch with the shapes of a ModelConfig. Imported only when something is measured."""

from __future__ import annotations

from typing import Any

from planner.model.config import ModelConfig


def build(torch: Any, c: ModelConfig, seq: int) -> Any:
    """A torch module mapping token ids (b, s) to logits (b, s, V); its parameters number `count(c).total`."""
    nn, F = torch.nn, torch.nn.functional

    def norm(width: int) -> Any:
        if c.norm == "none":
            return nn.LayerNorm(width, elementwise_affine=False)
        return nn.RMSNorm(width) if c.norm == "rms" else nn.LayerNorm(width)

    def rotate(x: Any, cos: Any, sin: Any) -> Any:
        left, right = x.chunk(2, -1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

    class Attention(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.q = nn.Linear(c.hidden, c.heads * c.head_dim, bias=c.qkv_bias)
            self.k = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=c.qkv_bias)
            self.v = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=c.qkv_bias)
            self.out = nn.Linear(c.heads * c.head_dim, c.hidden, bias=c.out_bias)
            self.q_norm: Any = (
                norm({"head": c.head_dim, "full": c.heads * c.head_dim}[c.qk_norm]) if c.qk_norm != "none" else None
            )
            self.k_norm: Any = (
                norm({"head": c.head_dim, "full": c.kv_heads * c.head_dim}[c.qk_norm]) if c.qk_norm != "none" else None
            )

        def forward(self, x: Any, cos: Any, sin: Any) -> Any:
            b, s, _ = x.shape
            q, k, v = self.q(x), self.k(x), self.v(x)
            if c.qk_norm == "full":
                q, k = self.q_norm(q), self.k_norm(k)
            q, k, v = (t.view(b, s, -1, c.head_dim).transpose(1, 2) for t in (q, k, v))
            if c.qk_norm == "head":
                q, k = self.q_norm(q), self.k_norm(k)
            if not c.positions:
                q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=c.kv_heads != c.heads)
            return self.out(y.transpose(1, 2).reshape(b, s, -1))

    class Mlp(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.gate: Any = nn.Linear(c.hidden, c.ffn, bias=c.mlp_bias) if c.gated else None
            self.up = nn.Linear(c.hidden, c.ffn, bias=c.mlp_bias)
            self.down = nn.Linear(c.ffn, c.hidden, bias=c.mlp_bias)

        def forward(self, x: Any) -> Any:
            return self.down(F.silu(self.gate(x)) * self.up(x) if c.gated else F.gelu(self.up(x)))

    class Layer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.attention_norm, self.attention = norm(c.hidden), Attention()
            self.mlp_norm, self.mlp = norm(c.hidden), Mlp()

        def forward(self, x: Any, cos: Any, sin: Any) -> Any:
            x = x + self.attention(self.attention_norm(x), cos, sin)
            return x + self.mlp(self.mlp_norm(x))

    class Decoder(nn.Module):  # type: ignore[misc, name-defined]
        vocab = c.vocab

        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(c.vocab, c.hidden)
            self.places = nn.Embedding(c.positions, c.hidden) if c.positions else None
            self.layers = nn.ModuleList(Layer() for _ in range(c.layers))
            self.norm = norm(c.hidden)
            self.head = nn.Linear(c.hidden, c.vocab, bias=False)
            if c.tied:
                self.head.weight = self.tokens.weight
            angles = torch.outer(torch.arange(seq), 10000 ** (-torch.arange(0, c.head_dim, 2) / c.head_dim))
            self.register_buffer("cos", angles.cos(), persistent=False)
            self.register_buffer("sin", angles.sin(), persistent=False)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids)
            if self.places is not None:
                x = x + self.places(torch.arange(ids.shape[1], device=ids.device))
            for layer in self.layers:
                x = layer(x, self.cos, self.sin)
            return self.head(self.norm(x))

    return Decoder()
