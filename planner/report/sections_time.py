"""Time, bill and moves of a plan, and what moves its answer, as sections of quantities."""

from __future__ import annotations

import math

from planner.estimate.duration import four_moves
from planner.estimate.forecast import SOURCE, Forecast
from planner.estimate.run import RunEstimate
from planner.estimate.scaling import refit
from planner.estimate.uncertainty import Interval
from planner.facts.failures import ABLATIONS_SOURCE, SMOLLM3_ABLATIONS
from planner.model.count import count
from planner.model.flops import CONVENTIONS as FLOP_CONVENTIONS
from planner.report.quantity import Quantity, Section, Table
from planner.units import plain


def time(p: RunEstimate) -> Section:
    """Utilisation, goodput, GPU-hours and days."""
    s, i = p.schedule, p.inputs
    formula = "C / (peak x MFU x GPUs x 86400)" + (
        (" x ramp" if i.ramp else "") + (" x layout slack x calendar" if s.forecast else "") + " / goodput"
        if s.kind == "step"
        else ""
    )
    inputs = {"C": s.total_flops, "peak": i.peak, "GPUs": i.gpus}
    rows = [
        Quantity("peak", i.peak, "flop_per_s", f"dense {i.dtype} peak per GPU", "", {}, i.device.source),
        Quantity(
            f"{s.kind}_mfu",
            s.utilisation,
            "share",
            f"{s.kind} MFU, by {FLOP_CONVENTIONS[s.convention]}",
            "",
            {},
            s.utilisation_source,
        ),
        Quantity(
            "goodput",
            s.goodput,
            "share",
            "goodput" if s.kind == "step" else "goodput (inside calendar MFU)",
            "tau / (M e^(R/M) (e^((tau+delta)/M) - 1))",
            {"checkpoint bytes": s.checkpoint_bytes},
            "exact renewal; failure rates over three published runs",
        ),
        Quantity("days", s.days, "days", "days", formula, inputs, "design notes; " + s.utilisation_source),
        Quantity("gpu_hours", s.gpu_hours, "gpu_hours", "GPU-hours", "days x GPUs x 24", inputs),
    ]
    if s.forecast is not None:
        rows[2:2] = _forecast(p, s.forecast)
    if i.ramp is not None:
        rows.insert(
            len(rows) - 2,
            Quantity(
                "ramp_slowdown",
                s.ramp_slowdown,
                "",
                "batch ramp: time against the full batch throughout",
                "sum of steps x batch / speed(batch), speed by replicas busy and bubble",
                {"steps": i.ramp.steps, "tokens": i.ramp.tokens},
                "PaLM section 5" + ("" if s.kind == "step" else "; calendar MFU has ramps inside, so not applied"),
            ),
        )
    if s.kind == "step" and s.flops.recompute:
        ratio = s.flops.hardware / s.flops.model
        rows.insert(
            2,
            Quantity(
                "hfu",
                s.utilisation.p50 * ratio,
                "share",
                "HFU at the median",
                "MFU x (model + recompute) / model",
                {"recompute": i.recompute},
                "Korthikanti 2022",
            ),
        )
    if s.finish_chance is not None:
        rows.append(
            Quantity(
                "deadline_chance",
                s.finish_chance,
                "share",
                f"chance to finish within {plain(i.deadline or 0)} days",
                "share of samples",
                {"samples": i.samples},
            )
        )
    if s.energy_kwh is not None:
        rows.append(
            Quantity(
                "energy",
                s.energy_kwh,
                "kwh",
                "energy",
                "GPU-hours x board power x PUE",
                {"watts": i.device.watts, "PUE": i.pue},
                "accounting of LLaMA Table 15",
            )
        )
    return Section("time", "Time (p50, p10 to p90)", tuple(rows))


def _forecast(p: RunEstimate, f: Forecast) -> list[Quantity]:
    """The step that the utilisation comes from, and the calendar on top."""
    layout = {"layout": p.fit.memory.layout.text(), "batch": p.fit.global_batch, "seq": p.inputs.seq}
    return [
        Quantity("step", f.seconds, "seconds", "one step", "sum of its terms", layout, SOURCE),
        Quantity("tokens_per_second_per_gpu", f.tokens_per_second_per_gpu, "", "tokens per second and GPU", "batch / step / GPUs", layout, SOURCE),
        Quantity("slack", around(f.slack, f.slack_spread), "", "layouts people run over the best found; 1 when it is given", "e^slack", {}, SOURCE),
        Quantity("calendar", around(f.calendar, f.calendar_spread), "", "calendar over steps, failures apart",
                 "e^(factor x log(GPUs / 8) / log 128), none on a node, all from 1,024 GPUs", {"GPUs": p.inputs.gpus}, SOURCE),
    ]  # fmt: skip


