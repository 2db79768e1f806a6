"""Does it fit, what is the largest that does, and what is the smallest change that makes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.errors import PlanError
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.layout import Search, SearchSpace, search
from planner.estimate.memory import estimate
from planner.facts.optimizers import CONVENTIONS
from planner.model.config import ModelConfig
from planner.model.count import count
from planner.model.device import Accelerator
from planner.model.shapes import shape_for


@dataclass(frozen=True)
class Change:
    """One change that makes a run fit, what it costs, and the memory it leaves in use (bytes)."""

    what: str
    costs: str
    memory: float


def smallest_changes(c: ModelConfig, layout: Layout, options: MemoryOptions, device: Accelerator) -> tuple[Change, ...]:
    """Single changes that make `layout` fit, the cheapest first; empty when it fits or no single change does."""
    if estimate(c, layout, options, device).fits:
        return ()
    out = []
    for what, costs, changed_layout, changed_options in _changes(layout, options):
        try:
            e = estimate(c, changed_layout, changed_options, device)
        except PlanError:
            continue
        if e.fits:
            out.append(Change(what, costs, e.total))
    return tuple(out)


def _changes(layout: Layout, o: MemoryOptions) -> Iterator[tuple[str, str, Layout, MemoryOptions]]:
    """Single changes in the order of what they cost."""
    if o.logits == "unfused":
        yield "a fused (chunked) loss", "no FLOPs", layout, replace(o, logits="fused")
    if layout.micro_batch > 1:
        half = replace(layout, micro_batch=1, microbatches=layout.microbatches * layout.micro_batch)
        yield "micro-batch 1", "smaller matrix products", half, o
    for zero in CONVENTIONS[o.convention].stages:
        if zero > layout.zero:
            cost = "1.5 x the data-parallel traffic" if zero == 3 else "no extra traffic"
            yield f"ZeRO-{zero}", cost, replace(layout, zero=zero), o
    if layout.recompute in ("none", "selective"):
        yield "recompute selective-op", "about 17 % more hardware FLOPs", replace(layout, recompute="selective-op"), o
    if layout.recompute != "full":
        yield "recompute full", "33 % more hardware FLOPs than none", replace(layout, recompute="full"), o
    for factor in (2, 4, 8):
        if layout.dp % factor == 0:
            more = {"dp": layout.dp // factor, "microbatches": layout.microbatches * factor}
            yield (
                f"tp {layout.tp * factor}",
                "traffic inside every layer",
                replace(layout, tp=layout.tp * factor, **more),
                o,
            )
            yield f"pp {layout.pp * factor}", "a pipeline bubble", replace(layout, pp=layout.pp * factor, **more), o
    for factor in (2, 4, 8, 16):
        yield f"{factor} x the GPUs", "the same GPU-hours if MFU holds", replace(layout, dp=layout.dp * factor), o
    yield "8-bit Adam", "changes the optimizer", layout, replace(o, optimizer="adam-8bit")


def largest_model(device: Accelerator, space: SearchSpace, options: MemoryOptions, vocab: int) -> float:
    """Parameters of the largest Llama-like shape that any layout of `space` fits, within 2 %; 0 when none does."""

    def fits(parameters: float) -> bool:
        try:
            shape = shape_for(parameters, vocab, options.seq)
            found = search(shape, device, space, options)
        except PlanError:
            return False
        return found.fitting > 0

    low, high = 0.0, space.gpus * device.memory_bytes / 2
    size = high / 8
    while size > 1e6 and not fits(size):
        high, size = size, size / 4
    low = size if size > 1e6 else 0.0
    while low and high / low > 1.02:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if fits(middle) else (low, middle)
    return float(count(shape_for(low, vocab, options.seq)).total) if low else 0.0


def bottleneck(found: Search) -> str:
    """One sentence on a search in which nothing fits."""
    short = (found.smallest_memory - found.available) / 2**30
    return f"the leanest of {found.tried:,} layouts needs {found.smallest_memory / 2**30:.1f} GiB, {short:.1f} too many"
