"""FLOPs of a training step, by part and by named convention.

One convention reproduces published MFUs: 6 N_matmul + 12 L H Q T per token, attention in full (PaLM appendix B).
Others move the same run by up to 29 %, so a convention is printed beside every utilisation.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import one_of, positive
from planner.model.config import ModelConfig
from planner.model.count import count

ATTENTION = ("full", "causal", "none")
RECOMPUTE = ("none", "selective", "selective-op", "full")
CONVENTIONS = {
    "palm": "6 N_matmul + full attention (PaLM, torchtitan, nanochat, llm-foundry)",
    "causal": "6 N_matmul + half attention (Megatron-LM since 2024, MaxText, verl)",
    "6nd": "6 N_total, no attention (Kaplan, Chinchilla, model cards)",
    "matmul": "6 N_matmul, no attention",
}


@dataclass(frozen=True)
class TokenFlops:
    """FLOP per token of one training step; `forward` and `backward` add up to `model`, recompute is extra."""

    matmul_forward: float
    attention_forward: float
    recompute: float
    convention: str

    @property
    def forward(self) -> float:
        """Forward: 2 N and the attention core."""
        return self.matmul_forward + self.attention_forward

    @property
    def backward(self) -> float:
        """Backward: two matrix products for each forward one."""
        return 2 * self.forward

    @property
    def model(self) -> float:
        """What the model needs: forward and backward. The numerator of MFU."""
        return self.forward + self.backward

    @property
    def hardware(self) -> float:
        """What the device executes: model and recomputation. The numerator of HFU."""
        return self.model + self.recompute


def attended(seq: int, window: int, attention: str) -> float:
    """Mean number of positions a token's attention is charged for.

    `full` charges the whole sequence (or the window), `causal` only the half that the mask leaves.
    """
    if attention == "none":
        return 0.0
    width = min(window or seq, seq)
    if attention == "full":
        return float(width)
    return seq / 2 if width == seq else width - width * width / (2 * seq)


def attention_flops(c: ModelConfig, seq: int, attention: str = "full") -> float:
    """Forward FLOP per token of scores and weighted values over all layers: 4 L H Q T for plain heads.

    Sliding-window layers are charged for their window only (nanochat, OLMo-core).
    """
    one_of("attention", attention, ATTENTION)
    positive("seq", seq)
    per_position = 2 * (c.query_width + c.value_width)
    full_layers, local_layers = c.window_layers()
    reach = full_layers * attended(seq, 0, attention) + local_layers * attended(seq, c.window, attention)
    return per_position * reach


def token_flops(c: ModelConfig, seq: int, convention: str = "palm", recompute: str = "none") -> TokenFlops:
    """FLOP per token of a training step of `c` at sequence length `seq` (PaLM appendix B).

    Recompute adds forward work to HFU only: the attention core when selective (Korthikanti 2022), about half of
    the matrix products when selective-op (torchtitan), everything but the head when full.
    """
    one_of("convention", convention, CONVENTIONS)
    one_of("recompute", recompute, RECOMPUTE)
    n = count(c)
    attention = {"palm": "full", "causal": "causal"}.get(convention, "none")
    core = attention_flops(c, seq, attention)
    body = 2.0 * (n.matmul - (n.embedding if n.tied else n.head))
    extra = {"none": 0.0, "selective": core, "selective-op": body / 2, "full": body + core}[recompute]
    weights = n.active if convention == "6nd" else n.matmul
    return TokenFlops(2.0 * weights, core, extra, convention)


def train_flops(parameters: float, tokens: float) -> float:
    """C = 6 N D (forward 2 N D, backward 4 N D). Kaplan 2020; Llama 3 section 3.2 is this number."""
    return 6 * positive("parameters", parameters) * positive("tokens", tokens)


def mfu(flops_per_token: float, tokens_per_second: float, devices: float, peak: float) -> float:
    """Model FLOPs utilisation: FLOP/token x token/s / (devices x dense peak FLOP/s)."""
    return flops_per_token * tokens_per_second / (positive("devices", devices) * positive("peak", peak))


def palm_flops_per_token(matmul: float, layers: int, heads: int, head_dim: int, seq: int) -> float:
    """6 N + 12 L H Q T, from bare sizes (PaLM appendix B)."""
    return 6 * matmul + 12 * layers * heads * head_dim * seq


def megatron_hardware_flops(sequences: int, seq: int, layers: int, hidden: int, vocab: int) -> float:
    """FLOP per iteration with full recompute, GELU MLP of 4h, MHA (Narayanan 2021, equation 3)."""
    rest = 1 + seq / (6 * hidden) + vocab / (16 * layers * hidden)
    return 96.0 * sequences * seq * layers * hidden**2 * rest


def megatron_model_flops(sequences: int, seq: int, layers: int, hidden: int, vocab: int) -> float:
    """FLOP per iteration without recompute, GELU MLP of 4h, MHA (Korthikanti 2022, appendix A)."""
    rest = 1 + seq / (6 * hidden) + vocab / (12 * layers * hidden)
    return 72.0 * sequences * seq * layers * hidden**2 * rest


def selective_ratio(hidden: int, seq: int) -> float:
    """HFU / MFU with selective recompute for a 4h MLP: 1 + s / (6 h) (Korthikanti 2022)."""
    return 1 + seq / (6 * hidden)


def attention_share(layers: int, width: float, seq: int, parameters: float, causal: bool = False) -> float:
    """Attention core over 6 N: 12 L h T / (6 N), half of it when only the causal half is counted."""
    return 12 * layers * width * seq / (6 * parameters) * (0.5 if causal else 1.0)


def gemm_intensity(m: float, n: float, k: float, bytes_each: float = 2) -> float:
    """FLOP per byte of an m x k by k x n product read and written once."""
    return 2 * m * n * k / (bytes_each * (m * k + k * n + m * n))
