"""Accelerators: dense peaks, memory and links.

TFLOP/s are dense (2:4 sparsity never counted); `link_gb_s` is one-way scale-up bandwidth per device in GB/s;
`visible_gib` is what the runtime reports as total memory, where it was seen. Power is the vendor's board or module
limit, recalled (R). `node` is how many devices share the scale-up link; `network_gb_s` is the one-way bandwidth
between nodes per device that the common machine of that name has (200 Gbit/s per A100, 400 per H100 and newer; R).
"""

from __future__ import annotations

from typing import Any

_STAS = "stas00/ml-engineering compute/accelerator and network (P)"
_NANO = "karpathy/nanochat nanochat/common.py (P)"
_TPU = "jax-ml/scaling-book tpus.md (P)"

ACCELERATORS: dict[str, dict[str, Any]] = {
    "v100-sxm-16gb": {"title": "V100 SXM2 16GB", "bf16": None, "fp16": 125, "fp8": None, "tf32": None, "fp32": 15.7, "hbm_gb": 16, "hbm_tb_s": 0.9, "link_gb_s": 150, "network_gb_s": 12.5, "node": 8, "watts": 300, "source": "llm-analysis, llm.c, ml-engineering (P); fp32 R"},
    "v100-sxm": {"title": "V100 SXM2 32GB", "bf16": None, "fp16": 125, "fp8": None, "tf32": None, "fp32": 15.7, "hbm_gb": 32, "hbm_tb_s": 0.9, "link_gb_s": 150, "network_gb_s": 12.5, "node": 8, "watts": 300, "source": "llm-analysis, llm.c, ml-engineering (P); fp32 R"},
    "a100-sxm-40gb": {"title": "A100 SXM 40GB", "bf16": 312, "fp16": 312, "fp8": None, "tf32": 156, "fp32": 19.5, "hbm_gb": 40, "hbm_tb_s": 1.555, "link_gb_s": 300, "network_gb_s": 25, "node": 8, "watts": 400, "source": _STAS},
    "a100-sxm": {"title": "A100 SXM 80GB", "bf16": 312, "fp16": 312, "fp8": None, "tf32": 156, "fp32": 19.5, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 2.039, "link_gb_s": 300, "network_gb_s": 25, "node": 8, "watts": 400, "source": _STAS},
    "h100-sxm": {"title": "H100 SXM", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 3.35, "link_gb_s": 450, "network_gb_s": 50, "node": 8, "watts": 700, "source": _STAS},
    "h100-pcie": {"title": "H100 PCIe", "bf16": 756, "fp16": 756, "fp8": 1513, "tf32": 378, "fp32": 51, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 2.0, "link_gb_s": 300, "network_gb_s": 25, "node": 2, "watts": 350, "source": _STAS + "; link by NVLink bridge, from llm-analysis"},
    "h100-nvl": {"title": "H100 NVL (per GPU)", "bf16": 835, "fp16": 835, "fp8": 1671, "tf32": 418, "fp32": 60, "hbm_gb": 94, "hbm_tb_s": 3.9, "link_gb_s": 300, "network_gb_s": 25, "node": 2, "watts": 400, "source": "bf16, bandwidth, memory P (OLMo-core); fp8, tf32, fp32, link R"},
    "h200-sxm": {"title": "H200 SXM", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 141, "hbm_tb_s": 4.8, "link_gb_s": 450, "network_gb_s": 50, "node": 8, "watts": 700, "source": _STAS},
    "h800-sxm": {"title": "H800 SXM", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 3.35, "link_gb_s": 200, "network_gb_s": 50, "node": 8, "watts": 700, "source": "disputed: peers print 756 and 989 bf16 and 1513 fp8; NVLink cut to 400 GB/s both ways (R)"},
    "b200-sxm": {"title": "B200 SXM", "bf16": 2250, "fp16": 2250, "fp8": 4500, "tf32": 1125, "fp32": 80, "hbm_gb": 180, "hbm_tb_s": 8.0, "link_gb_s": 900, "network_gb_s": 50, "node": 8, "watts": 1000, "source": _STAS + "; 180 GB as in HGX and DGX, other pages say 192"},
    "gb200": {"title": "GB200 (per GPU)", "bf16": 2500, "fp16": 2500, "fp8": 5000, "tf32": 1250, "fp32": 80, "hbm_gb": 186, "hbm_tb_s": 8.0, "link_gb_s": 900, "network_gb_s": 50, "node": 72, "watts": 1200, "source": _STAS + "; a superchip holds two GPUs"},
    "mi250x": {"title": "MI250X (2 GCDs)", "bf16": 383, "fp16": 383, "fp8": None, "tf32": None, "fp32": 47.9, "hbm_gb": 128, "hbm_tb_s": 3.28, "link_gb_s": 350, "network_gb_s": 25, "node": 4, "watts": 560, "source": _STAS + "; frameworks see two devices of half of this"},
    "mi300x": {"title": "MI300X", "bf16": 1307.4, "fp16": 1307.4, "fp8": 2614.9, "tf32": 653.7, "fp32": 163.4, "hbm_gb": 192, "hbm_tb_s": 5.3, "link_gb_s": 448, "network_gb_s": 50, "node": 8, "watts": 750, "source": _STAS + "; fp8 R"},
    "mi325x": {"title": "MI325X", "bf16": 1307.4, "fp16": 1307.4, "fp8": 2614.9, "tf32": 653.7, "fp32": 163.4, "hbm_gb": 256, "hbm_tb_s": 6.0, "link_gb_s": 448, "network_gb_s": 50, "node": 8, "watts": 1000, "source": _STAS},
    "tpu-v4": {"title": "TPU v4", "bf16": 275, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 32, "hbm_tb_s": 1.2, "link_gb_s": None, "ici_gb_s": 45, "network_gb_s": 45, "node": 64, "watts": None, "source": _TPU + "; six ICI links of 45 GB/s one-way"},
    "tpu-v5e": {"title": "TPU v5e", "bf16": 197, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 16, "hbm_tb_s": 0.82, "link_gb_s": None, "ici_gb_s": 45, "network_gb_s": 45, "node": 256, "watts": None, "source": _TPU},
    "tpu-v5p": {"title": "TPU v5p", "bf16": 459, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 95, "hbm_tb_s": 2.76, "link_gb_s": None, "ici_gb_s": 90, "network_gb_s": 90, "node": 64, "watts": None, "source": _TPU},
    "tpu-v6e": {"title": "TPU v6e", "bf16": 918, "fp16": 918, "fp8": 918, "tf32": None, "fp32": None, "hbm_gb": 32, "hbm_tb_s": 1.6, "link_gb_s": None, "ici_gb_s": 90, "network_gb_s": 90, "node": 256, "watts": None, "source": _TPU},
    "rtx-4090": {"title": "RTX 4090", "bf16": 165.2, "fp16": 165.2, "fp8": 330.3, "tf32": 82.6, "fp32": 82.6, "hbm_gb": 24, "hbm_tb_s": 1.01, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 450, "source": "llm.c llmc/mfu.h, nanochat (P); fp32 accumulation; no NVLink"},
    "rtx-5090": {"title": "RTX 5090", "bf16": 209.5, "fp16": 209.5, "fp8": 419, "tf32": 104.8, "fp32": 104.8, "hbm_gb": 32, "hbm_tb_s": 1.79, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 575, "source": _NANO + "; fp8, tf32, fp32 R; no NVLink"},
    "l4": {"title": "L4", "bf16": 121, "fp16": 121, "fp8": 242, "tf32": 60, "fp32": 30.3, "hbm_gb": 24, "hbm_tb_s": 0.3, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 72, "source": _NANO + "; fp8, tf32, fp32 R"},
    "l40s": {"title": "L40S", "bf16": 362, "fp16": 362, "fp8": 733, "tf32": 183, "fp32": 91.6, "hbm_gb": 48, "hbm_tb_s": 0.864, "link_gb_s": None, "network_gb_s": 25, "node": 1, "watts": 350, "source": _STAS},
}  # fmt: skip