def around(median: float, spread: float) -> Interval:
    """p10, p50, p90 of a factor that is normal in its log."""
    return Interval(*(median * math.exp(z * spread) for z in (-1.2816, 0.0, 1.2816)))


def step(p: RunEstimate) -> Section:
    """Where a step of the chosen layout goes."""
    f = p.schedule.forecast
    assert f is not None
    rows = tuple(
        Quantity(k.replace(" ", "_").replace("-", "_"), v / f.seconds, "share", k) for k, v in f.terms.items() if v > 1e-4 * f.seconds
    )  # fmt: skip
    leans = ", ".join(f"{k.replace('_', ' ')} {100 * v:.0f} %" for k, v in f.leans_on[:3])
    notes = (f"code bases differ; most for this step in: {leans}",) if leans else ()
    return Section("step", f"Where a step goes ({p.fit.memory.layout.text()})", rows, None, notes)


def bill(p: RunEstimate) -> Section:
    """Money by line."""
    s, i = p.schedule, p.inputs
    rows = [Quantity("price_per_gpu_hour", s.price, "usd", "price per GPU-hour", "", {}, s.price_source)]
    rows += [Quantity(name.replace(" ", "_"), value, "usd", name, basis) for name, value, basis in s.bill]
    rows.append(Quantity("total", s.total_usd, "usd", "total", "sum of the lines, sample by sample"))
    notes = []
    if not i.ablations:
        notes.append(f"no ablations are in this (--ablations {SMOLLM3_ABLATIONS} for as many as {ABLATIONS_SOURCE})")
    if s.total_usd is None:
        notes.append(f"no price is published here for {i.device.title}: give --price LOW:HIGH in USD per GPU-hour")
    if i.corpus is None or i.corpus.cpu_seconds is None:
        notes.append("data preparation is not in this: no CPU time of a run was given")
    notes.append("not in this either: storage, network, evaluation, salaries")
    return Section("bill", "Bill", tuple(rows), None, tuple(notes))


MOVE_FORMULAS = (
    ("then", "now x days wanted / days now for tokens and parameters, the other way round for GPUs and MFU"),
    ("consequence", "L(N, D) after less L(N, D) before, L = E + A/N^a + B/D^b"),
)


def moves(p: RunEstimate) -> Section:
    """The four ways to take half the time, or to meet the deadline."""
    s, i = p.schedule, p.inputs
    now = s.days.p50
    wanted = i.deadline if i.deadline and i.deadline < now else now / 2
    found = four_moves(days_now=now, days_wanted=wanted, tokens=i.training_tokens, parameters=count(i.model).active, gpus=i.gpus,
                       utilisation=s.utilisation.p50, ceiling=0.64 if s.kind == "step" else 0.48)  # fmt: skip
    law, n = refit(), float(count(i.model).active)
    base = float(law.loss(n, i.training_tokens))
    ratio = now / wanted
    cost = {
        "fewer tokens": f"loss +{float(law.loss(n, i.training_tokens / ratio)) - base:.3f}",
        "fewer parameters": f"loss +{float(law.loss(n / ratio, i.training_tokens)) - base:.3f}",
    }
    columns = (
        ("move", "move"),
        ("unit", "in"),
        ("now", "now"),
        ("then", "then"),
        ("changes_model", "changes the model"),
        ("possible", "possible"),
        ("consequence", "consequence"),
    )
    rows = tuple(
        (m.name, m.unit, float(m.now), float(m.then), m.changes_model, m.possible, cost.get(m.name, m.note))
        for m in found
    )
    title = f"Four moves, each alone, for {plain(wanted)} days instead of {plain(now)}"
    return Section(
        "moves", title, (), Table(columns, rows, MOVE_FORMULAS), ("loss by the refit law, in nats per token",)
    )


def uncertainty(p: RunEstimate) -> Section:
    """The tornado table."""
    s = p.schedule
    unit = "usd" if s.tornado_of == "cost" else "days"
    columns = (
        ("input", "input"),
        ("distribution", "what is known"),
        (f"low_{unit}", f"{s.tornado_of} at its better end"),
        (f"high_{unit}", "at its worse end"),
        ("narrowing_share", "interval narrows by"),
    )
    rows = tuple((r.name, r.distribution, r.low, r.high, max(r.narrowing, 0.0)) for r in s.tornado)
    return Section("uncertainty", f"What moves the {s.tornado_of}, and what to measure first", (), Table(columns, rows))
