"""Published throughput of training steps outside llm-foundry: no failures, no restarts, no data wait in it.

One row a line: family | model | GPU | GPUs | dtype | sequence | tokens/s/GPU | layout. In the layout, mb is the
micro-batch, gb the global batch (sequences), z the ZeRO stage, v the interleaving, r the recompute (n none, which
takes in recomputed norms and activations, s selective, o selective-op, f full); what it does not name is left to the
planner's own search.
"""

FAMILIES = {
    "torchtitan": "torchtitan benchmarks/llama3_h100_202412, asyncTP 2025-06 and llama3-8b_h200 2025-06 (P; its H100s are capped at 500 W)",
    "nemo": "NeMo docs/source/performance/performance_summary.md, 24.07 (P)",
    "bridge": "Megatron-Bridge docs/performance-summary.md, 25.09 to 26.02.01 (P)",
    "automodel": "NeMo AutoModel docs/performance-summary.md, 2025-10 (P)",
    "olmo-core": "OLMo-core 1.5 package page (P; 128 GPUs put in)",
    "megatron-2021": "Narayanan 2021, table 1: TFLOP/s turned into tokens by its equation 3 (R)",
    "korthikanti": "Korthikanti 2022, table 5: iteration times (R)",
    "llm.c": "llm.c scripts: hours from step time (P)",
    "tinyllama": "TinyLlama README: 24,000 tokens/s/GPU (P)",
    "nanogpt": "nanoGPT transformer_sizing.ipynb: 37.1 % of an A100 (P)",
    "palm": "PaLM section 4.1: 238,300 tokens/s (P)",
    "mt-nlg": "PaLM section 4.1: 60.1 s a step (P)",
    "bloom": "BigScience tr11 log: 104.7 s a step (P)",
    "llama3": "Llama 3 paper, table 4: TFLOP/s over 6 N and causal attention (P)",
    "nemotron-4": "Nemotron-4 340B report, table of batch ramp: step times (R)",
    "maxtext": "MaxText tiering page: tokens/s/device (P)",
    "skywork": "Skywork-13B and Skywork-MoE reports (R)",
    "moe-zoo": "Megatron-MoE-ModelZoo best_practice/Qwen3: step times (P)",
}

