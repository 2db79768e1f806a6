"""The layout search: rules kept, Pareto true, the fastest the fastest."""

import itertools

import pytest

from planner.errors import PlanError
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.layout import (
    RECOMPUTE,
    SearchSpace,
    divisors,
    search,
)
from planner.estimate.memory import estimate
from planner.estimate.step_time import bubble_of_ideal, bubble_share, ring_all_reduce_bytes, step_times
from planner.model.device import accelerator
from planner.model.shapes import preset

H100 = accelerator("h100-sxm")
LLAMA = preset("llama3-8b")
OPTIONS = MemoryOptions(seq=8192)


@pytest.fixture(scope="module")
def found():
    return search(LLAMA, H100, SearchSpace(gpus=64, global_batch=256), OPTIONS)


def test_every_row_keeps_the_rules_and_fits(found):
    for row in found.pareto:
        layout = row.layout
        assert layout.gpus == 64
        assert layout.dp * layout.micro_batch * layout.microbatches == 256
        assert layout.tp <= H100.per_node
        assert estimate(LLAMA, layout, OPTIONS, H100).total == pytest.approx(row.memory)
        assert row.memory <= H100.memory_bytes


def test_on_the_pareto_table_less_memory_always_costs_time(found):
    for one, other in itertools.pairwise(found.pareto):
        assert one.step_seconds <= other.step_seconds
        assert one.memory > other.memory


def test_the_fastest_row_is_the_fastest_by_brute_force():
    best = None
    space = SearchSpace(gpus=16, global_batch=32)
    for tp, pp, zero, size, policy in itertools.product(
        (1, 2, 4, 8), (1, 2, 4, 8, 16), (0, 1, 2, 3), (1, 2, 4, 8, 16, 32), RECOMPUTE
    ):
        dp = 16 // (tp * pp)
        if tp * pp * dp != 16 or 32 % (dp * size) or (zero and dp == 1):
            continue
        layout = Layout(
            dp=dp, tp=tp, pp=pp, zero=zero, micro_batch=size, microbatches=32 // (dp * size), recompute=policy
        )
        if estimate(LLAMA, layout, MemoryOptions(seq=4096), H100).fits:
            seconds = float(step_times(LLAMA, H100, layout, MemoryOptions(seq=4096)).sum())
            best = min(best or seconds, seconds)
    found = search(
        LLAMA, H100, SearchSpace(**{**space.__dict__, "cp": (1,), "interleave": (1,)}), MemoryOptions(seq=4096)
    )
    assert found.pareto[0].step_seconds == pytest.approx(best)


def test_times_add_up_to_the_step_and_the_worst_loss_is_named(found):
    for row in found.pareto:
        assert sum(v for _, v in row.times) == pytest.approx(row.step_seconds)
        assert row.binding


def test_memory_binds_where_a_faster_layout_was_refused_for_it(found):
    assert found.pareto[0].binding.startswith("memory")


def test_nothing_fits_is_an_empty_table_and_not_an_error():
    found = search(preset("llama3-405b"), H100, SearchSpace(gpus=8, global_batch=8), OPTIONS)
    assert found.pareto == ()
    assert found.smallest_memory > H100.memory_bytes


def test_a_batch_that_no_layout_divides_is_refused():
    with pytest.raises(PlanError, match="no layout of 7 GPUs divides"):
        search(LLAMA, H100, SearchSpace(gpus=7, global_batch=3, tp=(1,), pp=(1,)), OPTIONS)


def test_llama_3_405b_on_its_own_cluster_lands_on_its_own_kind_of_layout():
    found = search(
        preset("llama3-405b"),
        H100,
        SearchSpace(gpus=16384, global_batch=2048),
        MemoryOptions(seq=8192, convention="megatron"),
    )
    best = found.pareto[0].layout
    assert best.tp == 8
    assert best.pp == 16


def test_a_fixed_part_of_the_layout_is_kept():
    found = search(LLAMA, H100, SearchSpace(gpus=64, global_batch=64, tp=(4,), zero=(1,)), OPTIONS)
    assert all(row.layout.tp == 4 and row.layout.zero == 1 for row in found.pareto)


def test_bubbles_of_both_conventions_agree_on_idle_time():
    share, ideal = bubble_share(8, 24), bubble_of_ideal(8, 24)
    assert share == pytest.approx(ideal / (1 + ideal))
    assert bubble_of_ideal(8, 24, 2) == ideal / 2
    assert bubble_share(1, 5) == 0


def test_helpers():
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert ring_all_reduce_bytes(100, 1) == 0
