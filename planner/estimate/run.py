"""The estimates of one run, together: memory and layout, time and money, data, vocabulary, failures, serving."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from planner.errors import PlanError
from planner.estimate.arrangement import MemoryOptions, check_model_divides
from planner.estimate.data import DataAnswer, data_answer
from planner.estimate.defaults import batch_sequences
from planner.estimate.fitting import Change, largest_model, smallest_changes
from planner.estimate.inputs import PlanInputs
from planner.estimate.layout import RECOMPUTE, Search, SearchSpace, has_layout, search
from planner.estimate.memory import MemoryEstimate, estimate, largest_micro_batch
from planner.estimate.reliability import CheckpointPlan, checkpoint_plan, job_mtbf, rate_distribution
from planner.estimate.schedule import Schedule, memory_options, schedule
from planner.estimate.serving import Decode, decode
from planner.estimate.vocabulary import VocabularyAnswer
from planner.estimate.vocabulary import answer as vocabulary_answer


@dataclass(frozen=True)
class FitAnswer:
    """The chosen layout's memory, and the ways around when it does not fit. Sizes in bytes and parameters."""

    memory: MemoryEstimate
    search: Search
    changes: tuple[Change, ...]
    largest_model: float
    largest_micro_batch: int
    global_batch: int
    note: str = ""
    """What was changed to have a layout at all."""


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
    on_time: tuple[tuple[int, float], ...]
    """With a deadline: (GPUs, chance to be done), this plan's first, then the fewest of at least four in five."""
    created: str


def estimate_run(inputs: PlanInputs) -> RunEstimate:
    """Plans a run. Raises PlanError when the inputs cannot be (no tokens, indivisible layout, ...)."""
    space, options = search_space(inputs), memory_options(inputs)
    fit = fit_answer(inputs, space, options)
    if inputs.logits is None:
        fit, inputs = _loss_that_fits(inputs, space, fit)
    chosen = replace(inputs, recompute=fit.memory.layout.recompute)
    times = schedule(chosen, fit.memory.layout, searched=not inputs.layout_given)
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
        checkpoint=checkpoint_plan(times.checkpoint_stall, mtbf, restart, inputs.checkpoint_hours), serving=serving,
        on_time=on_time(inputs, times),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _loss_that_fits(i: PlanInputs, space: SearchSpace, fit: FitAnswer) -> tuple[FitAnswer, PlanInputs]:
    """The plan with an unfused loss, or where nothing fits with one, with a loss in place, and said."""
    unfused = replace(i, logits="unfused")
    if fit.memory.fits:
        return fit, unfused
    other = replace(i, logits="in-place")
    found = fit_answer(other, space, memory_options(other))
    if not found.memory.fits:
        return fit, unfused
    said = "fits only with a loss that works in place or in chunks (--logits)"
    return replace(found, note=f"{found.note}; {said}" if found.note else said), other


CHANCE = 0.8
"""A deadline counts as kept when four of five samples keep it."""


def on_time(i: PlanInputs, now: Schedule) -> tuple[tuple[int, float], ...]:
    """Chances to meet the deadline: with the GPUs of the plan, and with the fewest whole nodes that make it likely."""
    if i.deadline is None or now.finish_chance is None:
        return ()
    here = (i.gpus, now.finish_chance)
    if now.finish_chance >= CHANCE:
        return (here,)
    node = i.device.per_node if i.gpus >= i.device.per_node else 1

    def chance(nodes: int) -> float:
        other = replace(i, gpus=nodes * node, global_batch=i.global_batch, samples=2000)
        space, options = search_space(other), memory_options(other)
        try:
            space, _ = _dividing(other, space, options)
            found = search(other.model, other.device, space, options, other.dtype)
        except PlanError:
            return 0.0
        return schedule(other, found.pareto[0].layout if found.pareto else found.leanest).finish_chance or 0.0

    low = max(1, -(-i.gpus // node))
    high = max(low + 1, int(low * now.days.p90 / i.deadline))
    while chance(high) < CHANCE and high * node < 100_000:
        low, high = high, 2 * high
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= CHANCE else (middle, high)
    return (here, (high * node, chance(high)))


def _failure_days(i: PlanInputs) -> float:
    if i.failure_rate:
        return float((i.failure_rate[0] * i.failure_rate[1]) ** 0.5)
    return float(2.718281828459045 ** rate_distribution()[0])


def default_batch(inputs: PlanInputs) -> int:
    """Sequences per step when none is given (see `batch_sequences`)."""
    return batch_sequences(inputs.tokens, inputs.seq, inputs.gpus)


def search_space(i: PlanInputs) -> SearchSpace:
    """The layouts the inputs leave open."""
    fixed = {
        k: () if getattr(i, k) is None else (getattr(i, k),) for k in ("tp", "pp", "cp", "ep", "zero", "micro_batch")
    }
    recompute = (i.recompute,) if i.recompute else RECOMPUTE
    return SearchSpace(gpus=i.gpus, global_batch=i.global_batch or default_batch(i), recompute=recompute, **fixed)


def fit_answer(i: PlanInputs, space: SearchSpace, options: MemoryOptions) -> FitAnswer:
    """The fastest layout that fits and keeps what was given, or the leanest one with what would make it fit.

    A batch that no layout divides is rounded up to one, and said, unless the layout was asked for. Raises PlanError
    when the given sizes cannot divide the model (see memory.check_model_divides) or the GPUs.
    """
    _check_given(i, space)
    space, note = _dividing(i, space, options)
    found = search(i.model, i.device, space, options, i.dtype)
    layout = found.pareto[0].layout if found.pareto else found.leanest
    memory = estimate(i.model, layout, options, i.device)
    return FitAnswer(
        memory=memory, search=found, changes=smallest_changes(i.model, layout, options, i.device),
        largest_model=largest_model(i.device, space, options, i.model.vocab),
        largest_micro_batch=largest_micro_batch(i.model, layout, options, i.device), global_batch=space.global_batch,
        note=note,
    )  # fmt: skip


def _check_given(i: PlanInputs, space: SearchSpace) -> None:
    """Refuses given parts of a layout that cannot be, before the search, for a better message."""
    check_model_divides(i.model, i.tp or 1, i.pp or 1)
    group = (i.tp or 1) * (i.pp or 1) * (i.cp or 1)
    if i.gpus % group:
        raise PlanError(f"gpus: {i.gpus} is not divisible by tp x pp x cp = {group}")
    if i.global_batch is None or i.micro_batch is None or None in (i.tp, i.pp):
        return
    dp = i.gpus // group
    if i.cp is not None and space.global_batch % (dp * i.micro_batch):
        raise PlanError(
            f"global_batch: {space.global_batch} sequences are not divisible by dp x micro-batch = {dp} x {i.micro_batch}"
        )


def _dividing(i: PlanInputs, space: SearchSpace, options: MemoryOptions) -> tuple[SearchSpace, str]:
    """The space with a batch that some layout divides, and what was changed."""
    if has_layout(i.model, i.device, space, options):
        return space, ""
    step = i.gpus * (i.micro_batch or 1) // ((i.tp or 1) * (i.pp or 1) * (i.cp or 1))
    batch = -(-space.global_batch // step) * step
    wider = replace(space, global_batch=batch)
    if not has_layout(i.model, i.device, wider, options):
        return space, ""
    return wider, f"no layout divides a batch of {space.global_batch:,} sequences; {batch:,} taken"
