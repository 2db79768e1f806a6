"""Every worked example and step-level figure, from our own tables and against the reference file where it is."""

import json
import pathlib

import pytest

from planner.estimate.rows import cases
from planner.estimate.scaling import facts as scaling_facts
from planner.facts.hardware import ACCELERATORS
from planner.facts.models import COUNTS
from planner.model.count import count
from planner.report.examples import EXAMPLES, STEP_CHECKS, within

RUNS = pathlib.Path(__file__).resolve().parents[2] / "../shared/reference/planner_runs.json"
ANCHORS = pathlib.Path(__file__).resolve().parents[2] / "../shared/reference/planner_anchors.json"


@pytest.fixture(scope="module")
def anchors():
    if not ANCHORS.is_file():
        pytest.skip("the reference file is not here")
    return json.loads(ANCHORS.read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.id)
def test_a_worked_example_is_reproduced(example):
    assert within(example.value(), example.expected, example.rtol), example.value()


@pytest.mark.parametrize("check", STEP_CHECKS, ids=lambda s: s.what)
def test_a_published_step_figure_is_reproduced(check):
    assert within(check.value(), check.expected, check.rtol), check.value()


def test_our_examples_are_those_of_the_reference(anchors):
    ours = {e.id: e for e in EXAMPLES}
    assert set(ours) == {f["id"] for f in anchors["formulas"]}
    for f in anchors["formulas"]:
        assert within(ours[f["id"]].value(), f["expected"], f["rtol"]), f["id"]


def test_our_step_figures_are_those_of_the_reference(anchors):
    computed = [v for c in anchors["step_checks"] for v in (c["got"] if isinstance(c["got"], list) else [c["got"]])]
    assert len(computed) == len(STEP_CHECKS)
    for check, got in zip(STEP_CHECKS, computed, strict=True):
        assert check.value() == pytest.approx(got, rel=2e-3), check.what


def test_our_models_are_those_of_the_reference(anchors):
    named = {m["name"].split("(")[0]: m for m in anchors["models"]}
    assert set(named) == set(COUNTS)
    for name, m in named.items():
        assert COUNTS[name][:2] == (m["computed_total"], m["published_total"])
        assert COUNTS[name][2:5] == (m.get("matmul_params"), m.get("non_embedding"), m.get("active"))


def test_our_runs_are_those_of_the_reference(anchors):
    ours = {c.name: c for c in cases()}
    known = [r for r in anchors["runs"] if r["run"] in ours]
    assert len(known) >= 20
    for theirs in known:
        case = ours[theirs["run"]]
        assert case.tokens == pytest.approx(theirs["D"], rel=1e-6), theirs["run"]
        assert case.seconds * case.tokens / 3600 == pytest.approx(theirs["gpu_hours"], rel=1e-3)
        assert count(case.model).active == pytest.approx(theirs["N"], rel=0.02), theirs["run"]


def test_every_row_of_the_second_reference_is_a_case_of_ours():
    if not RUNS.is_file():
        pytest.skip("the reference file is not here")
    for row in json.loads(RUNS.read_text()):
        seconds = row["gpu_hours"] * 3600 / row["tokens"]
        same = [c for c in cases() if c.seconds == pytest.approx(seconds, rel=0.005)]
        assert same, row["name"]


def test_our_accelerators_are_those_of_the_reference(anchors):
    ours = {row["title"]: row for row in ACCELERATORS.values()}
    for theirs in anchors["hardware"]:
        if theirs["name"] == "V100 SXM2 16/32GB":
            continue
        row = ours[theirs["name"]]
        for key, name in (
            ("bf16", "bf16"),
            ("fp16", "fp16"),
            ("fp8", "fp8"),
            ("fp32", "fp32"),
            ("hbm_gb", "hbm_gb"),
            ("hbm_tb_s", "hbm_tbps"),
        ):
            assert row[key] == theirs[name], (theirs["name"], key)
        assert row["link_gb_s"] == theirs["scaleup_gbps_unidir"]


def test_our_scaling_coefficients_are_those_of_the_reference(anchors):
    refit = anchors["chinchilla"]["refit_here"]
    assert list(scaling_facts.REFIT_THETA) == refit["theta_logA_logB_logE_alpha_beta"]
    assert [list(r) for r in scaling_facts.REFIT_COVARIANCE] == refit["cov"]
    for name, value in anchors["muennighoff"].items():
        assert name == "status" or scaling_facts.MUENNIGHOFF[name] == value
