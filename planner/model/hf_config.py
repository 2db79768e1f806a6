"""A Hugging Face `config.json` as a ModelConfig. An architecture not known here is refused, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.errors import PlanError, near
from planner.model.config import Experts, LatentAttention, ModelConfig

Config = Mapping[str, Any]


def from_hf(table: Config, name: str = "config") -> ModelConfig:
    """A ModelConfig from the keys of a Hugging Face config.

    The rules follow each architecture's modelling file in transformers (which biases, norms and tables exist).
    Raises PlanError for a missing key or unknown `model_type`.
    """
    kind = table.get("model_type")
    if kind not in READERS:
        raise PlanError(f"{name}.model_type: {kind!r} is not known{near(str(kind), READERS)}")
    try:
        return READERS[str(kind)](table, name)
    except KeyError as error:
        raise PlanError(f"{name}: the config has no {error.args[0]!r}, which {kind} needs") from error


def _llama(t: Config, name: str, **more: Any) -> ModelConfig:
    options: dict[str, Any] = {
        "name": name, "layers": t["num_hidden_layers"], "hidden": t["hidden_size"], "heads": t["num_attention_heads"],
        "kv_heads": t.get("num_key_value_heads") or t["num_attention_heads"], "head_dim": t.get("head_dim") or 0,
        "ffn": t["intermediate_size"], "vocab": t["vocab_size"], "tied": bool(t.get("tie_word_embeddings", False)),
        "qkv_bias": bool(t.get("attention_bias", False)), "out_bias": bool(t.get("attention_bias", False)),
        "mlp_bias": bool(t.get("mlp_bias", False)), "seq": min(t.get("max_position_embeddings") or 4096, 8192),
        "source": f"Hugging Face config, model_type {t['model_type']}",
    }  # fmt: skip
    return ModelConfig(**{**options, **more})


def _mistral(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, window=t.get("sliding_window") or 0)


def _qwen2(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, qkv_bias=True, out_bias=False)


def _qwen3(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, qk_norm="head", head_dim=t.get("head_dim") or 128)


def _qwen3_moe(t: Config, name: str) -> ModelConfig:
    experts = t.get("num_experts") or t["num_local_experts"]
    moe = Experts(experts=experts, top_k=t["num_experts_per_tok"], ffn=t["moe_intermediate_size"])
    return _llama(t, name, qk_norm="head", head_dim=t.get("head_dim") or 128, moe=moe)


def _olmo(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, norm="none")


def _olmo2(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, qk_norm="full")


def _gemma(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, tied=bool(t.get("tie_word_embeddings", True)))


def _gemma2(t: Config, name: str) -> ModelConfig:
    tied = bool(t.get("tie_word_embeddings", True))
    return _llama(t, name, tied=tied, norms_per_layer=4, window=t.get("sliding_window") or 0, global_every=2)


def _gemma3(t: Config, name: str) -> ModelConfig:
    every = t.get("sliding_window_pattern") or 6
    tied = bool(t.get("tie_word_embeddings", True))
    window = t.get("sliding_window") or 0
    return _llama(t, name, tied=tied, norms_per_layer=4, qk_norm="head", window=window, global_every=every)


def _mixtral(t: Config, name: str) -> ModelConfig:
    moe = Experts(experts=t["num_local_experts"], top_k=t["num_experts_per_tok"], ffn=t["intermediate_size"])
    return _llama(t, name, moe=moe, window=t.get("sliding_window") or 0)


def _deepseek(t: Config, name: str) -> ModelConfig:
    moe = Experts(
        experts=t["n_routed_experts"], top_k=t["num_experts_per_tok"], shared=t.get("n_shared_experts") or 0,
        ffn=t["moe_intermediate_size"], dense_layers=t.get("first_k_dense_replace") or 0,
        router_bias=t["model_type"] == "deepseek_v3",
    )  # fmt: skip
    mla = LatentAttention(
        q_rank=t.get("q_lora_rank") or 0, kv_rank=t["kv_lora_rank"], nope=t["qk_nope_head_dim"],
        rope=t["qk_rope_head_dim"], v=t["v_head_dim"],
    )  # fmt: skip
    return _llama(t, name, kv_heads=t["num_attention_heads"], head_dim=t["v_head_dim"], moe=moe, mla=mla)


def _classic(t: Config, name: str, **more: Any) -> ModelConfig:
    options: dict[str, Any] = {
        "name": name, "gated": False, "norm": "layer", "qkv_bias": True, "out_bias": True, "mlp_bias": True,
        "tied": bool(t.get("tie_word_embeddings", True)), "vocab": t["vocab_size"],
        "source": f"Hugging Face config, model_type {t['model_type']}",
    }  # fmt: skip
    return ModelConfig(**{**options, **more})


def _gpt2(t: Config, name: str) -> ModelConfig:
    places = t["n_positions"]
    ffn = t.get("n_inner") or 4 * t["n_embd"]
    shape = {"layers": t["n_layer"], "hidden": t["n_embd"], "heads": t["n_head"], "ffn": ffn}
    return _classic(t, name, positions=places, seq=places, **shape)


def _bloom(t: Config, name: str) -> ModelConfig:
    hidden = t.get("hidden_size") or t["n_embed"]
    heads = t.get("n_head") or t["num_attention_heads"]
    layers = t.get("n_layer") or t["num_hidden_layers"]
    shape = {"layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden}
    return _classic(t, name, embedding_norm=True, seq=t.get("seq_length") or 2048, **shape)


def _neox(t: Config, name: str) -> ModelConfig:
    shape = {"layers": t["num_hidden_layers"], "hidden": t["hidden_size"], "heads": t["num_attention_heads"]}
    bias = bool(t.get("attention_bias", True))
    more = {"tied": bool(t.get("tie_word_embeddings", False)), "seq": t.get("max_position_embeddings") or 2048}
    return _classic(t, name, ffn=t["intermediate_size"], qkv_bias=bias, out_bias=bias, **shape, **more)


READERS: dict[str, Callable[[Config, str], ModelConfig]] = {
    "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "qwen2": _qwen2, "qwen3": _qwen3,
    "qwen3_moe": _qwen3_moe, "olmo": _olmo, "olmo2": _olmo2, "smollm3": _llama, "gemma": _gemma, "gemma2": _gemma2,
    "gemma3_text": _gemma3, "deepseek_v2": _deepseek, "deepseek_v3": _deepseek, "gpt2": _gpt2, "bloom": _bloom,
    "gpt_neox": _neox, "phi3": _llama,
}  # fmt: skip
