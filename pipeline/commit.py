"""What a task writes last: the commit of a shard, and the record of an observation. Each makes the files before it count."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.tally import Tally


@dataclass
class Commit:
    """One shard of one pass, whole and accounted for.

    Attributes:
        source: what it was made from: the outcome of the same shard in the pass before, "" for one read from an input.
        outcome: 16 hex digits that stand for the documents it holds; those of `source` where nothing changed.
        rows: rows of the file in which the shard's texts stand; what positions count.
        kept: documents left.
        texts: the pass wrote their texts; else they stand where an earlier pass wrote them.
        selected: the pass wrote which rows are left; with neither, they are those of the pass before.
        ledger: lines of its ledger; no file for none.
        first, end: numbers of the first document of the split in it, and of the first behind it.
        last: nothing of the split follows it.
        bytes_written: size of its files.
    """

    source: str
    outcome: str
    rows: int
    kept: int
    texts: bool
    selected: bool
    ledger: int
    tally: Tally
    first: int = 0
    end: int = 0
    last: bool = True
    bytes_written: int = 0


@dataclass
class Look:
    """One corpus stage's observation of one shard.

    Attributes:
        of: outcome of the shard that was observed.
        digest: 16 hex digits of SHA-256 of the observation's file.
        rows: documents that were seen.
        failed: row, rule and detail of each document that the stage could not observe.
    """

    of: str
    digest: str
    rows: int
    failed: list[tuple[int, str, str]]
    cpu_seconds: float
