"""Accelerators: dense peaks, memory and links.

TFLOP/s are dense (2:4 sparsity never counted); `link_gb_s` is one-way scale-up bandwidth per device in GB/s;
`visible_gib` is what torch reports as total memory, where it was seen (A100, H100: ml-engineering, P; others as users
print it, R). Power is the vendor's board or module
limit, recalled (R). `node` is how many devices share the scale-up link; `network_gb_s` is the one-way bandwidth
between nodes per device that the common machine of that name has (200 Gbit/s per A100, 400 per H100 and newer; R).
"""

from __future__ import annotations

from typing import Any

_STAS = "stas00/ml-engineering compute/accelerator and network (P)"
_NANO = "karpathy/nanochat nanochat/common.py (P)"
_REC = "vendor's data sheet, recalled (R)"
_TPU = "jax-ml/scaling-book tpus.md (P)"

ACCELERATORS: dict[str, dict[str, Any]] = {
    "v100-sxm-16gb": {"title": "V100 SXM2 16GB", "bf16": None, "fp16": 125, "fp8": None, "tf32": None, "fp32": 15.7, "hbm_gb": 16, "visible_gib": 15.77, "hbm_tb_s": 0.9, "link_gb_s": 150, "network_gb_s": 12.5, "node": 8, "watts": 300, "source": "llm-analysis, llm.c, ml-engineering (P); fp32 R"},
    "v100-sxm": {"title": "V100 SXM2 32GB", "bf16": None, "fp16": 125, "fp8": None, "tf32": None, "fp32": 15.7, "hbm_gb": 32, "visible_gib": 31.74, "hbm_tb_s": 0.9, "link_gb_s": 150, "network_gb_s": 12.5, "node": 8, "watts": 300, "source": "llm-analysis, llm.c, ml-engineering (P); fp32 R"},
    "a100-sxm-40gb": {"title": "A100 SXM 40GB", "bf16": 312, "fp16": 312, "fp8": None, "tf32": 156, "fp32": 19.5, "hbm_gb": 40, "visible_gib": 39.5, "hbm_tb_s": 1.555, "link_gb_s": 300, "network_gb_s": 25, "node": 8, "watts": 400, "source": _STAS},
    "a100-sxm": {"title": "A100 SXM 80GB", "bf16": 312, "fp16": 312, "fp8": None, "tf32": 156, "fp32": 19.5, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 2.039, "link_gb_s": 300, "network_gb_s": 25, "node": 8, "watts": 400, "source": _STAS},
    "h100-sxm": {"title": "H100 SXM", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 3.35, "link_gb_s": 450, "network_gb_s": 50, "node": 8, "watts": 700, "source": _STAS},
    "h100-pcie": {"title": "H100 PCIe", "bf16": 756, "fp16": 756, "fp8": 1513, "tf32": 378, "fp32": 51, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 2.0, "link_gb_s": 300, "network_gb_s": 25, "node": 2, "watts": 350, "source": _STAS + "; link by NVLink bridge, from llm-analysis"},
    "h100-nvl": {"title": "H100 NVL (per GPU)", "bf16": 835, "fp16": 835, "fp8": 1671, "tf32": 418, "fp32": 60, "hbm_gb": 94, "visible_gib": 93.1, "hbm_tb_s": 3.9, "link_gb_s": 300, "network_gb_s": 25, "node": 2, "watts": 400, "source": "bf16, bandwidth, memory P (OLMo-core); fp8, tf32, fp32, link R"},
    "h200-sxm": {"title": "H200 SXM", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 141, "visible_gib": 139.8, "hbm_tb_s": 4.8, "link_gb_s": 450, "network_gb_s": 50, "node": 8, "watts": 700, "source": _STAS},
    "h800-sxm": {"title": "H800 SXM", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 3.35, "link_gb_s": 200, "network_gb_s": 50, "node": 8, "watts": 700, "source": "disputed: peers print 756 and 989 bf16 and 1513 fp8; NVLink cut to 400 GB/s both ways (R)"},
    "b200-sxm": {"title": "B200 SXM", "bf16": 2250, "fp16": 2250, "fp8": 4500, "tf32": 1125, "fp32": 80, "hbm_gb": 180, "visible_gib": 178.4, "hbm_tb_s": 8.0, "link_gb_s": 900, "network_gb_s": 50, "node": 8, "watts": 1000, "source": _STAS + "; 180 GB as in HGX and DGX, other pages say 192"},
    "gb200": {"title": "GB200 (per GPU)", "bf16": 2500, "fp16": 2500, "fp8": 5000, "tf32": 1250, "fp32": 80, "hbm_gb": 186, "hbm_tb_s": 8.0, "link_gb_s": 900, "network_gb_s": 50, "node": 72, "watts": 1200, "source": _STAS + "; a superchip holds two GPUs"},
    "mi250x": {"title": "MI250X (2 GCDs)", "bf16": 383, "fp16": 383, "fp8": None, "tf32": None, "fp32": 47.9, "hbm_gb": 128, "hbm_tb_s": 3.28, "link_gb_s": 350, "network_gb_s": 25, "node": 4, "watts": 560, "source": _STAS + "; frameworks see two devices of half of this"},
    "mi300x": {"title": "MI300X", "bf16": 1307.4, "fp16": 1307.4, "fp8": 2614.9, "tf32": 653.7, "fp32": 163.4, "hbm_gb": 192, "visible_gib": 192.0, "hbm_tb_s": 5.3, "link_gb_s": 448, "network_gb_s": 50, "node": 8, "watts": 750, "source": _STAS + "; fp8 R"},
    "mi325x": {"title": "MI325X", "bf16": 1307.4, "fp16": 1307.4, "fp8": 2614.9, "tf32": 653.7, "fp32": 163.4, "hbm_gb": 256, "visible_gib": 256.0, "hbm_tb_s": 6.0, "link_gb_s": 448, "network_gb_s": 50, "node": 8, "watts": 1000, "source": _STAS},
    "tpu-v4": {"title": "TPU v4", "bf16": 275, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 32, "hbm_tb_s": 1.2, "link_gb_s": None, "ici_gb_s": 45, "network_gb_s": 45, "node": 64, "watts": None, "source": _TPU + "; six ICI links of 45 GB/s one-way"},
    "tpu-v5e": {"title": "TPU v5e", "bf16": 197, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 16, "hbm_tb_s": 0.82, "link_gb_s": None, "ici_gb_s": 45, "network_gb_s": 45, "node": 256, "watts": None, "source": _TPU},
    "tpu-v5p": {"title": "TPU v5p", "bf16": 459, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 95, "hbm_tb_s": 2.76, "link_gb_s": None, "ici_gb_s": 90, "network_gb_s": 90, "node": 64, "watts": None, "source": _TPU},
    "tpu-v6e": {"title": "TPU v6e", "bf16": 918, "fp16": 918, "fp8": 918, "tf32": None, "fp32": None, "hbm_gb": 32, "hbm_tb_s": 1.6, "link_gb_s": None, "ici_gb_s": 90, "network_gb_s": 90, "node": 256, "watts": None, "source": _TPU},
    "rtx-4090": {"title": "RTX 4090", "bf16": 165.2, "fp16": 165.2, "fp8": 330.3, "tf32": 82.6, "fp32": 82.6, "hbm_gb": 24, "visible_gib": 23.6, "hbm_tb_s": 1.01, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 450, "source": "llm.c llmc/mfu.h, nanochat (P); fp32 accumulation; no NVLink"},
    "rtx-5090": {"title": "RTX 5090", "bf16": 209.5, "fp16": 209.5, "fp8": 419, "tf32": 104.8, "fp32": 104.8, "hbm_gb": 32, "visible_gib": 31.4, "hbm_tb_s": 1.79, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 575, "source": _NANO + "; fp8, tf32, fp32 R; no NVLink"},
    "l4": {"title": "L4", "bf16": 121, "fp16": 121, "fp8": 242, "tf32": 60, "fp32": 30.3, "hbm_gb": 24, "visible_gib": 22.0, "hbm_tb_s": 0.3, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 72, "source": _NANO + "; fp8, tf32, fp32 R"},
    "l40s": {"title": "L40S", "bf16": 362, "fp16": 362, "fp8": 733, "tf32": 183, "fp32": 91.6, "hbm_gb": 48, "visible_gib": 44.4, "hbm_tb_s": 0.864, "link_gb_s": None, "network_gb_s": 25, "node": 1, "watts": 350, "source": _STAS},
    "a800-sxm": {"title": "A800 SXM 80GB", "bf16": 312, "fp16": 312, "fp8": None, "tf32": 156, "fp32": 19.5, "hbm_gb": 80, "visible_gib": 79.15, "hbm_tb_s": 2.039, "link_gb_s": 200, "network_gb_s": 25, "node": 8, "watts": 400, "source": _REC + "; an A100 with NVLink cut to 400 GB/s both ways"},
    "h20": {"title": "H20", "bf16": 148, "fp16": 148, "fp8": 296, "tf32": 74, "fp32": 44, "hbm_gb": 96, "visible_gib": 95.0, "hbm_tb_s": 4.0, "link_gb_s": 450, "network_gb_s": 50, "node": 8, "watts": 400, "source": _REC},
    "gh200": {"title": "GH200 96GB", "bf16": 989, "fp16": 989, "fp8": 1979, "tf32": 494.5, "fp32": 67, "hbm_gb": 96, "visible_gib": 94.5, "hbm_tb_s": 4.0, "link_gb_s": 450, "network_gb_s": 25, "node": 4, "watts": 700, "source": _REC + "; Hopper of an H100 SXM, 4 to a node as on Alps"},
    "b300-sxm": {"title": "B300 SXM", "bf16": 2250, "fp16": 2250, "fp8": 4500, "tf32": 1125, "fp32": 76, "hbm_gb": 288, "visible_gib": 267.7, "hbm_tb_s": 8.0, "link_gb_s": 900, "network_gb_s": 100, "node": 8, "watts": 1100, "source": _REC + "; HGX B300: 36 PFLOP/s bf16 with sparsity for 8"},
    "gb300": {"title": "GB300 (per GPU)", "bf16": 2500, "fp16": 2500, "fp8": 5000, "tf32": 1250, "fp32": 80, "hbm_gb": 288, "visible_gib": 276.6, "hbm_tb_s": 8.0, "link_gb_s": 900, "network_gb_s": 100, "node": 72, "watts": 1400, "source": _REC + "; NVL72: 360 PFLOP/s bf16 with sparsity for 72"},
    "mi355x": {"title": "MI355X", "bf16": 2516.6, "fp16": 2516.6, "fp8": 5033.2, "tf32": None, "fp32": 157.3, "hbm_gb": 288, "visible_gib": 288.0, "hbm_tb_s": 8.0, "link_gb_s": 537, "network_gb_s": 50, "node": 8, "watts": 1400, "source": _REC + "; dense, the sparse headline is twice as much"},
    "tpu-v3": {"title": "TPU v3 (chip, 2 cores)", "bf16": 123, "fp16": None, "fp8": None, "tf32": None, "fp32": None, "hbm_gb": 32, "hbm_tb_s": 0.9, "link_gb_s": None, "ici_gb_s": 70, "network_gb_s": 70, "node": 1024, "watts": None, "source": "PaLM table 3 (P) for the peak; the rest recalled (R)"},
    "tpu-v7": {"title": "TPU v7 (Ironwood)", "bf16": 2307, "fp16": None, "fp8": 4614, "tf32": None, "fp32": None, "hbm_gb": 192, "hbm_tb_s": 7.37, "link_gb_s": None, "ici_gb_s": 100, "network_gb_s": 100, "node": 64, "watts": None, "source": _REC + "; 4,614 TFLOP/s fp8, bf16 half of it"},
    "trainium2": {"title": "Trainium2 (chip)", "bf16": 667, "fp16": 667, "fp8": 1299, "tf32": None, "fp32": 181, "hbm_gb": 96, "hbm_tb_s": 2.9, "link_gb_s": 256, "network_gb_s": 25, "node": 16, "watts": 500, "source": _REC + "; Trn2 instance of 16 chips, 3.2 Tbit/s EFA"},
    "t4": {"title": "T4", "bf16": None, "fp16": 65, "fp8": None, "tf32": None, "fp32": 8.1, "hbm_gb": 16, "visible_gib": 14.6, "hbm_tb_s": 0.32, "link_gb_s": None, "network_gb_s": 6.25, "node": 1, "watts": 70, "source": _REC},
    "rtx-3090": {"title": "RTX 3090", "bf16": 71, "fp16": 71, "fp8": None, "tf32": 35.6, "fp32": 35.6, "hbm_gb": 24, "visible_gib": 23.7, "hbm_tb_s": 0.936, "link_gb_s": None, "network_gb_s": 12.5, "node": 1, "watts": 350, "source": _REC + "; GA102 white paper: 71 with fp32 accumulation, 142 with fp16, 284 sparse"},
}  # fmt: skip

