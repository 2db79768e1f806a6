"""Configurations of published models and the parameter totals that must come out of them.

Totals are exact (a difference of one parameter is a bug). `published` is None where no exact figure was published.
"""

from __future__ import annotations

from typing import Any

LLAMA = {"gated": True, "norm": "rms", "tied": False}
GPT = {"gated": False, "norm": "layer", "qkv_bias": True, "out_bias": True, "mlp_bias": True, "tied": True}
MPT = {"gated": False, "norm": "layer", "qkv_bias": True, "out_bias": True, "mlp_bias": True, "tied": True}


def _row(
    family: dict[str, Any], layers: int, hidden: int, heads: int, ffn: int, vocab: int, **more: Any
) -> dict[str, Any]:
    return {**family, "layers": layers, "hidden": hidden, "heads": heads, "ffn": ffn, "vocab": vocab, **more}


CONFIGS: dict[str, dict[str, Any]] = {
    "gpt2": _row(GPT, 12, 768, 12, 3072, 50257, positions=1024, seq=1024),
    "gpt2-xl": _row(GPT, 48, 1600, 25, 6400, 50257, positions=1024, seq=1024),
    "llama2-7b": _row(LLAMA, 32, 4096, 32, 11008, 32000, seq=4096),
    "llama2-13b": _row(LLAMA, 40, 5120, 40, 13824, 32000, seq=4096),
    "llama2-70b": _row(LLAMA, 80, 8192, 64, 28672, 32000, kv_heads=8, seq=4096),
    "llama3-8b": _row(LLAMA, 32, 4096, 32, 14336, 128256, kv_heads=8, seq=8192),
    "llama3-70b": _row(LLAMA, 80, 8192, 64, 28672, 128256, kv_heads=8, seq=8192),
    "llama3-405b": _row(LLAMA, 126, 16384, 128, 53248, 128256, kv_heads=8, seq=8192),
    "mistral-7b": _row(LLAMA, 32, 4096, 32, 14336, 32000, kv_heads=8, seq=8192, window=4096),
    "olmo2-7b": _row(LLAMA, 32, 4096, 32, 11008, 100352, qk_norm="full", seq=4096),
    "olmo2-13b": _row(LLAMA, 40, 5120, 40, 13824, 100352, qk_norm="full", seq=4096),
    "qwen2.5-0.5b": _row(LLAMA, 24, 896, 14, 4864, 151936, kv_heads=2, qkv_bias=True, seq=4096) | {"tied": True},
    "qwen2.5-1.5b": _row(LLAMA, 28, 1536, 12, 8960, 151936, kv_heads=2, qkv_bias=True, seq=4096) | {"tied": True},
    "qwen2.5-7b": _row(LLAMA, 28, 3584, 28, 18944, 152064, kv_heads=4, qkv_bias=True, seq=4096),
    "qwen2.5-72b": _row(LLAMA, 80, 8192, 64, 29568, 152064, kv_heads=8, qkv_bias=True, seq=4096),
    "qwen3-8b": _row(LLAMA, 36, 4096, 32, 12288, 151936, kv_heads=8, head_dim=128, qk_norm="head", seq=4096),
    "tinyllama": _row(LLAMA, 22, 2048, 32, 5632, 32000, kv_heads=4, seq=2048),
    "smollm3-3b": _row(LLAMA, 36, 2048, 16, 11008, 128256, kv_heads=4, seq=4096) | {"tied": True},
    "bloom-176b": _row(GPT, 70, 14336, 112, 57344, 250880, embedding_norm=True, seq=2048),
    "pythia-6.9b": _row(GPT, 32, 4096, 32, 16384, 50432, seq=2048) | {"tied": False},
    "gpt3-175b": _row(GPT, 96, 12288, 96, 49152, 50257, positions=2048, seq=2048),
    "mpt-7b": _row(MPT, 32, 4096, 32, 16384, 50368, positions=2048, seq=2048),
    "mpt-13b": _row(MPT, 40, 5120, 40, 20480, 50368, positions=2048, seq=2048),
    "mpt-70b": _row(MPT, 80, 8192, 64, 32768, 50368, positions=2048, seq=2048),
    "mixtral-8x7b": _row(
        LLAMA, 32, 4096, 32, 14336, 32000, kv_heads=8, seq=4096, moe={"experts": 8, "top_k": 2, "ffn": 14336}
    ),
    "deepseek-v3": _row(
        LLAMA, 61, 7168, 128, 18432, 129280, seq=4096,
        moe={"experts": 256, "top_k": 8, "shared": 1, "ffn": 2048, "dense_layers": 3, "router_bias": True},
        mla={"q_rank": 1536, "kv_rank": 512, "nope": 128, "rope": 64, "v": 128},
    ),
}  # fmt: skip

