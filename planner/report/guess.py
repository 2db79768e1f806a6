"""Guess first: answers written down before the program's, and how both did against the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.errors import PlanError, near, positive
from planner.estimate.run import RunEstimate
from planner.report.quantity import Answer, Section, Table
from planner.units import GIB, number

QUESTIONS: dict[str, str] = {
    "days": "How many days will it take?",
    "gpu_hours": "How many GPU-hours is that?",
    "memory_gib": "How many GiB will the fullest GPU use?",
    "optimal_parameters": "How many parameters would be compute-optimal for this much compute?",
}


def read(given: Mapping[str, str]) -> dict[str, float]:
    """Guesses as numbers (7B, 31k, 55). Raises PlanError for an unknown question or what is no number above zero."""
    out = {}
    for name, text in given.items():
        if name not in QUESTIONS:
            raise PlanError(f"guess: {name!r} is not asked{near(name, QUESTIONS)}")
        out[name] = positive(f"guess: {name}", number(text, f"guess: {name}"))
    return out


def program(p: RunEstimate) -> dict[str, tuple[float, float, float]]:
    """The program's answers to the same questions: p10, p50, p90."""
    s, memory, best = p.schedule, p.fit.memory.total / GIB, p.data.optimal_parameters
    return {
        "days": (s.days.p10, s.days.p50, s.days.p90),
        "gpu_hours": (s.gpu_hours.p10, s.gpu_hours.p50, s.gpu_hours.p90),
        "memory_gib": (memory, memory, memory),
        "optimal_parameters": (best.p10, best.p50, best.p90),
    }


def record(p: RunEstimate, guesses: Mapping[str, float]) -> dict[str, Any]:
    """What goes into plan.json beside the plan."""
    answers = {k: {"p10": v[0], "p50": v[1], "p90": v[2]} for k, v in program(p).items()}
    return {"guesses": {"asked_before_the_answer": True, "yours": dict(guesses), "program": answers}}


@dataclass(frozen=True)
class Score:
    """One question: your factor and the program's, guess over what the run took, and who was nearer."""

    question: str
    yours: float
    program: float
    actual: float

    @property
    def nearer(self) -> str:
        """Who was nearer, by ratio."""
        mine, its = (max(v / self.actual, self.actual / v) for v in (self.yours, self.program))
        return "equal" if abs(mine - its) < 1e-9 else "you" if mine < its else "the program"


def actual(plan: Mapping[str, Any], measured: Mapping[str, Any], batch_tokens: float) -> dict[str, float]:
    """What the run says to the questions: its own days or hours, else its step time over the planned tokens."""
    out: dict[str, float] = {}
    gpus, tokens = float(plan["inputs"]["gpus"]), plan["inputs"].get("tokens")
    speed = measured.get("tokens_per_second") or (
        batch_tokens / measured["step_seconds"] if measured.get("step_seconds") else None
    )
    if measured.get("days") is not None:
        out["days"] = positive("measured.json: days", measured["days"])
    elif measured.get("gpu_hours") is not None:
        out["days"] = positive("measured.json: gpu_hours", measured["gpu_hours"]) / gpus / 24
    elif speed and tokens:
        out["days"] = tokens / speed / 86400
    if "days" in out:
        out["gpu_hours"] = float(measured.get("gpu_hours") or out["days"] * gpus * 24)
    used = (
        measured.get("device_used_bytes") or measured.get("peak_reserved_bytes") or measured.get("peak_allocated_bytes")
    )
    if used:
        out["memory_gib"] = positive("measured.json: memory", used) / GIB
    return out


def scores(plan: Mapping[str, Any], found: Mapping[str, float]) -> tuple[Score, ...]:
    """Every question that was guessed and that the run answers."""
    kept = plan.get("guesses") or {}
    yours, its = kept.get("yours", {}), kept.get("program", {})
    return tuple(
        Score(q, float(yours[q]), float(its[q]["p50"]), found[q])
        for q in QUESTIONS
        if q in yours and q in found and q in its
    )


def score_section(found: tuple[Score, ...]) -> Section | None:
    """The scores as a table."""
    if not found:
        return None
    columns = (("question", "question"), ("yours", "your guess"), ("program", "the program"), ("actual", "the run"),
               ("yours_ratio", "you / run"), ("program_ratio", "program / run"), ("nearer", "nearer"))  # fmt: skip
    rows = tuple(
        (s.question.replace("_", " "), s.yours, s.program, s.actual, round(s.yours / s.actual, 2), round(s.program / s.actual, 2), s.nearer)
        for s in found
    )  # fmt: skip
    notes = ("when you were nearer by a factor, name the term that the program has wrong before you change it",)
    return Section("guesses", "Guesses against the run", (), Table(columns, rows), notes)


def answer(p: RunEstimate, guesses: Mapping[str, float]) -> Answer:
    """Right after guessing: yours beside the program's."""
    columns = (
        ("question", "question"),
        ("yours", "your guess"),
        ("p10", "program p10"),
        ("p50", "p50"),
        ("p90", "p90"),
        ("ratio", "you / program"),
    )
    rows = tuple(
        (q.replace("_", " "), guesses[q], *program(p)[q], round(guesses[q] / program(p)[q][1], 2))
        for q in QUESTIONS
        if q in guesses
    )
    inside = sum(program(p)[q][0] <= guesses[q] <= program(p)[q][2] for q in guesses)
    line = (
        f"{inside} of {len(guesses)} guesses are inside the program's range; the run will tell (tokenmill plan compare)"
    )
    return Answer(
        "guess", (line,), (Section("guesses", "Your guesses beside the program's", (), Table(columns, rows)),)
    )
