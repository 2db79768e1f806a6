"""The validation page tells the truth, and is the one in docs/."""

import pathlib

from planner.facts.runs import RUNS
from planner.report.validate import coverage, failures, markdown, run_rows

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "planner-validation.md"


def test_the_default_calendar_interval_covers_most_published_runs():
    c = coverage()
    assert c.runs == 28
    assert c.multi_node_covered / c.multi_node >= 0.7
    assert c.covered / c.runs >= 0.7
    assert c.left_out_covered / c.multi_node >= 0.7
    assert c.multi_node_median_absolute_error < 0.25


def test_every_miss_has_its_reason():
    assert all(r.run.why for r in run_rows() if not r.covered)


def test_everything_worked_is_reproduced():
    assert failures() == []


def test_the_page_has_every_run_and_is_up_to_date():
    page = markdown()
    assert all(r.name in page for r in RUNS)
    assert PAGE.read_text(encoding="utf-8") == page, "run: tokenmill plan validate --write docs/planner-validation.md"
