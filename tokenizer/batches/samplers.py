"""Which tokens each sample of a training reads, by the trainer's own rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from pipeline.errors import UserError
from tokenizer.batches.folder import ShardPart
from tokenizer.batches.megatron import (
    SURPLUS,
    PathOrder,
    blended,
    epoch_samples,
    normalized,
    share,
    split_documents,
)
from tokenizer.batches.pieces import Pieces, cut

ENDLESS = 1 << 62
NAMES = ("megatron", "sequential", "nanogpt")


class Sampler(Protocol):
    """Samples by number, in the order in which training consumes them."""

    @property
    def parts(self) -> Sequence[ShardPart]:
        """The payloads."""
        ...

    @property
    def samples(self) -> int:
        """How many samples there are."""
        ...

    @property
    def reads(self) -> int:
        """Tokens that a sample reads."""
        ...

    def pieces(self, samples: np.ndarray) -> Pieces:
        """Return what `samples` (int64, ascending) read; rows are places in `samples`."""
        ...


def in_file(number: int, part: ShardPart, rows: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> Pieces:
    """Return the pieces of ranges of part `number`, its documents in the order of its file."""
    row, place, offset, tokens = cut(part.ends, starts, counts)
    return Pieces(rows[row], np.full(len(row), number, np.int64), place, offset, tokens)


@dataclass(frozen=True)
class Sequential:
    """Windows of `sequence` tokens one behind the other, the rest of each file left out: OLMo-core's fixed-length data."""

    parts: Sequence[ShardPart]
    sequence: int

    @property
    def reads(self) -> int:
        return self.sequence

    @property
    def samples(self) -> int:
        return int(self._ends[-1])

    @property
    def _ends(self) -> np.ndarray:
        return np.cumsum([part.file.tokens // self.sequence for part in self.parts])

    def pieces(self, samples: np.ndarray) -> Pieces:
        where = np.searchsorted(self._ends, samples, side="right")
        begins = np.concatenate([[0], self._ends])
        found = []
        for number in np.unique(where).tolist():
            rows = np.flatnonzero(where == number)
            starts = (samples[rows] - begins[number]) * self.sequence
            found.append(in_file(number, self.parts[number], rows, starts, np.full(len(rows), self.sequence)))
        return Pieces.joined(found)


@dataclass(frozen=True)
class NanoGpt:
    """Windows of ``train.bin`` at places that torch draws: ``torch.randint(len(data) - block_size, (batch_size,))``.

    The draws are those of a generator that was seeded and has drawn nothing else but, before, `drawn` numbers:
    nanoGPT's script draws initial weights and evaluation batches from the same one.
    """

    parts: Sequence[ShardPart]
    sequence: int
    seed: int
    drawn: int = 0
    samples: int = field(default=ENDLESS, init=False)

    def __post_init__(self) -> None:
        if self.sequence >= self._tokens:
            raise UserError(
                f"--seq: {self.sequence} leaves no place to draw in {self._tokens:,} tokens; take a shorter one"
            )

    @property
    def reads(self) -> int:
        return self.sequence + 1

    @property
    def _tokens(self) -> int:
        return sum(part.file.tokens for part in self.parts)

    def pieces(self, samples: np.ndarray) -> Pieces:
        low, high = (int(samples[0]), int(samples[-1])) if len(samples) else (0, -1)
        drawn = torch_randint(self._tokens - self.sequence, self.seed, self.drawn + low, high - low + 1)
        starts = drawn[samples - low]
        begins = np.cumsum([0, *(part.file.tokens for part in self.parts)])
        found = []
        for number, part in enumerate(self.parts):
            begin, end = np.maximum(starts, begins[number]), np.minimum(starts + self.reads, begins[number + 1])
            rows = np.flatnonzero(end > begin)
            found.append(in_file(number, part, rows, begin[rows] - begins[number], (end - begin)[rows]))
        return Pieces.joined(found)


def torch_randint(below: int, seed: int, skip: int, number: int) -> np.ndarray:
    """Return what ``torch.randint(below, (number,))`` draws on a CPU after `skip` draws of its kind: int64.

    Its generator is the Mersenne Twister, a draw its remainder by `below`: of 32 bits, and of 64 from 2^28 on (held
    against torch 2.14; earlier versions took 64 from 2^32 on, which matters to data of 2^28 to 2^32 tokens).
    """
    state = np.random.MT19937()
    state._legacy_seeding(seed)  # type: ignore[attr-defined]  # torch seeds it as RandomState does
    words = 2 if below >= 1 << 28 else 1
    left = skip * words
    while left:
        step = min(left, 1 << 22)
        state.random_raw(step, output=False)
        left -= step
    raw = np.asarray(state.random_raw(number * words), np.uint64)
    if words == 2:
        raw = raw[0::2] << np.uint64(32) | raw[1::2]
    return (raw % np.uint64(below)).astype(np.int64)


@dataclass(frozen=True)
class Megatron:
    """``GPTDataset``, or ``BlendedDataset`` of several data paths.

    Args:
        weights: of each part in a blend; None: a single part, or parts blended by how many samples each has.
        asked: samples of the whole training (steps x batch), which decides epochs and their shuffles; None: as many as
            an epoch gives.
        split: ``--split``, of which the first share trains.
    """

    parts: Sequence[ShardPart]
    sequence: int
    seed: int
    weights: tuple[float, ...] | None = None
    asked: int | None = None
    split: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if len(self.parts) > 32767:
            raise UserError(f"Megatron blends at most 32,766 data paths; there are {len(self.parts):,}")
        for part in self.parts:
            if part.file.tokens <= self.sequence:
                raise UserError(f"--seq: {part.file.name} has {part.file.tokens:,} tokens, fewer than one sample")

    @property
    def reads(self) -> int:
        return self.sequence + 1

    @property
    def samples(self) -> int:
        if len(self.parts) == 1 and self.weights is None:
            return len(self._order(0))
        if self.weights is None:
            total = sum(self._one_epoch)
            return total if self.asked is None else min(self.asked, total)
        return sum(share(self._blend_size, weight) for weight in self._shares)

    @property
    def _shares(self) -> list[float]:
        return normalized(self.weights or ())

    @property
    def _one_epoch(self) -> list[int]:
        return [epoch_samples(_path_tokens(part, self.split), self.sequence) for part in self.parts]

    @property
    def _blend_size(self) -> int:
        """Samples of the training: those asked for, else as many as no path needs a second epoch for."""
        if self.asked is not None:
            return self.asked
        most = min(math.floor(n / (1 + SURPLUS) / w) for n, w in zip(self._one_epoch, self._shares, strict=True))
        while most > 1 and any(share(most, w, SURPLUS) > n for n, w in zip(self._one_epoch, self._shares, strict=True)):
            most -= 1
        return most

    def _order(self, path: int) -> PathOrder:
        samples = self.asked
        if self.weights is not None:
            samples = share(self._blend_size, self._shares[path], SURPLUS)
        elif len(self.parts) > 1:
            samples = None
        return _path_order(self.parts[path], self.sequence, self.seed, samples, self.split)

    def paths(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the data path of each of `samples`, and its number in it."""
        if len(self.parts) == 1 and self.weights is None:
            return np.zeros(len(samples), np.int64), samples
        if self.weights is not None:
            return blended(normalized(self._shares), samples)
        most = self._one_epoch if self.asked is None else None  # Megatron without a size draws each sample once
        return blended(normalized(self._one_epoch), samples, most)

    def pieces(self, samples: np.ndarray) -> Pieces:
        path, sample = self.paths(samples)
        found = []
        for part in np.unique(path).tolist():
            order, rows = self._order(part), np.flatnonzero(path == part)
            starts = order.shuffle_index[sample[rows]].astype(np.int64) * self.sequence
            row, place, offset, tokens = cut(order.ends, starts, np.full(len(rows), self.reads, np.int64))
            documents = order.document_index[place].astype(np.int64)
            found.append(Pieces(rows[row], np.full(len(row), part, np.int64), documents, offset, tokens))
        return Pieces.joined(found)


def _path_tokens(part: ShardPart, split: tuple[float, ...]) -> int:
    if len(split) == 1:
        return part.file.tokens
    return int(part.lengths[split_documents(part.file.documents, split)].sum(dtype=np.int64))


@lru_cache(maxsize=8)
def _path_order(part: ShardPart, sequence: int, seed: int, samples: int | None, split: tuple[float, ...]) -> PathOrder:
    return PathOrder(part.lengths, split_documents(part.file.documents, split), sequence, seed, samples)
