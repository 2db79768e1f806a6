"""A Hugging Face config as a ModelConfig. A key that is absent means its class's default; an unknown class is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.errors import PlanError, near
from planner.model.config import Experts, LatentAttention, ModelConfig

Config = Mapping[str, Any]


def from_hf(table: Config, name: str = "config") -> ModelConfig:
    """A ModelConfig from the keys of a Hugging Face config; of a multimodal one, its `text_config`.

    The rules follow each architecture's modelling file in transformers (which biases, norms and tables exist, and what
    an absent key means). Raises PlanError for a missing size or an unknown `model_type`.
    """
    if isinstance(table.get("text_config"), Mapping) and table.get("model_type") not in READERS:
        inner = dict(table["text_config"])
        inner.setdefault("model_type", f"{table.get('model_type')}_text")
        if "tie_word_embeddings" in table:
            inner.setdefault("tie_word_embeddings", table["tie_word_embeddings"])
        table = inner
    kind = table.get("model_type")
    if kind not in READERS:
        raise PlanError(f"{name}.model_type: {kind!r} is not known{near(str(kind), READERS)}")
    try:
        return READERS[str(kind)](table, name)
    except KeyError as error:
        raise PlanError(f"{name}: the config has no {error.args[0]!r}, which {kind} needs") from error


def _llama(t: Config, name: str, **more: Any) -> ModelConfig:
    """Pre-norm, RMSNorm, gated MLP, rotary; `more` is what an architecture has otherwise. Untied unless it says so."""
    bias = bool(t.get("attention_bias", False))
    tied = bool(t.get("tie_word_embeddings", more.pop("tied_default", False)))
    options: dict[str, Any] = {
        "name": name, "layers": t["num_hidden_layers"], "hidden": t["hidden_size"], "heads": t["num_attention_heads"],
        "kv_heads": t.get("num_key_value_heads") or t["num_attention_heads"], "head_dim": t.get("head_dim") or 0,
        "ffn": t["intermediate_size"], "vocab": t["vocab_size"], "tied": tied, "qkv_bias": bias, "out_bias": bias,
        "mlp_bias": bool(t.get("mlp_bias", False)), "seq": min(t.get("max_position_embeddings") or 4096, 8192),
        "source": f"Hugging Face config, model_type {t['model_type']}",
    }  # fmt: skip
    return ModelConfig(**{**options, **more})


def _windows(t: Config, width: str = "sliding_window", every: int = 0) -> dict[str, Any]:
    """Window and number of global layers: as `layer_types` lists them, else every n-th layer is global."""
    window = t.get(width) or 0
    types = t.get("layer_types")
    if window and isinstance(types, list):
        return {"window": window, "global_layers": sum(kind == "full_attention" for kind in types)}
    return {"window": window, "global_every": every}


def _mistral(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, **_windows(t))


def _qwen2(t: Config, name: str, **more: Any) -> ModelConfig:
    window = _windows(t) if t.get("use_sliding_window") else {}
    return _llama(t, name, qkv_bias=True, out_bias=False, **window, **more)


def _qwen3(t: Config, name: str, **more: Any) -> ModelConfig:
    window = _windows(t) if t.get("use_sliding_window") else {}
    return _llama(t, name, qk_norm="head", head_dim=t.get("head_dim") or 128, **window, **more)


def _sparse_step(t: Config) -> int:
    """Layers with an ordinary MLP: not at every `decoder_sparse_step`-th place, or listed in `mlp_only_layers`."""
    step, only = t.get("decoder_sparse_step") or 1, set(t.get("mlp_only_layers") or ())
    return sum(i in only or (i + 1) % step != 0 for i in range(t["num_hidden_layers"]))


def _qwen2_moe(t: Config, name: str) -> ModelConfig:
    moe = Experts(
        experts=t["num_experts"], top_k=t.get("num_experts_per_tok", 4), ffn=t["moe_intermediate_size"], shared=1,
        shared_ffn=t["shared_expert_intermediate_size"], shared_gate=True, dense_layers=_sparse_step(t),
    )  # fmt: skip
    return _qwen2(t, name, moe=moe)


def _qwen3_moe(t: Config, name: str) -> ModelConfig:
    moe = Experts(
        experts=t.get("num_experts") or t["num_local_experts"], top_k=t.get("num_experts_per_tok", 8),
        ffn=t["moe_intermediate_size"], dense_layers=_sparse_step(t),
    )  # fmt: skip
    return _qwen3(t, name, moe=moe)


def _olmo(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, norm="none")


def _olmo2(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, qk_norm="full", **_windows(t, every=4))


def _olmoe(t: Config, name: str) -> ModelConfig:
    moe = Experts(experts=t["num_experts"], top_k=t.get("num_experts_per_tok", 8), ffn=t["intermediate_size"])
    return _llama(t, name, qk_norm="full", moe=moe)


def _gemma(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, tied_default=True)


def _gemma2(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, tied_default=True, norms_per_layer=4, **_windows(t, every=2))


def _gemma3(t: Config, name: str) -> ModelConfig:
    """Class defaults are those of transformers' Gemma3TextConfig; multimodal configs leave most of them out."""
    defaults = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
                "sliding_window": 4096}  # fmt: skip
    t = {**defaults, **t}
    every = t.get("sliding_window_pattern") or 6
    return _llama(t, name, tied_default=True, norms_per_layer=4, qk_norm="head", **_windows(t, every=every))


