"""Tokens of documents at every vocabulary size from one encoding of each distinct pretoken."""

from __future__ import annotations

import numpy as np
from numba import njit

from tokenizer.counting.encode_kernel import ROOM, SHORT, encode_long, encode_short
from tokenizer.memory import PADDING
from tokenizer.pretokens.byte_table import LENGTH, VALUE, enter, find, place_of, seek
from tokenizer.pretokens.scanner import scan

LONGEST_CACHED = 127
"""Longer pretokens rarely return, and would only push others out. Counts of these fit into a byte each."""

BLOCK = 512
"""Pretokens scanned before they are looked up: as many as 16 bits can add up."""

SIZES = 8
"""Vocabulary sizes that are counted at once: a pretoken's counts are the bytes of one word."""

# cells of `state`
ROWS, ARENA = range(2)

_EVEN = np.uint64(0x00FF00FF00FF00FF)
_BYTE = np.uint64(8)


def packed_rows(table: np.ndarray) -> np.ndarray:
    """Return, of each token, its tokens at each size as the bytes of a uint64.

    Tokens of more than `LONGEST_CACHED` bytes, which may be more tokens than a byte holds, stand in no pretoken that is
    counted by these.

    Args:
        table: uint32, shape (tokens, at most `SIZES`).
    """
    rows = np.zeros((len(table), SIZES), np.uint8)
    rows[:, : table.shape[1]] = np.minimum(table, 255)
    return rows.view("<u8").ravel().astype(np.uint64)


@njit(cache=True, nogil=True)
def _make_row(data, start, length, key, key2, slot, slots, arena, most, state, packed, bpe, ids, room):  # type: ignore[no-untyped-def]
    """Encode a pretoken that the cache lacks, enter it, and return its counts; a full cache begins anew."""
    if state[ROWS] == most or state[ARENA] + length + PADDING > len(arena):
        slots[:] = 0
        state[:] = 0
        slot = np.int64(place_of(key, key2, length)) & (len(slots) - 1)
    row = np.uint64(0)
    for k in range(encode_short(data, start, length, bpe, ids, room)):
        row += packed[ids[k]]
    state[ARENA] = enter(slots, slot, key, key2, length, row, arena, state[ARENA], data, start)
    state[ROWS] += 1
    return row


@njit(cache=True, nogil=True)
def _add_uncached(data, start, length, table, totals, document, bpe, ids, room):  # type: ignore[no-untyped-def]
    if length <= SHORT:
        for k in range(encode_short(data, start, length, bpe, ids, room)):
            for size in range(totals.shape[1]):
                totals[document, size] += table[ids[k], size]
    else:
        for token in encode_long(data, start, length, bpe):
            for size in range(totals.shape[1]):
                totals[document, size] += table[token, size]


@njit(cache=True, nogil=True)
def count_scanned(kind, data, offsets, totals, tables, bpe, most, cache):  # type: ignore[no-untyped-def]
    """Fill `totals` (int64, documents x sizes) by scanner rule `kind`.

    Args:
        tables: tokens that each token is at each size (uint32), and the same packed (`packed_rows`).
        most: pretokens kept in `cache`.
    """
    scratch = np.empty(SHORT, np.int32), np.empty(ROOM, np.int32), np.empty((BLOCK, 3), np.uint64)
    ends = np.empty(BLOCK, np.int64)
    for document in range(len(offsets) - 1):
        start = offsets[document]
        end = offsets[document + 1]
        while start < end:
            # first where pretokens end, then what they are: the processor looks ahead over one kind of branch only
            found, stop = scan(kind, data, start, end, ends)
            _count_block(data, start, ends[:found], totals, document, tables, bpe, most, cache, scratch)
            start = stop


@njit(cache=True, nogil=True)
def _count_block(data, start, ends, totals, document, tables, bpe, most, cache, scratch):  # type: ignore[no-untyped-def]
    slots, arena, state = cache
    table, packed = tables
    ids, room, keys = scratch
    seek(slots, data, start, ends, len(ends), keys)
    even = odd = np.uint64(0)  # sums of the bytes in even and odd places, 16 bits each
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
                row = slots[slot, VALUE]
            else:
                row = _make_row(data, start, length, key, key2, slot, slots, arena, most, state, packed, bpe, ids, room)
            even += row & _EVEN
            odd += row >> _BYTE & _EVEN
        start = stop
    for size in range(totals.shape[1]):
        sums = odd if size & 1 else even
        totals[document, size] += np.int64(sums >> np.uint64(16 * (size >> 1)) & np.uint64(0xFFFF))


@njit(cache=True, nogil=True)
def count_given(data, ends, totals, document, tables, bpe, most, cache):  # type: ignore[no-untyped-def]
    """Add the tokens of pretokens whose ends are known to row `document` of `totals`."""
    scratch = np.empty(SHORT, np.int32), np.empty(ROOM, np.int32), np.empty((BLOCK, 3), np.uint64)
    start = 0
    for first in range(0, len(ends), BLOCK):
        block = ends[first : first + BLOCK]
        _count_block(data, start, block, totals, document, tables, bpe, most, cache, scratch)
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