ALIASES = {
    "v100": "v100-sxm", "v100-sxm-32gb": "v100-sxm", "a100": "a100-sxm", "a100-80gb": "a100-sxm",
    "a100-40gb": "a100-sxm-40gb", "a100-sxm-80gb": "a100-sxm", "h100": "h100-sxm", "h200": "h200-sxm",
    "h800": "h800-sxm", "b200": "b200-sxm", "4090": "rtx-4090", "5090": "rtx-5090",
}  # fmt: skip

MATMUL_MEASURED: dict[str, tuple[float, float]] = {
    "a100-sxm": (271.2, 312), "a100-sxm-40gb": (271.2, 312), "h100-sxm": (794.5, 989), "b200-sxm": (1745.0, 2250),
    "gb200": (1822.0, 2500), "mi300x": (668.4, 1300), "mi325x": (784.9, 1300),
}  # fmt: skip
"""Best bf16 matmul anyone measured, against the peak its source used: stas00/ml-engineering MAMF tables (P)."""

PRICES: dict[str, tuple[float, float, str]] = {
    "a100-sxm-40gb": (2.0, 2.0, "$2 per A100-40GB-hour: MPT-7B blog, 2023 (S)"),
    "a100-sxm": (1.75, 2.0, "$14 per 8-GPU node-hour: llm.c scripts, 2024 (P); $2: MPT-7B blog, 2023 (S)"),
    "h100-sxm": (2.0, 3.5, "$28 per 8-GPU node-hour: llm.c scripts, 2024 (P); $2 per H800-hour: DeepSeek-V3, 2024 (P)"),
    "h800-sxm": (2.0, 2.0, "$2 per H800-hour: DeepSeek-V3 report, 2024 (P)"),
}
"""US dollars per device-hour, low and high, with source and year. Other devices have no price here: give your own."""

CONTEXT_GIB = (0.5, 1.0, 1.8)
NCCL_GIB = (1.0, 1.5, 2.0)
OVERHEAD_SOURCE = "CUDA context 0.47-1.8 GiB, NCCL 1-2 GiB: stas00/ml-engineering (P)"
FRAGMENTATION = 0.05
FRAGMENTATION_SOURCE = "Megatron-LM theoretical_memory_usage.py multiplies activations by 1.05 (P)"