TABLE = """
torchtitan | llama3-8b | h100 | 8 | bf16 | 8192 | 5762 | mb2 gb16 z3 r=o
torchtitan | llama3-8b | h100 | 8 | bf16 | 8192 | 6667 | mb2 gb16 z3 r=o
torchtitan | llama3-8b | h100 | 8 | fp8 | 8192 | 8532 | mb2 gb16 z3 r=o
torchtitan | llama3-8b | h100 | 128 | bf16 | 8192 | 5605 | mb2 gb256 z3 r=o
torchtitan | llama3-8b | h100 | 128 | bf16 | 8192 | 6514 | mb2 gb256 z3 r=o
torchtitan | llama3-8b | h100 | 128 | fp8 | 8192 | 8380 | mb2 gb256 z3 r=o
torchtitan | llama3-8b | h100 | 8 | fp8 | 32768 | 3890 | mb1 gb8 z3 r=f
torchtitan | llama3-8b | h100 | 8 | fp8 | 65536 | 2540 | cp2 mb1 gb4 z3 r=f
torchtitan | llama3-8b | h100 | 8 | fp8 | 131072 | 1071 | cp4 mb1 gb2 z3 r=f
torchtitan | llama3-8b | h100 | 8 | fp8 | 262144 | 548 | cp8 mb1 gb1 z3 r=f
torchtitan | llama3-70b | h100 | 256 | bf16 | 8192 | 597.3 | tp8 mb16 gb512 z3 r=f
torchtitan | llama3-70b | h100 | 256 | fp8 | 8192 | 829 | tp8 mb16 gb512 z3 r=f
torchtitan | llama3-8b | h100 | 64 | bf16 | 8192 | 4378 | tp8 mb12 gb96 z3 r=o
torchtitan | llama3-8b | h100 | 64 | fp8 | 8192 | 5078 | tp8 mb12 gb96 z3 r=o
torchtitan | llama3-405b | h100 | 512 | fp8 | 8192 | 100 | tp8 pp8 mb1 gb256 z2 r=f
torchtitan | llama3-8b | h200 | 32 | fp8 | 8192 | 10938 | mb2 gb64 z3 r=o
torchtitan | llama3-8b | h200 | 64 | fp8 | 8192 | 10753 | mb2 gb128 z3 r=o
nemo | gpt3-5b | h100 | 64 | fp8 | 2048 | 23574 | mb4 gb2048 z1 r=n
nemo | gpt3-20b | h100 | 64 | fp8 | 2048 | 5894 | tp2 mb2 gb256 z1 r=n
nemo | gpt3-175b | h100 | 128 | fp8 | 2048 | 745 | tp4 pp8 v6 mb1 gb256 z1 r=n
nemo | gpt3-175b | h100 | 512 | fp8 | 2048 | 832 | tp4 pp8 v6 mb2 gb2048 z1 r=n
nemo | llama2-7b | h100 | 8 | fp8 | 4096 | 16634 | mb1 gb128 z1 r=n
nemo | llama2-13b | h100 | 16 | fp8 | 4096 | 8715 | pp4 v10 mb1 gb128 z1 r=n
nemo | llama2-70b | h100 | 64 | fp8 | 4096 | 1717 | tp4 pp4 v20 mb1 gb128 z1 r=n
nemo | nemotron-8b | h100 | 64 | fp8 | 4096 | 12507 | tp2 mb4 gb256 z1 r=n
nemo | nemotron-22b | h100 | 64 | fp8 | 4096 | 4289 | tp2 pp4 v10 mb2 gb256 z1 r=n
nemo | nemotron-340b | h100 | 128 | fp8 | 4096 | 328 | tp8 pp8 v12 mb1 gb32 z1 r=n
nemo | llama3-8b | h100 | 8 | fp8 | 8192 | 11883 | cp2 mb1 gb128 z1 r=n
nemo | llama3-70b | h100 | 64 | fp8 | 8192 | 1549 | tp4 pp4 cp2 v5 mb1 gb128 z1 r=n
bridge | llama3-8b | h100 | 8 | fp8 | 8192 | 14451 | mb1 gb128 z3 r=n
bridge | llama3-70b | h100 | 64 | fp8 | 8192 | 1639 | tp4 pp8 v5 mb1 gb256 z1 r=n
bridge | llama3-405b | h100 | 1024 | fp8 | 8192 | 311 | tp8 pp8 cp2 v8 mb1 gb1536 z1 r=n
bridge | llama3-8b | b200 | 8 | fp8 | 8192 | 30624 | mb2 gb128 z1 r=n
bridge | llama3-405b | b200 | 128 | fp8 | 8192 | 661 | tp4 pp8 cp2 v8 mb1 gb64 z1 r=n
bridge | llama3-8b | gb200 | 8 | fp8 | 8192 | 31508 | mb2 gb128 z1 r=n
bridge | llama3-70b | gb200 | 64 | fp8 | 8192 | 4357 | mb2 gb256 z3 r=n
bridge | llama3-70b | gb200 | 64 | fp8 | 8192 | 3837 | tp2 pp4 v5 mb1 gb256 z1 r=n
bridge | llama3-405b | gb200 | 256 | fp8 | 8192 | 813 | tp4 pp16 v4 mb1 gb1536 z1 r=n
bridge | llama3-8b | gb300 | 8 | fp8 | 8192 | 37556 | mb2 gb128 z1 r=n
bridge | llama3-70b | gb300 | 64 | fp8 | 8192 | 5243 | mb2 gb256 z3 r=n
bridge | deepseek-v3 | h100 | 1024 | fp8 | 4096 | 1297 | tp2 pp8 ep64 v4 mb1 gb8192 z1 r=n
bridge | deepseek-v3 | gb200 | 256 | fp8 | 4096 | 4021 | pp4 ep64 v4 mb1 gb4096 z1 r=n
bridge | deepseek-v3 | b200 | 256 | fp8 | 4096 | 2790 | pp16 ep8 mb1 gb4096 z1 r=n
bridge | deepseek-v3 | gb200 | 256 | bf16 | 4096 | 3139 | pp4 ep64 v4 mb1 gb4096 z1 r=n
bridge | gpt-oss-120b | h100 | 64 | bf16 | 4096 | 5984 | pp4 ep8 mb1 gb1280 z1 r=n
bridge | gpt-oss-120b | b200 | 64 | bf16 | 4096 | 13722 | ep8 mb4 gb1280 z1 r=n
bridge | gpt-oss-120b | gb200 | 64 | bf16 | 4096 | 15754 | ep64 mb4 gb1280 z1 r=n
bridge | qwen3-30b-a3b | h100 | 16 | fp8 | 4096 | 9058 | pp2 v12 ep8 mb1 gb1024 z1 r=n
bridge | qwen3-30b-a3b | b200 | 8 | fp8 | 4096 | 26695 | ep8 mb4 gb512 z1 r=n
bridge | qwen3-235b-a22b | h100 | 256 | fp8 | 4096 | 1611 | tp2 pp8 v4 ep32 mb1 gb8192 z1 r=n
bridge | qwen3-235b-a22b | gb200 | 256 | bf16 | 4096 | 4916 | pp8 v3 ep32 mb1 gb8192 z1 r=n
moe-zoo | qwen3-235b-a22b | h100 | 256 | bf16 | 4096 | 1862 | tp2 pp8 v4 ep32 mb1 gb2048 z1 r=n
automodel | deepseek-v3 | h100 | 1024 | bf16 | 4096 | 865 | pp4 ep64 v8 mb1 gb8192 z2 r=n
automodel | deepseek-v3 | h100 | 256 | bf16 | 4096 | 1002 | pp4 ep64 v8 mb1 gb512 z2 r=n
automodel | kimi-k2 | h100 | 256 | bf16 | 4096 | 924 | pp8 ep32 v4 mb1 gb512 z2 r=n
automodel | qwen3-30b-a3b | h100 | 8 | bf16 | 4096 | 12040 | ep8 mb4 gb512 z2 r=n
automodel | gpt-oss-20b | h100 | 8 | bf16 | 4096 | 13058 | ep8 mb2 gb256 z2 r=n
automodel | gpt-oss-120b | h100 | 64 | bf16 | 4096 | 7626 | ep8 mb2 gb512 z2 r=n
olmo-core | olmo2-1b | h100 | 128 | bf16 | 4096 | 44000 | z3 r=n
olmo-core | olmo2-1b | h100 | 128 | fp8 | 4096 | 51000 | z3 r=n
olmo-core | olmo2-7b | h100 | 128 | bf16 | 4096 | 10000 | z3
olmo-core | olmo2-7b | h100 | 128 | fp8 | 4096 | 13000 | z3
olmo-core | olmo2-13b | h100 | 128 | bf16 | 4096 | 4600 | z3
olmo-core | olmo2-13b | h100 | 128 | fp8 | 4096 | 5500 | z3
megatron-2021 | gpt-1.7b | a100 | 32 | bf16 | 2048 | 9288 | mb16 gb512 z0 r=f
megatron-2021 | gpt-3.6b | a100 | 64 | bf16 | 2048 | 4431 | tp2 mb16 gb512 z0 r=f
megatron-2021 | gpt-7.5b | a100 | 128 | bf16 | 2048 | 2216 | tp4 mb16 gb512 z0 r=f
megatron-2021 | gpt-18b | a100 | 256 | bf16 | 2048 | 872 | tp8 mb4 gb1024 z0 r=f
megatron-2021 | gpt-39b | a100 | 512 | bf16 | 2048 | 425 | tp8 pp2 mb4 gb1536 z0 r=f
megatron-2021 | gpt-76b | a100 | 1024 | bf16 | 2048 | 223.2 | tp8 pp4 mb2 gb1792 z0 r=f
megatron-2021 | gpt-146b | a100 | 1536 | bf16 | 2048 | 123.8 | tp8 pp8 mb2 gb2304 z0 r=f
megatron-2021 | gpt-310b | a100 | 1920 | bf16 | 2048 | 61.25 | tp8 pp16 mb1 gb2160 z0 r=f
megatron-2021 | gpt-530b | a100 | 2520 | bf16 | 2048 | 37.87 | tp8 pp35 mb1 gb2520 z0 r=f
megatron-2021 | gpt-1t | a100 | 3072 | bf16 | 2048 | 19.96 | tp8 pp64 mb1 gb3072 z0 r=f
korthikanti | gpt-22b | a100 | 8 | bf16 | 2048 | 931 | tp8 mb4 gb4 z0 r=s
korthikanti | gpt3-175b | a100 | 64 | bf16 | 2048 | 148.9 | tp8 pp8 v3 mb1 gb64 z0 r=s
korthikanti | gpt-530b | a100 | 280 | bf16 | 2048 | 54.1 | tp8 pp35 v3 mb1 gb280 z0 r=s
korthikanti | gpt-1t | a100 | 512 | bf16 | 2048 | 28.6 | tp8 pp64 mb1 gb512 z0 r=s
llm.c | gpt2 | a100 | 8 | bf16 | 1024 | 218453 | mb64 gb512 z1 r=n
llm.c | gpt2-medium | a100 | 8 | bf16 | 1024 | 79922 | mb32 gb512 z1 r=n
llm.c | gpt2-large | a100 | 8 | bf16 | 1024 | 38551 | mb32 gb512 z1 r=n
llm.c | gpt2-xl | h100 | 8 | bf16 | 1024 | 46812 | mb16 gb1024 z1 r=n
tinyllama | tinyllama | a100-sxm-40gb | 16 | bf16 | 2048 | 24000 | mb8 gb1024 z2 r=n
nanogpt | gpt2 | a100 | 1 | bf16 | 1024 | 135300 | mb12 gb480 z0 r=n
palm | palm-540b | tpu-v4 | 6144 | bf16 | 2048 | 38.79 | tp12 mb2 gb2048 z3 r=f
mt-nlg | gpt-530b | a100 | 2240 | bf16 | 2048 | 29.2 | tp8 pp35 mb1 gb1920 z0 r=f
bloom | bloom-176b | a100 | 384 | bf16 | 2048 | 104.3 | tp4 pp12 mb2 gb2048 z1 r=f
llama3 | llama3-405b | h100 | 8192 | bf16 | 8192 | 170 | tp8 pp16 v8 mb1 gb2048 z1 r=n
llama3 | llama3-405b | h100 | 16384 | bf16 | 8192 | 158 | tp8 pp16 v8 mb1 gb2048 z1 r=n
nemotron-4 | nemotron-340b | h100 | 1536 | bf16 | 4096 | 198.8 | tp8 pp12 v8 mb1 gb768 z1 r=s
nemotron-4 | nemotron-340b | h100 | 6144 | bf16 | 4096 | 192 | tp8 pp12 v8 mb1 gb2304 z1 r=s
maxtext | llama2-70b | tpu-v5p | 512 | bf16 | 4096 | 692 | z3
maxtext | llama2-70b | tpu-v6e | 256 | bf16 | 4096 | 900 | z3
maxtext | llama3-8b | tpu-v6e | 256 | bf16 | 8192 | 7207 | z3
maxtext | llama3-70b | tpu-v6e | 256 | bf16 | 8192 | 960 | z3
maxtext | llama3-405b | tpu-v6e | 256 | bf16 | 8192 | 123 | z3
maxtext | mixtral-8x7b | tpu-v5p | 256 | bf16 | 4096 | 2909 | z3
maxtext | mixtral-8x7b | tpu-v6e | 256 | bf16 | 4096 | 3899 | z3
skywork | skywork-13b | a800 | 512 | bf16 | 4096 | 1873 | z1
skywork | skywork-moe | a800 | 1536 | bf16 | 4096 | 690 | z1
"""