def _mixtral(t: Config, name: str) -> ModelConfig:
    moe = Experts(experts=t["num_local_experts"], top_k=t.get("num_experts_per_tok", 2), ffn=t["intermediate_size"])
    return _llama(t, name, moe=moe, **_windows(t))


def _granite(t: Config, name: str) -> ModelConfig:
    return _llama(t, name)


def _deepseek(t: Config, name: str) -> ModelConfig:
    every = t.get("moe_layer_freq") or 1
    first = t.get("first_k_dense_replace") or 0
    dense = sum(i < first or i % every != 0 for i in range(t["num_hidden_layers"]))
    moe = Experts(
        experts=t["n_routed_experts"], top_k=t["num_experts_per_tok"], shared=t.get("n_shared_experts") or 0,
        ffn=t["moe_intermediate_size"], dense_layers=dense, router_bias=t["model_type"] != "deepseek_v2",
    )  # fmt: skip
    mla = LatentAttention(
        q_rank=t.get("q_lora_rank") or 0, kv_rank=t["kv_lora_rank"], nope=t["qk_nope_head_dim"],
        rope=t["qk_rope_head_dim"], v=t["v_head_dim"],
    )  # fmt: skip
    return _llama(t, name, kv_heads=t["num_attention_heads"], head_dim=t["v_head_dim"], moe=moe, mla=mla)


def _glm4_moe(t: Config, name: str) -> ModelConfig:
    """Without the layer that predicts the token after next, which training may add."""
    moe = Experts(
        experts=t["n_routed_experts"], top_k=t["num_experts_per_tok"], shared=t.get("n_shared_experts") or 0,
        ffn=t["moe_intermediate_size"], dense_layers=t.get("first_k_dense_replace") or 0, router_bias=True,
    )  # fmt: skip
    bias = bool(t.get("attention_bias", False))
    norm = "head" if t.get("use_qk_norm") else "none"
    return _llama(t, name, moe=moe, qkv_bias=bias, out_bias=False, qk_norm=norm)


def _gpt_oss(t: Config, name: str) -> ModelConfig:
    moe = Experts(
        experts=t["num_local_experts"], top_k=t.get("num_experts_per_tok") or t.get("experts_per_token") or 4,
        ffn=t["intermediate_size"], router_bias=True, expert_bias=True,
    )  # fmt: skip
    return _llama(t, name, moe=moe, qkv_bias=True, out_bias=True, sinks=True, head_dim=t.get("head_dim") or 64,
                  **_windows(t, every=2))  # fmt: skip


