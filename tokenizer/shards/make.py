"""Makes a folder of token shards: all of it or, until ``manifest.json`` is there, nothing that anybody reads.

Work goes on from where it was stopped, and the same inputs and options give the same bytes with any number of workers:
what is encoded together is decided by the inputs alone, and parts are numbered when all is encoded.
"""

from __future__ import annotations

import os
import pathlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.errors import InputError, UserError
from pipeline.executors.contract import WorkerLimits
from pipeline.executors.here import run_here
from pipeline.executors.local import run_local
from pipeline.stage import digest_of
from pipeline.storage import Folder, head_input, lease
from tokenizer.files import Piece, find_inputs
from tokenizer.shards.assemble import AssembleTask, assemble_part
from tokenizer.shards.beside import write_formats
from tokenizer.shards.encode import EncodeTask, encode_piece
from tokenizer.shards.manifest import HELD_OUT, MANIFEST, Manifest, ShardFile, SourceParts, read_manifest
from tokenizer.shards.model import TOKENIZER_FILE
from tokenizer.shards.options import ShardOptions, check_formats
from tokenizer.shards.order import Part, Run, parts_in_order, parts_shuffled, ranges_for

EDITION = 2
"""Raised when the same inputs and options give other bytes."""
WORK = ".encoded"
MEMORY_BYTES = 8 << 30
_OURS = re.compile(rf"(?:{HELD_OUT}/)?(?:[A-Za-z0-9_.-]+/)?part-\d{{5,}}\.(?:bin|idx|documents\.parquet)")
_NOT_FOR_SOURCES = ("", HELD_OUT, "llmc")

Note = Callable[[str, int, int], None]
"""Told (phase, tasks done, tasks)."""


@dataclass(frozen=True)
class Made:
    """What `make_shards` returns: the manifest, whether all of it stood already, and what could not be read."""

    manifest: Manifest
    unchanged: bool
    unreadable: int


def make_shards(
    paths: Sequence[str | pathlib.Path],
    options: ShardOptions,
    out: Folder,
    *,
    formats: Sequence[str] = ("megatron",),
    epochs: Mapping[str, float] | None = None,
    text_column: str = "text",
    documents: str = "file",
    workers: int | None = None,
    replace: bool = False,
    note: Note | None = None,
) -> Made:
    """Encode documents into the token shards in `out`, or go on with what was stopped.

    Args:
        paths: Parquet, JSONL, WET or text files; folders and globs; or the ``data`` folder of a run.
        formats: of `FORMATS`; Megatron's is always written.
        epochs: how often a training reads each source, for the weights of parts made by source; once if not said.
        documents: of text files: what in them is a document, ``file``, ``line`` or ``paragraph``.
        workers: processes; as many as cores if not given.
        replace: put these in place of other shards in `out`; else those are refused.
        note: told of progress.
    Raises:
        UserError: inputs or options that cannot work, or a folder that holds something else.
    """
    formats = tuple(dict.fromkeys(("megatron", *formats)))
    check_formats(formats, options)
    if epochs and not options.by:
        raise UserError("--epochs: is of parts by source; add --by source")
    pieces = find_inputs(paths, text_column, documents)
    cut_so = [text_column] if documents == "file" else [text_column, documents]
    identity = digest_of([EDITION, options.identity(), *cut_so, _inputs(pieces)])
    with lease(out):
        before = read_manifest(out) if out.exists(MANIFEST) else None
        if before is not None and before.identity == identity and before.is_whole(out):
            weights, more = before.weights(), [name for name in formats if name not in before.formats]
            before.set_epochs(epochs or {})
            if more or before.weights() != weights:
                write_formats(out, before, more)
            return Made(before, not more, before.unreadable)
        _clear(out, before, identity, replace, options)
        manifest = _make(pieces, options, out, identity, workers or os.cpu_count() or 1, note)
        manifest.set_epochs(epochs or {})
        write_formats(out, manifest, formats)
        out.remove_tree(WORK)
    return Made(manifest, False, manifest.unreadable)


def _clear(out: Folder, before: Manifest | None, identity: str, replace: bool, options: ShardOptions) -> None:
    """Make room for shards in `out`. Raises UserError where it holds others, or something else, and `replace` is not set."""
    if before is None:
        begun = out.children(WORK)
        others = [] if begun else out.names()  # what a stopped making has left is ours
        if others and not replace:
            raise UserError(
                f"--out: {out.url} is not empty ({others[0]}) and holds no token shards; choose another folder"
            )
        for name in [] if identity in begun else out.names():
            if _OURS.fullmatch(name):
                out.delete(name)
        return
    if before.identity != identity and not replace:
        what = "another tokenizer" if before.tokenizer["sha256"] != options.model.digest else "other inputs or options"
        raise UserError(f"--out: {out.url} holds token shards of {what}; choose another folder, or delete that one")
    out.delete(MANIFEST)
    for name in before.names():
        out.delete(name)


