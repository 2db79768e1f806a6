"""The first lines of a plan: does it fit, does it finish, what does it cost, what would you change."""

from __future__ import annotations

from planner.estimate.fitting import bottleneck
from planner.estimate.run import RunEstimate
from planner.model.count import count
from planner.model.device import price
from planner.report.envelope import line
from planner.report.quantity import Interval, Table, table_lines
from planner.report.sections_data import vocabulary
from planner.units import GIB, big, duration, money, plain


def summary(p: RunEstimate) -> list[str]:
    """The answer first; then one row per vocabulary size of the budget."""
    i = p.inputs
    n = count(i.model)
    size = f"{big(n.total)} parameters" + (f", {big(n.active)} active" if n.active != n.total else "")
    lines = [
        f"{i.model.name} ({size}, vocabulary {i.model.vocab:,}) on {big(i.training_tokens)} tokens with {i.gpus:,} x {i.device.title}",
        assumed(p),
        "",
        f"Does it fit?        {_fits(p)}",
        f"Does it finish?     {_finishes(p)}",
        f"By hand             {line(p)}",
        f"What does it cost?  {_costs(p)}",
        f"Is there the data?  {_data(p)}",
        "What would you change?" + ("" if changes(p) else "  Nothing that saves more than it costs"),
        *(f"  - {c}" for c in changes(p)),
    ]
    if p.vocabulary is not None:
        lines += ["", *_vocabulary_rows(p)]
    return lines


def assumed(p: RunEstimate) -> str:
    """Batch, sequence and layout that the numbers rest on, and which of them nobody gave."""
    i, batch = p.inputs, p.fit.global_batch
    given = "given" if i.global_batch is not None and not p.fit.note else "assumed"
    text = f"sequences of {i.seq:,} tokens, {batch:,} a step ({big(batch * i.seq)} tokens, {given}), {p.fit.memory.layout.text()}"
    return text + (f"; {p.fit.note}" if p.fit.note else "")


def _fits(p: RunEstimate) -> str:
    e = p.fit.memory
    used = f"{plain(e.total / GIB)} of {plain(e.available / GIB)} GiB per GPU"
    if e.fits:
        return f"Yes: {used} with {e.layout.text()}"
    if not p.fit.search.pareto:
        return f"No: {bottleneck(p.fit.search)}"
    return f"No: {used} with {e.layout.text()}"


def span(v: Interval, seconds: float = 86400.0) -> str:
    """An interval of days as durations."""
    if v.p10 == v.p90:
        return duration(v.p50 * seconds)
    return f"{duration(v.p50 * seconds)} ({duration(v.p10 * seconds)} to {duration(v.p90 * seconds)})"


def _finishes(p: RunEstimate) -> str:
    s = p.schedule
    low, high = p.inputs.mfu or p.inputs.calendar_mfu or (s.utilisation.p10, s.utilisation.p90)
    basis = f"{s.kind} MFU {low:.2f}" + (f" to {high:.2f}" if high > low else "")
    basis += f" (PaLM convention), goodput {s.goodput.p50:.3g}" if s.kind == "step" else " (6ND, goodput inside)"
    text = f"In {span(s.days)}: {big(s.gpu_hours.p50)} GPU-hours, {s.total_flops:.3g} FLOP, {basis}"
    if s.finish_chance is not None:
        text += f"; {s.finish_chance:.0%} chance of {plain(p.inputs.deadline or 0)} days"
    return text if p.fit.memory.fits else f"It does not start. If it fitted: {text[0].lower()}{text[1:]}"


def _costs(p: RunEstimate) -> str:
    s = p.schedule
    if s.total_usd is None or s.price is None:
        return f"{big(s.gpu_hours.p50)} GPU-hours; no published price for {p.inputs.device.title}, give one"
    v = s.total_usd
    data = next((b[1] for b in s.bill if b[0] == "data preparation"), None)
    prepared = f", of which data preparation {money(data.p50)}" if data else ""
    low, high = p.inputs.price or (price(p.inputs.device) or (s.price.p10, s.price.p90))[:2]
    at = money(low) if low == high else f"{money(low)} to {money(high)}"
    return f"{money(v.p50)} ({money(v.p10)} to {money(v.p90)}) at {at} per GPU-hour{prepared}"


def _data(p: RunEstimate) -> str:
    d = p.data
    ratio = d.tokens / d.rule_tokens
    law = d.optimal_tokens
    wanted = f"{big(d.parameters)} parameters want {big(d.rule_tokens)} (20 each; {big(law.p10)} to {big(law.p90)} by the law)"
    epochs = f", {plain(d.repetition.epochs)} epochs of {big(d.unique)}" if d.repetition.epochs > 1.001 else ""
    if ratio < 0.5:
        return f"No: {big(d.tokens)} tokens{epochs}. {wanted}, {plain(1 / ratio)} times more"
    verdict = "Yes" if ratio < 2 else f"Yes, {plain(ratio)} times the rule of 20"
    return f"{verdict}: {plain(d.tokens_per_parameter)} tokens per parameter{epochs}. {wanted}"


