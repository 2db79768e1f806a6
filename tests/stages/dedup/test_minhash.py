"""Signatures, held against datasketch and xxhash."""

from __future__ import annotations

import datasketch
import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.dedup.minhash import band_hashes, banded_signatures, digest_span, permutations, signatures, xxh32
from stages.text.fold_table import fold_table
from stages.text.units import utf8_of
from tests.stages.text.test_units import units


def signed(texts: list[str], n: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    data, offsets = utf8_of(pa.array(texts, pa.large_string()))
    return signatures(data, offsets, n, *permutations(count, seed), fold_table())


def by_datasketch(text: str, n: int, count: int, seed: int) -> list[int]:
    words = units(text)
    minhash = datasketch.MinHash(count, seed=seed, scheme="affine32", hashfunc=xxhash.xxh32_intdigest)
    for i in range(max(1, len(words) - n + 1)):
        minhash.update(" ".join(words[i : i + n]).encode())
    return minhash.hashvalues.tolist()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=70), st.integers(0, 3))
def test_xxh32_is_that_of_the_xxhash_library(data, skip):
    assert xxh32(np.frombuffer(b"..." + data, np.uint8), min(skip, len(data)), len(data)) == xxhash.xxh32_intdigest(
        (b"..." + data)[min(skip, len(data)) : len(data)]
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["one", "two", "Three,", "日本語", "é", "x1"]), min_size=1, max_size=30).map(" ".join),
    st.integers(1, 6),
    st.sampled_from([1, 16, 112]),
    st.sampled_from([0, 1, 42, 2**32 - 1]),
)
def test_a_signature_is_bit_for_bit_that_of_datasketch(text, n, count, seed):
    assert signed([text], n, count, seed)[0][0].tolist() == by_datasketch(text, n, count, seed)


def test_shingles_are_counted_and_a_short_text_is_one():
    assert signed(["a b c d e f", "a b", "", "?!"], 5, 4, 1)[1].tolist() == [2, 1, 0, 0]


def test_short_texts_do_not_share_a_signature():
    values, _ = signed(["good day", "good night", "good"], 5, 16, 1)
    assert len({tuple(row) for row in values.tolist()}) == 3


def test_the_texts_of_a_batch_are_signed_as_each_alone():
    texts = ["first text of some words", "", "second one", "日本語の文章です"]
    together = signed(texts, 3, 8, 1)[0]
    assert [signed([text], 3, 8, 1)[0][0].tolist() for text in texts] == together.tolist()


@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (3, 2), (14, 8)])
def test_bands_agree_where_all_their_rows_do(bands, rows):
    one = np.arange(bands * rows, dtype=np.uint32)
    other = one.copy()
    other[-1] += 1
    hashes = band_hashes(np.stack([one, other, one]), bands)
    assert (hashes[:, 0] == hashes[:, 2]).all()
    assert (hashes[:-1, 0] == hashes[:-1, 1]).all()
    assert hashes[-1, 0] != hashes[-1, 1]


def test_banding_while_signing_is_signing_and_then_banding():
    data, offsets = utf8_of(pa.array(["a b c d e f g", "", "日本語", "a b c"], pa.large_string()))
    a, b = permutations(12, 3)
    values, counts = signatures(data, offsets, 2, a, b, fold_table())
    hashes, counted, digests = banded_signatures(data, offsets, 2, a, b, fold_table(), 4)
    assert counts.tolist() == counted.tolist()
    assert hashes.tolist() == band_hashes(values, 4).tolist()
    assert len({tuple(row) for row in digests.tolist()}) == 4


def digest_in_python(data: bytes) -> tuple[int, int]:
    def mix(value: int) -> int:
        value = ((value ^ value >> 33) * 0xFF51AFD7ED558CCD) % 2**64
        value = ((value ^ value >> 33) * 0xC4CEB9FE1A85EC53) % 2**64
        return value ^ value >> 33

    one, two = (0x9E3779B97F4A7C15 + len(data)) % 2**64, 0xC2B2AE3D27D4EB4F ^ len(data)
    for at in range(0, len(data) // 8 * 8 + 1, 8):
        word = int.from_bytes(data[at : at + 8], "little")
        one, two = mix(one ^ word), mix((two + word * 0x9FB21C651E98DF25) % 2**64)
    return one, two


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(0, 9))
def test_a_digest_is_that_of_the_plain_rule(data, start):
    start = min(start, len(data))
    assert digest_span(np.frombuffer(data + b"...", np.uint8), start, len(data)) == digest_in_python(data[start:])


def test_texts_that_differ_in_little_differ_in_digest():
    texts = [f"{'a' * n}b{'a' * (40 - n)}" for n in range(41)]
    assert len({digest_span(np.frombuffer(t.encode(), np.uint8), 0, len(t)) for t in texts}) == 41
