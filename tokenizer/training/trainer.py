"""Byte-pair merges from pretoken counts: the same merges, in the same order, as the trainer of `tokenizers` finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.errors import UserError
from pipeline.hashing import FREE
from tokenizer.alphabet import ID_OF_BYTE
from tokenizer.training import merge_kernel as kernel
from tokenizer.training import symbols

Progress = Callable[[int, int, float], None]
"""Called with (merges made, merges wanted, estimated seconds left)."""

PAIRS_KEPT = 1 << 20
"""Pairs kept at once, at least; rarer ones wait until the more frequent ones are used up."""

_STEP = 512  # merges between two calls of the progress function
_NO_LIMIT = 1 << 40
_PLACES_KEPT = 1 << 24  # places of pairs kept at once, at least; beyond, half as many as there are symbols


@dataclass(frozen=True)
class Merges:
    """Merges in the order they were found.

    Attributes:
        pairs: int32, shape (merges, 2): the two ids that merge m joins into id 256 + m; ids below 256 are bytes
            in the order of `alphabet.BYTES_BY_ID`.
        counts: int64, shape (merges,): how often the pair stood in the corpus when it was merged.
    """

    pairs: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)


def train_merges(
    counts: pa.Table,
    wanted: int,
    *,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    progress: Progress | None = None,
    pairs_kept: int = PAIRS_KEPT,
) -> Merges:
    """Return at most `wanted` merges; fewer where no pair is left that occurs `min_frequency` times (at least once).

    Args:
        counts: distinct pretokens and how often each occurs (`pretokens.SCHEMA`).
        max_token_length: as `tokenizers` has it: no pair is joined whose bytes together reach it, but for
            pairs of bytes, which always may be.
        pairs_kept: bounds memory; the result does not depend on it.
    Raises:
        UserError: the distinct pretokens have 2 GiB or more.
    """
    trainer = Trainer(counts, wanted, min_frequency, max_token_length, pairs_kept)
    return trainer.run(progress)


class Trainer:
    """The arrays of one training: see `merge_kernel`. Parameters as of `train_merges`; `counts` is not kept."""

    table_keys: np.ndarray
    table_pairs: np.ndarray
    pair_keys: np.ndarray
    totals: np.ndarray
    firsts: np.ndarray
    sizes: np.ndarray
    pool: np.ndarray
    noted: np.ndarray
    heap_counts: np.ndarray
    heap_pairs: np.ndarray

    def __init__(
        self,
        counts: pa.Table,
        wanted: int,
        min_frequency: int = 0,
        max_token_length: int | None = None,
        pairs_kept: int = PAIRS_KEPT,
    ):
        self.wanted, self.least, self.pairs_kept = wanted, max(1, min_frequency), max(pairs_kept, wanted)
        self.max_length = max_token_length or _NO_LIMIT
        data, offsets, weights = _columns(counts)
        cells = int(offsets[-1]) + symbols.HEADER * len(weights) + 1
        if cells >= 1 << 31:
            raise UserError(
                f"the {len(weights):,} distinct pretokens have {int(offsets[-1]):,} bytes, more than one training takes "
                "(2^31, with 3 for each): set a floor on pretoken frequency (min_pretoken_count)"
            )
        self.symbols = np.empty(cells, np.int32)
        self.long_starts = np.empty(int((np.diff(offsets) > symbols.WALK).sum()), np.int32)
        symbols.lay_out(data, offsets, weights, ID_OF_BYTE, self.symbols, self.long_starts)
        del data, offsets, weights
        self.lengths = np.ones(256 + wanted, np.int32)
        self.merges = np.empty((wanted, 3), np.int64)
        self.scratch = np.zeros((4, 256 + wanted), np.int64)
        self.fill = np.zeros(256 + wanted, np.int64)
        self.state = np.zeros(4, np.int64)
        self.floor = self.least
        self._count_anew()

    def run(self, progress: Progress | None = None) -> Merges:
        """Make all merges that are wanted and can be made."""
        begun = time.monotonic()
        while self.advance(_STEP):
            if progress is not None:
                left = (time.monotonic() - begun) / max(1, self.made) * (self.wanted - self.made)
                progress(self.made, self.wanted, left)
        if progress is not None:
            progress(self.made, self.made, 0.0)
        made = self.merges[: self.made]
        return Merges(made[:, :2].astype(np.int32), made[:, 2].copy())

    @property
    def made(self) -> int:
        """Merges made so far."""
        return int(self.state[kernel.MERGES])

    def advance(self, merges: int) -> bool:
        """Make up to `merges` merges; return whether there is more to do."""
        goal = min(self.wanted, self.made + merges)
        while True:
            outcome = kernel.merge(
                goal, self.floor, self.max_length, self.state, self.merges, self.symbols, self.long_starts,
                self.lengths, self.scratch, self.fill, self.noted, self.table_keys, self.table_pairs, self.pair_keys,
                self.totals, self.firsts, self.sizes, self.pool, self.heap_counts, self.heap_pairs,
            )  # fmt: skip
            if outcome == kernel.MORE:
                return self.made < self.wanted
            if outcome == kernel.BELOW_FLOOR and self.floor <= self.least:
                return False
            if outcome == kernel.NO_ROOM and self._find_room():
                continue
            if not self._count_anew():
                return False

    def _find_room(self) -> bool:
        """Make room for the most frequent pair's merge; return False where that takes counting anew."""
        places = int(self.sizes[self.heap_pairs[0]])
        pairs = int(self.state[kernel.PAIRS]) + kernel.new_pairs_at_most(places, self.state)
        if pairs > len(self.pair_keys):
            if pairs > 2 * self.pairs_kept:
                return False
            self._grow_pairs(min(pairs + pairs // 2, 2 * self.pairs_kept + 1))
        if self.state[kernel.POOL] + 2 * places > len(self.pool):
            kernel.compact(
                self.symbols, self.lengths, self.pair_keys, self.totals, self.firsts, self.sizes, self.pool, self.state
            )
            used = int(self.state[kernel.POOL])
            if used + max(2 * places, used // 8) > len(self.pool):
                self.pool = _resized(self.pool, used + max(2 * places, used // 4))
        return True

    def _grow_pairs(self, room: int) -> None:
        for name in ("pair_keys", "totals", "firsts", "heap_counts", "sizes", "heap_pairs"):
            setattr(self, name, _resized(getattr(self, name), room))
        self._new_table(room)
        symbols.index_pairs(self.pair_keys[: self.state[kernel.PAIRS]], self.table_keys, self.table_pairs)

    def _count_anew(self) -> bool:
        """Count all pairs from the symbols, keep the frequent ones, and return whether there are any."""
        self._forget()
        keys, totals, places = symbols.count_pairs(self.symbols, self.lengths)
        fits = self._fits(keys)
        self.floor = self._floor(totals[fits], places[fits])
        kept = fits & (totals >= self.floor)
        keys, totals, places = keys[kept], totals[kept], places[kept]
        order = np.argsort(keys)
        keys, totals, places = keys[order], totals[order], places[order]
        self._make_room(len(keys), int(places.sum()), int(places.max(initial=0)))
        number = len(keys)
        self.pair_keys[:number], self.totals[:number], self.sizes[:number] = keys, totals, places
        self.firsts[:number] = np.cumsum(places) - places
        self.heap_counts[:number], self.heap_pairs[:number] = totals, np.arange(number)
        self.state[kernel.PAIRS] = self.state[kernel.HEAP] = number
        self.state[kernel.POOL] = int(places.sum())
        symbols.index_pairs(self.pair_keys[:number], self.table_keys, self.table_pairs)
        symbols.place_pairs(
            self.symbols, self.lengths, self.table_keys, self.table_pairs, self.firsts[:number], self.pool
        )
        kernel.make_heap(self.heap_counts, self.heap_pairs, self.pair_keys, number)
        return number > 0

    def _floor(self, totals: np.ndarray, places: np.ndarray) -> int:
        """Return the count from which on pairs are kept: as low as their number and their places allow."""
        most_places = max(_PLACES_KEPT, len(self.symbols) // 2)
        if len(totals) <= self.pairs_kept and int(places.sum()) <= most_places:
            return self.least
        order = np.argsort(-totals, kind="stable")
        number = int(np.searchsorted(np.cumsum(places[order]), most_places, side="right"))
        last = order[max(1, min(number, self.pairs_kept, len(order))) - 1]
        return max(self.least, int(totals[last]))

    def _fits(self, keys: np.ndarray) -> np.ndarray:
        """Which pairs may be joined: pairs of bytes, and what stays below the maximal length."""
        left, right = keys >> 32, keys & 0xFFFFFFFF
        bytes_only = (left < 256) & (right < 256)
        return bytes_only | (self.lengths[left].astype(np.int64) + self.lengths[right] < self.max_length)

    def _forget(self) -> None:
        self.pool = self.noted = np.empty(0, np.int32)
        self.table_keys = self.pair_keys = self.totals = self.firsts = self.heap_counts = np.empty(0, np.int64)
        self.table_pairs = self.sizes = self.heap_pairs = np.empty(0, np.int32)

    def _make_room(self, pairs: int, places: int, most_places: int) -> None:
        """Allocate for `pairs` pairs and what the merges until the next count are likely to add."""
        room = pairs + max(pairs // 2, 2 * len(self.lengths) + 2, 1 << 16)
        self._new_table(room)
        self.pair_keys, self.totals, self.firsts, self.heap_counts = (np.empty(room, np.int64) for _ in range(4))
        self.sizes, self.heap_pairs = (np.empty(room, np.int32) for _ in range(2))
        self.pool = np.empty(places + max(places // 4, 2 * most_places, 1 << 16), np.int32)
        self.noted = np.empty((4, max(1, most_places)), np.int32)

    def _new_table(self, room: int) -> None:
        self.table_keys = np.full(1 << (3 * room // 2).bit_length(), FREE, np.int64)
        self.table_pairs = np.empty(len(self.table_keys), np.int32)


def _resized(array: np.ndarray, length: int) -> np.ndarray:
    resized = np.empty(length, array.dtype)
    resized[: min(length, len(array))] = array[:length]
    return resized


def _columns(counts: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (bytes, offsets, counts) of the pretokens as the kernels take them."""
    table = counts.combine_chunks()
    if table.num_rows == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.int64)
    pretokens = table.column("pretoken").chunk(0)
    offsets = np.frombuffer(pretokens.buffers()[1], np.int64)[pretokens.offset : pretokens.offset + len(pretokens) + 1]
    data = np.frombuffer(pretokens.buffers()[2] or b"", np.uint8)[offsets[0] :]
    weights = np.asarray(table.column("count").chunk(0), np.int64).copy()
    return data, offsets - offsets[0], weights
