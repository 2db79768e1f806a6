"""``tokenmill tokens``: documents into the token shards that trainers read."""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pipeline.errors import UserError
from tokenmill.terminal import Ticker
from tokenmill.text_options import add_text_options


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("tokens", help="encode documents into token shards for training")
    parser.add_argument("paths", nargs="+", metavar="RUN|FILES", help="a run, or Parquet, JSONL, WET, text files")
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json, or one size of a ladder: LADDER/SIZE")
    parser.add_argument("--out", required=True, help="folder of the shards; what was stopped goes on from it")
    parser.add_argument(
        "--format", default="megatron", help="megatron (always), datatrove, olmo, nanogpt, llmc; several by commas"
    )
    parser.add_argument("--eod", default="", metavar="TOKEN", help="token behind every document (none)")
    parser.add_argument("--bos", default="", metavar="TOKEN", help="token in front of every document (none)")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="shuffle all documents (the order of the inputs)")
    parser.add_argument(
        "--held-out", type=float, default=0.0, metavar="SHARE", help="keep a share apart, by hash of the text (0)"
    )
    parser.add_argument("--part-tokens", type=float, default=1e9, help="tokens of one file, about (1e9)")
    parser.add_argument("--dtype", default="", help="uint16 or int32 (uint16 below 65,500 tokens)")
    parser.add_argument("--by", default="", metavar="source", help="parts of one source each, to be blended (together)")
    parser.add_argument(
        "--epochs",
        default="",
        metavar="SOURCE=N,…",
        help="how often training reads each source (as the run's mix says, or 1)",
    )
    add_text_options(parser)
    parser.add_argument("--workers", type=int, help="processes (all cores)")
    parser.add_argument("--json", action="store_true", help="print the manifest")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Make the shards and say what they are."""
    from pipeline.run.folder import local_folder
    from tokenizer.shards.make import make_shards
    from tokenizer.shards.options import ShardOptions

    if given.workers is not None and given.workers < 1:
        raise UserError(f"--workers must be at least 1; got {given.workers}")
    paths, model = inputs_and_model(given.paths, given.tokenizer)
    options = ShardOptions(
        model, given.eod, given.bos, given.shuffle, given.held_out, int(given.part_tokens), given.dtype, given.by
    )
    epochs = _epochs(given)
    out = local_folder(given.out)
    made = make_shards(
        paths,
        options,
        out,
        formats=[name.strip() for name in given.format.split(",") if name.strip()],
        epochs=epochs,
        text_column=given.text_column,
        documents=given.documents,
        workers=given.workers,
        note=None if given.json else Ticker(_count),
    )
    if given.json:
        print(json.dumps(asdict(made.manifest), indent=1))
    else:
        print("\n".join(lines_of(made, given.out)))
    return 0


def inputs_and_model(paths: list[str], tokenizer: str) -> tuple[list[str], Any]:
    """Return the files to read, a run's corpus in its place, and the tokenizer, of which a run's size is enough."""
    from pipeline.run.folder import local_folder
    from tokenizer.shards.model import open_model

    found = []
    for path in paths:
        place = local_folder(path)
        is_run = _is_run(place)
        found.append(f"{place.url}/data" if is_run else path)
        if is_run and tokenizer.isdigit() and not pathlib.Path(tokenizer).exists():
            tokenizer = f"{place.url}/tokenizer/{tokenizer}"
    return found, open_model(tokenizer)


def _epochs(given: argparse.Namespace) -> Mapping[str, float]:
    """Return how often each source is read: as asked, or by the ``mix`` of the run that is given alone."""
    from pipeline.run.folder import local_folder
    from tokenmill.token_shards import epochs_of

    if not given.epochs:
        alone = len(given.paths) == 1 and _is_run(local_folder(given.paths[0]))
        return epochs_of(local_folder(given.paths[0])) if given.by and alone else {}
    found = {}
    for part in given.epochs.split(","):
        name, sign, number = part.strip().rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise UserError(f"--epochs: {part!r} is not SOURCE=NUMBER, such as books=2.5")
    return found


def _is_run(place: Any) -> bool:
    from pipeline.storage import is_pattern

    if place.url.startswith(("http://", "https://")) or is_pattern(place.url):
        return False
    return place.exists("manifest.json") and "data" in place.children()


def lines_of(made: Any, out: str) -> list[str]:
    """Return what was made, for a person."""
    manifest = made.manifest
    lines = [
        f"{manifest.tokens:,} tokens of {manifest.documents:,} documents in {len(manifest.files)} files of {manifest.dtype}"
        + (", as they stood" if made.unchanged else ""),
    ]
    if manifest.held_out:
        tokens = sum(file.tokens for file in manifest.held_out)
        lines.append(f"held out: {tokens:,} tokens in {out}/held_out")
    if manifest.empty:
        lines.append(f"{manifest.empty:,} documents hold no token and are left out")
    if manifest.unreadable:
        lines.append(f"{manifest.unreadable:,} records could not be read and were left out")
    if manifest.eod is None:
        lines.append("no token ends a document: they run into each other (--eod TOKEN sets one)")
    if manifest.tokenizer["encoded_by"] != "kernels":
        lines.append(f"encoded by the library, which is slow: {manifest.tokenizer['encoded_by']}")
    return [*lines, *_trained(manifest, out)]


def _trained(manifest: Any, out: str) -> list[str]:
    """Return how Megatron is told of the shards, and how often each source is read."""
    lines = [
        f"{name}: {source.tokens:,} tokens, {source.epochs:g} epochs, {100 * source.weight:.3g} % of what is read"
        for name, source in manifest.sources.items()
    ]
    if manifest.is_repeated():
        lines.append(f"a training of {sum(manifest.weights()):,.0f} tokens reads each source as often")
    paths = manifest.data_path(out)
    if len(paths) == 1:
        return [*lines, f"Megatron: --data-path {paths[0][1]}"]
    return [*lines, f"Megatron: --data-args-path {out.rstrip('/')}/data_path.txt ({len(paths):,} weights and prefixes)"]


def _count(phase: str, done: int, tasks: int) -> str:
    return f"{phase}: {done:,} of {tasks:,}"
