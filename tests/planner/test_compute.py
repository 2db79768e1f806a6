"""FLOPs per token by part and convention."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.duration import Ramp, days, energy_kwh, four_moves, ramp_steps
from planner.model.config import ModelConfig
from planner.model.count import count
from planner.model.flops import attended, attention_flops, mfu, token_flops, train_flops
from planner.model.shapes import preset

LLAMA = preset("llama3-8b")


@pytest.mark.parametrize("convention", ["palm", "causal", "6nd", "matmul"])
def test_forward_and_backward_add_up_to_the_model_and_backward_is_twice_forward(convention):
    f = token_flops(LLAMA, 8192, convention)
    assert f.forward + f.backward == f.model
    assert f.backward == 2 * f.forward


def test_recompute_is_in_hardware_flops_and_never_in_model_flops():
    plain, full = token_flops(LLAMA, 8192), token_flops(LLAMA, 8192, recompute="full")
    assert plain.model == full.model
    assert plain.hardware == plain.model
    head = 2 * LLAMA.vocab * LLAMA.hidden
    assert full.hardware == pytest.approx(plain.model + plain.forward - head)


def test_recompute_policies_cost_more_the_more_they_drop():
    extra = [token_flops(LLAMA, 8192, recompute=r).recompute for r in ("none", "selective", "selective-op", "full")]
    assert extra == sorted(extra)


def test_causal_attention_is_half_of_full():
    assert attention_flops(LLAMA, 4096, "causal") == attention_flops(LLAMA, 4096, "full") / 2


def test_a_window_as_wide_as_the_sequence_changes_nothing():
    wide = ModelConfig(layers=2, hidden=64, heads=4, ffn=128, vocab=100, window=512)
    plain = ModelConfig(layers=2, hidden=64, heads=4, ffn=128, vocab=100)
    assert attention_flops(wide, 512) == attention_flops(plain, 512)
    assert attention_flops(wide, 512, "causal") == attention_flops(plain, 512, "causal")


@given(st.integers(1, 3000), st.integers(0, 4000))
def test_causal_reach_equals_the_mean_over_positions(seq, window):
    width = min(window or seq, seq)
    exact = sum(min(t, width) for t in range(1, seq + 1)) / seq
    assert attended(seq, window, "causal") == pytest.approx(exact, abs=0.5)


@pytest.mark.parametrize(
    ("convention", "expected"), [("matmul", 0.303), ("6nd", 0.325), ("causal", 0.347), ("palm", 0.390)]
)
def test_conventions_move_one_run_by_as_much_as_is_known(convention, expected):
    value = mfu(token_flops(LLAMA, 8192, convention).model, 6667, 1, 989e12)
    assert value == pytest.approx(expected, abs=6e-4)


@given(st.floats(1e6, 1e12), st.floats(1e6, 1e13), st.floats(0.1, 10))
def test_compute_and_days_scale_as_their_formulas_say(n, d, k):
    assert train_flops(k * n, d) == pytest.approx(k * train_flops(n, d))
    assert train_flops(n, k * d) == pytest.approx(k * train_flops(n, d))
    c = train_flops(n, d)
    assert days(c, 1e15, 0.4, 8 * k) == pytest.approx(days(c, 1e15, 0.4, 8) / k)
    assert days(k * c, 1e15, 0.4, 8) == pytest.approx(k * days(c, 1e15, 0.4, 8))
    assert days(c, 1e15 * k, 0.4, 8) == pytest.approx(days(c, 1e15, 0.4, 8) / k)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "7"])
def test_numbers_that_cannot_be_are_refused(bad):
    with pytest.raises(PlanError):
        train_flops(bad, 1e9)


def test_the_four_moves_say_which_change_the_model_and_refuse_an_impossible_mfu():
    moves = {
        m.name: m
        for m in four_moves(
            days_now=100, days_wanted=50, tokens=1e12, parameters=7e9, gpus=64, utilisation=0.4, ceiling=0.5
        )
    }
    assert [m.changes_model for m in moves.values()] == [True, True, False, False]
    assert (moves["more GPUs"].now, moves["more GPUs"].then, moves["more GPUs"].unit) == (64, 128, "gpus")
    assert not moves["more MFU"].possible


def test_a_constant_batch_is_no_slower_than_itself_and_a_small_early_one_is():
    assert Ramp(((256, 100),), 2048).slowdown(64, 4) == pytest.approx(1)
    assert Ramp(((32, 100), (256, 100)), 2048).slowdown(64, 4) > 1.02


def test_a_schedule_that_goes_back_is_refused():
    with pytest.raises(PlanError, match="ends before the stage ahead"):
        ramp_steps(((4e6, 1e12), (8e6, 1e11)))


def test_energy_is_hours_times_power_times_pue():
    assert energy_kwh(82432, 400, 1.1) == pytest.approx(36270, rel=1e-3)
    with pytest.raises(PlanError, match="pue"):
        energy_kwh(1, 400, 0.9)


def test_the_three_counts_of_a_model_are_kept_apart():
    n = count(LLAMA)
    assert n.non_embedding < n.matmul < n.total
