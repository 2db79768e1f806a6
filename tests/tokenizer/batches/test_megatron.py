"""Orders of samples against the arrays that megatron-core's own classes built (``make_golden.py``)."""

import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizer.batches.make_golden import CASES, SEED, SEQUENCE, WEIGHTS, documents
from tokenizer.batches.megatron import PathOrder, blended, epoch_samples, normalized, share, split_documents
from tokenizer.batches.pieces import cut
from tokenizer.batches.steps import Ramp, Schedule
from tokenizer.shards.formats import megatron_index

GOLDEN = np.load(pathlib.Path(__file__).with_name("megatron.npz"))


def lengths_of(number):
    return np.array([len(text) for text in documents(number)], np.int32)


def order_of(number, samples, split=(1.0,)):
    lengths = lengths_of(number)
    return PathOrder(lengths, split_documents(len(lengths), split), SEQUENCE, SEED, samples)


@pytest.mark.parametrize("number", range(4))
def test_payload_and_index_are_the_bytes_of_megatrons_builder(number):
    dtype = "uint16" if number < 3 else "int32"
    payload = np.concatenate(documents(number)).astype(dtype).tobytes()
    assert payload == GOLDEN[f"bin_{number}"].tobytes()
    assert megatron_index(lengths_of(number), dtype) == GOLDEN[f"idx_{number}"].tobytes()


@pytest.mark.parametrize("case", CASES)
def test_documents_samples_and_shuffle_are_those_of_gpt_dataset(case):
    order = order_of(0, CASES[case])
    assert np.array_equal(order.document_index, GOLDEN[f"{case}_documents"])
    assert np.array_equal(order.sample_index(), GOLDEN[f"{case}_samples"])
    assert np.array_equal(order.shuffle_index, GOLDEN[f"{case}_shuffle"])


@pytest.mark.parametrize("case", CASES)
def test_the_pieces_of_a_sample_are_the_tokens_that_gpt_dataset_hands_out(case):
    order, texts = order_of(0, CASES[case]), documents(0)
    start = int(order.shuffle_index[7]) * SEQUENCE
    _, place, offset, tokens = cut(order.ends, np.array([start]), np.array([SEQUENCE + 1]))
    ids = order.document_index[place]
    read = [texts[d][o : o + n] for d, o, n in zip(ids, offset, tokens, strict=True)]
    assert np.concatenate(read).tolist() == GOLDEN[f"{case}_text_7"].tolist()
    assert ids.tolist() == GOLDEN[f"{case}_ids_7"].tolist()


def test_a_split_leaves_the_last_documents_to_validation():
    order = order_of(0, 30, (80, 20))
    assert np.array_equal(order.document_index, GOLDEN["split_documents"])
    assert np.array_equal(order.shuffle_index, GOLDEN["split_shuffle"])


def test_a_blend_of_three_is_that_of_blended_dataset_its_paths_over_several_epochs():
    weights = normalized(WEIGHTS)
    path, sample = blended(normalized(weights), np.arange(600))
    assert np.array_equal(path, GOLDEN["blend_dataset"])
    assert np.array_equal(sample, GOLDEN["blend_sample"])
    for number, weight in enumerate(weights):
        order = order_of(number, share(600, weight, 0.005))
        assert np.array_equal(order.document_index, GOLDEN[f"blend_documents_{number}"])
        assert np.array_equal(order.shuffle_index, GOLDEN[f"blend_shuffle_{number}"])


def test_a_blend_without_weights_is_by_size_and_without_a_length_takes_every_sample_once():
    sizes = [epoch_samples(int(lengths_of(number).sum()), SEQUENCE) for number in range(3)]
    path, sample = blended(normalized(sizes), np.arange(200))
    assert np.array_equal(path, GOLDEN["unweighted_dataset"])
    assert np.array_equal(sample, GOLDEN["unweighted_sample"])
    path, sample = blended(normalized(sizes), np.arange(sum(sizes)), sizes)
    assert np.array_equal(path, GOLDEN["exhaustive_dataset"])
    assert np.array_equal(sample, GOLDEN["exhaustive_sample"])


def test_some_samples_of_a_blend_are_those_of_the_whole():
    whole = blended(WEIGHTS, np.arange(300))
    some = np.array([5, 123, 124, 299])
    assert [column[some].tolist() for column in whole] == [column.tolist() for column in blended(WEIGHTS, some)]


def test_a_ramp_takes_the_batches_of_megatrons_calculator():
    schedule = Schedule(48, Ramp(16, 8, 300))
    assert np.diff(schedule.bounds(0, 20)).tolist() == GOLDEN["ramp"].tolist()
    assert schedule.bounds(7, 9).tolist() == [GOLDEN["ramp"][:n].sum() for n in (7, 8, 9)]


@given(st.integers(1, 40), st.integers(0, 60), st.integers(1, 9), st.integers(1, 5), st.integers(0, 400))
def test_steps_in_so_many_samples_are_those_that_end_within_them(start, more, increment, times, samples):
    schedule = Schedule(start + times * increment, Ramp(start, increment, more))
    steps = schedule.steps_in(samples)
    assert schedule.first_sample(steps) <= samples < schedule.first_sample(steps + 1)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.data())
def test_pieces_of_ranges_are_the_tokens_of_the_stream_cut_at_the_ends_of_documents(lengths, data):
    stream = [(d, k) for d, length in enumerate(lengths) for k in range(length)]
    start = data.draw(st.integers(0, len(stream)))
    count = data.draw(st.integers(0, len(stream) - start))
    ends = np.cumsum(np.array(lengths, np.int64))
    row, place, offset, tokens = cut(ends, np.array([start]), np.array([count]))
    read = [(d, o + k) for d, o, n in zip(place, offset, tokens, strict=True) for k in range(n)]
    assert read == stream[start : start + count]
    assert (tokens > 0).all()
    assert (row == 0).all()
