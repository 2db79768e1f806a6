"""The validation page tells the truth, and is the one in docs/; forecasts hold for families the fit never saw."""

import math
import pathlib
import statistics

import pytest

from planner.estimate.calibration import families, step_towards, vector
from planner.estimate.rows import cases
from planner.facts.step_time import FITTED
from planner.plan import inputs_from, make_plan
from planner.report.validate import at_the_fit, coverage, failures, markdown, row_checks

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "planner-validation.md"


@pytest.mark.parametrize("kind", coverage(), ids=lambda k: k.kind)
def test_forecasts_of_a_family_never_seen_hold_for_most_rows_of_a_kind(kind):
    assert 0.7 <= kind.covered <= 0.9
    assert kind.ratio <= (2.5 if kind.kind == "experts" else 2.2)


def test_forecasts_hold_for_most_families():
    kinds = [k for k in coverage() if k.families >= 10]
    assert len(kinds) == 3
    assert all(k.covered_by_family >= 0.65 for k in kinds)
    assert statistics.median(r.ratio for r in row_checks()) <= 2.2


def test_forecasts_are_not_so_wide_that_everything_fits():
    assert 0.7 <= sum(r.covered for r in row_checks()) / len(row_checks()) <= 0.92


def test_forecasts_lean_neither_way():
    for kind in coverage():
        assert abs(kind.median_error) < 0.12, kind


def test_the_factors_are_those_that_the_rows_give():
    found = at_the_fit()
    moved = step_towards(found.residuals, found.slopes, families(found.cases), vector(FITTED))
    assert abs(moved - vector(FITTED)).max() < math.log(1.05), "run: python -P benchmarks/fit_planner.py"


INSIDE = [
    ({"model": "deepseek-v3", "gpu": "h800", "gpus": 2048, "tokens": "14.8T", "dtype": "fp8"}, 2.664e6),
    ({"model": "llama3-405b", "gpu": "h100", "gpus": 16384, "tokens": "15.6T"}, 3.084e7),
    ({"parameters": "540e9", "gpu": "tpu-v4", "gpus": 6144, "tokens": "780B", "seq": 2048}, 8404992),
    ({"model": "llama1-7b", "gpu": "a100", "gpus": 1024, "tokens": "1T"}, 82432),
    ({"model": "llama1-13b", "gpu": "a100", "gpus": 1024, "tokens": "1T"}, 135168),
    ({"model": "llama1-33b", "gpu": "a100", "gpus": 2048, "tokens": "1.4T"}, 530432),
    ({"model": "llama1-65b", "gpu": "a100", "gpus": 2048, "tokens": "1.4T"}, 1022362),
]


@pytest.mark.parametrize(
    ("table", "published"), INSIDE, ids=lambda v: v.get("model", "palm") if isinstance(v, dict) else ""
)
def test_the_hours_of_a_large_published_run_are_inside_its_plans_interval(table, published):
    hours = make_plan(inputs_from(table, None)).schedule.gpu_hours
    assert hours.p10 < published < hours.p90


def test_everything_worked_is_reproduced():
    assert failures() == []


def test_the_page_has_every_run_and_is_up_to_date():
    page = markdown()
    assert all(c.name in page for c in cases() if c.calendar)
    assert PAGE.read_text(encoding="utf-8") == page, "run: tokenmill plan validate --write docs/planner-validation.md"