def _llama4(t: Config, name: str) -> ModelConfig:
    layers = t["num_hidden_layers"]
    step = t.get("interleave_moe_layer_step") or 1
    sparse = len(t["moe_layers"]) if t.get("moe_layers") else layers // step
    moe = Experts(
        experts=t["num_local_experts"], top_k=t.get("num_experts_per_tok", 1), shared=1, ffn=t["intermediate_size"],
        dense_layers=layers - sparse,
    )  # fmt: skip
    return _llama(t, name, moe=moe, ffn=t.get("intermediate_size_mlp") or 16384, head_dim=t.get("head_dim") or 128,
                  window=t.get("attention_chunk_size") or 0, global_every=4)  # fmt: skip


def _smollm3(t: Config, name: str) -> ModelConfig:
    return _llama(t, name, tied_default=True)


def _cohere(t: Config, name: str) -> ModelConfig:
    """Attention and MLP side by side behind one norm without bias, which counts as an RMSNorm does."""
    norm = "head" if t.get("use_qk_norm") else "none"
    return _llama(t, name, tied_default=True, norms_per_layer=1, qk_norm=norm)


def _stablelm(t: Config, name: str) -> ModelConfig:
    bias = bool(t.get("use_qkv_bias", False))
    norms = 1 if t.get("use_parallel_residual") else 2
    return _llama(t, name, norm="layer", qkv_bias=bias, out_bias=False, norms_per_layer=norms)


def _phi3(t: Config, name: str) -> ModelConfig:
    window = t.get("sliding_window") or 0
    return _llama(t, name, window=window if window < (t.get("max_position_embeddings") or 4096) else 0)


def _classic(t: Config, name: str, **more: Any) -> ModelConfig:
    """GPT-2's kind: LayerNorm, biases, an MLP of two matrices, one table."""
    options: dict[str, Any] = {
        "name": name, "gated": False, "norm": "layer", "qkv_bias": True, "out_bias": True, "mlp_bias": True,
        "tied": bool(t.get("tie_word_embeddings", more.pop("tied_default", True))), "vocab": t["vocab_size"],
        "source": f"Hugging Face config, model_type {t['model_type']}",
    }  # fmt: skip
    return ModelConfig(**{**options, **more})


def _sizes(t: Config, ffn: int | None = None) -> dict[str, Any]:
    return {"layers": t["num_hidden_layers"], "hidden": t["hidden_size"], "heads": t["num_attention_heads"],
            "ffn": ffn or t["intermediate_size"], "seq": min(t.get("max_position_embeddings") or 2048, 8192)}  # fmt: skip


def _gpt2(t: Config, name: str, **more: Any) -> ModelConfig:
    places = t["n_positions"]
    ffn = t.get("n_inner") or 4 * t["n_embd"]
    shape = {"layers": t["n_layer"], "hidden": t["n_embd"], "heads": t["n_head"], "ffn": ffn}
    return _classic(t, name, **{**shape, "positions": places, "seq": places, **more})


def _bigcode(t: Config, name: str) -> ModelConfig:
    return _gpt2(t, name, kv_heads=1 if t.get("multi_query", True) else 0)


def _gptj(t: Config, name: str) -> ModelConfig:
    return _gpt2(t, name, tied_default=False, positions=0, qkv_bias=False, out_bias=False, norms_per_layer=1,
                 head_bias=True)  # fmt: skip


def _phi(t: Config, name: str) -> ModelConfig:
    kv = t.get("num_key_value_heads") or 0
    return _classic(t, name, tied_default=False, norms_per_layer=1, head_bias=True, kv_heads=kv, **_sizes(t))


