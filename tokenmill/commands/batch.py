"""``tokenmill batch``: the documents of training steps, what was unusual in them, and how to leave them out."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
from dataclasses import asdict
from typing import Any

import numpy as np

from pipeline.errors import UserError
from pipeline.run.folder import local_folder


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
    parser.add_argument("--weights", help="of each DIR in the blend, such as 0.5,0.3,0.2 (by tokens and epochs)")
    parser.add_argument("--split", default="100,0,0", help="Megatron's --split (100,0,0)")
    parser.add_argument("--drawn", type=int, default=0, help="nanogpt: numbers drawn before the first batch (0)")
    parser.add_argument("--losses", metavar="CSV", help="log of step, loss, gradient norm: find spikes, look at each")
    parser.add_argument("--first-step", type=int, default=0, help="what the log calls the first step: 0 or 1 (0)")
    parser.add_argument("--most", type=int, default=5, metavar="N", help="spikes to look at, the worst first (5)")
    parser.add_argument("--skip", metavar="A:B", help="steps to leave out: which samples, and how trainers are told")
    parser.add_argument("--write", metavar="FILE", help="file for what --skip answers (standard output)")
    parser.add_argument("--out", metavar="FOLDER", help="folder for batch.html and batch.json")
    parser.add_argument(
        "--json", action="store_true", help="the documents of every sample as JSON; with --losses, what was found"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Answer what is asked: documents as JSON, a plan of what to skip, or what was unusual."""
    from tokenizer.batches.steps import steps_of

    training = training_of(given)
    if given.skip is not None:
        return _skip(given, training, *steps_of(given.skip))
    if given.write is not None:
        raise UserError("--write: name the steps to leave out by --skip A:B")
    if given.losses is not None:
        return _look(given, training, *_spikes(given, training))
    if given.step is None:
        raise UserError("--step: name the steps to look at, such as --step 1200:1230 (or give --losses or --skip)")
    first, last = steps_of(given.step)
    training.check(first, last)
    if given.json:
        _print_json(training.documents(first, last))
        return 0
    return _look(given, training, [(first, last)], [])


def _spikes(given: argparse.Namespace, training: Any) -> tuple[list[tuple[int, int]], list[Any]]:
    """Return the steps of each spike in the log of losses, the worst first, and the spikes."""
    from tokenizer.batches.losses import find_spikes, read_losses

    path = pathlib.Path(given.losses)
    if not path.is_file():
        raise UserError(f"--losses: {path} does not exist; give a CSV file with columns step, loss and gradient norm")
    losses = read_losses(path.read_bytes(), str(path))
    spikes = find_spikes(losses)
    if given.first_step not in (0, 1):
        raise UserError(f"--first-step: {given.first_step} must be 0 or 1")
    looked = [(max(0, s.first - given.first_step), s.last - given.first_step) for s in spikes[: given.most]]
    for first, last in looked:
        training.check(first, last)
    return looked, spikes


def _look(given: argparse.Namespace, training: Any, windows: list[tuple[int, int]], spikes: list[Any]) -> int:
    """Look at each of `windows`, and print or write what was found."""
    from tokenizer.batches.account import account_of, lines_of
    from tokenizer.batches.look import Looker
    from tokenizer.batches.token_facts import bytes_of_tokens, token_facts
    from tokenmill.report.batch_page import batch_page

    told = [asdict(spike) for spike in spikes]
    accounts: list[dict[str, Any]] = []
    if windows:
        part = training.sampler.parts[0]
        tokenizer = part.folder.get("tokenizer.json")
        looker = Looker(training, token_facts(bytes_of_tokens(tokenizer)))
        accounts = [account_of(looker, first, last, tokenizer) for first, last in windows]
    if given.out is not None:
        folder = local_folder(given.out)
        folder.put_json("batch.json", {"spikes": told, "looked_at": accounts})
        folder.put("batch.html", batch_page(accounts, told).encode())
    if given.json:
        print(json.dumps({"spikes": told, "looked_at": accounts}, indent=1, ensure_ascii=False))
        return 0
    if given.losses is not None:
        print(
            f"{len(spikes):,} spikes" + (f", the {len(windows)} worst looked at" if len(spikes) > len(windows) else "")
        )
    for number, account in enumerate(accounts):
        if told:
            spike = told[number]
            print(
                f"\n{spike['series']} {spike['value']:.4g} at step {spike['peak']:,}, {spike['z']:.1f} times the usual spread"
            )
        print("\n".join(lines_of(account)))
    if given.out is not None:
        print(f"\nreport   {given.out}/batch.html")
    return 0


def _skip(given: argparse.Namespace, training: Any, first: int, last: int) -> int:
    """Write or print which samples to leave out, and how trainers are told."""
    from tokenizer.batches.skip import plan_skip

    training.check(first, last)
    start, end = training.samples(first, last)
    pieces = training.sampler.pieces(np.arange(start, end))
    documents = len(np.unique((pieces.part << 40) + pieces.document))
    plan = plan_skip(training, first, last, given.sampler, given.seq, documents)
    if given.write is not None:
        target = pathlib.Path(os.path.abspath(given.write))
        local_folder(str(target.parent)).put_json(target.name, plan)
    if given.json or given.write is None:
        print(json.dumps(plan, indent=1))
        return 0
    share = plan["share_of_training"]
    print(
        f"steps {first:,} to {last - 1:,}: {end - start:,} samples, {plan['tokens_lost']:,} tokens"
        + (f", {100 * share:.3g} % of the training" if share is not None else "")
        + f"\nhow each trainer is told, and how to compare: {given.write}"
    )
    return 0


def _print_json(items: Any) -> None:
    """Print a list that is too long to be held at once."""
    print("[", end="")
    for number, item in enumerate(items):
        print("," if number else "", json.dumps(item, ensure_ascii=False), sep="\n", end="")
    print("\n]")


def training_of(given: argparse.Namespace) -> Any:
    """Return the training that the options describe. Raises UserError where they cannot work."""
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
    opened = open_shards([local_folder(path) for path in given.shards])
    parts = [part for shards in opened for part in shards.parts]
    if given.sampler == "sequential":
        return Training(Sequential(parts, given.seq), schedule)
    if given.sampler == "nanogpt":
        return Training(NanoGpt(parts, given.seq, given.seed, given.drawn), schedule)
    asked = given.train_samples
    if given.train_steps is not None:
        asked = schedule.first_sample(given.train_steps)
    weights = _weights(given.weights, [shards.manifest.weights() for shards in opened])
    if asked is None and given.weights is None and any(shards.manifest.is_repeated() for shards in opened):
        asked = int(sum(weights or ())) // given.seq
    split = tuple(_numbers("--split", given.split))
    split = (1.0,) if not any(split[1:]) else split
    return Training(Megatron(parts, given.seq, given.seed, weights, asked, split), schedule)


def _weights(text: str | None, tokens: list[list[float]]) -> tuple[float, ...] | None:
    """Return the weight of each part: that of its folder, shared by the tokens read; None for a single part."""
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
