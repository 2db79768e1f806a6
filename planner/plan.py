"""The whole plan of a run: does it fit, does it finish, what does it cost, what would you change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from planner import sections, summary
from planner.data import DataAnswer, data_answer
from planner.errors import PlanError
from planner.facts.optimizers import CONVENTIONS
from planner.fitting import Change, largest_model, smallest_changes
from planner.inputs import OPTIONS, PlanInputs, inputs_from
from planner.layout import RECOMPUTE, Search, SearchSpace, search
from planner.memory import Layout, MemoryEstimate, MemoryOptions, check_model_divides, estimate, largest_micro_batch
from planner.quantity import Answer, Section
from planner.reliability import CheckpointPlan, checkpoint_plan, job_mtbf, rate_distribution
from planner.schedule import Schedule, schedule
from planner.serving import Decode, decode
from planner.vocabulary import VocabularyAnswer
from planner.vocabulary import answer as vocabulary_answer

__all__ = ["OPTIONS", "Plan", "PlanError", "PlanInputs", "inputs_from", "make_plan"]

SCHEMA = 1


@dataclass(frozen=True)
class FitAnswer:
    """The chosen layout's memory, and the ways around when it does not fit. Sizes in bytes and parameters."""

    memory: MemoryEstimate
    search: Search
    changes: tuple[Change, ...]
    largest_model: float
    largest_micro_batch: int
    global_batch: int


