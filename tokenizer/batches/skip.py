"""Leaving steps out: which samples those are, how each trainer is told, and what it costs.

The remedy is PaLM's (arXiv:2204.02311, section 5.1): go back to a checkpoint about a hundred steps before the spike and
leave out the batches around it.
"""

from __future__ import annotations

from typing import Any

from pipeline.errors import UserError
from tokenizer.batches.samplers import ENDLESS
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
    back = checkpoint_of(first, last)
    again = start - training.samples(back, first)[0]
    return {
        "steps": [first, last],
        "samples": [start, end],
        "tokens_lost": (end - start) * sequence,
        "share_of_training": None if total >= ENDLESS else round((end - start) / total, 9),
        "documents_read": documents,
        "checkpoint_at_or_before_step": back,
        "tokens_trained_again": again * sequence,
        "told": _told(first, last, start, end, sampler),
        "protocol": protocol(first, last),
    }


def checkpoint_of(first: int, last: int) -> int:
    """Return the step at or before which the checkpoint to go back to must lie, so that as many steps lie in between."""
    return max(0, first - max(BEFORE, last - first))


def _told(first: int, last: int, start: int, end: int, sampler: str) -> dict[str, Any]:
    """Return how each trainer is told. Read in Megatron-LM's core 0.12 to 0.19, nanoGPT and torchtitan of August 2026."""
    from_1, from_0 = ([*map(str, range(first + k, last + k))] for k in (1, 0))
    return {
        "megatron": {
            "arguments": ["--iterations-to-skip", *from_1],
            "arguments_up_to_0_16": ["--iterations-to-skip", *from_0],
            "note": "Iterations are counted from 1 since core 0.17, as in the log, and from 0 before: `in "
            "args.iterations_to_skip` in megatron/training/training.py says which. Their batches are read and passed over, and "
            "consumed_train_samples runs on; nothing is trained and the learning rate's schedule, which counts samples "
            "trained on, stands still. --result-rejected-tracker-filename adds iterations that its own rerun machine "
            "rejected; it takes no list of samples.",
            "applies": sampler == "megatron",
        },
        "nanogpt": {
            "patch": [
                "# in `while True:` of train.py, behind evaluation and checkpoint",
                f"if {first} <= iter_num < {last}:",
                "    for _ in range(gradient_accumulation_steps):",
                "        X, Y = get_batch('train')",
                "    iter_num += 1",
                "    local_iter_num += 1",
                "    continue",
            ],
            "note": "It has no option for it. The draws are made and passed over. Its checkpoint does not hold the generator: "
            "train.py seeds it anew when it resumes, so that a resumed training draws from the beginning. To read the same "
            "data again, draw as many batches as the checkpoint's iterations took (evaluation's too) before the loop.",
            "applies": sampler == "nanogpt",
        },
        "torchtitan": {
            "patch": [
                "# in Trainer.train, behind `self.step += 1`, which counts from 1",
                f"if {first} < self.step <= {last}:",
                "    for _ in range(self.gradient_accumulation_steps * self.num_pp_microbatches):",
                "        next(data_iterator)",
                "    continue",
            ],
            "note": "It has no option for it. Batches are read and passed over, the loader's state moves on with them, the learning "
            "rate's schedule stands still; before there was num_pp_microbatches, leave that factor out. It reads texts and "
            "encodes them itself: these steps are its own only where a dataset of yours reads the shards in their order.",
            "applies": sampler == "sequential",
        },
        "any": {
            "samples_to_leave_out": [start, end],
            "note": "a sampler that takes samples by number skips those from the first to before the second",
        },
    }


def protocol(first: int, last: int) -> list[str]:
    """Return the comparison that tells whether the data were the cause, step by step."""
    back, steps = checkpoint_of(first, last), last - first
    other = (first - steps, first) if first - steps >= back else (last, last + steps)
    return [
        f"A: take the last checkpoint at or before step {back} and train on to step {max(last, other[1]) + BEFORE} as before, same seed and "
        "data. Does the spike come back at the same steps? If not, it was no matter of the data alone.",
        f"B: from the same checkpoint train to the same step with steps {first} to {last - 1} left out as told here.",
        f"C: from the same checkpoint, leave out as many others instead, {other[0]} to {other[1] - 1}: "
        "what leaving out does by itself.",
        f"Compare loss and gradient norm of A, B and C over the steps up to {max(last, other[1]) + BEFORE} on the same held-out "
        "data. The data were the cause if B is quiet where A and C are not; PaLM found that the same data elsewhere made no "
        "spike, so state and data together count.",
        "Go on from B. Whether the learning rate follows steps or samples trained on is said of each trainer here.",
    ]
