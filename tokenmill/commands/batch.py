"""``tokenmill batch``: the documents of training steps, what was unusual in them, and how to leave them out."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from pipeline.errors import UserError


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("batch", help="the documents of training steps, and what was unusual in them")
    parser.add_argument("shards", nargs="+", metavar="DIR", help="token shards; several are blended")
    parser.add_argument("--step", metavar="A:B", help="steps from A on, before B, counted from 0; or one step")
    parser.add_argument("--global-batch", type=int, required=True, metavar="N", help="samples of a step")
    parser.add_argument("--seq", type=int, required=True, metavar="S", help="tokens of a sequence")
    parser.add_argument("--sampler", default="megatron", help="megatron, sequential or nanogpt (megatron)")
    parser.add_argument("--seed", type=int, default=1234, help="of the training (1234)")
    parser.add_argument(
        "--ramp", type=int, nargs=3, metavar=("START", "INCREMENT", "SAMPLES"), help="Megatron's --rampup-batch-size"
    )
    parser.add_argument("--train-steps", type=int, metavar="N", help="length of the training (one epoch)")
    parser.add_argument("--train-samples", type=int, metavar="N", help="the same, in samples")
    parser.add_argument("--weights", help="of each DIR in the blend, such as 0.5,0.3,0.2 (by tokens)")
    parser.add_argument("--split", default="100,0,0", help="Megatron's --split (100,0,0)")
    parser.add_argument("--drawn", type=int, default=0, help="nanogpt: numbers drawn before the first batch (0)")
    parser.add_argument("--json", action="store_true", help="print the documents of every sample as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Answer what is asked."""
    from tokenizer.batches.steps import steps_of

    training = training_of(given)
    if given.step is None:
        raise UserError("--step: name the steps to look at, such as --step 1200:1230")
    first, last = steps_of(given.step)
    training.check(first, last)
    if given.json:
        _print_json(training.documents(first, last))
        return 0
    return 0


def _print_json(items: Any) -> None:
    """Print a list that is too long to be held at once."""
    print("[", end="")
    for number, item in enumerate(items):
        print("," if number else "", json.dumps(item, ensure_ascii=False), sep="\n", end="")
    print("\n]")


def training_of(given: argparse.Namespace) -> Any:
    """Return the training that the options describe. Raises UserError where they cannot work."""
    from pipeline.storage import Folder
    from tokenizer.batches.folder import open_shards
    from tokenizer.batches.samplers import NAMES, Megatron, NanoGpt, Sequential
    from tokenizer.batches.steps import Ramp, Schedule
    from tokenizer.batches.training import Training

    if given.seq < 1:
        raise UserError(f"--seq: {given.seq} must be at least 1")
    if given.sampler not in NAMES:
        raise UserError(f"--sampler: {given.sampler!r} is unknown; known are {', '.join(NAMES)}")
    if not 0 <= given.seed < 1 << 32:
        raise UserError(f"--seed: {given.seed} must be from 0 to 2^32 - 1")
    schedule = Schedule(given.global_batch, Ramp(*given.ramp) if given.ramp else None)
    folders = [Folder(path if "://" in path else os.path.abspath(path)) for path in given.shards]
    opened = open_shards(folders)
    parts = [part for shards in opened for part in shards.parts]
    if given.sampler == "sequential":
        return Training(Sequential(parts, given.seq), schedule)
    if given.sampler == "nanogpt":
        return Training(NanoGpt(parts, given.seq, given.seed, given.drawn), schedule)
    asked = given.train_samples
    if given.train_steps is not None:
        asked = schedule.first_sample(given.train_steps)
    weights = _weights(given.weights, [[part.file.tokens for part in shards.parts] for shards in opened])
    split = tuple(_numbers("--split", given.split))
    split = (1.0,) if not any(split[1:]) else split
    return Training(Megatron(parts, given.seq, given.seed, weights, asked, split), schedule)


def _weights(text: str | None, tokens: list[list[int]]) -> tuple[float, ...] | None:
    """Return the weight of each part: that of its folder, shared by tokens; None for a single part."""
    flat = [n for part in tokens for n in part]
    if text is None:
        return None if len(flat) == 1 else tuple(map(float, flat))
    given = _numbers("--weights", text)
    if len(given) != len(tokens) or not all(weight > 0 for weight in given):
        raise UserError(f"--weights: {text!r} must be a number above 0 for each of the {len(tokens)} folders")
    return tuple(
        weight * n / sum(parts) if len(parts) > 1 else weight
        for weight, parts in zip(given, tokens, strict=True)
        for n in parts
    )


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"{option}: {text!r} is no list of numbers by commas") from error