def changes(p: RunEstimate) -> list[str]:
    """What to change, the most pressing first."""
    return [*_fit_changes(p), *_data_changes(p), *_time_changes(p), *_vocabulary_changes(p), *_measure(p)]


def _fit_changes(p: RunEstimate) -> list[str]:
    e = p.fit.memory
    if e.fits:
        return []
    if p.fit.changes:
        return [f"To fit: {c.what} ({plain(c.memory / GIB)} GiB; {c.costs})" for c in p.fit.changes[:2]]
    if p.fit.search.pareto or p.fit.largest_model:
        return [
            f"No single change fits it; the largest model these GPUs hold is about {big(p.fit.largest_model)} parameters"
        ]
    return ["Nothing of this sequence length fits these GPUs: a shorter sequence, or GPUs with more memory"]


def _data_changes(p: RunEstimate) -> list[str]:
    return [*_corpus_changes(p), *_step_changes(p)]


def _step_changes(p: RunEstimate) -> list[str]:
    batch = p.fit.global_batch * p.inputs.seq
    steps = p.data.tokens / batch
    if steps >= 2000:
        return []
    count_of = f"only {plain(steps)} optimizer steps" if steps >= 1 else "less than one optimizer step"
    return [f"Fewer GPUs or a smaller batch: {big(p.data.tokens)} tokens are {count_of} of {big(batch)} tokens"]


def _corpus_changes(p: RunEstimate) -> list[str]:
    d = p.data
    if d.tokens < 0.5 * d.rule_tokens:
        if d.epochs_to_optimal is not None and d.unique < d.rule_tokens:
            worth = f"{plain(d.epochs_to_optimal)} epochs would be worth 20 tokens per parameter"
        else:
            worth = f"no number of epochs makes up for it (at most {16.4 * d.unique:.3g} tokens' worth)"
        return [
            f"More text or a smaller model: this corpus suffices for about {big(d.corpus_model)} parameters; {worth}"
        ]
    if d.repetition.epochs > 4:
        value = f"a token of the last of {plain(d.repetition.epochs)} epochs is worth {d.repetition.last_epoch_value:.0%} of a fresh one"
        return [f"Find more unique text: {value}"]
    return []


def _time_changes(p: RunEstimate) -> list[str]:
    s, i = p.schedule, p.inputs
    if i.deadline is not None and len(p.on_time) > 1:
        (here, now), (more, then) = p.on_time
        tokens = i.training_tokens * i.deadline / s.days.p90
        return [
            f"To make {plain(i.deadline)} days: {more:,} GPUs: {then:.0%} ({here:,}: {now:.0%}), or {big(tokens)} tokens "
            "for nine chances in ten (another model)"
        ]
    if i.deadline is None and s.days.p50 > 60:
        half = big(i.training_tokens / 2)
        return [
            f"Half the time: {2 * i.gpus:,} GPUs (same bill if MFU holds), or {half} tokens (another model); see the four moves"
        ]
    return []


WORTH_MEASURING = 400.0
"""GPU-hours that a narrower interval must be worth before a measurement of about 40 on one node is advised."""


def _vocabulary_changes(p: RunEstimate) -> list[str]:
    v = p.vocabulary
    if v is None or len(v.rows) < 2:
        return []
    here = next((r for r in v.rows if r.vocab == p.inputs.model.vocab), None)
    best = min(v.rows, key=lambda r: r.flops)
    if here is None or here.flops_relative < 1.01:
        return []
    return [
        f"Vocabulary {best.vocab:,} instead of {here.vocab:,} saves {1 - 1 / here.flops_relative:.1%} of the FLOPs on this corpus"
    ]


def _measure(p: RunEstimate) -> list[str]:
    s = p.schedule
    if not s.tornado or s.tornado[0].narrowing < 0.1:
        return []
    if (s.gpu_hours.p90 - s.gpu_hours.p10) * s.tornado[0].narrowing < WORTH_MEASURING:
        return []
    first = max(s.tornado, key=lambda r: r.narrowing)
    what = {
        "utilisation": "Measure the step MFU first (tokenmill plan measure, on one node)",
        "USD per GPU-hour": "Get a price first",
        "layout": "Give the layout you will run (tp, pp, micro-batch, recompute)",
        "calendar": "Ask how much of this cluster's calendar its last large run trained",
    }.get(first.name, f"Measure {first.name} first")
    return [f"{what}: knowing it narrows the interval of {s.tornado_of} by {first.narrowing:.0%}"]


def _vocabulary_rows(p: RunEstimate) -> list[str]:

    table = vocabulary(p).table
    assert table is not None
    keep = (
        "vocab_size",
        "tokens",
        "bytes_per_token",
        "total_parameters",
        "tokens_per_parameter",
        "training_flop",
        "relative_flops",
        "gpu_hours",
    )
    at = [k for k, (key, _) in enumerate(table.columns) if key in keep]
    small = Table(tuple(table.columns[k] for k in at), tuple(tuple(r[k] for k in at) for r in table.rows))
    return ["By vocabulary size:", *("  " + line for line in table_lines(small))]
