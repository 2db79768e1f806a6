"""A comparison of plan and run as headline and sections."""

from __future__ import annotations

from collections.abc import Iterator

from planner.model.flops import CONVENTIONS as FLOP_CONVENTIONS
from planner.report.compare import Comparison, Explanation
from planner.report.guess import score_section
from planner.report.quantity import Answer, Quantity, Section, Table
from planner.units import GIB, plain


def answer(c: Comparison) -> Answer:
    """The comparison as headline and sections."""
    return Answer(
        "compare",
        tuple(_headline(c)),
        tuple(
            s
            for s in (
                score_section(c.scores),
                _verdict_section(c),
                _time_section(c),
                _memory_section(c),
                _calibration_section(c),
            )
            if s
        ),
    )


def _headline(c: Comparison) -> Iterator[str]:
    if c.time_ratio is not None:
        verdict = "inside the plan's range" if c.within_range else "outside the plan's range"
        yield f"Time: {c.time_ratio:.2f} x the predicted step, {verdict}" + _first(c.time_explanations, "x")
    if c.verdict is not None:
        yield f"MFU {c.verdict.mfu:.2f}: {c.verdict.words}"
    if c.memory_gap is not None:
        share = c.memory_gap / c.predicted_allocated
        size = abs(c.memory_gap)
        if abs(share) < 0.05:
            yield f"Memory: as predicted within 5 % ({share:+.1%})"
            return
        amount = f"{plain(size / GIB)} GiB" if size > 0.01 * GIB else f"{plain(size / 2**20)} MiB"
        yield f"Memory: {amount} {'more' if share > 0 else 'less'} than predicted ({share:+.1%})" + _first(
            c.memory_explanations, "bytes"
        )
    wrong = sorted(c.buckets, key=lambda b: -abs(b[2] - b[1]))
    if wrong and abs(wrong[0][2] - wrong[0][1]) > 0.02 * c.predicted_allocated:
        name, predicted, measured = wrong[0]
        yield f"The bucket sized worst: {name}, {measured / predicted:.2f} x its estimate"


def _verdict_section(c: Comparison) -> Section | None:
    if c.verdict is None or not c.verdict.terms:
        return None
    columns = (("term", "likely term, first first"), ("measure", "what to measure next"))
    return Section(
        "verdict", f"What MFU {c.verdict.mfu:.2f} means: {c.verdict.band}", (), Table(columns, c.verdict.terms)
    )


def _first(found: tuple[Explanation, ...], unit: str) -> str:
    if not found:
        return ""
    if not found[0].explains:
        return f"; no single known term explains it (nearest: {found[0].term})"
    return f"; most likely missed: {found[0].term}"


def _table(found: tuple[Explanation, ...], factor: bool) -> Table:
    columns = (("term", "candidate"), ("size", "factor") if factor else ("size_bytes", "bytes"),
               ("residual_share", "left over") if factor else ("residual_bytes", "left over"), ("explains", "explains it"))  # fmt: skip
    rows = tuple(
        (e.term, round(e.size, 3) if factor else e.size, e.residual, "yes" if e.explains else "no") for e in found[:8]
    )
    return Table(columns, rows)


def _time_section(c: Comparison) -> Section | None:
    if c.time_ratio is None:
        return None
    rows = [
        Quantity(
            "predicted_step",
            c.predicted_step_seconds,
            "seconds",
            "predicted step",
            "FLOP per token x batch / (GPUs x peak x MFU)",
        )
    ]
    rows.append(Quantity("measured_step", c.predicted_step_seconds * c.time_ratio, "seconds", "measured step"))
    rows += [Quantity(f"measured_mfu_{k}", v, "share", f"MFU by {FLOP_CONVENTIONS[k]}") for k, v in c.mfu.items()]
    return Section("time", "Time", tuple(rows), _table(c.time_explanations, True) if c.time_explanations else None)


def _memory_section(c: Comparison) -> Section | None:
    if c.memory_gap is None and not c.buckets:
        return None
    rows = [
        Quantity(
            "predicted_allocated",
            c.predicted_allocated,
            "bytes",
            "predicted peak allocated",
            "all terms but context, communication and fragmentation",
        )
    ]
    if c.memory_gap is not None:
        rows.append(
            Quantity("measured_allocated", c.predicted_allocated + c.memory_gap, "bytes", "measured peak allocated")
        )
    for name, predicted, measured in c.buckets:
        rows.append(Quantity(f"predicted_{name}", predicted, "bytes", f"{name}, predicted"))
        rows.append(Quantity(f"measured_{name}", measured, "bytes", f"{name}, measured"))
    return Section(
        "memory", "Memory", tuple(rows), _table(c.memory_explanations, False) if c.memory_explanations else None
    )


def _calibration_section(c: Comparison) -> Section | None:
    units = {"step_mfu": "share", "fragmentation_share": "share", "context_and_communication_bytes": "bytes"}
    rows = tuple(
        Quantity(k.removesuffix("_bytes").removesuffix("_share"), v, units.get(k, ""), k.replace("_", " "))
        for k, v in c.calibration.items()
    )
    return Section("calibration", "For the next plan", rows) if rows else None
