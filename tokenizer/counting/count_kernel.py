"""Tokens of documents at every vocabulary size from one encoding of each distinct pretoken."""

from __future__ import annotations

import numpy as np
from numba import njit

from tokenizer.counting.encode_kernel import ROOM, SHORT, encode_long, encode_short
from tokenizer.memory import PADDING
from tokenizer.pretokens.byte_table import LENGTH, VALUE, enter, find, place_of, seek
from tokenizer.pretokens.scanner import scan

LONGEST_CACHED = 128
"""Longer pretokens rarely return, and would only push others out."""

BLOCK = 512
"""Pretokens scanned before they are looked up."""

# cells of `state`
ROWS, ARENA = range(2)


@njit(cache=True, nogil=True)
def _row_of(data, start, length, table, row, bpe, ids, room):  # type: ignore[no-untyped-def]
    """Write the pretoken's tokens at each size into `row` (uint32)."""
    row[:] = 0
    if length <= SHORT:
        number = encode_short(data, start, length, bpe, ids, room)
        for k in range(number):
            for size in range(len(row)):
                row[size] += table[ids[k], size]
    else:
        for token in encode_long(data, start, length, bpe):
            for size in range(len(row)):
                row[size] += table[token, size]


@njit(cache=True, nogil=True)
def _make_row(data, start, length, key, key2, slot, slots, arena, rows, state, table, bpe, ids, room):  # type: ignore[no-untyped-def]
    """Encode a pretoken that the cache lacks, enter it, and return the number of its row; a full cache begins anew."""
    if state[ROWS] == len(rows) or state[ARENA] + length + PADDING > len(arena):
        slots[:] = 0
        state[:] = 0
        slot = np.int64(place_of(key, key2, length)) & (len(slots) - 1)
    number = state[ROWS]
    _row_of(data, start, length, table, rows[number], bpe, ids, room)
    state[ARENA] = enter(slots, slot, key, key2, length, number, arena, state[ARENA], data, start)
    state[ROWS] += 1
    return number


@njit(cache=True, nogil=True)
def _add_uncached(data, start, length, table, totals, document, bpe, ids, room):  # type: ignore[no-untyped-def]
    one = np.empty(totals.shape[1], np.uint32)
    _row_of(data, start, length, table, one, bpe, ids, room)
    for size in range(len(one)):
        totals[document, size] += one[size]


@njit(cache=True, nogil=True)
def count_scanned(kind, data, offsets, totals, table, bpe, cache):  # type: ignore[no-untyped-def]
    """Fill `totals` (int64, documents x sizes) by scanner rule `kind`."""
    scratch = np.empty(SHORT, np.int32), np.empty(ROOM, np.int32), np.empty((BLOCK, 3), np.uint64)
    ends = np.empty(BLOCK, np.int64)
    for document in range(len(offsets) - 1):
        start = offsets[document]
        end = offsets[document + 1]
        while start < end:
            # first where pretokens end, then what they are: the processor looks ahead over one kind of branch only
            found, stop = scan(kind, data, start, end, ends)
            _count_block(data, start, ends[:found], totals, document, table, bpe, cache, scratch)
            start = stop


@njit(cache=True, nogil=True)
def _count_block(data, start, ends, totals, document, table, bpe, cache, scratch):  # type: ignore[no-untyped-def]
    slots, arena, rows, state = cache
    ids, room, keys = scratch
    seek(slots, data, start, ends, len(ends), keys)
    for k in range(len(ends)):
        stop = ends[k]
        length = stop - start
        if length > LONGEST_CACHED:
            _add_uncached(data, start, length, table, totals, document, bpe, ids, room)
        else:
            key = keys[k, 0]
            key2 = keys[k, 1]
            slot = find(slots, arena, data, start, length, key, key2, np.int64(keys[k, 2]))
            if slots[slot, LENGTH]:
                number = np.int64(slots[slot, VALUE])
            else:
                number = _make_row(
                    data, start, length, key, key2, slot, slots, arena, rows, state, table, bpe, ids, room
                )
            for size in range(rows.shape[1]):
                totals[document, size] += rows[number, size]
        start = stop


@njit(cache=True, nogil=True)
def count_given(data, ends, totals, document, table, bpe, cache):  # type: ignore[no-untyped-def]
    """Add the tokens of pretokens whose ends are known to row `document` of `totals`."""
    scratch = np.empty(SHORT, np.int32), np.empty(ROOM, np.int32), np.empty((BLOCK, 3), np.uint64)
    start = 0
    for first in range(0, len(ends), BLOCK):
        block = ends[first : first + BLOCK]
        _count_block(data, start, block, totals, document, table, bpe, cache, scratch)
        start = block[-1]


@njit(cache=True, nogil=True)
def tokens_used(data, offsets, counts, bpe, used):  # type: ignore[no-untyped-def]
    """Add to `used` (int64, one per token) how often each token stands in distinct pretokens, `counts` times each."""
    ids = np.empty(SHORT, np.int32)
    room = np.empty(ROOM, np.int32)
    for word in range(len(offsets) - 1):
        start = offsets[word]
        length = offsets[word + 1] - start
        if length <= SHORT:
            number = encode_short(data, start, length, bpe, ids, room)
            for k in range(number):
                used[ids[k]] += counts[word]
        else:
            for token in encode_long(data, start, length, bpe):
                used[token] += counts[word]