ALIASES = {
    "v100": "v100-sxm", "v100-sxm-32gb": "v100-sxm", "a100": "a100-sxm", "a100-80gb": "a100-sxm",
    "a100-40gb": "a100-sxm-40gb", "a100-sxm-80gb": "a100-sxm", "h100": "h100-sxm", "h200": "h200-sxm",
    "h800": "h800-sxm", "b200": "b200-sxm", "b300": "b300-sxm", "a800": "a800-sxm", "3090": "rtx-3090",
    "4090": "rtx-4090", "5090": "rtx-5090", "trn2": "trainium2", "ironwood": "tpu-v7", "trillium": "tpu-v6e",
}  # fmt: skip

MATMUL_MEASURED: dict[str, tuple[float, float]] = {
    "a100-sxm": (271.2, 312), "a100-sxm-40gb": (271.2, 312), "h100-sxm": (794.5, 989), "b200-sxm": (1745.0, 2250),
    "gb200": (1822.0, 2500), "a800-sxm": (271.2, 312), "h200-sxm": (794.5, 989), "h800-sxm": (794.5, 989),
    "gh200": (794.5, 989), "b300-sxm": (1745.0, 2250), "gb300": (1822.0, 2500), "mi300x": (668.4, 1300), "mi325x": (784.9, 1300),
    "tpu-v3": (0.95, 1), "tpu-v4": (0.95, 1), "tpu-v5e": (0.95, 1), "tpu-v5p": (0.95, 1), "tpu-v6e": (0.95, 1), "tpu-v7": (0.95, 1),
}  # fmt: skip
"""Best bf16 matmul anyone measured, against the peak its source used: stas00/ml-engineering MAMF tables (P).

Devices of the same silicon take the figure of their sibling (A800, H200, H800, GH200, B300, GB300). TPUs: large products
reach about 95 % by jax-ml/scaling-book (R)."""

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
