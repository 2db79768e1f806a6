"""Published training runs: what the calendar took, in GPU-hours.

One row a line: family | name | model or parameters | tokens | GPU | GPUs | GPU-hours | sequence | dtype | reported MFU
| use | source. `use` is yes where the hours are one pre-training's calendar, fit to calibrate on; otherwise why not.
An asterisk behind the GPUs: not stated, a usual number put in.
"""

TABLE = """
gpt-3 | GPT-3 175B | gpt3-175b | 3e11 | v100 | 10000 | 3.552e6 | 2048 | fp16 | 0.213 | the chip count was itself assumed from the time, so the row is circular | Patterson 2021 Table 4 (S); MFU PaLM Table 3 (P)
gopher | Gopher 280B | 280e9 | 3e11 | tpu-v3 | 4096 | 3768320 | 2048 | bf16 | 0.325 | yes | Gopher p103 (S); MFU PaLM Table 3 (P)
palm | PaLM 540B | palm-540b | 7.8e11 | tpu-v4 | 6144 | 8404992 | 2048 | bf16 | 0.457 | yes | PaLM text (P); chip-hours App B (S)
opt | OPT-175B (ideal 33 d) | gpt3-175b | 3e11 | a100 | 1024 | 811008 | 2048 | fp16 | - | 33 days is what a run without restarts would have taken, not the calendar | metaseq chronicles final_update.md (P)
bloom | BLOOM-176B | bloom-176b | 3.66e11 | a100 | 384 | 1082990 | 2048 | bf16 | - | yes | bigscience tr11 README (P); GPU-hours (S)
llama1 | LLaMA-1 7B | llama1-7b | 1e12 | a100 | 1024* | 82432 | 2048 | bf16 | - | yes | LLaMA Table 15 (S)
llama1 | LLaMA-1 13B | llama1-13b | 1e12 | a100 | 1024* | 135168 | 2048 | bf16 | - | yes | LLaMA Table 15 (S)
llama1 | LLaMA-1 33B | llama1-33b | 1.4e12 | a100 | 2048* | 530432 | 2048 | bf16 | - | yes | LLaMA Table 15 (R)
llama1 | LLaMA-1 65B | llama1-65b | 1.4e12 | a100 | 2048 | 1022362 | 2048 | bf16 | - | yes | LLaMA Table 15 (S)
llama2 | Llama 2 7B | llama2-7b | 2e12 | a100 | 1024* | 184320 | 4096 | bf16 | - | yes | llama-models MODEL_CARD (P)
llama2 | Llama 2 13B | llama2-13b | 2e12 | a100 | 1024* | 368640 | 4096 | bf16 | - | yes | llama-models MODEL_CARD (P)
llama2 | Llama 2 70B | llama2-70b | 2e12 | a100 | 2048* | 1720320 | 4096 | bf16 | - | yes | llama-models MODEL_CARD (P)
llama3 | Llama 3 8B | llama3-8b | 1.5e13 | h100 | 1024* | 1.3e6 | 8192 | bf16 | - | the card's GPU-hours cannot be one pre-training of 15T tokens at a sane MFU: more tokens or other work is in them | llama-models MODEL_CARD (P), 15T+ tokens
llama3 | Llama 3.1 8B | llama3-8b | 1.5e13 | h100 | 1024* | 1.46e6 | 8192 | bf16 | - | the card's GPU-hours cannot be one pre-training of 15T tokens at a sane MFU: more tokens or other work is in them | llama-models MODEL_CARD (P)
llama3 | Llama 3 70B | llama3-70b | 1.5e13 | h100 | 8192* | 6.4e6 | 8192 | bf16 | - | yes | llama3 MODEL_CARD (P), 15T+ tokens
llama3 | Llama 3.1 70B | llama3-70b | 1.5e13 | h100 | 8192* | 7e6 | 8192 | bf16 | - | yes | llama-models MODEL_CARD (P)
llama3 | Llama 3.1 405B | llama3-405b | 1.56e13 | h100 | 16384 | 3.084e7 | 8192 | bf16 | 0.41 | yes | llama-models MODEL_CARD, Llama 3 paper Table 4 and 3.3.2 (P)
mpt | MPT-7B | mpt-7b | 1e12 | a100-sxm-40gb | 440 | 100320 | 2048 | bf16 | - | yes | MPT-7B blog: 9.5 days on 440 A100-40GB (P)
pythia | Pythia 160M | pythia-160m | 299892736000 | a100-sxm-40gb | 32 | 1030 | 2048 | fp16 | - | yes | Pythia Table 5 (R)
pythia | Pythia 410M | pythia-410m | 299892736000 | a100-sxm-40gb | 32 | 2540 | 2048 | fp16 | - | yes | Pythia Table 5 (R)
pythia | Pythia 1B | pythia-1b | 299892736000 | a100-sxm-40gb | 64 | 4830 | 2048 | bf16 | - | yes | Pythia Table 5 (S), TinyLlama README (P)
pythia | Pythia 1.4B | pythia-1.4b | 299892736000 | a100-sxm-40gb | 64 | 7120 | 2048 | fp16 | - | yes | Pythia Table 5 (R)
pythia | Pythia 2.8B | pythia-2.8b | 299892736000 | a100-sxm-40gb | 64 | 14240 | 2048 | fp16 | - | yes | Pythia Table 5 (R)
pythia | Pythia 6.9B | pythia-6.9b | 299892736000 | a100-sxm-40gb | 128 | 33500 | 2048 | fp16 | - | yes | Pythia Table 5 (S)
pythia | Pythia 12B | pythia-12b | 299892736000 | a100-sxm-40gb | 256 | 72300 | 2048 | fp16 | - | yes | Pythia Table 5 (S)
gpt-neox | GPT-NeoX-20B | gpt-neox-20b | 4.72e11 | a100-sxm-40gb | 96 | 175680 | 2048 | fp16 | - | yes | GPT-NeoX-20B paper: 1,830 hours (R)
tinyllama | TinyLlama 3T | tinyllama | 3e12 | a100-sxm-40gb | 16 | 34560 | 2048 | bf16 | 0.56 | yes | TinyLlama README: 16 A100-40G, 90 days (P)
starcoder | StarCoderBase 15.5B | starcoder | 1e12 | a100 | 512 | 320256 | 8192 | bf16 | - | yes | StarCoder sec 5.7 (S)
bloomberg | BloombergGPT 50B | 50.6e9 | 5.69e11 | a100-sxm-40gb | 512 | 651264 | 2048 | bf16 | - | yes | BloombergGPT Table 4 (S)
smollm3 | SmolLM3 3B | smollm3-3b | 1.12e13 | h100 | 384 | 221184 | 4096 | bf16 | - | yes | Hugging Face blog (S)
falcon | Falcon-7B | falcon-7b | 1.5e12 | a100-sxm-40gb | 384 | 129024 | 2048 | bf16 | - | yes | model card: 384 A100-40G, two weeks (R)
falcon | Falcon-40B | falcon-40b | 1e12 | a100-sxm-40gb | 384 | 552960 | 2048 | bf16 | - | yes | model card: 384 A100-40G, two months (R)
falcon | Falcon-180B | falcon-180b | 3.5e12 | a100-sxm-40gb | 4096 | 7e6 | 2048 | bf16 | - | yes | Hugging Face blog, about 7,000,000 GPU-hours (S)
deepseek | DeepSeek 67B, per 1T | deepseek-llm-67b-like | 1e12 | h800 | 1024* | 300600 | 4096 | bf16 | - | yes | DeepSeek-V2 paper
phi | Phi-3-mini | phi3-mini | 4.9e12 | h100 | 512 | 122880 | 4096 | bf16 | - | yes | model card: 512 H100, 10 days
phi | Phi-4 | phi4 | 9.8e12 | h100 | 1920 | 967680 | 4096 | bf16 | - | yes | model card: 1920 H100, 21 days
galactica | Galactica 120B | 120e9 | 4.5e11 | a100 | 1024* | 737280 | 2048 | fp16 | - | yes | paper (R)
glm | GLM-130B | 130e9 | 4e11 | a100-sxm-40gb | 768 | 1105920 | 2048 | fp16 | 0.325 | yes | GLM-130B paper: 96 DGX-A100-40G, 60 days (R)
nemotron-4 | Nemotron-4 340B, last stage | nemotron-340b | 7.6e12 | h100 | 6144 | 11206656 | 4096 | bf16 | 0.41 | yes | report: 76 days at 6,144 GPUs (R)
apertus | Apertus 70B | 70.6e9 | 1.5e13 | gh200 | 4096 | 6e6 | 4096 | bf16 | - | yes | Apertus report: about 6 M GPU-hours (R)
yalm | YaLM 100B | 100e9 | 3e11 | a100 | 800 | 1248000 | 2048 | fp16 | - | yes | README: 800 A100, 65 days (R)
deepseek | DeepSeek-V2, per 1T | deepseek-v2 | 1e12 | h800 | 2048* | 172800 | 4096 | bf16 | - | yes | DeepSeek-V2 paper
llama4 | Llama 4 Maverick | llama4-maverick | 2.2e13 | h100 | 16384* | 2.38e6 | 8192 | fp8 | - | yes | Llama 4 model card
llama4 | Llama 4 Scout | llama4-scout | 4e13 | h100 | 16384* | 5.0e6 | 8192 | fp8 | - | yes | Llama 4 model card (R)
deepseek | DeepSeek-V3 | deepseek-v3 | 1.48e13 | h800 | 2048 | 2.664e6 | 4096 | fp8 | - | yes | DeepSeek-V3 README (P)
dots | dots.llm1, 142B with 14B active | dots-llm1 | 1.12e13 | h800 | 2048* | 1.456e6 | 8192 | bf16 | - | yes | dots.llm1 report, as Epoch AI quotes it (S)
olmoe | OLMoE-1B-7B | olmoe-1b-7b | 5.133e12 | h100 | 256 | 61440 | 4096 | bf16 | - | yes | OLMoE paper: 256 H100, about 10 days (R)
arctic | Snowflake Arctic 480B | arctic | 3.5e12 | h100 | 1000* | 504000 | 4096 | bf16 | - | yes | announcement: under 3,000 GPU-weeks (R)
"""

_RMS = {"gated": True, "norm": "rms"}
SHAPES: dict[str, dict[str, object]] = {
    "deepseek-llm-67b-like": {**_RMS, "layers": 95, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 22016, "vocab": 102400},
    "dots-llm1": {**_RMS, "layers": 62, "hidden": 4096, "heads": 32, "head_dim": 128, "qk_norm": "head", "ffn": 10944, "vocab": 152064,
                  "moe": {"experts": 128, "top_k": 6, "shared": 2, "ffn": 1408, "dense_layers": 1}},
    "arctic": {**_RMS, "layers": 35, "hidden": 7168, "heads": 56, "kv_heads": 8, "ffn": 4864, "vocab": 32000,
               "moe": {"experts": 128, "top_k": 2, "ffn": 4864, "shared": 1}},
}  # fmt: skip
"""Shapes of runs whose model has no preset: DeepSeek LLM's paper, dots.llm1's and Arctic's configs (R)."""
