"""Serving: cache, decode bound, break-even."""

from dataclasses import replace

import pytest

from planner.errors import PlanError
from planner.estimate.serving import break_even_tokens, decode, experts_touched, kv_bytes, kv_bytes_per_token
from planner.model.device import accelerator
from planner.model.shapes import preset

H100 = accelerator("h100-sxm")


def test_the_cache_of_grouped_and_latent_attention():
    assert kv_bytes_per_token(preset("llama3-70b")) == 2 * 80 * 8 * 128 * 2
    assert kv_bytes_per_token(preset("deepseek-v3")) == 61 * (512 + 64) * 2


def test_small_batches_are_bound_by_bandwidth_and_huge_ones_by_compute():
    small = decode(preset("llama3-8b"), H100, batch=1, context=1024)
    large = decode(replace(preset("llama3-8b"), kv_heads=1), H100, batch=4096, context=16)
    assert small.bound == "memory bandwidth"
    assert large.bound == "compute"


def test_a_larger_batch_serves_more_tokens_and_costs_less_each():
    runs = [decode(preset("llama3-8b"), H100, batch=b, context=1024, gpus=1, usd_per_gpu_hour=2) for b in (1, 8, 32)]
    assert [r.tokens_per_second for r in runs] == sorted(r.tokens_per_second for r in runs)
    prices = [r.usd_per_million_tokens for r in runs]
    assert prices == sorted(prices, reverse=True)


def test_too_few_gpus_for_weights_and_cache_are_refused():
    with pytest.raises(PlanError, match="1 GPUs cannot hold"):
        decode(preset("llama3-70b"), H100, batch=1, context=1024, gpus=1)


def test_a_batch_reads_more_experts_than_a_single_token():
    c = preset("mixtral-8x7b")
    shares = [experts_touched(c, b) for b in (1, 4, 64)]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(12879925248 / 46702792704, rel=0.01)
    assert experts_touched(preset("llama3-8b"), 4) == 1


def test_a_smaller_model_that_serves_cheaper_repays_itself():
    assert break_even_tokens(1000, 2.0, 1.0) == 1e9
    assert break_even_tokens(1000, 1.0, 1.0) is None


def test_sliding_window_layers_cache_their_window_only():
    model = preset("gemma3-27b")
    long, short = kv_bytes(model, 131072), kv_bytes(model, 1024)
    assert short == pytest.approx(kv_bytes_per_token(model) * 1024)
    assert long < 0.25 * kv_bytes_per_token(model) * 131072
    assert kv_bytes(preset("llama3-8b"), 8192) == kv_bytes_per_token(preset("llama3-8b")) * 8192
