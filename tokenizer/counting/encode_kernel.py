"""Byte-pair encoding of one pretoken: the lowest merge first, the leftmost of equals, as every BPE encoder has it.

Short pretokens, which nearly all are, have their pairs in a fixed number of lanes, so that the lowest is found by a
few vector instructions, and look merges up without a branch: what takes time otherwise is branches guessed wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tokenizer.memory import load8

SHORT = 384
"""Up to this many bytes the lowest merge is looked for anew each time; beyond, pairs wait in lists by merge."""

LANES = (16, 32, 64)
_LONGEST_IN_LANES = 62  # one lane in front, one behind
_TOKENS, _NEXTS, _BEFORES = np.uint64(64), np.uint64(130), np.uint64(196)  # places in the room behind the lanes
ROOM = SHORT
"""Cells of the room that `encode_short` works in."""

BYTE_PAIRS = 256
LENGTHS = BYTE_PAIRS + (1 << 16)
"""Where in the small table pairs of bytes, and the bytes of each token, begin; in front stands the id of each byte."""

_NONE = np.int32(0x7FFFFFFF)
_NO_LANE = np.int32(0x7FFFFFC0)  # above every merge shifted by the bits of a lane
_LANE_BITS = 6
_NOBODY = (1 << 21) - 1  # stands in front of the first token and behind the last; part of no merge

_BITS = 21  # of an id: a merge is one cell of the table, left, right and joined token

_PAIR = (1 << 2 * _BITS) - 1
FREE = -1
"""A cell that holds no merge."""
_FIRST, _SECOND = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def index_merges(merges, cells, shift, small):  # type: ignore[no-untyped-def]
    """Fill the free table `cells` (int64) and, for pairs of bytes, `small` (int32); return whether all found room.

    A merge lies in one of two buckets of two cells (cuckoo hashing, Pagh and Rodler 2004), so that a look-up is four
    loads, whatever there is. The bytes of each token are filled in too.

    Args:
        shift: 64 less the bits of a bucket's number, uint64.
    """
    small[BYTE_PAIRS:LENGTHS] = _NONE
    small[LENGTHS : LENGTHS + 256] = 1
    for k in range(len(merges)):
        left, right = np.int64(merges[k, 0]), np.int64(merges[k, 1])
        small[LENGTHS + 256 + k] = small[LENGTHS + left] + small[LENGTHS + right]
        if left < 256 and right < 256:
            small[BYTE_PAIRS + (left << 8 | right)] = 256 + k
        if not _place(left << _BITS | right | np.int64(256 + k) << 2 * _BITS, cells, shift):
            return False
    return True


@njit(cache=True, nogil=True)
def _place(cell, cells, shift):  # type: ignore[no-untyped-def]
    """Put `cell` into one of its places, moving others on to theirs."""
    left = np.int64(-1)  # bucket that a cell has just been moved out of
    for turn in range(1000):
        key = np.uint64(cell & _PAIR)
        one, other = np.int64(key * _FIRST >> shift) << 1, np.int64(key * _SECOND >> shift) << 1
        for place in (one, one + 1, other, other + 1):
            if cells[place] == FREE:
                cells[place] = cell
                return True
        left = other if one == left else one
        place = left + (turn & 1)
        cells[place], cell = cell, cells[place]
    return False


@njit(cache=True, nogil=True, inline="always")
def _found(cell, key):  # type: ignore[no-untyped-def]
    return np.int32(cell >> 2 * _BITS) if cell & _PAIR == key else _NONE


@njit(cache=True, nogil=True, inline="always")
def _joined(left, right, cells, shift):  # type: ignore[no-untyped-def]
    """The id that the two tokens make, or `_NONE`."""
    key = np.int64(left) << _BITS | np.int64(right)
    one = (np.uint64(key) * _FIRST >> shift) << _ONE
    other = (np.uint64(key) * _SECOND >> shift) << _ONE
    in_one = min(_found(cells[one], key), _found(cells[one + _ONE], key))
    return min(in_one, min(_found(cells[other], key), _found(cells[other + _ONE], key)))


@njit(cache=True, nogil=True, inline="always")
def _in_lane(join, lane):  # type: ignore[no-untyped-def]
    """What a lane holds: the merge, and below it the lane, so that the least is the lowest merge, leftmost."""
    return min(join, _NO_LANE >> _LANE_BITS) << _LANE_BITS | np.int32(lane)


def _lanes(width: int) -> Any:
    """Return the kernel for pretokens of at most ``width - 2`` bytes."""

    @njit(nogil=True, inline="always")
    def least(room):  # type: ignore[no-untyped-def]
        lowest = room[0]
        for k in range(1, width):
            lowest = min(lowest, room[k])
        return lowest

    @njit(nogil=True)
    def encode(data, start, length, cells, shift, small, ids, room):  # type: ignore[no-untyped-def]
        for k in range(width):
            room[k] = _NO_LANE
        room[_TOKENS] = _NOBODY
        room[_TOKENS + length + 1] = _NOBODY
        room[_BEFORES + length + 1] = length
        for k in range(1, length + 1):
            room[_TOKENS + k] = small[load8(data, start + k - 1)]
            room[_NEXTS + k] = k + 1
            room[_BEFORES + k] = k - 1
        for k in range(1, length):
            pair = np.int64(room[_TOKENS + k]) << 8 | np.int64(room[_TOKENS + k + 1])
            room[k] = _in_lane(small[BYTE_PAIRS + pair], k)
        while True:
            lowest = least(room)
            if lowest >= _NO_LANE:
                break
            at = np.uint64(lowest & 63)
            token = lowest >> _LANE_BITS
            right = np.uint64(room[_NEXTS + at])
            after = np.uint64(room[_NEXTS + right])
            before = np.uint64(room[_BEFORES + at])
            room[_TOKENS + at] = token
            room[_NEXTS + at] = after
            room[_BEFORES + after] = at
            room[right] = _NO_LANE
            room[at] = _in_lane(_joined(token, room[_TOKENS + after], cells, shift), at)
            room[before] = _in_lane(_joined(room[_TOKENS + before], token, cells, shift), before)
        number = 0
        at = np.uint64(1)
        while at <= length:
            ids[number] = room[_TOKENS + at]
            number += 1
            at = np.uint64(room[_NEXTS + at])
        return number

    return encode


_encode_16, _encode_32, _encode_64 = (_lanes(width) for width in LANES)


@njit(cache=True, nogil=True)
def encode_short(data, start, length, bpe, ids, room):  # type: ignore[no-untyped-def]
    """Write the ids of a pretoken of at most `SHORT` bytes into `ids` and return how many.

    Args:
        room: int32, `ROOM` long, to work in.
    """
    cells, shift, small = bpe
    if length <= 14:
        return _encode_16(data, start, length, cells, shift, small, ids, room)
    if length <= 30:
        return _encode_32(data, start, length, cells, shift, small, ids, room)
    if length <= _LONGEST_IN_LANES:
        return _encode_64(data, start, length, cells, shift, small, ids, room)
    return _encode_shifting(data, start, length, cells, shift, small, ids, room)


@njit(cache=True, nogil=True)
def _encode_shifting(data, start, length, cells, shift, small, ids, joins):  # type: ignore[no-untyped-def]
    for k in range(length):
        ids[k] = small[load8(data, start + k)]
    for k in range(length - 1):
        joins[k] = small[BYTE_PAIRS + (np.int64(ids[k]) << 8 | np.int64(ids[k + 1]))]
    number = length
    while number > 1:
        lowest = _NONE
        at = 0
        for k in range(number - 1):
            if joins[k] < lowest:
                lowest = joins[k]
                at = k
        if lowest == _NONE:
            break
        ids[at] = lowest
        number -= 1
        for k in range(at + 1, number):
            ids[k] = ids[k + 1]
        for k in range(at + 1, number - 1):
            joins[k] = joins[k + 1]
        if at + 1 < number:
            joins[at] = _joined(ids[at], ids[at + 1], cells, shift)
        if at > 0:
            joins[at - 1] = _joined(ids[at - 1], ids[at], cells, shift)
    return number


@njit(cache=True, nogil=True)
def _unlink(at, join, heads, tails, nexts, befores):  # type: ignore[no-untyped-def]
    before, after = befores[at], nexts[at]
    if before < 0:
        heads[join] = after
    else:
        nexts[before] = after
    if after < 0:
        tails[join] = before
    else:
        befores[after] = before


@njit(cache=True, nogil=True)
def _append(at, join, heads, tails, nexts, befores):  # type: ignore[no-untyped-def]
    last = tails[join]
    befores[at] = last
    nexts[at] = -1
    tails[join] = at
    if last < 0:
        heads[join] = at
    else:
        nexts[last] = at


@njit(cache=True, nogil=True)
def encode_long(data, start, length, bpe):  # type: ignore[no-untyped-def]
    """Return the ids of a pretoken of any length, in time that grows with it linearly (int32 array).

    Every place where two neighbours can be joined lies in the list of the token they make, left to right. A
    new token's joins make younger tokens still, so the lists are worked off in the order of their tokens once.
    A token of L bytes takes L cells: its id in the first, -L in the last if L > 1.
    """
    table, shift, small = bpe
    lengths = small[LENGTHS:]
    cells = np.empty(length, np.int32)
    nexts = np.empty(length, np.int32)
    befores = np.empty(length, np.int32)
    heads = np.full(len(lengths), -1, np.int32)
    tails = np.full(len(lengths), -1, np.int32)
    for k in range(length):
        cells[k] = small[load8(data, start + k)]
    for k in range(length - 1):
        join = small[BYTE_PAIRS + (np.int64(cells[k]) << 8 | np.int64(cells[k + 1]))]
        if join != _NONE:
            _append(k, join, heads, tails, nexts, befores)
    for join in range(256, len(lengths)):
        at = np.int64(heads[join])
        size = np.int64(lengths[join])
        while at >= 0:
            _unlink(at, join, heads, tails, nexts, befores)
            middle = at + lengths[cells[at]]
            after = at + size
            if after < length:
                old = _joined(cells[middle], cells[after], table, shift)
                if old != _NONE:
                    _unlink(middle, old, heads, tails, nexts, befores)
            left = np.int64(-1)
            if at > 0:
                value = np.int64(cells[at - 1])
                left = at - 1 if value >= 0 else at + value
                old = _joined(cells[left], cells[at], table, shift)
                if old != _NONE:
                    _unlink(left, old, heads, tails, nexts, befores)
            cells[middle] = -1
            cells[after - 1] = -size
            cells[at] = join
            if left >= 0:
                new = _joined(cells[left], join, table, shift)
                if new != _NONE:
                    _append(left, new, heads, tails, nexts, befores)
            if after < length:
                new = _joined(join, cells[after], table, shift)
                if new != _NONE:
                    _append(at, new, heads, tails, nexts, befores)
            at = np.int64(heads[join])
    number = 0
    at = np.int64(0)
    while at < length:
        token = cells[at]
        at += lengths[token]
        nexts[number] = token
        number += 1
    return nexts[:number]
