"""Guess first: kept beside the plan, scored against the run; and what an MFU means."""

import io
import json

import pytest

from planner.errors import PlanError
from planner.plan import inputs_from, make_plan
from planner.report import guess
from planner.report.compare import compare
from planner.report.verdict import verdict
from tokenmill.cli import main

RUN = {"model": "llama3-8b", "gpu": "h100", "gpus": 64, "tokens": "1T"}
ARGS = ["--model", "llama3-8b", "--gpu", "h100", "--gpus", "64", "--tokens", "1T"]


@pytest.fixture(scope="module")
def plan():
    return make_plan(inputs_from(RUN, None))


def test_guesses_are_asked_before_anything_is_shown_and_kept_beside_the_programs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("20\n31k\n\n24B\n"))
    path = tmp_path / "plan.json"
    assert main(["plan", "guess", *ARGS, "--write", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("How many days will it take?")
    assert "program" in shown.out
    kept = json.loads(path.read_text())
    assert kept["guesses"]["yours"] == {"days": 20.0, "gpu_hours": 31000.0, "optimal_parameters": 24e9}
    assert kept["guesses"]["program"]["days"] == kept["time"]["days"]


def test_both_are_scored_against_the_run_and_the_nearer_is_named(plan):
    table = {**plan.as_dict(), **guess.record(plan, {"days": 40.0, "gpu_hours": 1e6})}
    c = compare(table, {"days": 42.0, "gpu_hours": 42 * 24 * 64})
    by = {s.question: s for s in c.scores}
    assert by["days"].nearer == "you"
    assert by["gpu_hours"].nearer == "the program"
    assert by["days"].actual == 42


def test_a_step_time_alone_gives_the_days_of_the_planned_tokens(plan):
    table = {**plan.as_dict(), **guess.record(plan, {"days": 20.0})}
    c = compare(table, {"tokens_per_second": 1e12 / (25 * 86400)})
    assert c.scores[0].actual == pytest.approx(25)


def test_a_plan_without_guesses_has_no_scores(plan):
    assert compare(plan.as_dict(), {"days": 42.0}).scores == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [({"dayz": "3"}, "did you mean days"), ({"days": "soon"}, "not a number"), ({"days": "-1"}, "above zero")],
)
def test_a_guess_that_cannot_be_is_refused(given, message):
    with pytest.raises(PlanError, match=message):
        guess.read(given)


def test_nothing_guessed_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["plan", "guess", *ARGS]) == 2
    assert "nothing was guessed" in capsys.readouterr().err


STEP = {"data-parallel traffic": 0.2, "elementwise": 0.1, "matrix products": 0.5, "optimizer step": 0.01}


@pytest.mark.parametrize(
    ("mfu", "band", "first"),
    [
        (0.05, "waiting", "waiting for data"),
        (0.15, "problem", "attention without flash, or eager layers"),
        (0.40, "fine", "data-parallel traffic"),
        (0.85, "wrong", "the peak is the sparse one, or of another dtype"),
    ],
)
def test_an_mfu_is_told_with_its_likely_terms_in_order_and_what_to_measure(mfu, band, first):
    found = verdict(mfu, 0.80, STEP)
    assert (found.band, found.terms[0][0]) == (band, first)
    assert all(measure for _, measure in found.terms)


def test_a_measured_wait_for_data_comes_first():
    assert verdict(0.15, 0.8, STEP, data_share=0.4).terms[0][0] == "waiting for data"
    assert verdict(0.15, 0.8, STEP, data_share=0.01).terms[0][0] != "waiting for data"


def test_a_comparison_carries_the_verdict(plan):
    c = compare(plan.as_dict(), {"tokens_per_second": 64 * 3000})
    assert c.verdict.band == "problem"
    assert compare(plan.as_dict(), {"tokens_per_second": 64 * 20_000}).verdict.band == "wrong"
