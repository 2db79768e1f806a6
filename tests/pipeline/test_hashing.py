import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.hashing import FREE, WHOLE, mix64, slot_of

MASK = 2**64 - 1


def mix64_by_python(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


@settings(deadline=None)
@given(st.integers(0, MASK))
def test_the_mixer_is_the_finalizer_of_murmur3(value):
    assert int(mix64(np.uint64(value))) == mix64_by_python(value)


@pytest.mark.parametrize("bits", [WHOLE, (1 << 42) - 1])
@settings(deadline=None)
@given(
    entries=st.dictionaries(
        st.one_of(st.integers(0, 40), st.integers(0, 2**42 - 1)), st.integers(0, 2**20), max_size=60
    )
)
def test_every_entry_is_found_again_and_nothing_else(bits, entries):
    table = np.full(128, FREE, np.int64)
    for key, value in entries.items():
        slot = slot_of(table, key, bits)
        assert table[slot] == FREE
        table[slot] = key if bits == WHOLE else key | value << 42
    for key, value in entries.items():
        cell = int(table[slot_of(table, key, bits)])
        assert cell == (key if bits == WHOLE else key | value << 42)
    for key in (41, 2**42 - 2):
        assert (table[slot_of(table, key, bits)] == FREE) == (key not in entries)
