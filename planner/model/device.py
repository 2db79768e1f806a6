"""Accelerators by name. An unknown device is refused, never taken for another; a sparse peak is refused with why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.errors import PlanError, near, positive
from planner.facts.hardware import ACCELERATORS, ALIASES, MATMUL_MEASURED, PRICES
from planner.units import GIB, TERA

DTYPES = ("bf16", "fp16", "fp8", "tf32", "fp32")


@dataclass(frozen=True)
class Accelerator:
    """One device as a framework sees it. Peaks in FLOP/s (dense), bandwidths in bytes/s one-way, memory in bytes."""

    name: str
    title: str
    peaks: tuple[tuple[str, float], ...]
    memory_bytes: float
    memory_bandwidth: float
    scale_up_bandwidth: float
    network_bandwidth: float
    per_node: int
    watts: float | None
    matmul_share: float
    """Best measured matmul over the dense peak: no MFU can be above it."""
    source: str
    recent: bool = False
    """Hopper and newer (and AMD's of that time): attention reaches a smaller share of a peak that grew faster, runs are later."""

    def peak(self, dtype: str) -> float:
        """Dense FLOP/s in `dtype`. Raises PlanError where the device has no such unit."""
        table = dict(self.peaks)
        if dtype not in DTYPES:
            raise PlanError(f"dtype: {dtype!r} is unknown{near(dtype, DTYPES)}")
        if dtype not in table:
            raise PlanError(f"dtype: {self.title} has no {dtype} matrix unit; it has {', '.join(table)}")
        return table[dtype]

    def ridge(self, dtype: str) -> float:
        """FLOP per byte above which a kernel can be compute-bound: peak / memory bandwidth."""
        return self.peak(dtype) / self.memory_bandwidth


RECENT = ("h100", "h200", "h800", "h20", "gh200", "b200", "b300", "gb200", "gb300", "mi3")


def accelerator(name: str) -> Accelerator:
    """A known device. Raises PlanError with the nearest names."""
    key = name.lower().strip().replace(" ", "-").replace("_", "-")
    key = ALIASES.get(key, key)
    if key not in ACCELERATORS:
        raise PlanError(
            f"gpu: {name!r} is unknown{near(key, [*ACCELERATORS, *ALIASES])} (a custom one: gpu = 'custom')"
        )
    return _from_row(key, ACCELERATORS[key])


def _from_row(key: str, row: dict[str, Any]) -> Accelerator:
    link = row["link_gb_s"] or 2 * row.get("ici_gb_s", 0) or 0.5 * 64  # a ring on one torus axis uses both directions
    measured, against = MATMUL_MEASURED.get(key, (0.0, 1.0))
    return Accelerator(
        name=key,
        title=row["title"],
        peaks=tuple((d, row[d] * TERA) for d in DTYPES if row[d]),
        memory_bytes=row["visible_gib"] * GIB if "visible_gib" in row else row["hbm_gb"] * 1e9,
        memory_bandwidth=row["hbm_tb_s"] * TERA,
        scale_up_bandwidth=link * 1e9,
        network_bandwidth=row["network_gb_s"] * 1e9,
        per_node=row["node"],
        watts=row["watts"],
        matmul_share=measured / against if measured else best_matmul_share(),
        source=row["source"],
        recent=key.startswith(RECENT),
    )


def best_matmul_share() -> float:
    """The highest measured matmul share of any GPU (A100: 0.87); the bound where a device has no measurement."""
    return max(measured / peak for name, (measured, peak) in MATMUL_MEASURED.items() if not name.startswith("tpu"))


def custom(peak_flops: float, memory_bytes: float, dtype: str = "bf16", name: str = "custom") -> Accelerator:
    """A device that is not in the table: its dense peak in FLOP/s and memory in bytes are the caller's word."""
    positive("peak", peak_flops)
    positive("memory", memory_bytes)
    return Accelerator(
        name=name, title=f"{name} ({peak_flops / TERA:.3g} TFLOP/s)", peaks=((dtype, peak_flops),),
        memory_bytes=memory_bytes, memory_bandwidth=memory_bytes / 0.03, scale_up_bandwidth=32e9,
        network_bandwidth=12.5e9, per_node=8, watts=None, matmul_share=1.0, source="given by the caller",
    )  # fmt: skip


def check_peak(device: Accelerator, dtype: str, peak_flops: float) -> float:
    """A peak the caller gives for a known device. Raises PlanError when it is above the dense one.

    Vendor headlines for A100, Ada, Hopper and Blackwell are with 2:4 sparsity, which dense training cannot use.
    """
    dense = device.peak(dtype)
    if peak_flops > dense * 1.02:
        ratio = peak_flops / dense
        why = "that is the 2:4-sparse headline" if 1.9 <= ratio <= 2.1 else "no dense kernel reaches that"
        raise PlanError(
            f"peak: {peak_flops / TERA:g} TFLOP/s is {ratio:.3g} x the dense {dtype} peak of {device.title} "
            f"({dense / TERA:g}); {why}, and training is dense"
        )
    return peak_flops


def check_mfu(device: Accelerator, name: str, value: float) -> float:
    """An MFU between zero and the best matmul measured. Raises PlanError above it."""
    positive(name, value)
    if value > device.matmul_share:
        raise PlanError(
            f"{name}: {value:g} is above what any matmul reaches on {device.title} "
            f"({device.matmul_share:.2f} of the dense peak); an MFU like that is an arithmetic error, often a wrong peak"
        )
    return value


def price(device: Accelerator) -> tuple[float, float, str] | None:
    """(low, high, source) in US dollars per device-hour where one was published, else None."""
    return PRICES.get(device.name)
