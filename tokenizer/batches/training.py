"""A training as far as its data goes: what is read in which step, traced back to documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.errors import UserError
from tokenizer.batches.folder import COLUMNS
from tokenizer.batches.pieces import Pieces
from tokenizer.batches.samplers import ENDLESS, Sampler
from tokenizer.batches.steps import Schedule

SAMPLES_AT_ONCE = 1 << 16
"""Samples whose documents are looked up together: a blend is followed from its start each time."""


@dataclass(frozen=True)
class Training:
    """Which samples each step takes, and what they read."""

    sampler: Sampler
    schedule: Schedule

    def check(self, first: int, last: int) -> None:
        """Raise UserError where steps `first` to `last` (not included) reach beyond the end."""
        if self.sampler.samples >= ENDLESS:
            return
        steps = self.schedule.steps_in(self.sampler.samples)
        if last > steps:
            raise UserError(
                f"--step {first}:{last} is beyond the end: {self.sampler.samples:,} samples are {steps:,} whole steps, "
                f"0 to {steps - 1:,}" + ("; --train-steps N makes it several epochs" if steps else "")
            )

    def samples(self, first: int, last: int) -> tuple[int, int]:
        """Return (first, behind the last) sample of steps `first` to `last` (not included)."""
        return self.schedule.first_sample(first), self.schedule.first_sample(last)

    def rows(self, pieces: Pieces, columns: Sequence[str] = COLUMNS) -> pa.Table:
        """Return `columns` of the document of each piece."""
        tables, places = [], []
        for part in np.unique(pieces.part).tolist():
            mine = np.flatnonzero(pieces.part == part)
            documents, back = np.unique(pieces.document[mine], return_inverse=True)
            tables.append(self.sampler.parts[part].rows(documents, columns).take(pa.array(back)))
            places.append(mine)
        if not tables:
            return pa.table({name: pa.array([], pa.large_string()) for name in columns})
        return pa.concat_tables(tables).take(pa.array(np.argsort(np.concatenate(places))))

    def documents(self, first: int, last: int) -> Iterator[dict[str, Any]]:
        """Yield ``{"step", "sample", "documents": [{"id", "url", "source", "tokens"}]}`` of each sample, step by step.

        Steps and samples are counted from 0 over the whole training; documents stand in the order in which they are
        read, ``tokens`` of each. Megatron and nanoGPT read one token more than a sequence, for the last label.
        """
        self.check(first, last)
        begins = self.schedule.bounds(first, last)
        for start in range(int(begins[0]), int(begins[-1]), SAMPLES_AT_ONCE):
            samples = np.arange(start, min(start + SAMPLES_AT_ONCE, int(begins[-1])))
            pieces = self.sampler.pieces(samples)
            rows = self.rows(pieces, ("id", "url", "source")).to_pylist()
            bounds = np.searchsorted(pieces.row, np.arange(len(samples) + 1))
            tokens = pieces.tokens.tolist()
            steps = first + np.searchsorted(begins, samples, side="right") - 1
            for k, (sample, step) in enumerate(zip(samples.tolist(), steps.tolist(), strict=True)):
                found = [{**rows[n], "tokens": tokens[n]} for n in range(bounds[k], bounds[k + 1])]
                yield {"step": step, "sample": sample, "documents": found}
