"""Training on files outside a run: pretokens counted on every core, one training, every size written."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from pipeline.corpus import LocalTasks
from pipeline.errors import UserError
from pipeline.stage import digest_of
from pipeline.storage import Folder
from tokenizer.files import Piece, find_inputs
from tokenizer.ladder.files import write_ladder
from tokenizer.ladder.ladder import Ladder
from tokenizer.ladder.roles import DEFAULT_SPECIAL_TOKENS
from tokenizer.pretokens.counts import PretokenTable, add_batch
from tokenizer.pretokens.merging import COUNTS_FOLDER, MEMORY_BYTES, Run, RunWriter, load_counts, merge_runs
from tokenizer.pretokens.patterns import Pattern, pattern_of
from tokenizer.texts import Texts
from tokenizer.training.options import DEFAULT_PATTERN, TrainOptions
from tokenizer.training.train import Note, train_from_counts

COUNTS_FACTS = "pretokens.json"


def train_ladder(
    paths: Sequence[str | pathlib.Path],
    vocab_sizes: Sequence[int],
    *,
    out: str | pathlib.Path | Folder,
    pattern: str = DEFAULT_PATTERN,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    text_column: str = "text",
    documents: str = "file",
    memory_bytes: int = MEMORY_BYTES,
    workers: int | None = None,
    note: Note | None = None,
    **options: Any,
) -> Ladder:
    """Train one tokenizer for every vocabulary size on files of text, write them all to `out`, and return the ladder.

    An interrupted training goes on from its pretoken counts, which are kept in `out` and used again as long as
    files, pattern, sample and floor are the same. Sizes that the texts cannot give are left out (`Ladder.shortfall`).

    Args:
        paths: Parquet, JSONL, WET or text files; folders and globs.
        vocab_sizes: ascending.
        documents: of text files: what in them is a document, ``file``, ``line`` or ``paragraph``.
        memory_bytes: what counting may take; the result does not depend on it, nor on `workers` (threads).
        note: told of progress.
        options: the others of `TrainOptions`.
    Raises:
        UserError: options or inputs that cannot work, or no text.
    """
    chosen = TrainOptions(
        vocab_sizes=tuple(vocab_sizes), pattern=pattern, special_tokens=tuple(special_tokens), **options
    )
    chosen.check()
    folder = out if isinstance(out, Folder) else Folder(str(pathlib.Path(out).resolve()))
    pieces = find_inputs(paths, text_column, documents)
    cut = pattern_of(pattern)
    cut_so = [text_column] if documents == "file" else [text_column, documents]
    key = digest_of([_identity(pieces), cut.regex, chosen.sample, chosen.min_pretoken_count, *cut_so])
    facts = _facts_in(folder, key)
    if facts is None:
        facts = count_pretokens(
            pieces, cut, folder, sample=chosen.sample, floor=chosen.min_pretoken_count,
            memory_bytes=memory_bytes, workers=workers, note=note,
        )  # fmt: skip
        folder.put_json(COUNTS_FACTS, {"key": key, **facts})
    ladder = train_from_counts(lambda: load_counts(folder), chosen, facts, note)
    if ladder.training["pretokens"] == 0:
        raise UserError("paths: there is no text to train on in these files; check --text-column and the files")
    write_ladder(ladder, folder, chosen.files())
    return ladder


def count_pretokens(
    pieces: Sequence[Piece],
    pattern: Pattern,
    folder: Folder,
    *,
    sample: float = 1.0,
    floor: int = 1,
    memory_bytes: int = MEMORY_BYTES,
    workers: int | None = None,
    note: Note | None = None,
) -> dict[str, int]:
    """Count the pretokens of `pieces` into ``pretokens/`` of `folder` and return what was read.

    Half of `memory_bytes` is for the tables that the workers (threads) fill, half for writing and adding them up.

    Returns:
        documents, bytes, unreadable records.
    """
    for name in [COUNTS_FACTS, *folder.names(COUNTS_FOLDER)]:
        folder.delete(name)
    threads = min(len(pieces), workers or os.cpu_count() or 1) or 1
    told = _told(note, len(pieces), threads)

    def count(lane: int) -> tuple[list[Run], dict[str, int]]:
        writer = RunWriter(folder, f"{lane:03d}")
        table = PretokenTable(memory_bytes // 2 // threads, writer.write)
        read = {"documents": 0, "bytes": 0, "unreadable": 0}
        for number in range(lane, len(pieces), threads):
            for item in pieces[number].read(number):
                if isinstance(item, int):
                    read["unreadable"] += item
                    continue
                add_batch(table, item, pattern, sample)
                read["documents"] += len(item)
                read["bytes"] += Texts.of(item.data.column("text")).nbytes
            if lane == 0:
                told(number)
        table.flush()
        return writer.runs, read

    with ThreadPoolExecutor(threads) as pool:
        made = list(pool.map(count, range(threads)))
    merge_runs([run for runs, _ in made for run in runs], folder, LocalTasks(), floor)
    pa.default_memory_pool().release_unused()  # what the tables of the workers took is the training's now
    return {key: sum(read[key] for _, read in made) for key in ("documents", "bytes", "unreadable")}


def _told(note: Note | None, pieces: int, threads: int) -> Callable[[int], None]:
    """Return what tells `note` that the first of `threads` lanes has counted piece number so-and-so."""
    begun = time.monotonic()

    def tell(number: int) -> None:
        if note is not None:
            share = min(1.0, (number + threads) / pieces)
            note("counting pretokens", share, (time.monotonic() - begun) * (1 - share) / share)

    return tell


def _facts_in(folder: Folder, key: str) -> dict[str, int] | None:
    """Return what an earlier training in `folder` read, if its counts are of the same texts and options."""
    if not folder.exists(COUNTS_FACTS):
        return None
    facts = folder.get_json(COUNTS_FACTS)
    return facts if facts.pop("key") == key else None


def _identity(pieces: Sequence[Piece]) -> list[list[Any]]:
    """What tells these inputs from others: paths, sizes, times of change."""
    identity: list[list[Any]] = []
    for path in sorted({piece.split.file.path for piece in pieces}):
        if "://" in path:
            identity.append([path])
            continue
        about = os.stat(path)
        identity.append([path, about.st_size, about.st_mtime_ns])
    return identity
