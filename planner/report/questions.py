"""The sub-questions of `tokenmill plan`: each takes inputs and gives an Answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.errors import PlanError
from planner.estimate.inputs import PlanInputs
from planner.estimate.repetition import CEILING, effective_tokens, epochs_for
from planner.estimate.run import RunEstimate, estimate_run
from planner.estimate.scaling import Law, exchange, lifetime_optimum, refit, sampled
from planner.estimate.serving import break_even_tokens, decode, decode_intensity
from planner.estimate.uncertainty import interval
from planner.facts.scaling import REFIT_SOURCE
from planner.model.count import count
from planner.model.device import price
from planner.report import sections
from planner.report.quantity import Answer, Quantity, Section, Table
from planner.report.summary import assumed, summary
from planner.units import big, money, plain

ASSUMED = "no tokens given: 20 per parameter assumed"


def answer(question: str, inputs: PlanInputs) -> Answer:
    """The answer to a sub-question. Raises PlanError for an unknown one or inputs that cannot be."""
    if question not in QUESTIONS:
        raise PlanError(f"question: {question!r} is unknown; known: {', '.join(QUESTIONS)}")
    open_tokens = inputs.tokens is None
    if open_tokens:
        inputs = replace(inputs, tokens=20.0 * count(inputs.model).active)
    plan = estimate_run(inputs)
    found = QUESTIONS[question](plan)
    basis = (f"({assumed(plan)})",) if question in ("fit", "time", "layout", "checkpoint") else ()
    more = (f"({ASSUMED})",) if open_tokens and question not in ("fit", "layout") else ()
    return replace(found, headline=(*found.headline, *basis, *more))


def _summary_line(p: RunEstimate, start: str) -> str:
    return next(line for line in summary(p) if line.startswith(start))


def _fit(p: RunEstimate) -> Answer:
    changes = [line for line in summary(p) if line.startswith("  - To fit") or "No single change" in line]
    return Answer("fit", (_summary_line(p, "Does it fit?"), *changes), (sections.memory(p), sections.layouts(p, 4)))


def _time(p: RunEstimate) -> Answer:
    lines = (_summary_line(p, "Does it finish?"), _summary_line(p, "What does it cost?"))
    steps = [sections.step(p)] if p.schedule.forecast else []
    parts = (
        sections.compute(p),
        sections.time(p),
        *steps,
        sections.bill(p),
        sections.moves(p),
        sections.uncertainty(p),
    )
    return Answer("time", lines, parts)


def _layout(p: RunEstimate) -> Answer:
    found = p.fit.search
    if not found.pareto:
        return Answer("layout", (_summary_line(p, "Does it fit?"),), (sections.layouts(p),))
    best = found.pareto[0]
    line = f"Fastest that fits: {best.layout.text()}; bound by {best.binding}"
    return Answer("layout", (line,), (sections.layouts(p, 20), *([sections.step(p)] if p.schedule.forecast else [])))


def _vocab(p: RunEstimate) -> Answer:
    if p.vocabulary is None:
        raise PlanError("vocab: needs measured totals: give --budget token_budget.json")
    v = p.vocabulary
    line = f"Least training FLOPs at a vocabulary of {v.best_vocab:,}; within {v.flat:.0%} from {v.flat_low:,} to {v.flat_high:,}"
    return Answer("vocab", (line,), (sections.vocabulary(p),))


def _checkpoint(p: RunEstimate) -> Answer:
    k = p.checkpoint
    line = (
        f"Checkpoint every {plain(k.best / 60)} minutes (anything from {plain(k.flat_low / 60)} to {plain(k.flat_high / 60)} "
        f"costs under half a percent more); goodput {k.goodput:.1%}"
    )
    warn = (
        ("Storage is too slow for this job: a checkpoint takes more than a tenth of the time between failures",)
        if k.stall > 0.1 * k.mtbf
        else ()
    )
    taken = (
        (
            f"Every {plain(k.interval / 3600)} hours, as given: {plain(k.lost_per_failure / 3600)} hours lost by a failure, "
            f"goodput {k.goodput_at_interval:.1%}",
        )
        if p.inputs.checkpoint_hours
        else ()
    )
    return Answer("checkpoint", (line, *taken, *warn), (sections.reliability(p),))


def _scale(p: RunEstimate) -> Answer:
    d, i = p.data, p.inputs
    flops = 6 * d.parameters * d.tokens
    law = sampled(i.samples, np.random.default_rng([i.seed, 1]))
    n, _ = law.optimum(flops)
    size, ratio = interval(n), d.optimal_ratio
    line = (
        f"At {flops:.3g} FLOP the optimum is {big(size.p50)} parameters ({big(size.p10)} to {big(size.p90)}), "
        f"{plain(ratio.p50)} tokens per parameter ({plain(ratio.p10)} to {plain(ratio.p90)}); "
        f"this plan has {plain(d.tokens_per_parameter)}"
    )
    parts = [sections.data(p), _exchange(flops), _repeats(d.unique, d.rule_tokens)]
    if i.served_tokens:
        parts.append(_lifetime(p, refit(), flops))
    return Answer("scale", (line,), tuple(parts))


def _exchange(flops: float) -> Section:
    """Smaller models of the same loss and what they cost."""
    law = refit()
    columns = (
        ("size_ratio", "N / optimal"),
        ("total_parameters", "parameters"),
        ("training_tokens", "tokens"),
        ("training_ratio", "training cost"),
        ("break_even_tokens", "repaid after serving"),
    )
    rows = []
    n, d = law.optimum(flops)
    floor = float(law.smallest(law.loss(n, d)) / n)
    for ratio in (1.0, 0.75, 0.5, 0.4, 0.3, 0.2):
        if ratio < 1.02 * floor:
            break
        x = exchange(law, flops, ratio)
        rows.append(
            (ratio, x.parameters, x.tokens, round(x.training_ratio, 3), None if ratio == 1 else x.break_even_tokens)
        )
    notes = (
        f"no amount of data brings less than {floor:.3f} of the optimal size to this loss",
        f"law: {REFIT_SOURCE}; repaid in FLOPs, 2 N per served token",
    )
    return Section(
        "exchange",
        "Over-training as an exchange rate, at the loss of the optimum",
        (),
        Table(columns, tuple(rows)),
        notes,
    )


def _repeats(unique: float, wanted: float) -> Section:
    """What epochs over this corpus are worth."""
    columns = (
        ("epochs", "epochs"),
        ("seen_tokens", "tokens seen"),
        ("effective_tokens", "worth"),
        ("of_fresh_share", "of as many fresh ones"),
    )
    rows = tuple(
        (e, unique * e, effective_tokens(unique, e), effective_tokens(unique, e) / (unique * e))
        for e in (1, 2, 4, 8, 16, 44)
    )
    note = f"ceiling: {CEILING:.4g} corpora"
    if unique < wanted < CEILING * unique:
        note += f"; 20 tokens per parameter are worth {plain(epochs_for(unique, wanted))} epochs"
    return Section(
        "epochs", "Epochs over this corpus (Muennighoff 2023; it is too kind at 44)", (), Table(columns, rows), (note,)
    )


def _lifetime(p: RunEstimate, law: Law, flops: float) -> Section:
    """The model of least training plus serving FLOPs."""
    served = p.inputs.served_tokens or 0.0
    n, d = law.optimum(flops)
    best, tokens, cost = lifetime_optimum(law, float(law.loss(n, d)), served)
    rows = (
        Quantity(
            "lifetime_optimal_size",
            best,
            "parameters",
            "size of least training plus serving FLOPs",
            "min 6 N D + 2 N T",
            {"T": served},
            "Sardana 2023",
        ),
        Quantity("lifetime_optimal_training", tokens, "tokens", "trained on"),
        Quantity("lifetime", cost, "flop", "FLOPs in its life"),
    )
    return Section("lifetime", f"With {big(served)} tokens served, at the same loss", rows)


def _serve(p: RunEstimate) -> Answer:
    i = p.inputs
    usd = p.schedule.price.p50 if p.schedule.price else None
    columns = (
        ("batch", "batch"),
        ("gpus", "GPUs"),
        ("per_user_tokens_per_s", "tok/s/user"),
        ("all_tokens_per_s", "tok/s"),
        ("flop_per_byte", "FLOP/byte of weights"),
        ("bound", "bound by"),
        ("per_million_tokens_usd", "per M tokens"),
    )
    rows = []
    for batch in (1, 8, 32, 64, 128, 256):
        d = decode(i.model, i.device, batch=batch, context=i.seq, usd_per_gpu_hour=usd)
        rows.append(
            (
                batch,
                d.gpus,
                d.tokens_per_second / batch,
                d.tokens_per_second,
                decode_intensity(batch),
                d.bound,
                d.usd_per_million_tokens,
            )
        )
    d64 = decode(i.model, i.device, batch=64, context=i.seq, usd_per_gpu_hour=usd)
    cost = f", {money(d64.usd_per_million_tokens)} per million" if d64.usd_per_million_tokens else ""
    line = f"Batch 64 at {i.seq:,} tokens of context: {d64.gpus} GPUs, {plain(d64.tokens_per_second)} tokens per second{cost}; bound by {d64.bound}"
    notes = (
        f"KV cache {plain(d64.kv_bytes_per_token / 1024)} KiB per token; 80 % of memory bandwidth reached (assumption); prefill is not in this",
    )
    table = Section("decode", "Decoding by batch size", (), Table(columns, tuple(rows)), notes)
    return Answer("serving", (line,), (table, *_smaller(p, usd)))


def _smaller(p: RunEstimate, usd: float | None) -> tuple[Section, ...]:
    """When half of this model, trained longer to the same loss, repays itself in money."""
    given = price(p.inputs.device)
    if usd is None and given is None:
        return ()
    law, n, tokens = refit(), float(count(p.inputs.model).active), p.inputs.training_tokens
    loss = float(law.loss(n, tokens))
    more = float(law.tokens_for(loss, n / 2))
    if not np.isfinite(more) or p.inputs.model.moe is not None or p.schedule.gpu_usd is None:
        return ()
    ratio = (n / 2 * more) / (n * tokens)
    extra = p.schedule.gpu_usd.p50 * (ratio - 1)
    large = decode(
        p.inputs.model, p.inputs.device, batch=64, context=p.inputs.seq, usd_per_gpu_hour=usd
    ).usd_per_million_tokens
    if large is None:
        return ()
    even = break_even_tokens(extra, large, large / 2)
    rows = (
        Quantity(
            "half_training",
            more,
            "tokens",
            "half the size reaches this loss on",
            "D for the same L",
            {"L": loss},
            REFIT_SOURCE,
        ),
        Quantity("half_training_ratio", round(ratio, 3), "", "training cost against this plan"),
        Quantity("half_extra", extra, "usd", "extra training"),
        Quantity(
            "half_break_even",
            even,
            "tokens",
            "repaid after serving",
            "extra / saved per token",
            {},
            "decode cost taken as proportional to size",
        ),
    )
    return (Section("half", "Half the size, trained longer", rows),)


QUESTIONS: dict[str, Callable[[RunEstimate], Answer]] = {
    "fit": _fit, "time": _time, "scale": _scale, "layout": _layout, "vocab": _vocab, "serving": _serve, "checkpoint": _checkpoint,
}  # fmt: skip
