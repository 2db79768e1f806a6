"""Interruptions of published runs, and checkpoint storage seen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FailureRate:
    """GPU-days per unexpected interruption, with the range the source allows."""

    run: str
    gpu_days: float
    low: float
    high: float
    events: int | None
    source: str


RATES = (
    FailureRate("Llama 3 405B", 54 * 16384 / 419, 1919, 2329, 419, "419 unexpected in 54 days on up to 16,384 GPUs, Poisson 95 % interval (P; the GPU count for the window is assumed)"),
    FailureRate("OPT-175B", 571.0, 512, 637, 90, "about 2 machines a day, or 90 restarts in 8 weeks, on 1,024 GPUs (P); geometric mean of the two"),
    FailureRate("BLOOM-176B", 2688.0, 1344, 5376, None, "a GPU died about every week on 384 GPUs (P); a factor of two either way is ours"),
)  # fmt: skip

LLAMA3_INTERRUPTIONS = {
    "Faulty GPU": 148, "GPU HBM3 Memory": 72, "Software Bug": 54, "Network Switch/Cable": 35, "Host Maintenance": 32,
    "GPU SRAM Memory": 19, "GPU System Processor": 17, "NIC": 7, "NCCL Watchdog Timeouts": 7, "Silent Data Corruption": 6,
    "GPU Thermal Interface + Sensor": 6, "SSD": 3, "Power Supply": 3, "Server Chassis": 2, "IO Expansion Board": 2,
    "Dependency": 2, "CPU": 2, "System Memory": 2,
}  # fmt: skip
"""Llama 3 table 5 (P). The rows sum to 419; the paper prints 30.1 % for the 148, the true share is 35.3 %."""

STORAGE_PER_GPU = 2.3e12 / 40 / 384
"""Bytes per second and GPU: BLOOM wrote 2.3 TB in 40 s from 384 GPUs, 0.15 GB/s each (bigscience tr11 README, P)."""
STORAGE_SOURCE = "BLOOM wrote 2.3 TB in 40 s from 384 GPUs (bigscience tr11 README, P); a site differs: --storage"

RESTART_MINUTES = (5.0, 20.0)
RESTART_SOURCE = "assumption: 5 to 20 minutes to notice, drain, reload and warm up; measure it with one drill"

SMOLLM3_ABLATIONS = 0.58
ABLATIONS_SOURCE = "SmolLM3: ablations and debugging over 160,000 GPU-hours, more than half of the main run (S)"
