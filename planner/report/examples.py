"""Worked examples: every formula with a published or derived number that it must reproduce.

The tests and the validation page are made from these tables. `status` marks: see planner/facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.estimate import (
    activations,
    duration,
    memory,
    reliability,
    repetition,
    scaling,
    states,
    step_time,
    vocabulary,
)
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.serving import decode_intensity
from planner.facts import hardware as hardware_facts
from planner.facts.failures import RATES
from planner.model import flops as compute
from planner.model.count import count
from planner.model.device import accelerator
from planner.model.shapes import preset
from planner.units import GB, GIB

HOUR, MINUTE = 3600.0, 60.0
LLAMA3_MTBF = 54 * 24 * HOUR / 419
PSI = 7.5e9


@dataclass(frozen=True)
class Example:
    """A number to reproduce: `value()` must be within `rtol` of `expected`."""

    id: str
    what: str
    expected: float
    rtol: float
    value: Callable[[], float]
    source: str


def _zero(stage: int, convention: str = "zero", psi: float = PSI, n: int = 64) -> float:
    """GB of states per device for a bare number of parameters, through the code that plans use."""
    where = Layout(dp=n, zero=stage)
    held = states.StageParameters(np.float64(psi), np.float64(0), np.float64(0), np.float64(0))
    c = preset("llama2-7b")
    options = MemoryOptions(seq=1, convention=convention)
    return float(sum(states.state_bytes(options, where, held, count(c), c).values())) / GB


def _palm(attention: bool) -> float:
    per_token = compute.palm_flops_per_token(540.35e9, 118 if attention else 0, 48, 256, 2048)
    return compute.mfu(per_token, 238300, 6144, 275e12)


def _bloom(flops: float) -> float:
    return flops / 104.70 / 384


def _chinchilla_ratio(law: scaling.Law, flops: float) -> float:
    n, d = law.optimum(flops)
    return float(d / n)


def _overtrain_floor() -> float:
    law = scaling.besiroglu()
    n, d = law.optimum(1e23)
    return float(law.smallest(law.loss(n, d)) / n)


def _serving_size() -> float:
    law = scaling.besiroglu()
    n, d = law.optimum(1e23)
    return scaling.lifetime_optimum(law, float(law.loss(n, d)), 1e13)[0]


def _fitted_vocabulary() -> float:
    grid = np.arange(1000, 200_000, 100)
    return float(grid[int(np.argmin([vocabulary.fixed_text_flops(float(v), 302e6, 1024) for v in grid]))])


def _llama3_steps() -> float:
    return duration.ramp_steps(((4e6, 252e6), (8e6, 2.87e12), (16e6, 15.6e12)))


def _palm_ramp() -> float:
    return float(duration.Ramp(((512, 50_000), (1024, 65_000), (2048, 140_000)), 2048).tokens)


def _active_bytes(policy: str, tp: int = 1, sequence_parallel: bool = False) -> float:
    return activations.korthikanti(2048, 1, 12288, 96, tp, policy, sequence_parallel) / GB


EXAMPLES: tuple[Example, ...] = (
    Example("c6nd", "C = 6 N D: 405e9 on 15.6e12", 3.7908e25, 1e-6, lambda: compute.train_flops(405e9, 15.6e12), "Llama 3 paper sec 3.2: 3.8e25 (P)"),
    Example("fwd", "forward 2 N per token, 70e9", 1.4e11, 1e-9, lambda: compute.TokenFlops(2 * 70e9, 0, 0, "").forward, "scaling-book (P)"),
    Example("bwd", "backward 4 N per token, 70e9", 2.8e11, 1e-9, lambda: compute.TokenFlops(2 * 70e9, 0, 0, "").backward, "scaling-book (P)"),
    Example("palm_mfu", "PaLM MFU, 6 N + 12 L H Q T", 0.46229, 2e-4, lambda: _palm(True), "PaLM sec 4.1 and appendix B (P)"),
    Example("palm_mfu_noattn", "PaLM MFU without attention", 0.45726, 2e-4, lambda: _palm(False), "PaLM sec 4.1 (P)"),
    Example("megatron_hw", "BLOOM TFLOP/s per GPU, full recompute", 149.763, 2e-4, lambda: _bloom(compute.megatron_hardware_flops(2048, 2048, 70, 14336, 250880)) / 1e12, "Narayanan 2021 eq. 3 (S); BLOOM log 149.77 (P)"),
    Example("megatron_model", "the same iteration as MFU", 0.36181, 2e-4, lambda: _bloom(compute.megatron_model_flops(2048, 2048, 70, 14336, 250880)) / 312e12, "Korthikanti 2022 appendix A (S)"),
    Example("sel_ratio", "HFU/MFU, selective recompute, GPT-3", 1.02778, 2e-3, lambda: compute.selective_ratio(12288, 2048), "Korthikanti 2022 (S): 52.8/51.4"),
    Example("days", "70e9 x 15e12 on 1,024 H100 at MFU 0.5, days", 143.999, 1e-4, lambda: duration.days(compute.train_flops(70e9, 15e12), accelerator("h100").peak("bf16"), 0.5, 1024), "design notes (P)"),
    Example("days_meg", "8 T P / (n X): GPT-3 on 1,024 A100 at 140 TFLOP/s, days", 33.908, 1e-3, lambda: duration.days_recompute(300e9, 175e9, 1024, 140e12), "Narayanan 2021 eq. 4 (S): 34 days"),
    Example("chin_20", "N = sqrt(C/120) at 5.88e23", 7e10, 1e-6, lambda: scaling.rule_of_twenty(5.88e23)[0], "Chinchilla 70B (P)"),
    Example("chin_closed", "closed-form N at 5.76e23, Besiroglu", 7.2249e10, 1e-3, lambda: float(scaling.besiroglu().optimum(5.76e23)[0]), "Hoffmann 2022 eq. 4 (S)"),
    Example("chin_trap", "D/N at 1e23 with rounded Hoffmann coefficients", 78.21, 2e-3, lambda: _chinchilla_ratio(scaling.hoffmann(True), 1e23), "Hoffmann 2022 appendix D (S); 50.6 unrounded, 19.2 Besiroglu"),
    Example("overtrain", "half the optimal size at 1e23: training cost ratio", 1.259, 3e-3, lambda: scaling.exchange(scaling.besiroglu(), 1e23, 0.5).training_ratio, "algebra (C)"),
    Example("overtrain_min", "smallest size that can reach the loss, of optimal", 0.14641, 3e-3, _overtrain_floor, "algebra (C)"),
    Example("serving", "size of least 6 N D + 2 N T for 1e13 served", 1.137e10, 1e-2, _serving_size, "Sardana 2023 (S)"),
    Example("dc", "effective data of 4 epochs, of unique", 3.72566, 1e-4, lambda: repetition.effective_tokens(1.0, 4), "Muennighoff 2023 (P)"),
    Example("dc_cap", "ceiling of repetition", 16.387756, 1e-6, lambda: repetition.CEILING, "Muennighoff 2023 (P)"),
    Example("dc_n", "datablations D/N at any C", 19.6136, 1e-3, lambda: _chinchilla_ratio(repetition.datablations_law(), 1e22), "datablations notebook (P)"),
    Example("vocab_f", "tokens per character at 32,768", 0.2518, 1e-3, lambda: vocabulary.tokens_per_character(32768), "Tao 2024 utils.py (P)"),
    Example("vocab_flops", "V of least FLOPs, 302e6 and d 1024", 32800, 0.05, _fitted_vocabulary, "Tao 2024 approach2_derivative.py (P)"),
    Example("vocab_app1", "loss-optimal V, approach 1, 7e9 and d 4096", 62280, 1e-3, lambda: vocabulary.approach_1(7e9) / 4096, "Tao 2024 (P)"),
    Example("vocab_app2", "loss-optimal V, approach 2", 67450, 1e-3, lambda: vocabulary.approach_2(7e9) / 4096, "Tao 2024 (P)"),
    Example("vocab_app3", "loss-optimal V, approach 3", 59547, 1e-2, lambda: vocabulary.approach_3(7e9, 4096), "Tao 2024 (P)"),
    Example("state16", "16 bytes x 7.5e9, GB", 120, 1e-9, lambda: _zero(0), "ZeRO paper (P)"),
    Example("zero1", "ZeRO-1 on 64, GB", 31.40625, 1e-6, lambda: _zero(1), "ZeRO paper (P)"),
    Example("zero2", "ZeRO-2 on 64, GB", 16.640625, 1e-6, lambda: _zero(2), "ZeRO paper (P)"),
    Example("zero3", "ZeRO-3 on 64, GB", 1.875, 1e-6, lambda: _zero(3), "ZeRO paper (P)"),
    Example("ds_zero2", "DeepSpeed ZeRO-2 on 64, GB", 17.109375, 1e-6, lambda: _zero(2, "deepspeed"), "DeepSpeed stage_1_and_2.py (P)"),
    Example("ds_zero3", "DeepSpeed ZeRO-3 on 64, GB", 2.109375, 1e-6, lambda: _zero(3, "deepspeed"), "DeepSpeed stage3.py (P)"),
    Example("meg_state", "Megatron distributed optimizer, 8e9 on dp 8, GB", 60, 1e-6, lambda: _zero(1, "megatron", 8e9, 8), "Megatron theoretical_memory_usage.py (P)"),
    Example("fit", "largest model by states on 8 x 80 GB", 4e10, 1e-9, lambda: memory.largest_by_states(8, 80e9), "design notes (P)"),
    Example("act_kor", "GPT-3 layer, GB", 2.868904, 1e-5, lambda: _active_bytes("none"), "Korthikanti 2022 eq. 1 (S)"),
    Example("act_sel", "GPT-3 layer, selective recompute, GB", 0.855638, 1e-5, lambda: _active_bytes("selective"), "Korthikanti 2022 (S)"),
    Example("act_tp", "GPT-3 layer, selective, tp 8 with sequence parallel, GB", 0.10695475, 1e-5, lambda: _active_bytes("selective", 8, True), "Korthikanti 2022 (S)"),
    Example("act_full", "GPT-3 layer, full recompute, GB", 0.05033165, 1e-5, lambda: _active_bytes("full"), "Korthikanti 2022 (S)"),
    Example("act_modern", "Llama-3-8B layer, fused, in 2 s b h", 20.5, 1e-9, lambda: activations.ideal_coefficient(preset("llama3-8b")), "derived (C)"),
    Example("act_hf", "Llama-3.1-8B layer, eager, in 2 s b h (measured 28.0)", 28.0, 0.05, lambda: activations.eager_coefficient(preset("llama3-8b")), "stas00 activation-memory-per-layer (P); calibrated"),
    Example("logits", "fp32 logits of 32k tokens, V 128,256, GiB", 15.65625, 1e-6, lambda: float(activations.logits_bytes(32768, 128256, 4)) / GIB, "stas00 training/performance (P)"),
    Example("ckpt_recompute", "full recompute over model FLOPs", 1.33333, 1e-4, lambda: compute.TokenFlops(2, 0, 2, "").hardware / compute.TokenFlops(2, 0, 2, "").model, "design notes (P)"),
    Example("ridge", "H100 ridge point", 295.22, 1e-3, lambda: accelerator("h100").ridge("bf16"), "design notes (P)"),
    Example("ai_gemm", "4096-cube GEMM, FLOP per byte", 1365.33, 1e-4, lambda: compute.gemm_intensity(4096, 4096, 4096), "algebra (C)"),
    Example("ai_decode", "decode intensity at batch 1", 1.0, 1e-9, lambda: decode_intensity(1), "scaling-book (P)"),
    Example("flash", "scores that flash attention never writes, MiB", 96, 1e-9, lambda: activations.score_matrix_bytes(4, 12, 1024) / 2**20, "design notes (P)"),
    Example("attn_share", "attention over 6 N, Llama 3 405B at 8k", 0.083338, 1e-4, lambda: compute.attention_share(126, 16384, 8192, 405853388800), "PaLM formula (C)"),
    Example("bubble", "bubble share, P 4, M 32", 0.0857143, 1e-5, lambda: step_time.bubble_share(4, 32), "design notes (P)"),
    Example("bubble2", "bubble of ideal, P 16, M 16", 0.9375, 1e-9, lambda: step_time.bubble_of_ideal(16, 16), "Llama 3 sec 3.3.2 (P)"),
    Example("allreduce", "ring all-reduce of 8.03e9 bf16 on 8, GB", 28.105, 1e-3, lambda: step_time.ring_all_reduce_bytes(2 * 8.03e9, 8) / GB, "standard (R)"),
    Example("zero3_comm", "ZeRO-3 traffic over data parallel", 1.5, 1e-9, lambda: step_time.ZERO3_TRAFFIC, "ZeRO paper (P)"),
    Example("mtbf", "Llama 3 MTBF, hours", 3.09308, 1e-5, lambda: reliability.job_mtbf(54 * 16384 / 419, 16384) / HOUR, "Llama 3 sec 3.3.4 (P)"),
    Example("mtbf_gpu", "GPU-days per interruption", 2111.54, 1e-4, lambda: RATES[0].gpu_days, "computed (C)"),
    Example("young", "Young interval, delta 60 s, minutes", 19.266, 1e-3, lambda: float(reliability.young(60, LLAMA3_MTBF)) / MINUTE, "Young 1974 (S)"),
    Example("daly", "Daly interval, minutes", 18.6, 2e-3, lambda: reliability.daly(60, LLAMA3_MTBF) / MINUTE, "Daly 2006 (R)"),
    Example("goodput", "exact goodput at 19.266 minutes, R 10 minutes", 0.8525, 2e-3, lambda: float(reliability.goodput(19.266 * MINUTE, 60, LLAMA3_MTBF, 600)), "exponential renewal (S)"),
    Example("first_order", "first-order waste, the same", 0.158, 0.02, lambda: reliability.first_order_waste(19.266 * MINUTE, 60, LLAMA3_MTBF, 600), "Young 1974 (S)"),
    Example("lost_6_3", "mean lost work, interval 6 h, MTBF 3 h", 2.0609, 1e-3, lambda: reliability.mean_lost_work(6, 3), "algebra (C)"),
    Example("ckpt_bytes", "checkpoint of 176e9, GiB", 2294.78, 1e-4, lambda: memory.checkpoint_bytes(176e9) / GIB, "BigScience tr11 README (P): 2294.77"),
    Example("ckpt_nano", "nanoGPT checkpoint over 12 N", 1.0338, 1e-3, lambda: 1542470366 / memory.checkpoint_bytes(124337664, with_weights=False), "nanoGPT transformer_sizing (P)"),
    Example("steps_palm", "PaLM ramp, tokens", 7.7595e11, 1e-3, _palm_ramp, "PaLM sec 5 (P)"),
    Example("steps_llama3", "Llama 3 ramp, steps", 1.1544e6, 2e-3, _llama3_steps, "Llama 3 sec 3.4.1 (P): 1.2M"),
    Example("step_docs", "Pythia tokens, 143,000 steps of 1,024 x 2,048", 299892736000, 0, lambda: float(duration.Ramp(((1024, 143_000),), 2048).tokens), "pythia batch_viewer.py (P)"),
)  # fmt: skip


@dataclass(frozen=True)
class StepCheck:
    """A published step-level figure: `value()` must be within `rtol` of what was reported."""

    what: str
    reported: str
    expected: float
    rtol: float
    value: Callable[[], float]
    source: str


def _mpt(tokens_per_second: float, gpus: int, peak: float, factor: float = 1.0) -> float:
    n = count(preset("mpt-7b")).total
    return factor * compute.mfu(compute.palm_flops_per_token(n, 32, 32, 128, 2048), tokens_per_second, gpus, peak)


def _mt_nlg(seconds: float) -> float:
    return compute.train_flops(530e9, 1920 * 2048) / seconds / (2240 * 312e12)


def _tinyllama() -> float:
    return compute.mfu(compute.token_flops(preset("tinyllama"), 2048).model, 24000, 1, 312e12)


def _nanogpt() -> float:
    return compute.mfu(compute.token_flops(preset("gpt2"), 1024).model, 100 * 1024 / 0.755, 1, 312e12)


def _titan(tokens_per_second: float) -> float:
    return compute.mfu(compute.token_flops(preset("llama3-8b"), 8192).model, tokens_per_second, 1, 989e12)


H100 = hardware_facts.ACCELERATORS["h100-sxm"]["bf16"] * 1e12

STEP_CHECKS: tuple[StepCheck, ...] = (
    StepCheck("PaLM MFU no attention", "45.7%", 0.457, 2e-3, lambda: _palm(False), "PaLM 4.1"),
    StepCheck("PaLM MFU with attention", "46.2%", 0.462, 2e-3, lambda: _palm(True), "PaLM 4.1"),
    StepCheck("MT-NLG step seconds at 29.7% MFU, 2240 A100", "60.1 s", 60.1, 5e-3, lambda: compute.train_flops(530e9, 1920 * 2048) / (0.297 * 2240 * 312e12), "PaLM 4.1, MT-NLG"),
    StepCheck("MT-NLG MFU", "29.7%", 0.297, 5e-3, lambda: _mt_nlg(60.1), "PaLM 4.1"),
    StepCheck("BLOOM TFLOP/s", "149.77", 149.77, 2e-4, lambda: _bloom(compute.megatron_hardware_flops(2048, 2048, 70, 14336, 250880)) / 1e12, "tr11 log"),
    StepCheck("llm-foundry MPT-7B 8xH100 s2048 MFU", "46.44%", 0.4644, 1e-3, lambda: _mpt(85144, 8, 989e12), "llm-foundry table (its peak is 989.5)"),
    StepCheck("llm-foundry MPT-7B 128xA100-40 MFU", "50.14%", 0.5014, 1e-3, lambda: _mpt(463749, 128, 312e12), "llm-foundry table"),
    StepCheck("llm-foundry MPT-7B 128xA100-40 HFU (x 4/3)", "66.85%", 0.6685, 1e-3, lambda: _mpt(463749, 128, 312e12, 4 / 3), "llm-foundry table"),
    StepCheck("TinyLlama MFU (matmul parameters, full attention)", "56%", 0.56, 1e-2, _tinyllama, "TinyLlama README, 24k tokens/s/GPU"),
    StepCheck("nanoGPT 124M 1xA100", "37.14%", 0.3714, 1e-3, _nanogpt, "transformer_sizing.ipynb"),
    StepCheck("nanochat d24 8xH100 MFU from FLOPs and seconds", "0.4999 by us", 0.4999, 1e-3, lambda: 4.330784e19 / 10949.467 / (8 * H100), "nanochat LEADERBOARD.md"),
    StepCheck("torchtitan Llama3.1-8B 8xH100 eager", "33%", 0.33741, 1e-3, lambda: _titan(5762), "torchtitan llama3_h100_202412: 33% to 39%"),
    StepCheck("torchtitan Llama3.1-8B 8xH100 compiled", "39%", 0.3904, 1e-3, lambda: _titan(6667), "torchtitan llama3_h100_202412"),
    StepCheck("Llama 3 405B at 430 TFLOP/s", "43%", 0.43, 1.5e-2, lambda: 430e12 / H100, "Llama 3 table 4"),
    StepCheck("Llama 3 405B at 400 TFLOP/s", "41% (400/989 is 40.4%)", 0.41, 1.5e-2, lambda: 400e12 / H100, "Llama 3 table 4"),
    StepCheck("Llama 3 405B at 380 TFLOP/s", "38%", 0.38, 1.5e-2, lambda: 380e12 / H100, "Llama 3 table 4"),
    StepCheck("Megatron GPT-3 days, 1024 A100 at 140", "34 days", 34, 5e-3, lambda: duration.days_recompute(300e9, 175e9, 1024, 140e12), "Narayanan 2021 (S)"),
    StepCheck("Megatron 1T days, 3072 A100 at 163, 450B tokens", "84 days", 84, 1.1e-2, lambda: duration.days_recompute(450e9, 1e12, 3072, 163e12), "Narayanan 2021 (R)"),
)  # fmt: skip


@dataclass(frozen=True)
class MemoryCheck:
    """A published peak: reported GiB (reserved) against our estimate with nothing tuned."""

    what: str
    reported_gib: float
    layout: Layout
    model: str
    seq: int
    why: str
    source: str = "torchtitan benchmarks, H100 (P)"


MEMORY_CHECKS: tuple[MemoryCheck, ...] = (
    MemoryCheck("Llama 3.1 8B, 8 GPUs, 2 x 8k, selective, compiled", 77.0, Layout(dp=8, zero=3, micro_batch=2, recompute="selective-op"), "llama3-8b", 8192, ""),
    MemoryCheck("Llama 3.1 8B, 128 GPUs, 2 x 8k, selective, compiled", 62.0, Layout(dp=128, zero=3, micro_batch=2, recompute="selective-op"), "llama3-8b", 8192, ""),
    MemoryCheck("Llama 3.1 8B, 8 GPUs, 2 x 8k, selective, eager", 82.4, Layout(dp=8, zero=3, micro_batch=2, recompute="selective-op"), "llama3-8b", 8192, "probably what norms and the MLP keep without the compiler; ours is the fused layer"),
    MemoryCheck("Llama 3.1 8B, 128 GPUs, 2 x 8k, selective, eager", 67.0, Layout(dp=128, zero=3, micro_batch=2, recompute="selective-op"), "llama3-8b", 8192, "as above"),
    MemoryCheck("Llama 3.1 8B, 8 GPUs, 1 x 32k, full, fp8", 83.9, Layout(dp=8, zero=3, micro_batch=1, recompute="full"), "llama3-8b", 32768, ""),
    MemoryCheck("Llama 3.1 70B, 256 GPUs, tp 8, 16 x 8k, full, fp8", 71.9, Layout(dp=32, tp=8, zero=3, micro_batch=16, recompute="full"), "llama3-70b", 8192, "probably buffers of asynchronous tensor parallelism and fp8 scaling, which are not counted"),
)  # fmt: skip

ACTIVATION_COEFFICIENTS: tuple[tuple[str, float, float, str], ...] = (
    ("Llama-3.1-8B", activations.eager_coefficient(preset("llama3-8b")), 28.0, "llama3-8b"),
    ("Mistral-7B-v0.3", activations.eager_coefficient(preset("mistral-7b")), 28.0, "mistral-7b"),
    ("R1-0528-Qwen3-8B", activations.eager_coefficient(preset("qwen3-8b")), 29.8, "qwen3-8b"),
)
"""(model, predicted, measured in units of 2 s b h, preset); stas00/ml-engineering activation-memory-per-layer (P)."""


def within(value: float, expected: float, rtol: float) -> bool:
    """Whether `value` is within the relative tolerance."""
    return math.isclose(value, expected, rel_tol=rtol or 1e-12)