# name: (total computed, total published, matmul, non-embedding, active, status and source)
COUNTS: dict[str, tuple[int, int | None, int | None, int | None, int | None, str]] = {
    "gpt2": (124439808, 124439808, 123532032, 85056000, None, "S: model card totals"),
    "gpt2-xl": (1557611200, 1557611200, 1554971200, 1475561600, None, "S: model card totals"),
    "llama2-7b": (6738415616, 6738415616, 6607077376, 6476271616, None, "S: safetensors total less rotary buffers"),
    "llama2-13b": (
        13015864320,
        13015864320,
        12851609600,
        12688184320,
        None,
        "S: safetensors total less rotary buffers",
    ),
    "llama2-70b": (
        68976648192,
        68976648192,
        68713185280,
        68452360192,
        None,
        "S: safetensors total less rotary buffers",
    ),
    "llama3-8b": (8030261248, 8030261248, 7504658432, 6979588096, None, "S: safetensors total"),
    "llama3-70b": (70553706496, 70553706496, 69501714432, 68452360192, None, "S: safetensors total"),
    "llama3-405b": (405853388800, 405853388800, 403747897344, 401650696192, None, "S: safetensors total"),
    "mistral-7b": (7241732096, 7241732096, 7110393856, 6979588096, None, "S: safetensors total"),
    "olmo2-7b": (7298617344, 7298617344, 6887047168, 6476533760, None, "S: safetensors total"),
    "olmo2-13b": (13716198400, 13716198400, 13201571840, 12688593920, None, "S: safetensors total"),
    "qwen2.5-0.5b": (494032768, 494032768, 493961216, 357898112, None, "S: safetensors total"),
    "qwen2.5-1.5b": (1543714304, 1543714304, 1543569408, 1310340608, None, "R: safetensors total"),
    "qwen2.5-7b": (7615616512, 7615616512, 7070285824, 6525621760, None, "S: safetensors total"),
    "qwen2.5-72b": (72706203648, 72706203648, 71458357248, 70214787072, None, "S: safetensors total"),
    "qwen3-8b": (8190735360, 8190735360, 7568097280, 6946075648, None, "S: safetensors total"),
    "tinyllama": (1100048384, 1100048384, 1034420224, 968976384, None, "R: safetensors total"),
    "smollm3-3b": (3075098624, 3075098624, 3074949120, 2812430336, None, "S: safetensors total"),
    "bloom-176b": (176247271424, 176247271424, 176234168320, 172650655744, None, "P: bigscience tr11 README"),
    "pythia-6.9b": (6857302016, 6857302016, 6649020416, 6444163072, None, "S: padded vocabulary 50,432"),
    "gpt3-175b": (174604259328, None, 174563733504, 173961535488, None, "R: GPT-3 paper's shape"),
    "mpt-7b": (6658859008, 6658859008, 6648758272, 6444163072, None, "P: llm-foundry benchmark table"),
    "mpt-13b": (12853954560, 12853954560, 12840796160, 12585584640, None, "P: llm-foundry benchmark table"),
    "mpt-70b": (64862437376, 64862437376, 64837124096, 64433045504, None, "P: llm-foundry benchmark table"),
    "mixtral-8x7b": (46702792704, 46702792704, None, None, 12879925248, "S: safetensors total; active 12.9B published"),
    "deepseek-v3": (
        671026419200,
        671026419200,
        None,
        None,
        37552297472,
        "S: config_671B.json; active 37B in the paper",
    ),
}
