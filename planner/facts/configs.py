"""Hugging Face configs of published models: the keys that decide the count, and the total each must come to.

Totals are those of the published weights, from model cards and weight indices: S where the figure was read in a
secondary source, R where it was recalled; each agrees with the count from the shape, and a difference of one
parameter is a bug. Multimodal totals are less their vision part. Layers that predict the token after next are left out
(with theirs, GLM-4.5 comes to its published 358,337,791,296 and the Air to 110,468,824,832).
"""

from __future__ import annotations

from typing import Any


def _c(kind: str, layers: int, hidden: int, heads: int, kv: int, ffn: int, vocab: int, **more: Any) -> dict[str, Any]:
    """The sizes that most architectures name alike."""
    sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "vocab_size": vocab}
    return {"model_type": kind, **sizes, "num_key_value_heads": kv, "intermediate_size": ffn, **more}


def _gpt2(layers: int, hidden: int, heads: int, vocab: int = 50257, places: int = 1024, **more: Any) -> dict[str, Any]:
    names = {"n_layer": layers, "n_embd": hidden, "n_head": heads, "vocab_size": vocab, "n_positions": places}
    return {"model_type": "gpt2", **names, **more}


def _bloom(layers: int, hidden: int, heads: int) -> dict[str, Any]:
    return {
        "model_type": "bloom",
        "n_layer": layers,
        "n_embed": hidden,
        "num_attention_heads": heads,
        "vocab_size": 250880,
    }


def _pythia(layers: int, hidden: int, heads: int, vocab: int) -> dict[str, Any]:
    names = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "vocab_size": vocab}
    return {"model_type": "gpt_neox", **names, "intermediate_size": 4 * hidden, "max_position_embeddings": 2048}


def _deepseek(kind: str, layers: int, hidden: int, heads: int, ffn: int, vocab: int, **more: Any) -> dict[str, Any]:
    latent = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
    return _c(kind, layers, hidden, heads, heads, ffn, vocab, **latent, **more)


TIED = {"tie_word_embeddings": True}
K8 = {"max_position_embeddings": 8192}
K2 = {"max_position_embeddings": 2048}

