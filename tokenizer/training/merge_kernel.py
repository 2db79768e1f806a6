"""Byte-pair merges of all distinct pretokens at once, as kernels over the arrays of `symbols.py`.

Every pair has a count and a list of positions where it once stood. Its list is complete when it is made, for
a pair arises only when the younger of its tokens does; afterwards occurrences only vanish, which is seen when
the list is walked. Pairs wait in a heap under the count they had; one whose count has fallen goes back.
Pairs rarer than a floor are not kept at all: they cannot become more frequent. When the floor is reached,
or room runs out, everything is counted anew from `symbols` (`train.py`).

Order and counts are those of the trainer of `tokenizers`: count descending, then (left id, right id) ascending.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import WHOLE, slot_of
from tokenizer.memory import prefetch
from tokenizer.training.symbols import BREAK, WALK, weight_before

DEAD = -1

MORE, BELOW_FLOOR, NO_ROOM = range(3)
"""What `merge` answers: the merges asked for are done; only pairs below the floor are left; an array is full."""

_AHEAD = 24  # occurrences asked for from memory before their turn

# cells of `state`
MERGES, PAIRS, POOL, HEAP = range(4)


@njit(cache=True, nogil=True, inline="always")
def _before(count, key, other_count, other_key):  # type: ignore[no-untyped-def]
    return count > other_count or (count == other_count and key < other_key)


@njit(cache=True, nogil=True)
def _sift_up(heap_counts, heap_pairs, pair_keys, at):  # type: ignore[no-untyped-def]
    count, pair = heap_counts[at], heap_pairs[at]
    key = pair_keys[pair]
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(count, key, heap_counts[parent], pair_keys[heap_pairs[parent]]):
            break
        heap_counts[at] = heap_counts[parent]
        heap_pairs[at] = heap_pairs[parent]
        at = parent
    heap_counts[at] = count
    heap_pairs[at] = pair


@njit(cache=True, nogil=True)
def _sift_down(heap_counts, heap_pairs, pair_keys, at, size):  # type: ignore[no-untyped-def]
    count, pair = heap_counts[at], heap_pairs[at]
    key = pair_keys[pair]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(
            heap_counts[child + 1], pair_keys[heap_pairs[child + 1]], heap_counts[child], pair_keys[heap_pairs[child]]
        ):
            child += 1
        if not _before(heap_counts[child], pair_keys[heap_pairs[child]], count, key):
            break
        heap_counts[at] = heap_counts[child]
        heap_pairs[at] = heap_pairs[child]
        at = child
    heap_counts[at] = count
    heap_pairs[at] = pair


@njit(cache=True, nogil=True)
def make_heap(heap_counts, heap_pairs, pair_keys, size):  # type: ignore[no-untyped-def]
    """Order the first `size` entries as a heap."""
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(heap_counts, heap_pairs, pair_keys, at, size)


@njit(cache=True, nogil=True)
def _weight_at(symbols, long_starts, at):  # type: ignore[no-untyped-def]
    """How often the pretoken occurs in which the token at `at` stands."""
    for _ in range(WALK + 1):
        value = np.int64(symbols[at - 1])
        if value == BREAK:
            return weight_before(symbols, at)
        at = at - 1 if value >= 0 else at + value
    return weight_before(symbols, np.int64(long_starts[np.searchsorted(long_starts, at, side="right") - 1]))


@njit(cache=True, nogil=True)
def _apply(pair, new, symbols, long_starts, lengths, max_length, pair_keys, firsts, sizes, pool, scratch, noted):  # type: ignore[no-untyped-def]
    """Replace every occurrence of `pair` by token `new` and note what it changes.

    scratch: int64, shape (4, vocabulary): by neighbour, (0) lost on the left, (1) lost on the right, (2) gained
        on the left, (3) gained on the right.
    noted: int32, shape (4, places): neighbour and position of each new pair, left in rows 0 and 1, right
        in rows 2 and 3. Returns how many of each.
    """
    a = pair_keys[pair] >> 32
    b = pair_keys[pair] & 0xFFFFFFFF
    length_a = lengths[a]
    length = lengths[new]
    lefts = rights = 0
    last = firsts[pair] + sizes[pair] - 1
    for k in range(firsts[pair], last + 1):
        prefetch(symbols, np.int64(pool[min(k + _AHEAD, last)]))
        at = np.int64(pool[k])
        if symbols[at] != a or symbols[at + length_a] != b:
            continue
        weight = _weight_at(symbols, long_starts, at)
        value = np.int64(symbols[at - 1])
        if value > BREAK:
            left_at = at - 1 if value >= 0 else at + value
            left = np.int64(symbols[left_at])
            fits = lengths[left] + length < max_length
            if left == new:
                scratch[3, a] -= weight
            else:
                scratch[0, left] += weight
            if fits:
                scratch[2, left] += weight
                noted[0, lefts] = left
                noted[1, lefts] = left_at
                lefts += 1
            elif left != new:
                noted[0, lefts] = left
                noted[1, lefts] = -1
                lefts += 1
        right = np.int64(symbols[at + length])
        if right >= 0:
            fits = lengths[right] + length < max_length
            scratch[1, right] += weight
            if fits:
                scratch[3, right] += weight
            noted[2, rights] = right
            noted[3, rights] = at if fits else -1
            rights += 1
        symbols[at] = new
        symbols[at + length_a] = DEAD
        symbols[at + length - 1] = -length
    return lefts, rights


@njit(cache=True, nogil=True)
def _lose(noted_ids, number, lost, a, on_left, table_keys, table_pairs, totals):  # type: ignore[no-untyped-def]
    """Take what was lost from the counts of (neighbour, a) or (a, neighbour)."""
    for k in range(number):
        other = np.int64(noted_ids[k])
        if lost[other]:
            slot = slot_of(table_keys, other << 32 | a if on_left else a << 32 | other, WHOLE)
            if table_keys[slot] >= 0:
                totals[table_pairs[slot]] -= lost[other]
            lost[other] = 0


@njit(cache=True, nogil=True)
def _gain(
    noted_ids, noted_at, number, gained, fill, new, on_left, floor, state,
    table_keys, table_pairs, pair_keys, totals, firsts, sizes, pool, heap_counts, heap_pairs,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Make the new pairs with `new` that are frequent enough, with their positions, and put them into the heap."""
    for k in range(number):
        if noted_at[k] >= 0:
            fill[noted_ids[k]] += 1
    for k in range(number):
        other = np.int64(noted_ids[k])
        if fill[other] <= 0 or noted_at[k] < 0:
            continue
        if gained[other] < floor:
            fill[other] = 0
            continue
        pair = state[PAIRS]
        state[PAIRS] += 1
        key = other << 32 | new if on_left else new << 32 | other
        slot = slot_of(table_keys, key, WHOLE)
        table_keys[slot] = key
        table_pairs[slot] = pair
        pair_keys[pair] = key
        totals[pair] = gained[other]
        firsts[pair] = state[POOL]
        sizes[pair] = 0
        state[POOL] += fill[other]
        fill[other] = -pair - 1
        heap_counts[state[HEAP]] = gained[other]
        heap_pairs[state[HEAP]] = pair
        state[HEAP] += 1
        _sift_up(heap_counts, heap_pairs, pair_keys, state[HEAP] - 1)
    for k in range(number):
        if noted_at[k] >= 0 and fill[noted_ids[k]] < 0:
            pair = -fill[noted_ids[k]] - 1
            pool[firsts[pair] + sizes[pair]] = noted_at[k]
            sizes[pair] += 1
    for k in range(number):
        fill[noted_ids[k]] = 0
        gained[noted_ids[k]] = 0


