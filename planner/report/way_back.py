"""The way back in words: compute, what to train, other allocations, what the corpus allows."""

from __future__ import annotations

from typing import Any

from planner.estimate.forecast import SOURCE
from planner.estimate.uncertainty import Interval
from planner.estimate.way_back import FREE_EPOCHS, WayBack
from planner.facts.scaling import REFIT_SOURCE
from planner.model.count import count
from planner.report.quantity import Answer, Quantity, Section, Table
from planner.units import big, duration, plain

OUTSIDE = "outside the law's range"


LAW_FORMULAS = (
    (
        "size_parameters",
        "Chinchilla: G (C/6)^(b/(a+b)); 20: sqrt(C/120); Llama 3: C / (6 x 0.299 C^0.537); Kaplan: 1.3e9 (C / PF-day)^0.73",
    ),
    ("training_tokens", "C / (6 N)"),
    ("loss", "E + A/N^a + B/D^b"),
)
CURVE_FORMULAS = (
    ("training_tokens", "C / (6 N)"),
    ("loss", "E + A/N^a + B/D^b"),
    ("served_ratio", "2 N a token over that of the optimum"),
    ("lifetime_flop", "C + 2 N x served tokens"),
)


def answer(w: WayBack) -> Answer:
    """The way back as headline and sections."""
    parts = [_compute(w), _laws(w), _curve(w)]
    if w.corpus is not None:
        parts.append(_corpus(w))
    return Answer("cluster", tuple(_headline(w)), tuple(parts))


def span(v: Interval) -> str:
    """`70 B (50 B to 90 B)`."""
    return f"{big(v.p50)} ({big(v.p10)} to {big(v.p90)})"


def _headline(w: WayBack) -> list[str]:
    i, best = w.inputs, w.laws[0]
    time = duration(w.days * 86400)
    lines = [
        f"{i.gpus:,} x {i.device.title} for {time}: {w.flops.p50:.3g} FLOP ({w.flops.p10:.3g} to {w.flops.p90:.3g}) as 6 N D",
        f"What would you train?  {span(best.parameters)} parameters on {span(best.tokens)} tokens, expected loss {_loss(best.loss)}",
    ]
    if w.days_from != "given":
        lines[0] += f"; the days are {w.days_from}"
    if not w.fits:
        lines.append(
            "It does not fit: no layout of these GPUs holds that size; take the largest that fits and train it longer"
        )
    smaller = next(a for a in w.curve if a.ratio == 0.25)
    if smaller.above_optimum is not None:
        lines.append(
            f"To serve it for long     {big(smaller.parameters)} on {big(smaller.tokens)}: the same compute, "
            f"loss +{smaller.above_optimum:.3f}, a quarter of the cost per served token"
        )
    if w.corpus is not None:
        c = w.corpus
        enough = (
            f"{plain(c.epochs)} epochs of its {big(c.unique)}"
            if c.epochs > 1
            else f"{1 / c.epochs:.3g} times what is wanted"
        )
        short = f", {big(c.missing)} unique tokens short at {FREE_EPOCHS:g} epochs" if c.missing else ""
        lines.append(f"Is there the data?     {enough}{short}; alone it suits {big(c.suits)} parameters")
    return lines


def _loss(v: Interval | None) -> str:
    return OUTSIDE if v is None else f"{v.p50:.3f} nats ({v.p10:.3f} to {v.p90:.3f})"


def _compute(w: WayBack) -> Section:
    i = w.inputs
    inputs: dict[str, Any] = {
        "GPUs": i.gpus,
        "days": w.days,
        "seq": i.seq,
        "shape": f"{big(count(w.shape).total)}, {w.layout.text()}",
    }
    source = SOURCE if i.mfu is None and i.calendar_mfu is None else "utilisation as given"
    rows = (
        Quantity("cluster", w.days, "days", f"days ({w.days_from})"),
        Quantity("available", w.flops, "flop", "compute as 6 N D", "6 N x tokens per second x time, calendar and goodput off", inputs, source),
        Quantity("at_peak", i.gpus * i.peak * w.days * 86400, "flop", "the same at the dense peak", "GPUs x peak x 86400 x days", inputs),
    )  # fmt: skip
    return Section("compute", "Compute", rows)


def _laws(w: WayBack) -> Section:
    columns = (("law", "law"), ("size_parameters", "parameters"), ("training_tokens", "tokens"), ("tokens_per_parameter", "tokens/parameter"),
               ("loss", "expected loss"), ("note", "what it is"))  # fmt: skip
    rows = tuple(
        (a.law, a.parameters, a.tokens, round(a.tokens.p50 / a.parameters.p50, 1), _loss(a.loss) + _reach(a.reach), a.note) for a in w.laws
    )  # fmt: skip
    notes = (f"loss of every row by the {REFIT_SOURCE}; in nats per token of that data, for comparison only",)
    return Section("laws", "Compute-optimal, by law", (), Table(columns, rows, LAW_FORMULAS), notes)


def _reach(reach: str) -> str:
    return ", extrapolated" if reach == "extrapolated" else ""


def _curve(w: WayBack) -> Section:
    columns = [("size_ratio", "of the optimum"), ("size_parameters", "parameters"), ("training_tokens", "tokens"), ("tokens_per_parameter", "tokens/parameter"),
               ("loss", "expected loss"), ("above_optimum", "over the least"), ("served_ratio", "cost per served token")]  # fmt: skip
    served = w.inputs.served_tokens is not None
    if served:
        columns.append(("lifetime_flop", "FLOP in its life"))
    rows = tuple(
        (a.ratio, a.parameters, a.tokens, round(a.tokens / a.parameters, 1), OUTSIDE if a.loss is None else f"{a.loss:.3f}" + _reach(a.reach),
         None if a.above_optimum is None else round(a.above_optimum, 4), a.ratio, *((a.lifetime_flops,) if served else ()))
        for a in w.curve
    )  # fmt: skip
    return Section(
        "allocation", "Same compute, other allocation (6 N D held)", (), Table(tuple(columns), rows, CURVE_FORMULAS)
    )


def _corpus(w: WayBack) -> Section:
    c = w.corpus
    assert c is not None
    rows = (
        Quantity("unique", c.unique, "tokens", "unique tokens measured"),
        Quantity("epochs", c.epochs, "", "epochs for the optimum", "D / U"),
        Quantity("effective", c.effective, "tokens", "what they are worth", "U (1 + R (1 - e^(-(ep-1)/R)))", {}, "Muennighoff 2023"),
        Quantity("missing", c.missing, "tokens", f"missing at {FREE_EPOCHS:g} epochs", "D / 4 - U", {}, "Muennighoff 2023: 4 epochs are worth 93 % of fresh tokens"),
        Quantity("suits", c.suits, "parameters", "size whose optimum these tokens are", "N with D_opt(N) = U", {}, REFIT_SOURCE),
    )  # fmt: skip
    if not c.languages:
        return Section("corpus", "What the corpus allows", rows)
    columns = (
        ("language", "language"),
        ("have_tokens", "measured"),
        ("wanted_tokens", "wanted at this mix"),
        ("missing_tokens", f"missing at {FREE_EPOCHS:g} epochs"),
    )
    return Section("corpus", "What the corpus allows", rows, Table(columns, c.languages))
