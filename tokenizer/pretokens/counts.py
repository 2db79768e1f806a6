"""Pretoken counts: how often each distinct pretoken occurs, by a scanner and a hash table over bytes.

Counts are 64-bit and add up across shards, so a corpus is counted anywhere and in any order. A table that
outgrows its memory is written to disk as a sorted run (`merging.py`) and begins anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numba import njit

from pipeline.documents import Batch
from tokenizer.memory import PADDING, padded
from tokenizer.pretokens.byte_table import INLINE, LENGTH, VALUE, enter, find, move, seek, unload
from tokenizer.pretokens.custom import custom_pretokens
from tokenizer.pretokens.patterns import CUSTOM, Pattern
from tokenizer.pretokens.scanner import next_end, scan
from tokenizer.texts import Texts

SCHEMA = pa.schema([pa.field("pretoken", pa.large_binary()), pa.field("count", pa.int64())])
"""A table of pretoken counts: bytes of the pretoken, and how often it occurs."""

BLOCK = 512
"""Pretokens scanned before they are looked up."""

_FULL = 0.7  # share of slots taken at which the table grows
_SLOT_BYTES = 32

# cells of `state`
_USED, _ARENA, _BYTES = range(3)


@njit(cache=True, nogil=True, inline="always")
def _add(data, start, length, weight, keys, k, slots, arena, state, most):  # type: ignore[no-untyped-def]
    """Count a pretoken, sought as row `k` of `keys`, `weight` times; return False where it is new and lacks room.

    state: int64 array (pretokens, bytes of arena in use, bytes of all pretokens); most: pretokens allowed.
    """
    key = keys[k, 0]
    key2 = keys[k, 1]
    slot = find(slots, arena, data, start, length, key, key2, np.int64(keys[k, 2]))
    done = True
    if slots[slot, LENGTH]:
        slots[slot, VALUE] += np.uint64(weight)
    elif state[_USED] >= most or (length > INLINE and state[_ARENA] + length + PADDING > len(arena)):
        done = False
    else:
        state[_ARENA] = enter(slots, slot, key, key2, length, weight, arena, state[_ARENA], data, start)
        state[_USED] += 1
        state[_BYTES] += length
    return done


@njit(cache=True, nogil=True)
def _count_scanned(kind, data, offsets, document, position, slots, arena, state, most):  # type: ignore[no-untyped-def]
    """Count the pretokens of documents from (`document`, `position`) on; return where it stopped for want of room."""
    ends = np.empty(BLOCK, np.int64)
    keys = np.empty((BLOCK, 3), np.uint64)
    while document < len(offsets) - 1:
        end = offsets[document + 1]
        while position < end:
            # first where the pretokens end, then what they are: the processor looks ahead over one kind of branch only
            found, _ = scan(kind, data, position, end, ends)
            seek(slots, data, position, ends, found, keys)
            for k in range(found):
                stop = ends[k]
                if not _add(data, position, stop - position, 1, keys, k, slots, arena, state, most):
                    return document, position
                position = stop
        document += 1
    return document, position


@njit(cache=True, nogil=True)
def _count_given(data, ends, number, position, weights, slots, arena, state, most):  # type: ignore[no-untyped-def]
    """Count pretokens whose ends are known, each `weights[number]` times (once, where `weights` is empty)."""
    keys = np.empty((BLOCK, 3), np.uint64)
    while number < len(ends):
        block = ends[number : number + BLOCK]
        seek(slots, data, position, block, len(block), keys)
        for k in range(len(block)):
            stop = ends[number]
            weight = weights[number] if len(weights) else 1
            if not _add(data, position, stop - position, weight, keys, k, slots, arena, state, most):
                return number, position
            position = stop
            number += 1
    return number, position


def columns_of(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (bytes followed by padding, offsets from 0 on, counts) of a batch of `SCHEMA`."""
    values = batch.column("pretoken")
    if len(values) == 0:
        return padded(b""), np.zeros(1, np.int64), np.empty(0, np.int64)
    offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return padded(data), offsets - offsets[0], np.array(batch.column("count"), np.int64)


def add_batch(table: PretokenTable, batch: Batch, pattern: Pattern, sample: float) -> None:
    """Count the pretokens of a batch of documents, or of the sample of it (`sampled`)."""
    if sample < 1:
        batch = batch.select(sampled(batch.column("id"), sample))
    table.add_texts(Texts.of(batch.data.column("text")), pattern)


