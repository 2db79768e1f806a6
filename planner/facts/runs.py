"""Published training runs: what the calendar took. C = 6 N D; effective MFU = C / (GPU-hours x 3600 x peak)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One published run. `prior` says whether its hours are multi-node calendar time, fit to calibrate on."""

    name: str
    parameters: float
    tokens: float
    peak_tflops: float
    gpus: int | None
    gpu_hours: float
    reported_mfu: float | None
    prior: bool
    why: str
    """Why the default interval misses it, or why it is kept out of the prior; empty when neither."""
    source: str


RUNS: tuple[Run, ...] = (
    Run("GPT-3 175B", 1.746e11, 3e11, 125, 10000, 3.552e6, 0.213, True, "V100s without bf16 and with little memory; the chip count was itself assumed from the time, so the row is circular", "Patterson 2021 Table 4 (S); MFU 21.3 % PaLM Table 3 (P)"),
    Run("Gopher 280B", 2.8e11, 3e11, 123, 4096, 3768320, 0.325, True, "", "Gopher p103 (S); MFU PaLM Table 3 (P)"),
    Run("PaLM 540B", 5.4035e11, 7.8e11, 275, 6144, 8404992, 0.457, True, "", "PaLM text (P); chip-hours App B (S)"),
    Run("OPT-175B (ideal 33 d)", 1.75e11, 3e11, 312, 1024, 811008, None, False, "33 days is what a run without restarts would have taken, not the calendar", "metaseq chronicles final_update.md (P)"),
    Run("BLOOM-176B", 176247271424, 3.66e11, 312, 384, 1082990, None, True, "", "bigscience tr11 README (P); GPU-hours (S)"),
    Run("LLaMA-1 7B", 6738415616, 1e12, 312, None, 82432, None, True, "", "LLaMA Table 15 (S)"),
    Run("LLaMA-1 65B", 6.52e10, 1.4e12, 312, 2048, 1022362, None, True, "", "LLaMA Table 15 (S)"),
    Run("Llama 2 7B", 6738415616, 2e12, 312, None, 184320, None, True, "", "llama-models MODEL_CARD (P)"),
    Run("Llama 2 13B", 13015864320, 2e12, 312, None, 368640, None, True, "", "llama-models MODEL_CARD (P)"),
    Run("Llama 2 70B", 68976648192, 2e12, 312, None, 1720320, None, True, "", "llama-models MODEL_CARD (P)"),
    Run("Llama 3 8B", 8030261248, 1.5e13, 989, None, 1.3e6, None, False, "the card's GPU-hours cannot be one pre-training of 15T tokens at a sane MFU: more tokens or other work is in them", "llama-models MODEL_CARD (P), 15T+ tokens"),
    Run("Llama 3.1 8B", 8030261248, 1.5e13, 989, None, 1.46e6, None, False, "the card's GPU-hours cannot be one pre-training of 15T tokens at a sane MFU: more tokens or other work is in them", "llama-models MODEL_CARD (P)"),
    Run("Llama 3.1 70B", 70553706496, 1.5e13, 989, None, 7e6, None, True, "", "llama-models MODEL_CARD (P)"),
    Run("Llama 3.1 405B", 405853388800, 1.56e13, 989, 16384, 3.084e7, 0.41, True, "", "llama-models MODEL_CARD, Llama 3 paper Table 4 and 3.3.2 (P)"),
    Run("MPT-7B", 6658859008, 1e12, 312, 440, 100320, None, True, "", "MPT-7B blog: 9.5 days on 440 A100-40GB (P)"),
    Run("Pythia 1B", 1011781632, 299892736000, 312, 64, 4830, None, True, "", "Pythia Table 5 (S), TinyLlama README (P)"),
    Run("Pythia 6.9B", 6856253440, 299892736000, 312, 128, 33500, None, True, "", "Pythia Table 5 (S)"),
    Run("Pythia 12B", 11842140160, 299892736000, 312, 256, 72300, None, True, "", "Pythia Table 5 (S)"),
    Run("TinyLlama 1.1B /300B tok", 1100048384, 3e11, 312, 16, 3456, 0.56, False, "two nodes at step speed: no goodput lost, so above a calendar prior", "TinyLlama README (P)"),
    Run("StarCoderBase 15.5B", 1.55e10, 1e12, 312, 512, 320256, None, True, "", "StarCoder sec 5.7 (S)"),
    Run("BloombergGPT 50B", 5.06e10, 5.69e11, 312, 512, 651264, None, True, "an early ZeRO-3 run on a slower network; 0.236 lies just under the interval", "BloombergGPT Table 4 (S)"),
    Run("SmolLM3 3B", 3075098624, 1.12e13, 989, 384, 221184, None, True, "", "Hugging Face blog (S)"),
    Run("Falcon-180B", 179522565120, 3.5e12, 312, 4096, 7e6, None, True, "", "Hugging Face blog, about 7,000,000 GPU-hours (S)"),
    Run("DeepSeek-V3 (37B act)", 37552297472, 1.48e13, 989, 2048, 2.664e6, None, True, "", "DeepSeek-V3 README (P); FP8 training against the bf16 peak"),
    Run("llm.c GPT-2 124M", 124439808, 9890693120, 312, 8, 12.576666666666666, None, False, "one node with hand-written kernels, hours from step time", "llm.c scripts/run_gpt2_124M.sh (P)"),
    Run("llm.c GPT-2 350M", 354823168, 31457280000, 312, 8, 109.33333333333333, None, False, "one node with hand-written kernels, hours from step time", "llm.c scripts (P)"),
    Run("llm.c GPT-2 774M", 774030080, 149999845376, 312, 8, 1080.8297777777777, None, False, "one node with hand-written kernels, hours from step time", "llm.c scripts (P)"),
    Run("llm.c GPT-2 1558M", 1557611200, 33554432000, 989, 8, 199.11111111111111, None, False, "", "llm.c scripts (P)"),
)  # fmt: skip

CALENDAR_SOURCE = "6ND / (GPU-hours x peak) of 20 published multi-node runs: median 0.33, p10 0.25, p90 0.44 (C)"

CALENDAR_DEFAULT = (0.25, 0.35, 0.50)
"""Low, point and high of the default calendar MFU, fixed before the table of runs was computed."""


def calendar_values() -> list[float]:
    """Effective MFU of the runs fit to calibrate on, sorted: the prior for a multi-node calendar plan."""
    return sorted(6 * r.parameters * r.tokens / (r.gpu_hours * 3600 * r.peak_tflops * 1e12) for r in RUNS if r.prior)


SINGLE_NODE = (0.40, 0.57)
SINGLE_NODE_SOURCE = "llm.c and TinyLlama on one or two nodes: 0.44-0.57 of peak by 6ND (P)"
