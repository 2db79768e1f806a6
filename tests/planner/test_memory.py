"""Memory per device: terms add up, sharding orders as it must, published peaks are met."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.activations import eager_coefficient, ideal_coefficient, layer_terms
from planner.estimate.arrangement import Layout, MemoryOptions
from planner.estimate.fitting import smallest_changes
from planner.estimate.memory import checkpoint_bytes, estimate, largest_micro_batch
from planner.estimate.rows import cases, layout_of
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.count import count
from planner.model.device import accelerator
from planner.model.flops import token_flops
from planner.model.shapes import preset, presets
from planner.plan import inputs_from, make_plan
from planner.report.examples import MEMORY_CHECKS
from planner.units import GIB

H100 = accelerator("h100-sxm")
LLAMA, BIG, MOE = preset("llama3-8b"), preset("llama3-70b"), preset("mixtral-8x7b")
OPTIONS = MemoryOptions(seq=4096)

layouts = st.builds(
    Layout, dp=st.sampled_from([1, 2, 8, 64]), tp=st.sampled_from([1, 2, 4, 8]), pp=st.sampled_from([1, 2, 4]), cp=st.sampled_from([1, 2]),
    zero=st.integers(0, 3), micro_batch=st.integers(1, 4), microbatches=st.integers(1, 16), sequence_parallel=st.booleans(),
    recompute=st.sampled_from(["none", "selective", "selective-op", "full"]),
)  # fmt: skip


def total(layout, model=LLAMA, options=OPTIONS):
    return estimate(model, layout, options, H100).total


@given(layouts)
@settings(max_examples=60)
def test_terms_add_up_to_the_total_and_none_is_negative(layout):
    e = estimate(LLAMA, layout, OPTIONS, H100)
    assert sum(e.terms.values()) == pytest.approx(e.total)
    assert min(v for s in e.stages.values() for v in s.values()) >= 0
    assert e.total == max(sum(s.values()) for s in e.stages.values())
    assert e.headroom == e.available - e.total


@given(layouts, st.sampled_from([2, 4]), st.sampled_from([LLAMA, MOE]))
@settings(max_examples=60)
def test_more_gpus_never_need_more_memory_per_gpu(layout, factor, model):
    layout = replace(layout, dp=max(layout.dp, 2))
    assert total(replace(layout, dp=layout.dp * factor), model) <= total(layout, model) * (1 + 1e-12)


@given(layouts)
@settings(max_examples=60)
def test_zero_stages_hold_ever_less_state(layout):
    states = [estimate(LLAMA, replace(layout, zero=z), OPTIONS, H100).states for z in (0, 1, 2, 3)]
    assert states == sorted(states, reverse=True)
    if layout.dp * layout.cp > 1:
        assert len(set(states)) == 4
    else:
        assert len(set(states)) == 1


@given(layouts)
@settings(max_examples=40)
def test_recompute_policies_keep_ever_less_activation(layout):
    kept = [
        estimate(LLAMA, replace(layout, recompute=r), OPTIONS, H100).terms["activations"]
        for r in ("none", "selective", "selective-op", "full")
    ]
    assert kept == sorted(kept, reverse=True)


@given(layouts)
@settings(max_examples=40)
def test_activations_scale_with_the_micro_batch(layout):
    one, two = (estimate(LLAMA, replace(layout, micro_batch=b), OPTIONS, H100).stages for b in (1, 2))
    for stage in one:
        for term in ("activations", "logits and loss", "embedding output"):
            assert two[stage][term] == pytest.approx(2 * one[stage][term])


def test_tensor_parallelism_divides_gradients_too():
    one, eight = (estimate(LLAMA, Layout(dp=8, tp=t), OPTIONS, H100).terms["gradients"] for t in (1, 8))
    assert eight == pytest.approx(one / 8, rel=1e-3)


def test_without_sequence_parallelism_norms_are_kept_whole_on_every_rank():
    with_sp, without = (
        estimate(LLAMA, Layout(dp=1, tp=8, sequence_parallel=s), OPTIONS, H100).terms["activations"]
        for s in (True, False)
    )
    assert without > 1.5 * with_sp


def test_the_first_stage_holds_a_micro_batch_per_stage_and_the_last_holds_the_logits():
    e = estimate(LLAMA, Layout(dp=1, pp=4, microbatches=16), OPTIONS, H100)
    first, last = e.stages["first stage"], e.stages["last stage"]
    assert first["activations"] == 4 * last["activations"]
    assert first["logits and loss"] == 0 < last["logits and loss"]


def test_expert_parallelism_divides_experts_only():
    one, eight = (estimate(MOE, Layout(dp=8, ep=e), OPTIONS, H100).terms["weights"] for e in (1, 8))
    experts = 2 * 32 * 8 * 3 * 4096 * 14336
    assert one - eight == pytest.approx(experts * 7 / 8)


def test_zero_shards_experts_over_their_own_replicas():
    spread = estimate(MOE, Layout(dp=8, ep=8, zero=3), OPTIONS, H100).states
    whole = estimate(MOE, Layout(dp=8, ep=1, zero=3), OPTIONS, H100).states
    assert spread == pytest.approx(whole, rel=1e-9)


def test_the_score_matrix_is_kept_only_without_flash_attention():
    flash = estimate(LLAMA, Layout(), OPTIONS, H100).terms["activations"]
    naive = estimate(LLAMA, Layout(), replace(OPTIONS, flash=False), H100).terms["activations"]
    assert naive - flash == pytest.approx(2 * 32 * 32 * 4096 * 4096)


def test_grouped_queries_keep_less_than_full_heads():
    full = replace(LLAMA, kv_heads=32)
    difference = sum(layer_terms(full, 1.0, 1.0).values()) - sum(layer_terms(LLAMA, 1.0, 1.0).values())
    assert difference == 2 * 2 * (32 - 8) * 128


@pytest.mark.parametrize(("name", "measured"), [("llama3-8b", 28.0), ("mistral-7b", 28.0), ("qwen3-8b", 29.8)])
def test_eager_layers_are_within_five_percent_of_what_was_measured(name, measured):
    assert eager_coefficient(preset(name)) == pytest.approx(measured, rel=0.05)
    by_term = layer_terms(preset(name), 1.0, 1.0, eager=True)
    by_term = sum(v for k, v in by_term.items() if k != "softmax statistics") / 2 / preset(name).hidden
    assert by_term == pytest.approx(eager_coefficient(preset(name)))


def test_the_fused_coefficient_of_qwen3_is_as_derived():
    assert ideal_coefficient(preset("qwen3-8b")) == 18.5


@pytest.mark.parametrize("check", [m for m in MEMORY_CHECKS if not m.why], ids=lambda m: m.what)
def test_a_published_peak_is_met_within_two_percent(check):
    e = estimate(preset(check.model), check.layout, MemoryOptions(seq=check.seq, convention="fsdp2"), H100)
    assert e.total / GIB == pytest.approx(check.reported_gib, rel=0.02)


def test_fsdp_from_8_to_128_gpus_saves_what_torchtitan_saw():
    options = MemoryOptions(seq=8192, convention="fsdp2")
    saved = total(Layout(dp=8, zero=3), LLAMA, options) - total(Layout(dp=128, zero=3), LLAMA, options)
    assert saved / GIB == pytest.approx(14.02, rel=0.01)


@pytest.mark.parametrize("optimizer", [o for o in MOMENTS if o not in ("muon", "adafactor")])
def test_an_optimizer_holds_its_bytes_per_parameter(optimizer):
    e = estimate(LLAMA, Layout(), MemoryOptions(seq=128, optimizer=optimizer), H100)
    assert e.terms["moments"] == pytest.approx(MOMENTS[optimizer][0] * 8030261248)


def test_muon_adds_a_second_moment_only_off_the_matrices_and_adafactor_holds_almost_nothing():
    states = {
        o: estimate(LLAMA, Layout(), MemoryOptions(seq=128, optimizer=o), H100).terms["moments"]
        for o in ("lion", "muon", "adamw", "adafactor")
    }
    assert states["lion"] < states["muon"] < states["adamw"]
    assert states["adafactor"] < 0.01 * states["lion"]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout(tp=5), "attention heads of llama3-8b are not divisible by tp = 5"),
        (Layout(tp=3), "not divisible by tp = 3"),
        (Layout(pp=3), "3 pipeline stages do not divide the 32 layers"),
        (Layout(cp=3), "sequence 4096 is not divisible"),
        (Layout(ep=2), "ep: 2 must divide 1 experts"),
        (Layout(dp=0), "dp: must be at least 1"),
        (Layout(micro_batch=-1), "micro_batch: must be at least 1"),
    ],
)
def test_a_layout_that_cannot_run_is_refused(layout, message):
    with pytest.raises(PlanError, match=message):
        estimate(LLAMA, layout, OPTIONS, H100)


def test_a_stage_that_a_framework_does_not_have_is_refused():
    with pytest.raises(PlanError, match="megatron convention has ZeRO stage 0 or 1, not 3"):
        estimate(LLAMA, Layout(zero=3), replace(OPTIONS, convention="megatron"), H100)


def test_ends_one_layer_short_are_allowed_as_in_llama_3_405b():
    assert estimate(preset("llama3-405b"), Layout(tp=8, pp=16, microbatches=16), OPTIONS, H100).total > 0


@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1024, 4096]))
@settings(max_examples=10)
def test_the_largest_micro_batch_fits_and_the_next_does_not(dp, seq):
    options = MemoryOptions(seq=seq)
    layout = Layout(dp=dp * 8, zero=3)
    best = largest_micro_batch(LLAMA, layout, options, H100)
    assert best >= 1
    assert (
        total(replace(layout, micro_batch=best), LLAMA, options)
        <= H100.memory_bytes
        < total(replace(layout, micro_batch=best + 1), LLAMA, options)
    )


def test_changes_that_make_it_fit_do_make_it_fit():
    layout, options = Layout(dp=8, zero=2, micro_batch=2), MemoryOptions(seq=8192)
    changes = smallest_changes(LLAMA, layout, options, H100)
    assert changes
    assert all(c.memory <= H100.memory_bytes for c in changes)
    assert smallest_changes(LLAMA, Layout(dp=64, zero=3), MemoryOptions(seq=1024), H100) == ()


def test_every_convention_names_its_source():
    assert all(c.source for c in CONVENTIONS.values())


def test_a_checkpoint_leaves_gradients_out():
    assert checkpoint_bytes(1e9) == 14e9
    assert checkpoint_bytes(1e9, "sgd") == 6e9


@pytest.mark.parametrize("name", presets())
def test_a_single_device_holds_every_parameter_and_both_ends_of_a_pipeline_at_least_all(name):
    c = preset(name)
    assert estimate(c, Layout(), MemoryOptions(seq=64), H100).terms["weights"] == pytest.approx(2 * count(c).total)
    if c.layers % 2 == 0:
        ends = estimate(c, Layout(pp=2), MemoryOptions(seq=64), H100).stages
        assert sum(e["weights"] for e in ends.values()) >= 2 * count(c).total * (1 - 1e-9)


FOUNDRY = [c for c in cases() if c.family == "llm-foundry" and c.device.name == "h100-sxm" and c.dtype == "bf16"]


@pytest.mark.parametrize("case", FOUNDRY, ids=lambda c: c.name)
def test_a_published_micro_batch_fits_and_its_mfu_is_the_published_one(case):
    """llm-foundry's loss turns logits into gradients in place; its peak is 989.5."""
    options = MemoryOptions(seq=case.seq, convention="fsdp2", logits="in-place")
    layout = replace(layout_of(case), microbatches=1)
    assert estimate(case.model, layout, options, case.device).fits
    mfu = token_flops(case.model, case.seq, "palm").model / case.seconds / 989.5e12
    assert mfu == pytest.approx(case.reported_mfu, rel=0.02)


