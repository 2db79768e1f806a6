"""From a cluster or a corpus to a model: compute, laws, the same-compute curve, and what the corpus allows."""

import json

import pytest

from planner.errors import PlanError
from planner.estimate.inputs import cluster_from, wants_model
from planner.estimate.scaling import law_reach, refit
from planner.estimate.way_back import way_back
from planner.plan import inputs_from, make_plan
from planner.report.way_back import answer
from tests.planner.test_inputs import BUDGET
from tokenmill.cli import main

CLUSTER = {"gpus": 64, "gpu": "h100", "days": 30}
LARGE = {
    "corpus": {"documents": 10, "bytes": 4e11},
    "tokenizers": [
        {"vocab_size": 65536, "tokens": 1e11, "by_language": {"en": {"tokens": 9e10}, "de": {"tokens": 1e10}}}
    ],
}


@pytest.fixture(scope="module")
def found():
    return way_back(cluster_from(CLUSTER, None))


def test_the_compute_is_below_the_peak_and_a_range(found):
    peak = 64 * 989e12 * 30 * 86400
    assert found.flops.p10 < found.flops.p50 < found.flops.p90 < peak
    assert 0.3 < found.flops.p50 / peak < 0.55


def test_the_optimum_and_its_plan_agree_on_the_days(found):
    best = found.laws[0]
    plan = make_plan(
        inputs_from(
            {"parameters": best.parameters.p50, "tokens": best.tokens.p50, "gpus": 64, "gpu": "h100", "seq": 4096}, None
        )
    )
    assert plan.schedule.days.p50 == pytest.approx(30, rel=0.1)


def test_the_laws_are_named_and_the_superseded_one_is_larger(found):
    size = {a.law: a.parameters.p50 for a in found.laws}
    assert size["Kaplan"] > 4 * size["Chinchilla, corrected"]
    assert size["Chinchilla, corrected"] == pytest.approx(float(refit().optimum(found.flops.p50)[0]), rel=0.02)


def test_every_point_of_the_curve_costs_the_same_and_the_optimum_loses_least(found):
    assert all(6 * a.parameters * a.tokens == pytest.approx(found.flops.p50) for a in found.curve)
    at = {a.ratio: a.loss for a in found.curve}
    assert min(at, key=lambda r: at[r]) == 1
    assert at[0.25] > at[0.5] > at[1] < at[2] < at[4]


def test_twice_the_days_are_twice_the_compute():
    one, two = way_back(cluster_from(CLUSTER, None)), way_back(cluster_from({**CLUSTER, "days": 60}, None))
    assert two.flops.p50 / one.flops.p50 == pytest.approx(2, rel=0.05)
    assert two.laws[0].parameters.p50 > one.laws[0].parameters.p50


def test_a_corpus_says_how_many_epochs_and_what_is_short_by_language():
    c = way_back(cluster_from(CLUSTER, LARGE)).corpus
    assert c.unique == 1e11
    assert c.epochs > 4
    assert c.missing > 0
    assert sum(row[3] for row in c.languages) == pytest.approx(c.missing)
    assert [row[0] for row in c.languages] == ["en", "de"]


def test_a_budget_without_days_gives_the_days_of_its_own_optimum():
    w = way_back(cluster_from({"gpus": 64, "gpu": "h100"}, LARGE))
    assert w.laws[0].tokens.p50 == pytest.approx(1e11, rel=0.1)
    assert 0.1 < w.days < 30


def test_a_law_does_not_speak_of_runs_far_below_its_points():
    assert law_reach(7e9, 253e3) == "outside"
    assert law_reach(1e9, 2e10) == ""
    assert law_reach(405e9, 15e12) == "extrapolated"
    p = make_plan(inputs_from({"model": "llama3-8b", "gpu": "h100", "gpus": 64}, BUDGET))
    assert p.data.loss is None
    assert "outside the law's range" in "\n".join(p.lines())


def test_neither_days_nor_budget_is_asked_for():
    assert wants_model({"gpu": "h100"})
    assert not wants_model({"model": "gpt2"})
    with pytest.raises(PlanError, match=r"give a model, or days \(--days\) or a budget"):
        cluster_from({"gpus": 64, "gpu": "h100"}, None)


def test_the_command_answers_without_a_model(capsys):
    assert main(["plan", "--gpus", "64", "--gpu", "h100", "--days", "30", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["question"] == "cluster"
    assert len(out["laws"]["rows"]) == 4
    assert answer(way_back(cluster_from(CLUSTER, None))).as_dict()["compute"] == out["compute"]