def _make(
    pieces: Sequence[Piece], options: ShardOptions, out: Folder, identity: str, workers: int, note: Note | None
) -> Manifest:
    """Encode all pieces, then write all parts."""
    for name in out.children(WORK):
        if name != identity:
            out.remove_tree(f"{WORK}/{name}")
    work = out / WORK / identity
    work.sweep()
    ranges = 0 if options.shuffle is None else ranges_for(_stored_bytes(pieces), options.part_tokens)
    encoding = [EncodeTask(piece, number, options, ranges, work) for number, piece in enumerate(pieces)]
    told: dict[str, int] = defaultdict(int)
    runs: dict[tuple[bool, str], list[Run]] = defaultdict(list)
    for about in _done(encode_piece, encoding, workers, note, "encoding"):
        for name, documents, tokens, held, source in about["runs"]:
            runs[held, source].append(Run(name, documents, tokens))
        for key in ("read", "unreadable", "empty", "text_tokens"):
            told[key] += about[key]
    if not any(not held for held, _ in runs):
        raise UserError("paths: there is no text to encode in these files; check --text-column and the files")
    folders = folders_of({source for _, source in runs}) if options.by else {"": ""}
    assembling = [
        AssembleTask(
            "/".join(filter(None, (HELD_OUT if held else "", folders[source], f"part-{k:05d}"))),
            part, ranges, options.type, out, work,
        )
        for held, source in sorted(runs)
        for k, part in enumerate(_parts(runs[held, source], options, ranges, work))
    ]  # fmt: skip
    parts = list(_done(assemble_part, assembling, workers, note, "writing"))
    out.put(TOKENIZER_FILE, pathlib.Path(options.model.path).read_bytes())
    manifest = _manifest(parts, options, identity, told)
    if options.by:
        manifest.sources = _sources(manifest.files, folders)
    return manifest


def folders_of(sources: Iterable[str]) -> dict[str, str]:
    """Return the folder of each source: its name, where that can be one, else something like it that no other has."""
    found: dict[str, str] = {}
    taken = set(_NOT_FOR_SOURCES)
    for source in sorted(sources):
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", source)[:80]
        if plain != source or plain.startswith((".", "part-")) or plain.lower() in taken:
            plain = f"{plain.lstrip('.') or 'source'}-{digest_of([source])[:8]}"
        taken.add(plain.lower())  # some disks take upper and lower case for the same
        found[source] = plain
    return found


def _sources(files: Sequence[ShardFile], folders: dict[str, str]) -> dict[str, SourceParts]:
    """Return the parts of each source that trains."""
    found = {source: SourceParts(folder) for source, folder in folders.items()}
    of = {about.folder: about for about in found.values()}
    for file in files:
        about = of[file.name.rpartition("/")[0]]
        about.tokens += file.tokens
        about.documents += file.documents
    return {source: about for source, about in found.items() if about.tokens}


def _parts(runs: list[Run], options: ShardOptions, ranges: int, work: Folder) -> list[Part]:
    if not ranges:
        return parts_in_order(runs, options.part_tokens)
    tokens = np.zeros(ranges, np.int64)
    for run in runs:
        tokens += np.frombuffer(work.get(f"{run.name}.ranges"), "<i8").reshape(2, ranges)[1]
    return parts_shuffled(runs, tokens, options.part_tokens)


def _manifest(parts: list[dict[str, Any]], options: ShardOptions, identity: str, told: dict[str, int]) -> Manifest:
    train = [part for part in parts if not part["name"].startswith(f"{HELD_OUT}/")]
    held = [part for part in parts if part["name"].startswith(f"{HELD_OUT}/")]
    model = options.model
    lengths = [sum(column) for column in zip(*_padded([part["lengths"] for part in train]), strict=True)]
    return Manifest(
        tokens=sum(part["tokens"] for part in train),
        documents=sum(part["documents"] for part in train),
        vocab_size=model.vocab_size,
        dtype=options.dtype,
        eod=None if options.ends[1] < 0 else options.ends[1],
        files=[_file(part) for part in train],
        held_out=[_file(part) for part in held],
        bos=None if options.ends[0] < 0 else options.ends[0],
        eod_token=options.eod or None,
        bos_token=options.bos or None,
        tokenizer={"file": TOKENIZER_FILE, "sha256": model.digest, "encoded_by": model.slow_because or "kernels"},
        order="inputs" if options.shuffle is None else f"shuffled with seed {options.shuffle}",
        text_tokens=told["text_tokens"],
        empty=told["empty"],
        unreadable=told["unreadable"],
        lengths={
            "shortest": min(part["shortest"] for part in train),
            "longest": max(part["longest"] for part in train),
            "documents_below_power_of_two": lengths,
        },
        formats=["megatron"],
        others={name: sha for part in parts for name, sha in part["others"].items()},
        identity=identity,
    )


def _file(part: dict[str, Any]) -> ShardFile:
    return ShardFile(part["name"], part["tokens"], part["documents"], part["sha256"])


def _padded(rows: list[list[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    return [row + [0] * (width - len(row)) for row in rows]


def _done(
    function: Callable[[Any], dict[str, Any]], tasks: Sequence[Any], workers: int, note: Note | None, phase: str
) -> Iterable[dict[str, Any]]:
    """Return what `function` makes of each task, in the order of the tasks; workers are processes."""
    numbered = list(enumerate(tasks))
    limits = WorkerLimits(cpu_seconds=0, wall_seconds=0, memory_bytes=MEMORY_BYTES)
    execute = run_here if min(workers, len(tasks)) == 1 else run_local
    found: dict[int, dict[str, Any]] = {}
    for result in execute(function, numbered, workers=min(workers, len(tasks)), limits=limits, preload=(__name__,)):
        if result.status != "done":
            raise result.error if result.error is not None else UserError(f"{phase} task {result.key} was lost")
        found[result.key] = result.value
        if note is not None:
            note(phase, len(found), len(tasks))
    return (found[key] for key in range(len(tasks)))


def _stored_bytes(pieces: Sequence[Piece]) -> int:
    return sum(head_input(path).size for path in sorted({piece.split.file.path for piece in pieces}))


def _inputs(pieces: Sequence[Piece]) -> list[list[Any]]:
    """What tells these inputs from others: names in their order, sizes, times of change."""
    found = []
    for path in dict.fromkeys(piece.split.file.path for piece in pieces):
        head = head_input(path)
        found.append([path, head.size, head.tag or head.modified])
    if not found:
        raise InputError("paths: these files hold no documents")
    return found
