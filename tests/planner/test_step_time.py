"""Laws of the model of step time: what moves it, in which direction, and by about how much."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.forecast import calendar, forecast, scale
from planner.estimate.layout import SearchSpace, search
from planner.estimate.step_time import TIME_TERMS, step_times
from planner.model.device import accelerator
from planner.model.shapes import preset

H100, A100 = accelerator("h100"), accelerator("a100")
SMALL, LARGE = preset("llama3-8b"), preset("llama3-70b")


def seconds_per_token(model, device, layout, seq=8192, dtype="bf16", **options):
    times = step_times(model, device, layout, MemoryOptions(seq=seq, **options), dtype)
    return float(times.sum()) * layout.gpus / (layout.dp * layout.micro_batch * layout.microbatches * seq)


def term(model, device, layout, name, seq=8192, dtype="bf16"):
    return float(step_times(model, device, layout, MemoryOptions(seq=seq), dtype)[0][TIME_TERMS.index(name)])


def test_a_longer_sequence_costs_more_per_token_and_from_where_attention_rules_in_proportion():
    at = [seconds_per_token(SMALL, H100, Layout(dp=8, zero=3), seq) for seq in (8192, 16384, 32768, 65536, 131072)]
    assert all(one < other for one, other in itertools.pairwise(at))
    assert at[-1] / at[-2] == pytest.approx(2, rel=0.2)


def test_a_sliding_window_takes_the_length_out_of_attention():
    windowed = preset("gemma3-27b")
    layout = Layout(dp=8, zero=3)
    full = term(LARGE, H100, layout, "attention", 131072) / term(LARGE, H100, layout, "attention", 8192) / 16
    local = term(windowed, H100, layout, "attention", 131072) / term(windowed, H100, layout, "attention", 8192) / 16
    assert full == pytest.approx(16, rel=0.01)
    assert local < 0.6 * full


def test_recompute_costs_what_it_does_again():
    at = {
        r: seconds_per_token(SMALL, H100, Layout(dp=8, zero=3, recompute=r))
        for r in ("none", "selective", "selective-op", "full")
    }
    assert at["none"] < at["selective"] < at["full"]
    assert at["none"] < at["selective-op"] < at["full"]
    assert 1.25 < at["full"] / at["none"] < 1.36


def test_more_pipeline_stages_cost_a_bubble_and_interleaving_takes_some_of_it_back():
    def at(pp, v=1):
        return seconds_per_token(
            LARGE, H100, Layout(dp=64 // (8 * pp) or 1, tp=8, pp=pp, zero=1, microbatches=16, interleave=v)
        )

    assert at(1) < at(2) < at(4) < at(8)
    assert at(8, 5) < at(8)


def test_tensor_parallelism_costs_traffic_and_beyond_the_node_goes_over_the_network():
    def traffic(tp):
        return term(LARGE, H100, Layout(dp=64 // tp, tp=tp, zero=1, microbatches=4), "tensor-parallel traffic")

    assert traffic(1) == 0
    assert 0 < traffic(2) < traffic(4) < traffic(8)
    assert traffic(16) / traffic(8) > 5


def test_a_slower_link_never_makes_a_step_faster():
    for layout in (Layout(dp=64, zero=3), Layout(dp=8, tp=8, zero=1), Layout(dp=4, tp=8, pp=2, zero=1, microbatches=8)):
        fast = seconds_per_token(LARGE, accelerator("h100"), layout)
        slow = seconds_per_token(LARGE, accelerator("h800"), layout)
        assert fast <= slow


def test_more_gpus_take_fewer_days_and_more_gpu_hours_when_batch_and_layout_stay():
    gpus = (64, 256, 1024, 4096, 16384)
    hours = [seconds_per_token(SMALL, H100, Layout(dp=n, zero=3, microbatches=16384 // n)) for n in gpus]
    assert all(one < other for one, other in itertools.pairwise(hours))
    assert hours[-1] < 1.5 * hours[0]
    steps = [
        search(
            LARGE, H100, SearchSpace(gpus=n, global_batch=16384), MemoryOptions(seq=8192, convention="fsdp2")
        ).pareto[0]
        for n in gpus
    ]
    assert all(one.step_seconds > 2 * other.step_seconds for one, other in itertools.pairwise(steps))


def test_fp8_speeds_up_the_products_of_the_body_and_nothing_else():
    layout = Layout(dp=8, zero=3)
    assert term(SMALL, H100, layout, "matrix products", dtype="fp8") < term(SMALL, H100, layout, "matrix products")
    for name in ("attention", "elementwise", "logits", "optimizer step"):
        assert term(SMALL, H100, layout, name, dtype="fp8") == term(SMALL, H100, layout, name)
    gain = seconds_per_token(SMALL, H100, layout) / seconds_per_token(SMALL, H100, layout, dtype="fp8")
    assert 1.0 < gain < 1.4
    with pytest.raises(PlanError, match="no fp8"):
        step_times(SMALL, A100, layout, MemoryOptions(seq=8192), "fp8")


def test_small_layers_are_bound_by_launches_and_large_ones_are_not():
    assert term(preset("pythia-70m"), H100, Layout(), "small kernels", seq=512) > 0
    assert term(SMALL, H100, Layout(dp=8, zero=3), "small kernels") == 0


def test_without_flash_attention_the_scores_cross_the_memory():
    layout = Layout(dp=8, zero=3)
    assert seconds_per_token(SMALL, H100, layout, flash=False) > 1.3 * seconds_per_token(SMALL, H100, layout)


def test_spread_experts_send_their_tokens_and_across_nodes_that_costs_more():
    model = preset("qwen3-30b-a3b")

    def traffic(ep):
        return term(model, H100, Layout(dp=64, ep=ep, zero=1), "expert traffic", 4096)

    assert traffic(1) == 0 < traffic(8) < traffic(16)


@given(st.integers(1, 100_000), st.integers(1, 100_000))
@settings(deadline=None)
def test_the_calendar_grows_smoothly_with_the_job(one, other):
    low, high = sorted((one, other))
    assert 1 <= calendar(H100, low) <= calendar(H100, high) < 1.5
    assert abs(scale(high + 1) - scale(high)) < 0.03


def test_a_forecast_is_wider_where_code_bases_differ_more():
    options = MemoryOptions(seq=4096)
    dense = forecast(SMALL, H100, Layout(dp=8, zero=3), options)
    experts = forecast(preset("qwen3-30b-a3b"), H100, Layout(dp=8, ep=8, zero=3), options)
    assert dense.step_spread < experts.step_spread
    assert dense.seconds == pytest.approx(sum(dense.terms.values()))
    assert dense.tokens_per_second_per_gpu == pytest.approx(dense.tokens_per_step / dense.seconds / 8)
