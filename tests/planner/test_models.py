"""Parameter counts are exact, by component, and configurations that cannot be are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.facts.models import COUNTS
from planner.model.config import Experts, ModelConfig
from planner.model.count import count
from planner.model.shapes import preset, presets, shape_for


@pytest.mark.parametrize("name", list(COUNTS))
def test_a_published_model_is_counted_exactly(name):
    total, published, matmul, non_embedding, active, _ = COUNTS[name]
    n = count(preset(name))
    assert n.total == total
    assert published in (None, n.total)
    assert matmul in (None, n.matmul)
    assert non_embedding in (None, n.non_embedding)
    assert active in (None, n.active)


@pytest.mark.parametrize("name", presets())
def test_components_add_up_to_the_total(name):
    n = count(preset(name))
    assert sum(n.parts().values()) == n.total


def test_tying_the_embedding_saves_exactly_one_table_and_keeps_the_matmul_count():
    shape = {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 1000}
    untied, tied = count(ModelConfig(**shape)), count(ModelConfig(**shape, tied=True))
    assert untied.total - tied.total == 1000 * 64
    assert untied.matmul == tied.matmul


def test_experts_count_wholly_in_total_and_by_top_k_in_active():
    dense = ModelConfig(layers=2, hidden=64, heads=4, ffn=128, vocab=100)
    sparse = ModelConfig(layers=2, hidden=64, heads=4, ffn=128, vocab=100, moe=Experts(experts=8, top_k=2, ffn=128))
    one = 3 * 64 * 128 * 2
    router = 2 * 64 * 8
    assert count(sparse).total - count(dense).total == 7 * one + router
    assert count(sparse).active - count(dense).active == one + router


def test_an_unknown_model_is_refused_with_near_names():
    with pytest.raises(PlanError, match=r"'llama3-8' is unknown; did you mean llama3-8b"):
        preset("llama3-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 5}, "hidden size 64 is not divisible by 5 heads"),
        ({"kv_heads": 3}, "4 heads are not divisible by 3 kv heads"),
        ({"layers": 0}, "layers: must be at least 1"),
        ({"hidden": 64.5}, "whole number"),
        ({"norm": "batch"}, "norm: 'batch' is unknown"),
        ({"moe": Experts(experts=4, top_k=5, ffn=8)}, "top_k: 5 of 4 experts"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(change, message):
    shape = {"layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100}
    with pytest.raises(PlanError, match=message):
        ModelConfig(**{**shape, **change})


@given(st.floats(3e7, 2e12), st.sampled_from([4096, 32000]))
def test_an_assumed_shape_has_the_parameters_asked_for(parameters, vocab):
    assert count(shape_for(parameters, vocab)).total == pytest.approx(parameters, rel=0.01)


def test_more_vocabulary_than_parameters_is_refused():
    with pytest.raises(PlanError, match="no transformer of"):
        shape_for(1e6, 128256)
