"""Estimate against run: a planted miss is named, and coefficients for the next plan come back."""

from dataclasses import replace

import pytest

from planner.errors import PlanError
from planner.estimate.memory import estimate
from planner.model.device import accelerator
from planner.model.flops import token_flops
from planner.plan import inputs_from, make_plan
from planner.report.compare import NOT_ALLOCATED, compare, read_plan
from planner.report.comparison import answer

TABLE = {
    "model": "llama3-8b", "gpu": "h100", "gpus": 64, "tokens": "1T", "mfu": "0.38:0.42", "zero": 3, "micro_batch": 1,
    "recompute": "selective-op", "tp": 1, "global_batch": 64, "logits": "fp32", "seq": 8192,
}  # fmt: skip


@pytest.fixture(scope="module")
def plan():
    return make_plan(inputs_from(TABLE, None)).as_dict()


def allocated(**changes):
    p = read_plan(make_plan(inputs_from(TABLE, None)).as_dict())
    layout = replace(p.layout, **{k: v for k, v in changes.items() if k in ("recompute", "zero")})
    options = replace(p.options, **{k: v for k, v in changes.items() if k not in ("recompute", "zero")})
    e = estimate(p.model, layout, options, accelerator("h100"))
    return e.total - sum(e.terms[k] for k in NOT_ALLOCATED)


def test_a_run_as_planned_is_inside_the_range_and_has_nothing_to_explain(plan):
    c = compare(
        plan,
        {
            "step_seconds": compare(plan, {"step_seconds": 1.0}).predicted_step_seconds,
            "peak_allocated_bytes": allocated(),
        },
    )
    assert c.within_range
    assert c.time_ratio == pytest.approx(1)
    assert c.time_explanations == () == c.memory_explanations
    assert "as predicted" in "\n".join(answer(c).lines())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"logits": "unfused"}, "logits are unfused, not fp32"),
        ({"recompute": "none"}, "recompute is none, not selective-op"),
    ],
)
def test_a_planted_memory_miss_is_named(plan, change, expected):
    c = compare(plan, {"peak_allocated_bytes": allocated(**change)})
    assert c.memory_explanations[0].explains
    assert c.memory_explanations[0].term == expected


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(2.0, "fell back to tf32"), (64.0, "per GPU, not of the job"), (14.76, "fell back to fp32")],
)
def test_a_planted_time_miss_is_named(plan, factor, expected):
    predicted = compare(plan, {"step_seconds": 1.0}).predicted_step_seconds
    c = compare(plan, {"step_seconds": predicted * factor})
    assert c.time_ratio == pytest.approx(factor)
    assert not c.within_range
    assert expected in c.time_explanations[0].term


def test_waiting_for_data_is_named_from_the_runs_own_number(plan):
    predicted = compare(plan, {"step_seconds": 1.0}).predicted_step_seconds
    c = compare(plan, {"step_seconds": predicted * 1.6, "data_seconds": predicted * 0.6})
    assert c.time_explanations[0].term == "waiting for data"


def test_a_gap_that_nothing_explains_is_not_explained_away(plan):
    predicted = compare(plan, {"step_seconds": 1.0}).predicted_step_seconds
    c = compare(plan, {"step_seconds": predicted * 7})
    assert not any(e.explains for e in c.time_explanations)
    assert "no single known term explains it" in "\n".join(answer(c).headline)


def test_among_explanations_the_smallest_change_is_first(plan):
    explaining = [
        e
        for e in compare(plan, {"peak_allocated_bytes": allocated(logits="unfused")}).memory_explanations
        if e.explains
    ]
    assert [abs(e.size) for e in explaining] == sorted(abs(e.size) for e in explaining)


def test_buckets_point_at_the_bucket_that_was_wrong(plan):
    terms = plan["memory_terms_bytes"]["only stage"]
    right = {
        "weights": terms["weights"] + terms["master copy"],
        "gradients": terms["gradients"],
        "optimizer": terms["moments"],
        "logits": terms["logits and loss"],
    }
    c = compare(
        plan,
        {
            "peak_allocated_bytes": allocated() * 1.3,
            "buckets_bytes": {**right, "activations": terms["activations"] * 1.8},
        },
    )
    assert all("logits" not in e.term and "sharded" not in e.term for e in c.memory_explanations)
    assert "activations, 1.79 x" in "\n".join(answer(c).headline) or "activations, 1.8 x" in "\n".join(
        answer(c).headline
    )


def test_coefficients_for_the_next_plan_come_back(plan):
    speed = 4e5
    c = compare(
        plan,
        {
            "tokens_per_second": speed,
            "peak_allocated_bytes": 40e9,
            "peak_reserved_bytes": 44e9,
            "device_used_bytes": 46e9,
        },
    )
    p = read_plan(plan)
    assert c.calibration["step_mfu"] == pytest.approx(token_flops(p.model, 8192).model * speed / (64 * 989e12))
    assert c.calibration["fragmentation_share"] == pytest.approx(0.1)
    assert c.calibration["context_and_communication_bytes"] == 2e9


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ({}, "has none of"),
        ({"step_seconds": 0}, "above zero"),
        ({"step_seconds": float("nan")}, "finite"),
        ({"tokens_per_second": -3}, "above zero"),
    ],
)
def test_a_measurement_that_cannot_be_is_refused(plan, measured, message):
    with pytest.raises(PlanError, match=message):
        compare(plan, measured)


def test_a_file_that_is_no_plan_is_refused():
    with pytest.raises(PlanError, match="not a plan written by"):
        compare({"a": 1}, {"step_seconds": 1})


def test_a_mixture_of_experts_survives_the_round_trip():
    p = make_plan(
        inputs_from(
            {"model": "deepseek-v3", "gpu": "h800", "gpus": 2048, "tokens": "14.8T", "convention": "megatron"}, None
        )
    )
    assert read_plan(p.as_dict()).model == p.inputs.model
