"""From files of text to a ladder and all its files: count pretokens on every core, train once, write every size."""

from __future__ import annotations

import hashlib
import os
import pathlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import UserError
from pipeline.stage import digest_of
from pipeline.storage import Folder
from tokenizer.inputs import Piece, find_inputs
from tokenizer.ladder import Ladder, check_sizes
from tokenizer.outputs import write_ladder
from tokenizer.patterns import Pattern, pattern_of
from tokenizer.pretoken_store import MEMORY_BYTES, PretokenCounts, digest_of_counts
from tokenizer.pretokens import PretokenTable
from tokenizer.texts import Texts
from tokenizer.train import Trainer

DEFAULT_PATTERN = "cl100k"
DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>",)
COUNTS_FILE = "pretokens.parquet"
COUNTS_FACTS = "pretokens.json"

Note = Callable[[str, float, float], None]
"""Called with (phase, share done from 0 to 1, estimated seconds left)."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What decides a training, beside the texts.

    Attributes:
        vocab_sizes: ascending; each includes special tokens and the 256 bytes.
        pattern: name of a built-in pattern, or a regular expression.
        special_tokens: names, in the order of their ids.
        min_frequency: pairs that occur less often are not joined.
        max_token_length: in bytes, as `tokenizers` has it; None: no limit.
        min_pretoken_count: pretokens that occur less often are left out of the training, which bounds memory;
            1: none. Named in the card.
        sample: share of the documents counted, chosen by a hash of their ids; 1: all. Named in the card.
        pad_to_multiple: vocabularies are filled up with reserved tokens to a multiple of this; 0: not.
        special_tokens_in_text: let names of special tokens in a text become them (in `tokenizer.json`).
    """

    vocab_sizes: tuple[int, ...]
    pattern: str = DEFAULT_PATTERN
    special_tokens: tuple[str, ...] = DEFAULT_SPECIAL_TOKENS
    min_frequency: int = 0
    max_token_length: int | None = None
    min_pretoken_count: int = 1
    sample: float = 1.0
    pad_to_multiple: int = 0
    special_tokens_in_text: bool = False

    def check(self) -> None:
        """Raise UserError for options that cannot work."""
        check_sizes(self.vocab_sizes, self.special_tokens)
        pattern_of(self.pattern)
        for key, least in (("min_frequency", 0), ("min_pretoken_count", 1), ("pad_to_multiple", 0)):
            if getattr(self, key) < least:
                raise UserError(f"{key}: {getattr(self, key)} is less than {least}")
        if self.max_token_length is not None and self.max_token_length < 1:
            raise UserError(f"max_token_length: {self.max_token_length} is less than 1")
        if not 0 < self.sample <= 1:
            raise UserError(f"sample: {self.sample} is no share between 0 and 1")

    def card(self) -> dict[str, Any]:
        """Return what the card says of them."""
        return {
            "min_frequency": self.min_frequency,
            "max_token_length": self.max_token_length,
            "min_pretoken_count": self.min_pretoken_count,
            "sample": self.sample,
        }


def sampled(ids: Sequence[str | None], share: float) -> list[int]:
    """Return the rows whose ids fall into the sample: a hash of the id, as a number in [0, 1), is less than `share`."""
    limit = int(share * 2**64)
    return [
        row
        for row, name in enumerate(ids)
        if int.from_bytes(hashlib.blake2b((name or "").encode("utf-8", "replace"), digest_size=8).digest()) < limit
    ]


def add_batch(table: PretokenTable, batch: Batch, pattern: Pattern, sample: float) -> None:
    """Count the pretokens of a batch of documents, or of the sample of it."""
    if sample < 1:
        batch = batch.select(sampled(batch.column("id"), sample))
    table.add_texts(Texts.of(batch.data.column("text")), pattern)