def sampled(ids: Sequence[str | None], share: float) -> list[int]:
    """Return the rows whose ids fall into the sample: a hash of the id, as a number in [0, 1), is less than `share`."""
    limit = int(share * 2**64)
    return [
        row
        for row, name in enumerate(ids)
        if int.from_bytes(hashlib.blake2b((name or "").encode("utf-8", "replace"), digest_size=8).digest()) < limit
    ]


class PretokenTable:
    """Distinct pretokens and their counts in memory.

    Args:
        max_bytes: memory that the table may take; None: no bound.
        spill: called with the table's content (`SCHEMA`, unsorted) whenever it is full; it begins anew then.
    """

    def __init__(self, max_bytes: int | None = None, spill: Callable[[pa.Table], None] | None = None):
        self.max_bytes = max_bytes if spill is not None else None
        self.spill = spill
        self._start(1 << 12)

    def _start(self, slots: int) -> None:
        self._slots = np.zeros((slots, 4), np.uint64)
        self._arena = np.zeros(slots + PADDING, np.uint8)
        self._state = np.zeros(3, np.int64)

    def __len__(self) -> int:
        return int(self._state[_USED])

    @property
    def nbytes(self) -> int:
        """Memory taken: the slots, and twice the pretokens' bytes, for handing them on copies them."""
        return len(self._slots) * _SLOT_BYTES + 2 * int(self._state[_BYTES])

    def add_texts(self, texts: Texts, pattern: Pattern) -> None:
        """Count every pretoken of `texts`."""
        if pattern.kind == CUSTOM:
            for data, ends in custom_pretokens(texts, pattern):
                self.add_pretokens(data, ends)
            return
        document, position = 0, int(texts.offsets[0]) if len(texts.offsets) else 0
        while document < len(texts):
            document, position = _count_scanned(
                pattern.kind, texts.data, texts.offsets, document, position, *self._arrays()
            )
            if document < len(texts):
                stop = next_end(pattern.kind, texts.data, position, int(texts.offsets[document + 1]))
                self._make_room(stop - position)

    def add_pretokens(self, data: np.ndarray, ends: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Count pretokens lying one behind the other in `data` (followed by `PADDING` bytes) up to each of `ends`.

        Args:
            weights: int64, how often each counts; None: once.
        """
        weights = np.empty(0, np.int64) if weights is None else weights
        number, position = 0, 0
        while number < len(ends):
            number, position = _count_given(data, ends, number, position, weights, *self._arrays())
            if number < len(ends):
                self._make_room(int(ends[number]) - position)

    def add_table(self, table: pa.Table) -> None:
        """Add the counts of `table` (`SCHEMA`)."""
        for batch in table.to_batches():
            data, offsets, weights = columns_of(batch)
            self.add_pretokens(data, offsets[1:], weights)

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        return self._slots, self._arena, self._state, int(_FULL * len(self._slots))

    def _make_room(self, length: int) -> None:
        """Make room for one more pretoken of `length` bytes: a larger table, or an empty one."""
        is_full = len(self) >= int(_FULL * len(self._slots))
        more = len(self._slots) * _SLOT_BYTES * 2 if is_full else length
        if self.max_bytes is not None and self.nbytes + more > self.max_bytes and len(self):
            self.flush()
            is_full = False
        if is_full:
            larger = np.zeros((2 * len(self._slots), 4), np.uint64)
            move(self._slots, larger)
            self._slots = larger
        needed = int(self._state[_ARENA]) + length + PADDING
        if needed > len(self._arena):
            self._arena = np.concatenate([self._arena, np.zeros(max(needed, len(self._arena) // 2), np.uint8)])

    def flush(self) -> None:
        """Hand the content to `spill` and begin anew. Call it once more at the end."""
        assert self.spill is not None
        self.spill(self.to_table())
        self._state[:] = 0
        self._slots[:] = 0

    def to_table(self) -> pa.Table:
        """Return the counts, in no particular order."""
        data = np.empty(self._state[_BYTES], np.uint8)
        offsets = np.empty(len(self) + 1, np.int64)
        counts = np.empty(len(self), np.int64)
        unload(self._slots, self._arena, data, offsets, counts)
        pretokens = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        return pa.Table.from_arrays([pretokens, pa.array(counts)], schema=SCHEMA)