_GPT = {"gated": False, "norm": "layer", "qkv_bias": True, "out_bias": True, "mlp_bias": True, "tied": True}
_NEMOTRON = {"gated": False, "norm": "layer", "tied": False, "vocab": 256000}
_RMS = {"gated": True, "norm": "rms"}


def _gpt(layers: int, hidden: int, heads: int) -> dict[str, object]:
    return {
        **_GPT,
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "ffn": 4 * hidden,
        "vocab": 51200,
        "positions": 2048,
    }


SHAPES: dict[str, dict[str, object]] = {
    "gpt-1.7b": _gpt(24, 2304, 24), "gpt-3.6b": _gpt(30, 3072, 32), "gpt-7.5b": _gpt(36, 4096, 32), "gpt-18b": _gpt(40, 6144, 48),
    "gpt-22b": _gpt(48, 6144, 64), "gpt-39b": _gpt(48, 8192, 64), "gpt-76b": _gpt(60, 10240, 80), "gpt-146b": _gpt(80, 12288, 96),
    "gpt-310b": _gpt(96, 16384, 128), "gpt-530b": _gpt(105, 20480, 128), "gpt-1t": _gpt(128, 25600, 160),
    "gpt3-5b": _gpt(24, 4096, 32), "gpt3-20b": _gpt(44, 6144, 48),
    "nemotron-8b": {**_NEMOTRON, "layers": 32, "hidden": 4096, "heads": 32, "ffn": 16384},
    "nemotron-22b": {**_NEMOTRON, "layers": 40, "hidden": 6144, "heads": 48, "ffn": 24576},
    "nemotron-340b": {**_NEMOTRON, "layers": 96, "hidden": 18432, "heads": 96, "kv_heads": 8, "ffn": 73728},
    "palm-540b": {**_RMS, "layers": 118, "hidden": 18432, "heads": 48, "kv_heads": 1, "head_dim": 256, "ffn": 73728, "vocab": 256000, "tied": True},
    "skywork-13b": {**_RMS, "layers": 52, "hidden": 4608, "heads": 36, "ffn": 12288, "vocab": 65536, "tied": False},
    "skywork-moe": {**_RMS, "layers": 52, "hidden": 4608, "heads": 36, "ffn": 12288, "vocab": 65536, "tied": False,
                    "moe": {"experts": 16, "top_k": 2, "ffn": 12288}},
}  # fmt: skip
"""Shapes of models that have no preset, as ModelConfig takes them. PaLM's SwiGLU and multi-query attention included."""
