"""From steps to samples: how many samples each step takes, with Megatron's ramp of the batch size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.errors import UserError


@dataclass(frozen=True)
class Ramp:
    """``--rampup-batch-size START INCREMENT SAMPLES`` of Megatron: the batch grows by steps over the first samples."""

    start: int
    increment: int
    samples: int


@dataclass(frozen=True)
class Schedule:
    """How many samples each step takes.

    Attributes:
        batch: samples of a step, behind the ramp if there is one.
    """

    batch: int
    ramp: Ramp | None = None

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise UserError(f"--global-batch: {self.batch} must be at least 1")
        if self.ramp is None:
            return
        ramp, more = self.ramp, self.batch - self.ramp.start
        if ramp.start < 1 or ramp.increment < 1 or ramp.samples < 0 or more < 0 or more % ramp.increment:
            raise UserError(
                f"--ramp: {ramp.start} {ramp.increment} {ramp.samples} does not lead to a batch of {self.batch}; the batch "
                "must be START plus a multiple of INCREMENT"
            )

    def _sizes(self) -> Iterator[int]:
        """Yield the batch of each step until the ramp has ended."""
        ramp = self.ramp
        if ramp is None or self.batch == ramp.start:
            return
        each = ramp.samples / ((self.batch - ramp.start) // ramp.increment)
        consumed = 0
        while consumed <= ramp.samples and each:
            size = min(self.batch, ramp.start + int(consumed / each) * ramp.increment)
            yield size
            consumed += size

    def first_sample(self, step: int) -> int:
        """Return how many samples the steps before `step` take."""
        consumed = done = 0
        for size in self._sizes():
            if done == step:
                return consumed
            consumed, done = consumed + size, done + 1
        return consumed + (step - done) * self.batch

    def bounds(self, first: int, last: int) -> np.ndarray:
        """Return int64, one more than steps: where each step from `first` to `last` (not included) begins, in samples."""
        return np.array([self.first_sample(step) for step in range(first, last + 1)], np.int64)

    def steps_in(self, samples: int) -> int:
        """Return how many whole steps `samples` are."""
        consumed = done = 0
        for size in self._sizes():
            if consumed + size > samples:
                return done
            consumed, done = consumed + size, done + 1
        return done + (samples - consumed) // self.batch


def steps_of(text: str) -> tuple[int, int]:
    """Return (first, behind the last) of ``A:B``, or of one step. Raises UserError where it is neither."""
    first, colon, last = text.partition(":")
    try:
        start = int(first)
        end = int(last) if colon else start + 1
    except ValueError as error:
        raise UserError(f"{text!r} is no step such as 1200, or range of steps such as 1200:1230") from error
    if not 0 <= start < end:
        raise UserError(f"{text!r} holds no step: steps are counted from 0, and the last is not included")
    return start, end