# name: (config, total)
CONFIGS_HF: dict[str, tuple[dict[str, Any], int]] = {
    "llama1-7b": (_c("llama", 32, 4096, 32, 32, 11008, 32000, **K2), 6738415616),
    "llama1-13b": (_c("llama", 40, 5120, 40, 40, 13824, 32000, **K2), 13015864320),
    "llama1-33b": (_c("llama", 60, 6656, 52, 52, 17920, 32000, **K2), 32528943616),
    "llama1-65b": (_c("llama", 80, 8192, 64, 64, 22016, 32000, **K2), 65285660672),
    "llama3.2-1b": (_c("llama", 16, 2048, 32, 8, 8192, 128256, **TIED, **K8), 1235814400),
    "llama3.2-3b": (_c("llama", 28, 3072, 24, 8, 8192, 128256, head_dim=128, **TIED, **K8), 3212749824),
    "smollm2-135m": (_c("llama", 30, 576, 9, 3, 1536, 49152, **TIED), 134515008),
    "smollm2-360m": (_c("llama", 32, 960, 15, 5, 2560, 49152, **TIED), 361821120),
    "smollm2-1.7b": (_c("llama", 24, 2048, 32, 32, 8192, 49152, **TIED), 1711376384),
    "yi-6b": (_c("llama", 32, 4096, 32, 4, 11008, 64000), 6061035520),
    "yi-34b": (_c("llama", 60, 7168, 56, 8, 20480, 64000), 34388917248),
    "deepseek-llm-7b": (_c("llama", 30, 4096, 32, 32, 11008, 102400), 6910365696),
    "mistral-nemo-12b": (_c("mistral", 40, 5120, 32, 8, 14336, 131072, head_dim=128, **K8), 12247782400),
    "mistral-small-24b": (_c("mistral", 40, 5120, 32, 8, 32768, 131072, head_dim=128, **K8), 23572403200),
    "mistral-large-2": (_c("mistral", 88, 12288, 96, 8, 28672, 32768, **K8), 122610069504),
    "mixtral-8x22b": (_c("mixtral", 56, 6144, 48, 8, 16384, 32768, num_local_experts=8, num_experts_per_tok=2), 140630071296),
    "qwen2.5-3b": (_c("qwen2", 36, 2048, 16, 2, 11008, 151936, **TIED), 3085938688),
    "qwen2.5-14b": (_c("qwen2", 48, 5120, 40, 8, 13824, 152064), 14770033664),
    "qwen2.5-32b": (_c("qwen2", 64, 5120, 40, 8, 27648, 152064), 32763876352),
    "qwen3-0.6b": (_c("qwen3", 28, 1024, 16, 8, 3072, 151936, head_dim=128, **TIED), 596049920),
    "qwen3-1.7b": (_c("qwen3", 28, 2048, 16, 8, 6144, 151936, head_dim=128, **TIED), 1720574976),
    "qwen3-4b": (_c("qwen3", 36, 2560, 32, 8, 9728, 151936, head_dim=128, **TIED), 4022468096),
    "qwen3-14b": (_c("qwen3", 40, 5120, 40, 8, 17408, 151936, head_dim=128), 14768307200),
    "qwen3-32b": (_c("qwen3", 64, 5120, 64, 8, 25600, 151936, head_dim=128), 32762123264),
    "qwen1.5-moe-a2.7b": (_c("qwen2_moe", 24, 2048, 16, 16, 5632, 151936, num_experts=60, num_experts_per_tok=4, moe_intermediate_size=1408, shared_expert_intermediate_size=5632), 14315784192),
    "qwen3-30b-a3b": (_c("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, head_dim=128, num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768), 30532122624),
    "qwen3-235b-a22b": (_c("qwen3_moe", 94, 4096, 64, 4, 12288, 151936, head_dim=128, num_experts=128, num_experts_per_tok=8, moe_intermediate_size=1536), 235093634560),
    "qwen3-coder-480b": (_c("qwen3_moe", 62, 6144, 96, 8, 8192, 151936, head_dim=128, num_experts=160, num_experts_per_tok=8, moe_intermediate_size=2560), 480154875392),
    "olmo2-1b": (_c("olmo2", 16, 2048, 16, 16, 8192, 100352), 1484916736),
    "olmo2-32b": (_c("olmo2", 64, 5120, 40, 8, 27648, 100352), 32234279936),
    "olmo3-7b": (_c("olmo3", 32, 4096, 32, 32, 11008, 100278, sliding_window=4096, **K8), 7298011136),
    "olmo3-32b": (_c("olmo3", 64, 5120, 40, 8, 27648, 100278, sliding_window=4096, **K8), 32233522176),
    "olmoe-1b-7b": (_c("olmoe", 16, 2048, 16, 16, 1024, 50304, num_experts=64, num_experts_per_tok=8), 6919161856),
    "gemma-2b": (_c("gemma", 18, 2048, 8, 1, 16384, 256000, head_dim=256, **K8), 2506172416),
    "gemma-7b": (_c("gemma", 28, 3072, 16, 16, 24576, 256000, head_dim=256, **K8), 8537680896),
    "gemma2-2b": (_c("gemma2", 26, 2304, 8, 4, 9216, 256000, head_dim=256, sliding_window=4096, **K8), 2614341888),
    "gemma2-9b": (_c("gemma2", 42, 3584, 16, 8, 14336, 256000, head_dim=256, sliding_window=4096, **K8), 9241705984),
    "gemma2-27b": (_c("gemma2", 46, 4608, 32, 16, 36864, 256000, head_dim=128, sliding_window=4096, **K8), 27227128320),
    "gemma3-270m": (_c("gemma3_text", 18, 640, 4, 1, 2048, 262144, head_dim=256, sliding_window=512), 268098176),
    "gemma3-1b": (_c("gemma3_text", 26, 1152, 4, 1, 6912, 262144, head_dim=256, sliding_window=512), 999885952),
    "gemma3-4b": ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}}, 3880263168),
    "gemma3-27b": ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024}}, 27009346304),
    "phi-1.5": (_c("phi", 24, 2048, 32, 32, 8192, 51200, **K2), 1418270720),
    "phi-2": (_c("phi", 32, 2560, 32, 32, 10240, 51200, **K2), 2779683840),
    "phi3-mini": (_c("phi3", 32, 3072, 32, 32, 8192, 32064, sliding_window=2047), 3821079552),
    "phi3-medium": (_c("phi3", 40, 5120, 40, 10, 17920, 32064, sliding_window=2047), 13960238080),
    "phi4": (_c("phi3", 40, 5120, 40, 10, 17920, 100352), 14659507200),
    "phi4-mini": (_c("phi3", 32, 3072, 24, 8, 8192, 200064, **TIED), 3836021760),
    "granite3-2b": (_c("granite", 40, 2048, 32, 8, 8192, 49155, **TIED), 2533531648),
    "granite3-8b": (_c("granite", 40, 4096, 32, 8, 12800, 49155, **TIED), 8170848256),
    "granite3-1b-a400m": (_c("granitemoe", 24, 1024, 16, 8, 512, 49155, num_local_experts=32, num_experts_per_tok=8, **TIED), 1334628352),
    "falcon-7b": ({"model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544, "num_attention_heads": 71, "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "bias": False}, 6921720704),
    "falcon-40b": ({"model_type": "falcon", "num_hidden_layers": 60, "hidden_size": 8192, "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": True, "bias": False}, 41303293952),
    "falcon-180b": ({"model_type": "falcon", "num_hidden_layers": 80, "hidden_size": 14848, "num_attention_heads": 232, "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": True, "bias": False, "tie_word_embeddings": False}, 179522565120),
    "command-r": (_c("cohere", 40, 8192, 64, 64, 22528, 256000, **K8), 34980831232),
    "stablelm2-1.6b": (_c("stablelm", 24, 2048, 32, 32, 5632, 100352, use_qkv_bias=True), 1644515328),
    "stablelm-3b": (_c("stablelm", 32, 2560, 32, 32, 6912, 50304), 2795443200),
    "starcoder2-3b": (_c("starcoder2", 30, 3072, 24, 2, 12288, 49152, sliding_window=4096), 3030371328),
    "starcoder": ({"model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152}, 15517456384),
    "opt-1.3b": ({"model_type": "opt", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32, "ffn_dim": 8192, "vocab_size": 50272, "max_position_embeddings": 2048}, 1315758080),
    "opt-6.7b": ({"model_type": "opt", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "ffn_dim": 16384, "vocab_size": 50272, "max_position_embeddings": 2048}, 6658473984),
    "mpt-7b-hf": ({"model_type": "mpt", "n_layers": 32, "d_model": 4096, "n_heads": 32, "vocab_size": 50432, "no_bias": True, "max_seq_len": 2048}, 6649286656),
    "gpt-j-6b": ({"model_type": "gptj", "n_layer": 28, "n_embd": 4096, "n_head": 16, "n_positions": 2048, "vocab_size": 50400}, 6050882784),
    "gpt-neox-20b": (_pythia(44, 6144, 64, 50432), 20554567680),
    "pythia-70m": (_pythia(6, 512, 8, 50304), 70426624),
    "pythia-160m": (_pythia(12, 768, 12, 50304), 162322944),
    "pythia-410m": (_pythia(24, 1024, 16, 50304), 405334016),
    "pythia-1b": (_pythia(16, 2048, 8, 50304), 1011781632),
    "pythia-1.4b": (_pythia(24, 2048, 16, 50304), 1414647808),
    "pythia-2.8b": (_pythia(32, 2560, 32, 50304), 2775208960),
    "pythia-12b": (_pythia(36, 5120, 40, 50688), 11846072320),
    "gpt2-medium": (_gpt2(24, 1024, 16), 354823168),
    "gpt2-large": (_gpt2(36, 1280, 20), 774030080),
    "bloom-560m": (_bloom(24, 1024, 16), 559214592),
    "bloom-1b1": (_bloom(24, 1536, 16), 1065314304),
    "bloom-3b": (_bloom(30, 2560, 32), 3002557440),
    "bloom-7b1": (_bloom(30, 4096, 32), 7069016064),
    "deepseek-v2": (_deepseek("deepseek_v2", 60, 5120, 128, 12288, 102400, q_lora_rank=1536, n_routed_experts=160, n_shared_experts=2, num_experts_per_tok=6, moe_intermediate_size=1536, first_k_dense_replace=1), 235741434880),
    "deepseek-v2-lite": (_deepseek("deepseek_v2", 27, 2048, 16, 10944, 102400, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, moe_intermediate_size=1408, first_k_dense_replace=1), 15706484224),
    "kimi-k2": (_deepseek("kimi_k2", 61, 7168, 64, 18432, 163840, q_lora_rank=1536, n_routed_experts=384, n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=2048, first_k_dense_replace=1), 1026408232448),
    "gpt-oss-20b": (_c("gpt_oss", 24, 2880, 64, 8, 2880, 201088, head_dim=64, num_local_experts=32, num_experts_per_tok=4, sliding_window=128), 20914757184),
    "gpt-oss-120b": (_c("gpt_oss", 36, 2880, 64, 8, 2880, 201088, head_dim=64, num_local_experts=128, num_experts_per_tok=4, sliding_window=128), 116829156672),
    "glm4.5-air": (_c("glm4_moe", 46, 4096, 96, 8, 10944, 151552, head_dim=128, attention_bias=True, n_routed_experts=128, n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=1408, first_k_dense_replace=1), 106852251264),
    "glm4.5": (_c("glm4_moe", 92, 5120, 96, 8, 12288, 151552, head_dim=128, attention_bias=True, use_qk_norm=True, n_routed_experts=160, n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=1536, first_k_dense_replace=3), 352797829024),
    "llama4-scout": ({"model_type": "llama4", "text_config": _c("llama4_text", 48, 5120, 40, 8, 8192, 202048, head_dim=128, intermediate_size_mlp=16384, num_local_experts=16, num_experts_per_tok=1, interleave_moe_layer_step=1, attention_chunk_size=8192, **K8)}, 107769861120),
    "llama4-maverick": ({"model_type": "llama4", "text_config": _c("llama4_text", 48, 5120, 40, 8, 8192, 202048, head_dim=128, intermediate_size_mlp=16384, num_local_experts=128, num_experts_per_tok=1, interleave_moe_layer_step=2, attention_chunk_size=8192, **K8)}, 400711848960),
}  # fmt: skip