def terms(model, layout, **options):
    return estimate(preset(model), layout, MemoryOptions(seq=8192, **options), accelerator("h100")).terms


def test_kv_heads_are_replicated_where_tensor_ranks_outnumber_them():
    eight, sixteen = terms("llama3-70b", Layout(tp=8)), terms("llama3-70b", Layout(tp=16))
    kv = 2 * 8192 * 8 * 128 * 80 * 2
    assert sixteen["weights"] - eight["weights"] / 2 == pytest.approx(kv / 16, rel=0.05)


def test_a_moving_average_an_offloaded_optimizer_and_fp32_gradients_move_their_own_terms():
    layout = Layout(dp=8, zero=2)
    plain = terms("llama3-8b", layout)
    assert terms("llama3-8b", layout, ema=True)["moving average"] == pytest.approx(4 * 8030261248 / 8)
    away = terms("llama3-8b", layout, offload="optimizer")
    assert away["master copy"] == away["moments"] == 0 < plain["moments"]
    assert terms("llama3-8b", layout, gradient_bytes=4)["gradients"] == pytest.approx(2 * plain["gradients"])


def test_hybrid_sharding_holds_more_and_a_second_copy_of_the_weights_is_a_term():
    layout = Layout(dp=64, zero=3)
    whole, hybrid = terms("llama3-8b", layout), terms("llama3-8b", layout, shard=8)
    assert hybrid["moments"] == pytest.approx(8 * whole["moments"])
    assert terms("llama3-8b", layout, secondary=8)["secondary weights"] == pytest.approx(2 * 8030261248 / 8)
    assert terms("llama3-8b", layout, bucket_bytes=2e9)["communication buffers"] - whole["communication buffers"] == 2e9


def test_a_model_that_fits_only_with_a_loss_in_place_is_planned_so_and_says_it():
    table = {"model": "mpt-7b", "gpu": "h100", "gpus": 8, "tokens": "100B", "seq": 2048, "recompute": "full",
             "micro_batch": 32, "tp": 1, "pp": 1, "cp": 1, "zero": 3, "global_batch": 512}  # fmt: skip
    p = make_plan(inputs_from(table, None))
    assert p.fit.memory.fits
    assert "in place" in p.summary_lines()[1]
    assert not make_plan(inputs_from({**table, "logits": "unfused"}, None)).fit.memory.fits