def _bloom(t: Config, name: str) -> ModelConfig:
    hidden = t.get("hidden_size") or t["n_embed"]
    heads = t.get("n_head") or t["num_attention_heads"]
    layers = t.get("n_layer") or t["num_hidden_layers"]
    shape = {"layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden}
    return _classic(t, name, embedding_norm=True, seq=t.get("seq_length") or 2048, **shape)


def _falcon(t: Config, name: str) -> ModelConfig:
    """Attention and MLP side by side behind one norm (two in the newer form); no biases unless it says so."""
    new, bias = bool(t.get("new_decoder_architecture")), bool(t.get("bias", False))
    heads = t["num_attention_heads"]
    kv = (t.get("num_kv_heads") or heads) if new else 1 if t.get("multi_query", True) else heads
    two = (new and (t.get("num_ln_in_parallel_attn") or 2) == 2) or not (new or t.get("parallel_attn", True))
    sizes = _sizes(t, t.get("ffn_hidden_size") or 4 * t["hidden_size"])
    return _classic(t, name, kv_heads=kv, norms_per_layer=2 if two else 1, qkv_bias=bias, out_bias=bias, mlp_bias=bias,
                    **sizes)  # fmt: skip


def _neox(t: Config, name: str) -> ModelConfig:
    bias = bool(t.get("attention_bias", True))
    return _classic(t, name, tied_default=False, qkv_bias=bias, out_bias=bias, **_sizes(t))


def _opt(t: Config, name: str) -> ModelConfig:
    if (t.get("word_embed_proj_dim") or t["hidden_size"]) != t["hidden_size"]:
        raise PlanError(f"{name}.word_embed_proj_dim: tables narrower than the model are not known here")
    return _classic(t, name, positions=t["max_position_embeddings"] + 2, **_sizes(t, t["ffn_dim"]))


def _starcoder2(t: Config, name: str) -> ModelConfig:
    bias = bool(t.get("use_bias", True))
    return _classic(t, name, kv_heads=t.get("num_key_value_heads") or 0, qkv_bias=bias, out_bias=bias, mlp_bias=bias,
                    window=t.get("sliding_window") or 0, **_sizes(t))  # fmt: skip


def _mpt(t: Config, name: str) -> ModelConfig:
    bias = not t.get("no_bias", True)
    alibi = bool((t.get("attn_config") or {}).get("alibi", True))
    norm = "layer" if bias else "rms"
    return _classic(t, name, layers=t["n_layers"], hidden=t["d_model"], heads=t["n_heads"], norm=norm, qkv_bias=bias,
                    ffn=(t.get("expansion_ratio") or 4) * t["d_model"], out_bias=bias, mlp_bias=bias,
                    positions=0 if alibi else t["max_seq_len"], seq=t.get("max_seq_len") or 2048)  # fmt: skip


READERS: dict[str, Callable[[Config, str], ModelConfig]] = {
    "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "qwen2": _qwen2, "qwen3": _qwen3,
    "qwen2_moe": _qwen2_moe, "qwen3_moe": _qwen3_moe, "olmo": _olmo, "olmo2": _olmo2, "olmo3": _olmo2, "olmoe": _olmoe,
    "smollm3": _smollm3, "gemma": _gemma, "gemma2": _gemma2, "gemma3_text": _gemma3, "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek, "kimi_k2": _deepseek, "glm4_moe": _glm4_moe, "gpt_oss": _gpt_oss,
    "llama4_text": _llama4, "granite": _granite, "granitemoe": _mixtral, "cohere": _cohere, "stablelm": _stablelm,
    "phi": _phi, "phi3": _phi3, "gpt2": _gpt2, "gpt_bigcode": _bigcode, "gptj": _gptj, "bloom": _bloom,
    "falcon": _falcon, "gpt_neox": _neox, "opt": _opt, "starcoder2": _starcoder2, "mpt": _mpt,
}  # fmt: skip
