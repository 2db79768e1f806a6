"""Leaving steps out: which samples those are, how each trainer is told, and what it costs.

The remedy is PaLM's (arXiv:2204.02311, section 5.1): go back to a checkpoint about a hundred steps before the spike and
leave out the batches around it.
"""

from __future__ import annotations

from typing import Any

from pipeline.errors import UserError
from tokenizer.batches.training import Training

BEFORE = 100
"""Steps before the spike that the checkpoint to go back to should lie, at least."""


def plan_skip(training: Training, first: int, last: int, sampler: str, sequence: int, documents: int) -> dict[str, Any]:
    """Return what to leave out when steps `first` to `last` (not included) are skipped, and how that is said.

    Args:
        sampler: by name.
        documents: that the steps read.
    """
    if first >= last:
        raise UserError(f"--skip: {first}:{last} holds no step")
    training.check(first, last)
    start, end = training.samples(first, last)
    total = training.sampler.samples
    steps = training.schedule.steps_in(total) if total < 1 << 60 else None
    return {
        "steps": [first, last],
        "samples": [start, end],
        "tokens_lost": (end - start) * sequence,
        "share_of_training": None if steps is None else round((end - start) / total, 9),
        "documents_read": documents,
        "checkpoint_at_or_before_step": max(0, first - BEFORE),
        "told": _told(first, last, start, end, sampler),
        "protocol": protocol(first, last),
    }


def _told(first: int, last: int, start: int, end: int, sampler: str) -> dict[str, Any]:
    """Return how each trainer is told; Megatron counts iterations from 1."""
    iterations = list(range(first + 1, last + 1))
    return {
        "megatron": {
            "arguments": ["--iterations-to-skip", *map(str, iterations)],
            "note": "the data of these iterations (counted from 1) are read and passed over; consumed_train_samples runs "
            "on, so the learning rate, which follows samples, must be looked at",
            "applies": sampler == "megatron",
        },
        "nanogpt": {
            "patch": f"in the training loop: `if {first} <= iter_num < {last}: X, Y = get_batch('train'); iter_num += 1; "
            "continue` before the forward pass, once for each micro-step: the draws are made, their data passed over",
            "applies": sampler == "nanogpt",
        },
        "torchtitan": {
            "patch": f"when training goes on from the checkpoint: `for step, batch in enumerate(batches, start=first_step)`: "
            f"`if {first} <= step < {last}: continue` before forward_backward_step, so that the loader's state moves on",
            "applies": sampler == "sequential",
        },
        "any": {
            "samples_to_leave_out": [start, end],
            "note": "a sampler that takes samples by number skips those from the first to before the second",
        },
    }


def protocol(first: int, last: int) -> list[str]:
    """Return the comparison that tells whether the data were the cause, step by step."""
    back = max(0, first - BEFORE)
    return [
        f"A: take the last checkpoint at or before step {back} and train on to step {last + BEFORE} as before, same seed and "
        "data. Does the spike come back at the same steps? If not, it was no matter of the data alone.",
        f"B: from the same checkpoint train to the same step with steps {first} to {last - 1} left out as told here.",
        f"C: from the same checkpoint, leave out as many steps, {first - (last - first)} to {first - 1}, just before those: "
        "what leaving out does by itself.",
        f"Compare loss and gradient norm of A, B and C over steps {last} to {last + BEFORE} on the same held-out data. The data "
        "were the cause if B is quiet where A and C are not; PaLM found that the same data elsewhere made no spike, so state "
        "and data together count.",
        "Go on from B. The learning rate schedule stays by step, or by samples where the trainer keeps it so.",
    ]
