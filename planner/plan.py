"""The whole plan of a run: does it fit, does it finish, what does it cost, what would you change.

The room's public face: `make_plan(inputs_from(table, budget))`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from planner.errors import PlanError
from planner.estimate.arrangement import Layout
from planner.estimate.inputs import PlanInputs, inputs_from
from planner.estimate.options import OPTIONS
from planner.estimate.run import RunEstimate, estimate_run
from planner.report import sections, summary
from planner.report.quantity import Answer, Section

__all__ = ["OPTIONS", "Plan", "PlanError", "PlanInputs", "inputs_from", "make_plan"]

SCHEMA = 2


@dataclass(frozen=True)
class Plan(RunEstimate):
    """A plan: typed results, and the same as sections of quantities."""

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
            "fits": self.fit.memory.fits,
            "batch_sequences": self.fit.global_batch,
            "deadline_chances": [{"gpus": n, "chance_share": c} for n, c in self.on_time],
            "layout_chosen": _layout_dict(self.fit.memory.layout),
            "memory_terms_bytes": {k: dict(v) for k, v in self.fit.memory.stages.items()},
            "explain": self.answer().explanations(),
        }
        body = json.loads(json.dumps(body, allow_nan=False))
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        return {**body, "sha256": digest, "created": self.created}


def make_plan(inputs: PlanInputs) -> Plan:
    """Plans a run. Raises PlanError when the inputs cannot be (no tokens, indivisible layout, ...)."""
    found = estimate_run(inputs)
    return Plan(**{f.name: getattr(found, f.name) for f in fields(RunEstimate)})


def _layout_dict(layout: Layout) -> dict[str, Any]:
    return {k: v for k, v in asdict(layout).items()}


def _inputs_dict(i: PlanInputs) -> Mapping[str, Any]:
    """Inputs as JSON, units in keys."""
    out = asdict(i)
    device = out.pop("device")
    out["device"] = {
        "name": device["name"], "memory_bytes": device["memory_bytes"], "peak_flop_per_s": dict(i.device.peaks),
        "memory_bandwidth_bytes_per_s": device["memory_bandwidth"], "source": device["source"],
        "matmul_share": device["matmul_share"],
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
