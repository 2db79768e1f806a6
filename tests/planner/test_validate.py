"""The validation page tells the truth, and is the one in docs/; forecasts hold for families the fit never saw."""

import math
import pathlib

import pytest

from planner.estimate.calibration import Fit, families, linearise, step_towards, vector
from planner.estimate.rows import cases, layout_of
from planner.facts.step_time import FITTED
from planner.report.validate import coverage, failures, markdown, row_checks

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "planner-validation.md"


@pytest.mark.parametrize("kind", coverage(), ids=lambda k: k.kind)
def test_forecasts_of_a_family_never_seen_hold_for_most_rows_of_a_kind(kind):
    assert kind.covered >= 0.7
    assert kind.covered_by_family >= 0.7
    assert kind.ratio <= 2.2


def test_forecasts_are_not_so_wide_that_everything_fits():
    assert 0.7 <= sum(r.covered for r in row_checks()) / len(row_checks()) <= 0.92


def test_forecasts_lean_neither_way():
    for kind in coverage():
        assert abs(kind.median_error) < 0.12, kind


def test_the_factors_are_those_that_the_rows_give():
    used = tuple(c for c in cases() if c.use == "yes")
    layouts = tuple(layout_of(c) for c in used)
    residuals, slopes = linearise(used, layouts, FITTED)
    found = Fit(used, layouts, FITTED, residuals, slopes)
    moved = step_towards(residuals, slopes, families(used), vector(found.factors))
    assert abs(moved - vector(FITTED)).max() < math.log(1.1), "run: python -P benchmarks/fit_planner.py"


def test_everything_worked_is_reproduced():
    assert failures() == []


def test_the_page_has_every_run_and_is_up_to_date():
    page = markdown()
    assert all(c.name in page for c in cases() if c.calendar)
    assert PAGE.read_text(encoding="utf-8") == page, "run: tokenmill plan validate --write docs/planner-validation.md"
