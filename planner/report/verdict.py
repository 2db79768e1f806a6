"""What a measured MFU means, which terms are likely behind it, and what to measure next.

The bands are the design notes': about 0.05 waits, about 0.15 has a known class of problem, from 0.25 (0.40 is what tuned
runs publish) it is fine, and above the best matmul anyone measured on the device the arithmetic is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WAITING, PROBLEM = 0.08, 0.25
"""Below the first the device waits; below the second something of a known kind is wrong."""

NEXT = {
    "waiting for data": "time a step on one batch kept in memory; what it gains is the input pipeline",
    "matrix products in fp32 or tf32": "print the dtypes of one layer's inputs and weights under autocast",
    "tiny batches: kernels shorter than their launch": "double the micro-batch; a step that does not get longer was launch-bound",
    "attention without flash, or eager layers": "profile one layer: time in softmax and elementwise kernels",
    "recomputation": "turn recompute off with a quarter of the batch: HFU stays and MFU rises",
    "data-parallel traffic": "time a step without gradient reduction (no_sync) on the same GPUs",
    "tensor-parallel traffic": "halve tp with half the batch on one node",
    "pipeline bubble": "double the micro-batches per step",
    "expert traffic": "time a step with the router forced to the local experts",
    "context-parallel traffic": "halve cp with half the sequence",
    "pipeline traffic": "time the point-to-point sends of one stage boundary",
    "stragglers": "print the slowest and the fastest rank of each step",
    "elementwise": "profile one layer: time in elementwise kernels; compile or fuse them",
    "attention": "profile one layer: time in attention kernels against its FLOPs",
    "small kernels": "capture the step in a CUDA graph, or enlarge the micro-batch",
    "logits": "profile the loss; chunk it",
    "optimizer step": "time optimizer.step alone; use the fused one",
    "the peak is the sparse one, or of another dtype": "divide by the dense peak of the dtype that the products run in",
    "tokens of the whole job taken as one GPU's": "divide tokens per second by the number of GPUs",
    "the time of a micro-batch taken as a step's": "time from one optimizer step to the next",
    "attention counted that is never computed": "count attention over the window, and once",
}


@dataclass(frozen=True)
class Verdict:
    """A measured MFU (PaLM convention) in words, likely terms in order, and what to measure for each."""

    mfu: float
    band: str
    words: str
    terms: tuple[tuple[str, str], ...]
    """(term, what to measure next)."""


def verdict(mfu: float, ceiling: float, step: Mapping[str, float], data_share: float | None = None) -> Verdict:
    """The verdict on an MFU. `step` is the forecast's share of the step by term; `data_share` the measured wait, if any."""
    if mfu > ceiling:
        terms = ("the peak is the sparse one, or of another dtype", "tokens of the whole job taken as one GPU's",
                 "the time of a micro-batch taken as a step's", "attention counted that is never computed")  # fmt: skip
        return _of(
            mfu,
            "wrong",
            f"the arithmetic is wrong: no matmul reaches more than {ceiling:.2f} of the peak on this device",
            terms,
        )
    losses = sorted(
        (k for k in step if k in NEXT and k != "matrix products" and step[k] > 0.02), key=lambda k: -step[k]
    )
    if mfu < WAITING:
        first = (
            "waiting for data",
            "matrix products in fp32 or tf32",
            "tiny batches: kernels shorter than their launch",
        )
        return _of(
            mfu,
            "waiting",
            "the GPU waits, for data or small kernels, or its products fell back to another dtype",
            first,
        )
    if mfu < PROBLEM:
        front = ("waiting for data",) if data_share is not None and data_share > 0.1 else ()
        middle = ("attention without flash, or eager layers",)
        back = () if front else ("waiting for data",)
        known = tuple(k for k in losses if k not in ("attention",))
        return _of(
            mfu, "problem", "a problem of a known class; worth a day of profiling", (*front, *middle, *known, *back)[:5]
        )
    words = "fine: in the band of published tuned runs" if mfu >= 0.35 else "usable: published runs reach 0.35 to 0.5"
    return _of(mfu, "fine", words, tuple(losses[:3]))


def _of(mfu: float, band: str, words: str, terms: tuple[str, ...]) -> Verdict:
    return Verdict(mfu, band, words, tuple((t, NEXT[t]) for t in terms))
