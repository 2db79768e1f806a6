"""Vocabulary size from measured totals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.vocabulary import answer, flops_by_vocab, interpolate
from planner.facts.vocabulary import MEASURED_TOKENS, MEASURED_V
from planner.model.config import ModelConfig
from planner.model.shapes import preset

LLAMA = preset("llama3-8b")
MEASURED = [(v, t * 1e12) for v, t in zip(MEASURED_V, MEASURED_TOKENS, strict=True)]


@pytest.mark.parametrize(
    ("body", "hidden", "best", "relative"),
    [
        (33e6, 512, 10240, 0.8657),
        (302e6, 1024, 24576, 0.9979),
        (7e9, 4096, 78848, 0.9779),
        (70e9, 8192, 256000, 0.9489),
    ],
)
def test_the_minimum_of_the_published_table_is_found_again(body, hidden, best, relative):
    grid = np.arange(1024, 256_001, 512.0)
    cost = (body + grid * hidden) * interpolate(MEASURED_V, MEASURED_TOKENS, grid)
    at_32k = (body + 32768 * hidden) * MEASURED_TOKENS[5]
    assert cost.min() / at_32k == pytest.approx(relative, abs=2e-3)
    flat = grid[cost <= cost.min() * 1.003]
    assert flat[0] <= best <= flat[-1]


@given(
    st.lists(
        st.tuples(st.integers(256, 300_000), st.floats(1e6, 1e12)), min_size=1, max_size=8, unique_by=lambda p: p[0]
    )
)
@settings(max_examples=50)
def test_interpolation_passes_through_what_was_measured_and_stays_between(measured):
    measured.sort()
    v, t = np.array([p[0] for p in measured], float), np.array([p[1] for p in measured])
    assert np.allclose(interpolate(v, t, v), t, rtol=1e-9)
    inside = np.geomspace(v[0], v[-1], 101)
    values = interpolate(v, t, inside)
    assert values.min() >= t.min() * (1 - 1e-9)
    assert values.max() <= t.max() * (1 + 1e-9)


def test_the_named_minimum_is_the_minimum_by_brute_force_and_lies_in_its_flat_region():
    a = answer(LLAMA, 8192, MEASURED)
    grid = np.geomspace(1024, 1_024_000, 50_000)
    cost = flops_by_vocab(LLAMA, 8192, grid, interpolate(MEASURED_V, [t for _, t in MEASURED], grid))
    assert a.best_vocab == pytest.approx(grid[int(np.argmin(cost))], rel=0.01)
    assert a.flat_low <= a.best_vocab <= a.flat_high
    assert not a.at_edge


def test_rows_are_flops_of_reading_the_same_text_once():
    a = answer(LLAMA, 8192, MEASURED, documents=1e9, text_bytes=4e12)
    row = next(r for r in a.rows if r.vocab == 32768)
    attention = 12 * 32 * 4096 * 8192
    assert row.flops == pytest.approx(
        (6 * (LLAMA.layers * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 32768 * 4096) + attention)
        * row.tokens
    )
    assert row.tokens_per_document == pytest.approx(row.tokens / 1e9)
    assert row.bytes_per_token == pytest.approx(4e12 / row.tokens)
    assert min(r.flops_relative for r in a.rows) == 1


def test_a_minimum_at_the_edge_of_the_measurement_is_said_to_be_one():
    assert answer(LLAMA, 4096, MEASURED[:3]).at_edge


def test_small_models_want_smaller_vocabularies():
    small = ModelConfig(layers=8, hidden=512, heads=8, ffn=1536, vocab=32000)
    assert answer(small, 1024, MEASURED).best_vocab < answer(LLAMA, 8192, MEASURED).best_vocab


def test_published_fits_are_given_beside_and_disagree():
    values = dict(answer(LLAMA, 8192, MEASURED).published)
    assert max(values.values()) > 1.3 * min(values.values())


def test_no_tokenizer_is_refused():
    with pytest.raises(PlanError, match="no tokenizer"):
        answer(LLAMA, 4096, [])
