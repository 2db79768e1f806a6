"""The estimates of one run, together: memory and layout, time and money, data, vocabulary, failures, serving."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from planner.errors import PlanError
from planner.estimate.data import DataAnswer, data_answer
from planner.estimate.defaults import batch_sequences
from planner.estimate.fitting import Change, largest_model, smallest_changes
from planner.estimate.inputs import PlanInputs
from planner.estimate.layout import RECOMPUTE, Search, SearchSpace, search
from planner.estimate.memory import (
    Layout,
    MemoryEstimate,
    MemoryOptions,
    check_model_divides,
    estimate,
    largest_micro_batch,
)
from planner.estimate.reliability import CheckpointPlan, checkpoint_plan, job_mtbf, rate_distribution
from planner.estimate.schedule import Schedule, schedule
from planner.estimate.serving import Decode, decode
from planner.estimate.vocabulary import VocabularyAnswer
from planner.estimate.vocabulary import answer as vocabulary_answer
from planner.facts.optimizers import CONVENTIONS


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
class RunEstimate:
    """All typed results of a run. `created` is when they were made (UTC)."""

    inputs: PlanInputs
    fit: FitAnswer
    schedule: Schedule
    data: DataAnswer
    vocabulary: VocabularyAnswer | None
    checkpoint: CheckpointPlan
    serving: Decode | None
    created: str


def estimate_run(inputs: PlanInputs) -> RunEstimate:
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
    return RunEstimate(
        inputs=chosen, fit=fit, schedule=times, data=data_answer(inputs), vocabulary=vocabulary,
        checkpoint=checkpoint_plan(times.checkpoint_stall, mtbf, restart), serving=serving,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _failure_days(i: PlanInputs) -> float:
    if i.failure_rate:
        return float((i.failure_rate[0] * i.failure_rate[1]) ** 0.5)
    return float(2.718281828459045 ** rate_distribution()[0])


def default_batch(inputs: PlanInputs) -> int:
    """Sequences per step when none is given (see `batch_sequences`)."""
    return batch_sequences(inputs.tokens, inputs.seq, inputs.gpus)


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
