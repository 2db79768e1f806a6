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

# a value: how many ids the pretoken has, at most LONGEST_CACHED; above, both of two or the one, or where more begin
_COUNT_BITS = np.uint64(8)
_COUNT = np.uint64(0xFF)
_ID_BITS = np.uint64(28)
_ID = np.uint64((1 << 28) - 1)
SLACK = 2
"""Cells behind the last id that are written to: two ids are written where there may be one."""


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
    if number <= 2:
        second = np.uint64(out[end - 1]) << _ID_BITS if number == 2 else np.uint64(0)
        value = (np.uint64(out[at]) | second) << _COUNT_BITS | np.uint64(number)
    else:
        begin = state[IDS]
        for k in range(number):
            ids[begin + k] = out[at + k]
        value = np.uint64(begin) << _COUNT_BITS | np.uint64(number)
        state[IDS] += number
    state[ARENA] = enter(slots, slot, key, key2, length, value, arena, state[ARENA], data, start)
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
                number = np.int64(value & _COUNT)
                value >>= _COUNT_BITS
                if number <= 2:  # nearly all; no branch on which of the two
                    out[at] = np.int32(value & _ID)
                    out[at + 1] = np.int32(value >> _ID_BITS)
                else:
                    begin = np.int64(value)
                    for n in range(number):
                        out[at + n] = ids[begin + n]
                at += number
            else:
                end = _encode(data, start, length, id_of, bpe, out, at, room)
                _remember(data, start, length, key, key2, slot, out, at, end, most, cache)
                at = end
        start = stop
    return at


@njit(cache=True, nogil=True)
def encode_scanned(kind, data, offsets, id_of, bpe, most, cache, out, bounds):  # type: ignore[no-untyped-def]
    """Write the ids of all documents into `out` (int32, as long as the text and `SLACK`), and where each begins into `bounds`.

    Args:
        kind: rule of the scanner.
        id_of: int32, below 2^28; the id of each byte and merge, by its number among them.
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
    """Write the ids of pretokens whose ends are known into `out` (int32, as long as the data and `SLACK`); return how many."""
    room = np.empty(ROOM, np.int32)
    keys = np.empty((BLOCK, 3), np.uint64)
    start = np.int64(0)
    at = np.int64(0)
    for first in range(0, len(ends), BLOCK):
        block = ends[first : first + BLOCK]
        at = _encode_block(data, start, block, id_of, bpe, out, at, most, cache, room, keys)
        start = block[-1]
    return at


@njit(cache=True, nogil=True)
def fill_parts(merges, kept, starts, parts):  # type: ignore[no-untyped-def]
    """Write the tokens that each token is at a smaller size, ``parts[starts[t]:starts[t + 1]]``.

    Args:
        merges: int32, shape (merges, 2): the two tokens that each joins, by number.
        kept: how many tokens the smaller size has; each of them is itself.
    """
    for token in range(len(starts) - 1):
        at = starts[token]
        if token < kept:
            parts[at] = token
            continue
        for side in range(2):
            half = merges[token - 256, side]
            for k in range(starts[half], starts[half + 1]):
                parts[at] = parts[k]
                at += 1


@njit(cache=True, nogil=True)
def take_apart(ids, bounds, offset, starts, parts, out, out_bounds):  # type: ignore[no-untyped-def]
    """Write what the tokens of all documents are at a smaller size into `out`, and where each document begins.

    Args:
        offset: id of the first token; the same at both sizes.
        starts, parts: of `fill_parts`.
        out: int32, of as many cells as tokens and `SLACK`.
    """
    at = np.int64(0)
    for document in range(len(bounds) - 1):
        out_bounds[document] = at
        for k in range(bounds[document], bounds[document + 1]):
            start = starts[ids[k] - offset]
            number = starts[ids[k] - offset + 1] - start
            out[at] = parts[start] + offset
            out[at + 1] = parts[start + number - 1] + offset  # both of two, or the one twice: no branch on nearly all
            for n in range(1, number - 1 if number > 2 else 0):
                out[at + n] = parts[start + n] + offset
            if number > 2:
                out[at + number - 1] = parts[start + number - 1] + offset
            at += number
    out_bounds[len(bounds) - 1] = at