def count_pretokens(
    pieces: Sequence[Piece],
    pattern: Pattern,
    *,
    work: Folder,
    sample: float = 1.0,
    floor: int = 1,
    memory_bytes: int = MEMORY_BYTES,
    workers: int | None = None,
    note: Note | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Return the pretoken counts of `pieces` and what was read: documents, bytes, unreadable records.

    Half of `memory_bytes` is for the tables that the workers (threads) fill, half for their sum; what does not
    fit goes to `work`. The result depends on none of them.
    """
    for name in work.names():
        work.delete(name)
    counts = PretokenCounts(memory_bytes // 2, work)
    threads = min(len(pieces), workers or os.cpu_count() or 1) or 1
    begun, read = time.monotonic(), {"documents": 0, "bytes": 0, "unreadable": 0}

    def count(lane: int) -> dict[str, int]:
        table = PretokenTable(memory_bytes // 2 // threads, counts.add)
        mine = {"documents": 0, "bytes": 0, "unreadable": 0}
        for number in range(lane, len(pieces), threads):
            for item in pieces[number].read(number):
                if isinstance(item, int):
                    mine["unreadable"] += item
                    continue
                add_batch(table, item, pattern, sample)
                mine["documents"] += len(item)
                mine["bytes"] += Texts.of(item.data.column("text")).nbytes
            if note is not None and lane == 0:
                share = min(1.0, (number + threads) / len(pieces))
                note("counting pretokens", share, (time.monotonic() - begun) * (1 - share) / share)
        table.flush()
        return mine

    with ThreadPoolExecutor(threads) as pool:
        for mine in pool.map(count, range(threads)):
            read = {key: read[key] + mine[key] for key in read}
    result = counts.result(floor)
    pa.default_memory_pool().release_unused()  # what the tables of the workers took is the training's now
    return result, read


def train_from_counts(
    counts: pa.Table | Callable[[], pa.Table],
    options: TrainOptions,
    facts: dict[str, Any] | None = None,
    note: Note | None = None,
) -> Ladder:
    """Return the ladder trained on pretoken counts (already cut by the floor).

    Args:
        counts: the table, or what loads it; in the second case its memory is free again before merging.
        facts: what the card says about the corpus.
    Raises:
        UserError: no text, or too little for the largest size.
    """
    options.check()
    trainer, training = _prepared(counts, options, facts or {})
    progress = None if note is None else lambda made, of, left: note("merging", made / max(1, of), left)
    merges = trainer.run(progress)
    return Ladder(pattern_of(options.pattern), merges.pairs, options.vocab_sizes, options.special_tokens, training)


def _prepared(
    counts: pa.Table | Callable[[], pa.Table], options: TrainOptions, facts: dict[str, Any]
) -> tuple[Trainer, dict[str, Any]]:
    """Return the training, laid out and ready, and what the card says of it."""
    table = counts() if callable(counts) else counts
    if table.num_rows == 0:
        raise UserError("the corpus holds no text to train on; check what the stages before have dropped")
    training = {
        **facts,
        "pretokens": table.num_rows,
        "pretoken_occurrences": int(np.asarray(table["count"].combine_chunks()).sum()),
        "corpus_fingerprint": digest_of_counts(table),
        **options.card(),
    }
    wanted = options.vocab_sizes[-1] - 256 - len(options.special_tokens)
    return Trainer(table, wanted, options.min_frequency, options.max_token_length), training


def train_ladder(
    paths: Sequence[str | pathlib.Path],
    vocab_sizes: Sequence[int],
    *,
    pattern: str = DEFAULT_PATTERN,
    out: str | pathlib.Path | Folder,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    min_pretoken_count: int = 1,
    sample: float = 1.0,
    pad_to_multiple: int = 0,
    special_tokens_in_text: bool = False,
    text_column: str = "text",
    memory_bytes: int = MEMORY_BYTES,
    workers: int | None = None,
    note: Note | None = None,
) -> Ladder:
    """Train one tokenizer for every vocabulary size on files of text, write them all to `out`, and return the ladder.

    An interrupted training goes on from its pretoken counts, which are kept in `out` and used again as long as
    files, pattern, sample and floor are the same.

    Args:
        paths: Parquet, JSONL, WET or text files; folders and globs.
        vocab_sizes: ascending; for the other options see `TrainOptions`.
        memory_bytes: what counting may take; the result does not depend on it, nor on `workers` (threads).
        note: told of progress.
    Raises:
        UserError: options or inputs that cannot work; a corpus too small for the largest size.
    """
    options = TrainOptions(
        vocab_sizes=tuple(vocab_sizes), pattern=pattern, special_tokens=tuple(special_tokens),
        min_frequency=min_frequency, max_token_length=max_token_length, min_pretoken_count=min_pretoken_count,
        sample=sample, pad_to_multiple=pad_to_multiple, special_tokens_in_text=special_tokens_in_text,
    )  # fmt: skip
    options.check()
    folder = out if isinstance(out, Folder) else Folder(str(pathlib.Path(out).resolve()))
    pieces = find_inputs(paths, text_column)
    key = digest_of([_identity(pieces), pattern_of(pattern).regex, sample, min_pretoken_count, text_column])
    counts, facts = _counts_in(folder, key)
    if counts is None:
        counts, facts = count_pretokens(
            pieces, pattern_of(pattern), work=folder / "spilled", sample=sample, floor=min_pretoken_count,
            memory_bytes=memory_bytes, workers=workers, note=note,
        )  # fmt: skip
        folder.put_table(COUNTS_FILE, counts)
        folder.put_json(COUNTS_FACTS, {"key": key, **facts})
    del counts
    ladder = train_from_counts(lambda: folder.get_table(COUNTS_FILE), options, facts, note)
    write_ladder(ladder, folder, pad_to_multiple, special_tokens_in_text)
    return ladder


def _counts_in(folder: Folder, key: str) -> tuple[pa.Table | None, dict[str, int]]:
    """Return the counts that an earlier training left in `folder`, if they are of the same texts and options."""
    if not (folder.exists(COUNTS_FACTS) and folder.exists(COUNTS_FILE)):
        return None, {}
    facts = folder.get_json(COUNTS_FACTS)
    if facts.pop("key") != key:
        return None, {}
    return folder.get_table(COUNTS_FILE), facts


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