@dataclass(frozen=True)
class Plan:
    """A plan: typed results, and the same as sections of quantities. Frozen; `created` is when it was made (UTC)."""

    inputs: PlanInputs
    fit: FitAnswer
    schedule: Schedule
    data: DataAnswer
    vocabulary: VocabularyAnswer | None
    checkpoint: CheckpointPlan
    serving: Decode | None
    created: str

    def sections(self) -> tuple[Section, ...]:
        """Every number with its formula, inputs and source."""
        return sections.all_sections(self)

    def summary_lines(self) -> list[str]:
        """The answer first; then one row per vocabulary size of the budget."""
        return summary.summary(self)

    def answer(self) -> Answer:
        """The plan as headline and sections."""
        return Answer("plan", tuple(self.summary_lines()), self.sections())

    def lines(self, explain: bool = False) -> list[str]:
        """The whole plan as text."""
        return self.answer().lines(explain)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, the unit in every key, with a hash over everything but the time it was made."""
        body = {
            "schema": SCHEMA,
            "inputs": _inputs_dict(self.inputs),
            "conventions": sections.conventions(self),
            **{k: v for k, v in self.answer().as_dict().items() if k != "question"},
            "layout_chosen": _layout_dict(self.fit.memory.layout),
            "memory_terms_bytes": {k: dict(v) for k, v in self.fit.memory.stages.items()},
            "explain": self.answer().explanations(),
        }
        body = json.loads(json.dumps(body, allow_nan=False))
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        return {**body, "sha256": digest, "created": self.created}


def make_plan(inputs: PlanInputs) -> Plan:
    """Plans a run. Raises PlanError when the inputs cannot be (no tokens, indivisible layout, ...)."""
    space, options = search_space(inputs), memory_options(inputs)
    fit = fit_answer(inputs, space, options)
    chosen = replace(inputs, recompute=fit.memory.layout.recompute)
    times = schedule(chosen, fit.memory.layout)
    vocabulary = None
    if inputs.corpus is not None:
        corpus = inputs.corpus
        vocabulary = vocabulary_answer(inputs.model, inputs.seq, corpus.tokens, corpus.documents, corpus.text_bytes)
    mtbf = float(job_mtbf(_failure_days(inputs), inputs.gpus))
    restart = 60 * sum(inputs.restart or (5.0, 20.0)) / 2
    serving = None
    if inputs.served_tokens:
        usd = times.price.p50 if times.price else None
        serving = decode(inputs.model, inputs.device, batch=64, context=inputs.seq, usd_per_gpu_hour=usd)
    return Plan(
        inputs=chosen, fit=fit, schedule=times, data=data_answer(inputs), vocabulary=vocabulary,
        checkpoint=checkpoint_plan(times.checkpoint_stall, mtbf, restart), serving=serving,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _failure_days(i: PlanInputs) -> float:
    if i.failure_rate:
        return float((i.failure_rate[0] * i.failure_rate[1]) ** 0.5)
    return float(2.718281828459045 ** rate_distribution()[0])


def default_batch(inputs: PlanInputs) -> int:
    """Sequences per step when none is given: about 4M tokens (LLaMA to Llama 3), less for short runs (20,000 steps,
    at least 0.25M tokens, GPT-3's smallest is 0.5M), rounded to a power of two per GPU so that layouts divide it."""
    tokens = inputs.tokens or 4e6 * 20_000
    target = min(4e6, max(tokens / 20_000, 0.25e6)) / inputs.seq / inputs.gpus
    per_gpu = 1
    while per_gpu * 1.5 < target:
        per_gpu *= 2
    return per_gpu * inputs.gpus


def memory_options(i: PlanInputs) -> MemoryOptions:
    """Memory options of the inputs."""
    return MemoryOptions(seq=i.seq, optimizer=i.optimizer, convention=i.convention, flash=i.flash, logits=i.logits,
                         bytes_each=4 if i.dtype in ("fp32", "tf32") else 2)  # fmt: skip


def search_space(i: PlanInputs) -> SearchSpace:
    """The layouts the inputs leave open."""
    fixed = {
        k: () if getattr(i, k) is None else (getattr(i, k),) for k in ("tp", "pp", "cp", "ep", "zero", "micro_batch")
    }
    recompute = (i.recompute,) if i.recompute else RECOMPUTE
    return SearchSpace(gpus=i.gpus, global_batch=i.global_batch or default_batch(i), recompute=recompute, **fixed)


def fit_answer(i: PlanInputs, space: SearchSpace, options: MemoryOptions) -> FitAnswer:
    """The fastest layout that fits, or the leanest one with what would make it fit.

    Raises PlanError when the given sizes cannot divide the model (see memory.check_layout) or the GPUs.
    """
    fixed = _given_layout(i, space)
    if fixed is not None:
        estimate(i.model, fixed, options, i.device)
    found = search(i.model, i.device, space, options, i.dtype)
    layout = found.pareto[0].layout if found.pareto else fixed or found.leanest
    memory = estimate(i.model, layout, options, i.device)
    return FitAnswer(
        memory=memory, search=found, changes=smallest_changes(i.model, layout, options, i.device),
        largest_model=largest_model(i.device, space, options, i.model.vocab),
        largest_micro_batch=largest_micro_batch(i.model, layout, options, i.device), global_batch=space.global_batch,
    )  # fmt: skip


def _given_layout(i: PlanInputs, space: SearchSpace) -> Layout | None:
    """The layout the inputs name, when they name any part of it; checked before the search for a better message."""
    if all(getattr(i, k) is None for k in ("tp", "pp", "cp", "ep", "zero", "micro_batch")):
        return None
    check_model_divides(i.model, i.tp or 1, i.pp or 1)
    group = (i.tp or 1) * (i.pp or 1) * (i.cp or 1)
    if i.gpus % group:
        raise PlanError(f"gpus: {i.gpus} is not divisible by tp x pp x cp = {group}")
    dp, size = i.gpus // group, i.micro_batch or 1
    if space.global_batch % (dp * size):
        raise PlanError(
            f"global_batch: {space.global_batch} sequences are not divisible by dp x micro-batch = {dp} x {size}"
        )
    zero = i.zero if i.zero is not None else max(CONVENTIONS[i.convention].stages)
    return Layout(dp=dp, tp=i.tp or 1, pp=i.pp or 1, cp=i.cp or 1, ep=i.ep or 1, zero=zero, micro_batch=size,
                  microbatches=space.global_batch // (dp * size), recompute=i.recompute or "full")  # fmt: skip


def _layout_dict(layout: Layout) -> dict[str, Any]:
    return {k: v for k, v in asdict(layout).items()}


def _inputs_dict(i: PlanInputs) -> Mapping[str, Any]:
    """Inputs as JSON, units in keys."""
    out = asdict(i)
    device = out.pop("device")
    out["device"] = {
        "name": device["name"], "memory_bytes": device["memory_bytes"], "peak_flop_per_s": dict(i.device.peaks),
        "memory_bandwidth_bytes_per_s": device["memory_bandwidth"], "source": device["source"],
    }  # fmt: skip
    names = {"seq": "seq_tokens", "global_batch": "global_batch_sequences", "price": "price_usd_per_gpu_hour",
             "cpu_price": "cpu_price_usd_per_cpu_hour", "storage": "storage_bytes_per_s", "restart": "restart_minutes",
             "failure_rate": "failure_rate_gpu_days", "deadline": "deadline_days", "ablations": "ablations_share",
             "failed_runs": "failed_runs_share", "mfu": "mfu_share", "calendar_mfu": "calendar_mfu_share"}  # fmt: skip
    if out["corpus"] is not None:
        corpus = out["corpus"]
        corpus["tokens"] = [{"vocab_size": v, "tokens": t} for v, t in corpus["tokens"]]
        corpus["text_size_bytes"] = corpus.pop("text_bytes")
    return {names.get(k, k): v for k, v in out.items()}
