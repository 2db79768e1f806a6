"""Published rows as cases of the model of step time: a model, a device, a layout, and seconds per token and GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.defaults import batch_sequences
from planner.estimate.layout import SearchSpace, search
from planner.facts import foundry, runs, throughput
from planner.model.config import Experts, ModelConfig
from planner.model.device import Accelerator, accelerator
from planner.model.shapes import preset, shape_for

KINDS = ("single node", "16 to 64 GPUs", "larger steps", "published calendar", "fp8", "experts")
RECOMPUTE = {"n": "none", "s": "selective", "o": "selective-op", "f": "full"}
PARTS = {
    "tp": "tp",
    "pp": "pp",
    "cp": "cp",
    "ep": "ep",
    "z": "zero",
    "mb": "micro_batch",
    "gb": "batch",
    "v": "interleave",
}


@dataclass(frozen=True)
class Case:
    """One published row. `known` holds the parts of the layout that were published; the rest is the planner's own."""

    name: str
    family: str
    model: ModelConfig
    device: Accelerator
    gpus: int
    seq: int
    dtype: str
    known: tuple[tuple[str, Any], ...]
    seconds: float
    """GPU-seconds per token, as published."""
    calendar: bool
    """Whether failures, restarts and everything else of a calendar is in the seconds."""
    tokens: float
    use: str
    source: str
    reported_mfu: float | None = None

    @property
    def kind(self) -> str:
        """The kind by which coverage is told: fp8 and experts first, then by size or calendar."""
        if self.model.moe is not None:
            return "experts"
        if self.dtype == "fp8":
            return "fp8"
        if self.gpus <= 8:
            return "single node"
        if self.gpus <= 64:
            return "16 to 64 GPUs"
        return "published calendar" if self.calendar else "larger steps"

    @property
    def layout_published(self) -> bool:
        """Whether the row tells the whole layout."""
        return bool(self.given("micro_batch") and self.given("recompute"))

    def given(self, name: str, default: Any = None) -> Any:
        """A published part of the layout, or `default`."""
        return dict(self.known).get(name, default)


@cache
def cases() -> tuple[Case, ...]:
    """Every published row, throughput first."""
    return (*_foundry(), *_throughput(), *_runs())


def model_named(name: str, seq: int) -> ModelConfig:
    """A preset, a shape of the facts, or a Llama-like shape of so many parameters."""
    shape = dict({**throughput.SHAPES, **runs.SHAPES}.get(name, {}))
    if shape:
        moe = shape.pop("moe", None)
        sizes: dict[str, Any] = {**shape, "moe": Experts(**moe) if isinstance(moe, dict) else None}
        return ModelConfig(name=name, seq=seq, source="facts of published rows", **sizes)
    if name[0].isdigit():
        return shape_for(float(name), 50257, seq)
    return preset(name)


def _lines(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        yield [part.strip() for part in line.split("|")]


def _foundry() -> Iterator[Case]:
    gpus = {"h100": "h100-sxm", "a100": "a100-sxm", "a100-40": "a100-sxm-40gb"}
    for line in foundry.TABLE.strip().splitlines():
        size, seq, n, gpu, dtype, micro, batch, recompute, zero, mfu, speed, _ = line.split()
        layers, hidden, heads = foundry.SHAPES[size]
        model = ModelConfig(
            name=f"mpt-{size}", layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden, vocab=50368, gated=False,
            norm="layer", qkv_bias=True, out_bias=True, mlp_bias=True, tied=True, positions=int(seq), seq=int(seq),
        )  # fmt: skip
        known = (("tp", 1), ("pp", 1), ("cp", 1), ("zero", int(zero)), ("micro_batch", int(micro)),
                 ("batch", int(batch)), ("recompute", recompute))  # fmt: skip
        device = accelerator(gpus[gpu])
        if gpu != "h100":
            device = replace(device, network_bandwidth=25e9)
        peak = 2 if dtype == "fp8" else 1
        yield Case(f"MPT {size}, {seq}, {n} x {gpu}, {dtype}", "llm-foundry", model, device, int(n), int(seq), dtype,
                   known, 1 / float(speed), False, 1e11, "yes", "llm-foundry (P)", peak * float(mfu) / 100)  # fmt: skip


def _throughput() -> Iterator[Case]:
    for family, name, gpu, n, dtype, seq, speed, layout in _lines(throughput.TABLE):
        known = dict(_part(word) for word in layout.split())
        if "micro_batch" in known:
            known = {"tp": 1, "pp": 1, "cp": 1, "ep": 1, **known}
        yield Case(f"{name} on {n} x {gpu}, {seq}, {dtype}", family, model_named(name, int(seq)), accelerator(gpu), int(n),
                   int(seq), dtype, tuple(known.items()), 1 / float(speed), False, 1e11, "yes", throughput.FAMILIES[family])  # fmt: skip


def _part(word: str) -> tuple[str, Any]:
    if word.startswith("r="):
        return "recompute", RECOMPUTE[word[2:]]
    letters = word.rstrip("0123456789")
    return PARTS[letters], int(word[len(letters) :])


def _runs() -> Iterator[Case]:
    for family, name, model, tokens, gpu, n, hours, seq, dtype, mfu, use, source in _lines(runs.TABLE):
        seconds = float(hours) * 3600 / float(tokens)
        yield Case(name, family, model_named(model, int(seq)), accelerator(gpu), int(n.rstrip("*")), int(seq), dtype, (),
                   seconds, True, float(tokens), use, source, None if mfu == "-" else float(mfu))  # fmt: skip


def options_of(case: Case) -> MemoryOptions:
    """Memory options of a row: what was published decides the layout, so a fused loss where the unfused does not fit."""
    return MemoryOptions(seq=case.seq, convention="fsdp2" if case.given("zero", 3) in (2, 3) else "zero")


def layout_of(case: Case) -> Layout:
    """The published layout, its open parts by the planner's own search as for any plan."""
    batch = case.given("batch") or batch_sequences(case.tokens, case.seq, case.gpus)
    parts = {k: (v,) for k, v in case.known if k in ("tp", "pp", "cp", "ep", "zero", "micro_batch")}
    if case.layout_published:
        group = case.given("tp") * case.given("pp") * case.given("cp")
        dp = max(1, case.gpus // group)
        return Layout(
            dp=dp, micro_batch=case.given("micro_batch"), microbatches=batch / (dp * case.given("micro_batch")),
            recompute=case.given("recompute"), interleave=case.given("interleave", 1),
            **{k: case.given(k, 1) for k in ("tp", "pp", "cp", "ep")}, zero=case.given("zero", 3),
        )  # fmt: skip
    recompute = {"recompute": (case.given("recompute"),)} if case.given("recompute") else {}
    space = SearchSpace(gpus=case.gpus, global_batch=batch, **parts, **recompute)
    found = search(case.model, case.device, space, options_of(case), case.dtype)
    return found.pareto[0].layout if found.pareto else found.leanest
