"""Real training steps: with torch the parameters, states and peak come out as planned; without it, a clear word."""

import importlib.util

import pytest

from planner.errors import PlanError
from planner.model.config import Experts, ModelConfig
from planner.model.count import count
from planner.plan import inputs_from, make_plan
from planner.report.compare import compare
from tokenmill.plan_measure import MeasureOptions, measure

has_torch = importlib.util.find_spec("torch") is not None
TINY = ModelConfig(layers=2, hidden=64, heads=4, kv_heads=2, ffn=128, vocab=512, seq=64)


@pytest.mark.skipif(has_torch, reason="torch is here")
def test_without_torch_it_says_how_to_get_it():
    with pytest.raises(PlanError, match=r"needs torch: pip install 'tokenmill\[torch\]'"):
        measure(TINY, MeasureOptions(seq=32))


@pytest.mark.parametrize("bad", [{"seq": 0}, {"steps": 0}, {"dtype": "fp8"}, {"device": "tpu"}, {"warmup": -1}])
def test_options_that_cannot_be_are_refused(bad):
    with pytest.raises(PlanError):
        MeasureOptions(**{"seq": 32, **bad})


@pytest.mark.skipif(not has_torch, reason="torch is an extra")
class TestWithTorch:
    @pytest.mark.parametrize(
        "change",
        [{}, {"tied": True}, {"gated": False, "norm": "layer", "positions": 64, "qkv_bias": True, "out_bias": True, "mlp_bias": True},
         {"qk_norm": "head"}, {"qk_norm": "full"}],
    )  # fmt: skip
    def test_torch_counts_the_parameters_that_the_planner_does(self, change):
        from dataclasses import replace

        c = replace(TINY, **change)
        assert measure(c, MeasureOptions(seq=32, steps=1, warmup=1, device="cpu"))["parameters"] == count(c).total

    def test_states_are_as_planned_and_the_peak_is_near(self):
        table = {"gpu": "cpu", "peak": 0.2, "memory": 16, "gpus": 1, "parameters": 3e6, "seq": 128, "micro_batch": 4, "global_batch": 4,
                 "dtype": "fp32", "tokens": 1e6, "recompute": "none", "zero": 0, "samples": 100}  # fmt: skip
        plan = make_plan(inputs_from(table, None))
        found = measure(plan.inputs.model, MeasureOptions(seq=128, micro_batch=4, steps=2, device="cpu"))
        compared = compare(plan.as_dict(), found)
        sizes = {name: measured / predicted for name, predicted, measured in compared.buckets}
        assert sizes["weights"] == sizes["gradients"] == pytest.approx(1)
        assert sizes["optimizer"] == pytest.approx(1, rel=0.01)
        assert sizes["activations"] == pytest.approx(1, rel=0.35)
        assert abs(compared.memory_gap) < 0.15 * compared.predicted_allocated

    def test_parts_it_does_not_build_are_refused(self):
        from dataclasses import replace

        with pytest.raises(PlanError, match="does not build"):
            measure(replace(TINY, moe=Experts(experts=4, top_k=1, ffn=64)), MeasureOptions(seq=32))
