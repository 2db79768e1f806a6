"""The free factors of the model of step time, fitted to published rows (`benchmarks/fit_planner.py`), and its constants."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class TimeFactors:
    """What hardware and software make of the counted work. Each is one number for all runs.

    `gemm`, `attention`, `attention_hopper` and `experts` are shares, `elementwise` a multiple of the counted traffic,
    `link`, `exposed` and `dispatch` shares, `straggle` a slowdown per doubling of nodes, `fp8` a speed-up of the body's
    matrix products, `calendar` a log of time.
    """

    gemm: float = 0.90
    """Of the best matmul measured on the device, what the matrix products of a model reach."""
    attention: float = 0.50
    """Of the dense peak, what the causal half of attention reaches on devices before Hopper."""
    attention_hopper: float = 0.33
    """The same on Hopper and newer, whose peak grew more than attention kernels did."""
    elementwise: float = 2.8
    """Memory traffic of norms, activations, rotary, residuals and casts over the fused minimum."""
    link: float = 0.70
    """Of a link's line rate, what a collective reaches."""
    exposed: float = 0.15
    """Share of overlappable traffic that is not hidden: launch gaps, interference with the matrix products."""
    straggle: float = 0.012
    fp8: float = 1.5
    experts: float = 0.65
    """Speed of the grouped products of experts, with routing and permutation, against dense ones."""
    dispatch: float = 0.3
    """Share of the experts' all-to-all that is not hidden: DeepSeek-V3 hides nearly all of it, most none."""
    slack: float = 0.10
    """Log of what the layouts people run take over the best one that the search finds; where a layout is not given."""
    calendar: float = 0.20
    """Log of what the calendar of 1,024 GPUs and more costs beyond failures, on devices before Hopper (runs to 2023)."""
    calendar_hopper: float = 0.15
    """The same on Hopper and newer: later software, and people who had done it before."""


NAMES = tuple(f.name for f in fields(TimeFactors))

FITTED = TimeFactors(
    gemm=0.9584, attention=0.3876, attention_hopper=0.2748, elementwise=3.444, link=0.7512, exposed=0.3959,
    straggle=0.009145, fp8=1.745, experts=0.4177, dispatch=0.2883, slack=0.1011, calendar=0.2821, calendar_hopper=0.1311,
)  # fmt: skip

PRIOR_SPREAD = {
    "gemm": 0.08, "attention": 0.2, "attention_hopper": 0.2, "elementwise": 0.2, "link": 0.2, "exposed": 0.4,
    "straggle": 0.4, "fp8": 0.15, "experts": 0.5, "dispatch": 0.7, "slack": 0.1, "calendar": 0.3, "calendar_hopper": 0.5,
}  # fmt: skip
"""Standard deviation of each factor's log before the rows are seen: what measured kernels and links spread over. The slack
is that of the rows whose layout was published, family by family, against the layout that the search finds for them."""
SPREAD = {
    "attention": 0.30, "attention_hopper": 0.30, "elementwise": 0.25, "link": 0.20, "exposed": 0.40, "straggle": 0.5,
    "fp8": 0.15, "experts": 0.25, "dispatch": 1.20, "slack": 1.3, "calendar": 0.70, "calendar_hopper": 2.7,
}  # fmt: skip
"""Standard deviation of a factor's log from family to family: code bases differ in their kernels, sites in their calendar.

Chosen, with the two below, so that p10 to p90 covers 75 to 90 % of the rows of each kind whose family was left out."""
WITHIN, BETWEEN = 0.10, 0.12
"""Standard deviation of a row's log within its family, and of a family's offset in everything."""

TILE = 128
"""Rows and columns below which a matrix product no longer fills the device: efficiency 1 / (1 + 128/m + 128/n)."""
LAUNCH_SECONDS = 40 * 5e-6
"""Forward and backward of a layer launch about 40 kernels at 5 us; small layers are bound by this."""
COLLECTIVE_SECONDS = 15e-6
"""Start-up of one collective and doubling of ranks."""
HOP_SECONDS = 3e-6
"""A ring passes every node in turn: latency of one hop of a gather or scatter over many nodes (R)."""
ATTENTION_BACKWARD = 3.5
"""Flash attention's forward has two products, its backward five: 7/2 of the forward in all (FlashAttention-2)."""
LOGIT_PASSES = 2.0
"""Each byte that a loss keeps of the logits is written and read once."""
OPTIMIZER_BYTES = 32.0
"""AdamW reads master, moments and gradient and writes master, moments and weights: about 32 bytes a parameter."""
EXPERT_NODES = 4
"""Nodes a token is sent to at most, once each, and spread over NVLink there (DeepSeek-V3 section 3.2.2, DeepEP)."""
