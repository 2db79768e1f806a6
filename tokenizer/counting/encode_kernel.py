"""Byte-pair encoding of one pretoken: the lowest merge first, the leftmost of equals, as every BPE encoder has it."""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.hashing import FREE, slot_of
from tokenizer.memory import load8

SHORT = 384
"""Up to this many bytes the lowest merge is looked for anew each time; beyond, pairs wait in lists by merge."""

_NONE = np.int32(0x7FFFFFFF)


_BITS = 21  # of an id: a merge is one cell of the table, left, right and joined token

_PAIR = (1 << 2 * _BITS) - 1


@njit(cache=True, nogil=True)
def index_merges(merges, joints, byte_pairs):  # type: ignore[no-untyped-def]
    """Fill the free table `joints` (int64, see `pipeline.hashing`) and, for pairs of bytes, `byte_pairs` (int32)."""
    byte_pairs[:] = _NONE
    for k in range(len(merges)):
        left, right = np.int64(merges[k, 0]), np.int64(merges[k, 1])
        if left < 256 and right < 256:
            byte_pairs[left << 8 | right] = 256 + k
        key = left << _BITS | right
        joints[slot_of(joints, key, _PAIR)] = key | (256 + k) << 2 * _BITS


@njit(cache=True, nogil=True)
def _joined(left, right, joints):  # type: ignore[no-untyped-def]
    """The id that the two tokens make, or `_NONE`."""
    joint = joints[slot_of(joints, np.int64(left) << _BITS | np.int64(right), _PAIR)]
    return _NONE if joint == FREE else np.int32(joint >> 2 * _BITS)


@njit(cache=True, nogil=True)
def encode_short(data, start, length, id_of_byte, joints, byte_pairs, ids, joins):  # type: ignore[no-untyped-def]
    """Write the ids of a pretoken into `ids` and return how many; `joins` is room for as many."""
    for k in range(length):
        ids[k] = id_of_byte[load8(data, start + k)]
    for k in range(length - 1):
        joins[k] = byte_pairs[np.int64(ids[k]) << 8 | np.int64(ids[k + 1])]
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
            joins[at] = _joined(ids[at], ids[at + 1], joints)
        if at > 0:
            joins[at - 1] = _joined(ids[at - 1], ids[at], joints)
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
def encode_long(data, start, length, id_of_byte, joints, byte_pairs, lengths):  # type: ignore[no-untyped-def]
    """Return the ids of a pretoken of any length, in time that grows with it linearly (int32 array).

    Every place where two neighbours can be joined lies in the list of the token they make, left to right. A
    new token's joins make younger tokens still, so the lists are worked off in the order of their tokens once.
    A token of L bytes takes L cells: its id in the first, -L in the last if L > 1.
    """
    cells = np.empty(length, np.int32)
    nexts = np.empty(length, np.int32)
    befores = np.empty(length, np.int32)
    heads = np.full(len(lengths), -1, np.int32)
    tails = np.full(len(lengths), -1, np.int32)
    for k in range(length):
        cells[k] = id_of_byte[load8(data, start + k)]
    for k in range(length - 1):
        join = byte_pairs[np.int64(cells[k]) << 8 | np.int64(cells[k + 1])]
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
                old = _joined(cells[middle], cells[after], joints)
                if old != _NONE:
                    _unlink(middle, old, heads, tails, nexts, befores)
            left = np.int64(-1)
            if at > 0:
                value = np.int64(cells[at - 1])
                left = at - 1 if value >= 0 else at + value
                old = _joined(cells[left], cells[at], joints)
                if old != _NONE:
                    _unlink(left, old, heads, tails, nexts, befores)
            cells[middle] = -1
            cells[after - 1] = -size
            cells[at] = join
            if left >= 0:
                new = _joined(cells[left], join, joints)
                if new != _NONE:
                    _append(left, new, heads, tails, nexts, befores)
            if after < length:
                new = _joined(join, cells[after], joints)
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