@njit(cache=True, nogil=True)
def compact(symbols, lengths, pair_keys, totals, firsts, sizes, pool, state):  # type: ignore[no-untyped-def]
    """Drop from `pool` the positions where their pair no longer stands."""
    to = np.int64(0)
    for pair in range(state[PAIRS]):
        first = firsts[pair]
        size = sizes[pair] if totals[pair] > 0 else 0
        left = pair_keys[pair] >> 32
        right = pair_keys[pair] & 0xFFFFFFFF
        length = lengths[left]
        firsts[pair] = to
        for k in range(first, first + size):
            at = pool[k]
            if symbols[at] == left and symbols[at + length] == right:
                pool[to] = at
                to += 1
        sizes[pair] = to - firsts[pair]
    state[POOL] = to


@njit(cache=True, nogil=True)
def new_pairs_at_most(places, state):  # type: ignore[no-untyped-def]
    """How many pairs can arise where a pair that stands in `places` places is joined."""
    return 2 * min(places, 257 + state[MERGES])


@njit(cache=True, nogil=True)
def merge(
    goal, floor, max_length, state, merges, symbols, long_starts, lengths, scratch, fill, noted,
    table_keys, table_pairs, pair_keys, totals, firsts, sizes, pool, heap_counts, heap_pairs,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Make merges until there are `goal` of them; see `MORE` and its neighbours for what is returned."""
    while state[MERGES] < goal:
        if state[HEAP] == 0:
            return BELOW_FLOOR
        pair = heap_pairs[0]
        if heap_counts[0] != totals[pair]:
            if totals[pair] >= floor:
                heap_counts[0] = totals[pair]
            else:
                state[HEAP] -= 1
                heap_counts[0] = heap_counts[state[HEAP]]
                heap_pairs[0] = heap_pairs[state[HEAP]]
            _sift_down(heap_counts, heap_pairs, pair_keys, 0, state[HEAP])
            continue
        places = sizes[pair]
        if state[POOL] + 2 * places > len(pool) or state[PAIRS] + new_pairs_at_most(places, state) > len(pair_keys):
            return NO_ROOM
        a = pair_keys[pair] >> 32
        b = pair_keys[pair] & 0xFFFFFFFF
        state[HEAP] -= 1
        heap_counts[0] = heap_counts[state[HEAP]]
        heap_pairs[0] = heap_pairs[state[HEAP]]
        _sift_down(heap_counts, heap_pairs, pair_keys, 0, state[HEAP])
        new = 256 + state[MERGES]
        merges[state[MERGES], 0] = a
        merges[state[MERGES], 1] = b
        merges[state[MERGES], 2] = totals[pair]
        state[MERGES] += 1
        lengths[new] = lengths[a] + lengths[b]
        lefts, rights = _apply(
            pair, new, symbols, long_starts, lengths, max_length, pair_keys, firsts, sizes, pool, scratch, noted
        )
        _lose(noted[0], lefts, scratch[0], a, True, table_keys, table_pairs, totals)
        _lose(noted[2], rights, scratch[1], b, False, table_keys, table_pairs, totals)
        totals[pair] = 0
        _gain(noted[0], noted[1], lefts, scratch[2], fill, new, True, floor, state, table_keys, table_pairs,
              pair_keys, totals, firsts, sizes, pool, heap_counts, heap_pairs)  # fmt: skip
        _gain(noted[2], noted[3], rights, scratch[3], fill, new, False, floor, state, table_keys, table_pairs,
              pair_keys, totals, firsts, sizes, pool, heap_counts, heap_pairs)  # fmt: skip
        scratch[3, a] = 0
    return MORE
