"""Ids of documents by one tokenizer, from one encoding of each distinct pretoken."""

from __future__ import annotations

import numpy as np
from numba import njit

from tokenizer.counting.count_kernel import BLOCK, LONGEST_CACHED
from tokenizer.counting.encode_kernel import ROOM, SHORT, encode_long, encode_short
from tokenizer.memory import PADDING
from tokenizer.pretokens.byte_table import LENGTH, VALUE, enter, find, place_of, seek
from tokenizer.pretokens.scanner import scan

# cells of `state`
ROWS, ARENA, IDS = range(3)

_COUNT_BITS = np.uint64(8)  # of a value: ids of the pretoken, at most LONGEST_CACHED; above them, where they begin
_COUNT = np.uint64(0xFF)


@njit(cache=True, nogil=True)
def _encode(data, start, length, id_of, bpe, out, at, room):  # type: ignore[no-untyped-def]
    """Write the ids of a pretoken from ``out[at]`` on; return where they end."""
    if length <= SHORT:
        number = encode_short(data, start, length, bpe, out[at:], room)
        for k in range(at, at + number):
            out[k] = id_of[out[k]]
        return at + number
    for token in encode_long(data, start, length, bpe):
        out[at] = id_of[token]
        at += 1
    return at


@njit(cache=True, nogil=True)
def _remember(data, start, length, key, key2, slot, out, at, end, most, cache):  # type: ignore[no-untyped-def]
    """Enter a pretoken whose ids are ``out[at:end]``; a full cache begins anew."""
    slots, arena, ids, state = cache
    number = end - at
    if state[ROWS] == most or state[ARENA] + length + PADDING > len(arena) or state[IDS] + number > len(ids):
        slots[:] = 0
        state[:] = 0
        slot = np.int64(place_of(key, key2, length)) & (len(slots) - 1)
    begin = state[IDS]
    for k in range(number):
        ids[begin + k] = out[at + k]
    value = np.uint64(begin) << _COUNT_BITS | np.uint64(number)
    state[ARENA] = enter(slots, slot, key, key2, length, value, arena, state[ARENA], data, start)
    state[IDS] += number
    state[ROWS] += 1


@njit(cache=True, nogil=True)
def _encode_block(data, start, ends, id_of, bpe, out, at, most, cache, room, keys):  # type: ignore[no-untyped-def]
    """Write the ids of pretokens from `start` to each of `ends` from ``out[at]`` on; return where they end."""
    slots, arena, ids, _ = cache
    seek(slots, data, start, ends, len(ends), keys)
    for k in range(len(ends)):
        stop = ends[k]
        length = stop - start
        if length > LONGEST_CACHED:
            at = _encode(data, start, length, id_of, bpe, out, at, room)
        else:
            key = keys[k, 0]
            key2 = keys[k, 1]
            slot = find(slots, arena, data, start, length, key, key2, np.int64(keys[k, 2]))
            if slots[slot, LENGTH]:
                value = slots[slot, VALUE]
                begin = np.int64(value >> _COUNT_BITS)
                for n in range(np.int64(value & _COUNT)):
                    out[at] = ids[begin + n]
                    at += 1
            else:
                end = _encode(data, start, length, id_of, bpe, out, at, room)
                _remember(data, start, length, key, key2, slot, out, at, end, most, cache)
                at = end
        start = stop
    return at


@njit(cache=True, nogil=True)
def encode_scanned(kind, data, offsets, id_of, bpe, most, cache, out, bounds):  # type: ignore[no-untyped-def]
    """Write the ids of all documents into `out` (int32, as long as the text), and where each begins into `bounds`.

    Args:
        kind: rule of the scanner.
        id_of: int32; the id of each byte and merge, by its number among them.
        most: pretokens kept in `cache`.
    """
    room = np.empty(ROOM, np.int32)
    keys = np.empty((BLOCK, 3), np.uint64)
    ends = np.empty(BLOCK, np.int64)
    at = np.int64(0)
    for document in range(len(offsets) - 1):
        bounds[document] = at
        start = offsets[document]
        end = offsets[document + 1]
        while start < end:
            found, stop = scan(kind, data, start, end, ends)
            at = _encode_block(data, start, ends[:found], id_of, bpe, out, at, most, cache, room, keys)
            start = stop
    bounds[len(offsets) - 1] = at


@njit(cache=True, nogil=True)
def encode_given(data, ends, id_of, bpe, most, cache, out):  # type: ignore[no-untyped-def]
    """Write the ids of pretokens whose ends are known into `out` (int32, as long as the data); return how many."""
    room = np.empty(ROOM, np.int32)
    keys = np.empty((BLOCK, 3), np.uint64)
    start = np.int64(0)
    at = np.int64(0)
    for first in range(0, len(ends), BLOCK):
        block = ends[first : first + BLOCK]
        at = _encode_block(data, start, block, id_of, bpe, out, at, most, cache, room, keys)
        start = block[-1]
    return at
