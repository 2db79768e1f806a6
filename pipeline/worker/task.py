"""What a worker is told: one pass, and one shard of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import pyarrow as pa

from pipeline.corpus import Shards
from pipeline.corpus_stage import CorpusStage
from pipeline.executors.contract import Death
from pipeline.guard import NOTHING
from pipeline.readers import Split
from pipeline.stage import MapStage
from pipeline.storage import Folder
from pipeline.tally import READ
from pipeline.worker.children import Care

State = tuple[int, int] | None
"""Size and time of change (ns) of a file on this machine; None for one elsewhere."""
PIECE_BITS = 32
"""A document of the input has the number ``piece << PIECE_BITS | number in the piece``; see `Split.pieces`."""
IN_PIECE = (1 << PIECE_BITS) - 1
Skips = tuple[tuple[int, str, str, str], ...]  # (document number, stage, rule, detail)


def sha_of(data: bytes) -> str:
    """Return 16 hex digits of the SHA-256 of `data`: what commits and looks name content by."""
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(frozen=True)
class Applied:
    """A stage of the pass under the name it is counted by; `folder` holds the files of a decision."""

    label: str
    stage: MapStage
    folder: Folder | None = None


@dataclass(frozen=True)
class Observer:
    """A corpus stage that sees what the pass keeps, and where what it sees is kept."""

    label: str
    stage: CorpusStage
    folder: Folder
    inputs: tuple[tuple[str, Folder], ...] = ()


@dataclass(frozen=True)
class PassWork:
    """What is the same for all shards of a pass.

    Attributes:
        target: the pass's folder; None where the shards stand already and are only observed.
        writes: the texts are written anew; else only which rows are left.
        shards: the corpus that decisions applied here speak of.
        batch_bytes, record_bytes, shard_bytes, memory_bytes: see `pipeline.recipe.Limits`.
        signals: what stages measure is written down.
        failed_share: a task in which more than this share fails ends the run.
        sample: share of the documents of the input that is read.
    """

    stages: tuple[Applied, ...]
    observers: tuple[Observer, ...]
    schema_in: pa.Schema
    schema_out: pa.Schema
    target: Folder | None
    writes: bool
    shards: Shards | None
    batch_bytes: int
    record_bytes: int
    shard_bytes: int
    memory_bytes: int
    text_characters: int
    failed_share: float
    sample: float = 1.0
    signals: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of stages and observers, in the order in which the guard numbers them."""
        return (*(s.label for s in self.stages), *(o.label for o in self.observers))


@dataclass(frozen=True)
class Stand:
    """Where a shard of the pass before stands.

    Attributes:
        texts: folder of the file that holds its texts.
        rows: folder of the file that says which rows are left; None for all.
        outcome: what it is, as in `Commit.outcome`.
        size: rows of the file of texts.
    """

    texts: Folder
    rows: Folder | None
    outcome: str
    size: int


@dataclass(frozen=True)
class ShardTask:
    """All that a worker needs for one split of the input, or one shard of the pass before.

    Attributes:
        name: of the shard's files; of a split, without the number of its part.
        number: of the shard in the corpus, for decisions.
        split, changed: what to read in the first pass, and the state of each of its files when it was planned.
        stand: what to read in later passes.
        first, part: document and part of the split to begin with.
        before: documents of the pass that had failed when the task was given out, and that had been read.
        skips: documents that killed a worker, with the stage, rule and detail to fail them by.
        suspects: documents that were in work when memory ran out once.
        careful: stages run in child processes of the worker's own, so that what kills one is found there.
        ahead: reading has killed a worker: a child reads ahead of it.
        doubts: first documents of batches of rows that have killed a worker which read them.
    """

    work: PassWork
    name: str
    number: int
    split: Split | None = None
    changed: tuple[State, ...] = ()
    stand: Stand | None = None
    first: int = 0
    part: int = 0
    before: tuple[int, int] = (0, 0)
    skips: Skips = ()
    suspects: tuple[int, ...] = ()
    careful: bool = False
    ahead: bool = False
    doubts: tuple[int, ...] = ()

    @property
    def care(self) -> Care | None:
        """How stages are to be kept apart from the worker; None where they need not be."""
        return Care(self.work.memory_bytes) if self.careful else None

    @property
    def place(self) -> str:
        """Where the documents come from, for messages."""
        if self.split is None:
            return f"shard {self.name}"
        if self.split.more:
            return f"{self.split.file.name} and {len(self.split.more)} files behind it"
        return f"{self.split.file.name} [{self.split.start}:{self.split.end}]"

    def piece(self, number: int) -> Split:
        """Return the piece of the split that document `number` comes from."""
        assert self.split is not None
        return self.split.pieces[number >> PIECE_BITS] if self.split.more else self.split


def revise(task: ShardTask, death: Death) -> ShardTask | None:
    """Return the task to try after a worker died on it, or None to try the same again.

    What died in a stage is tried again in child processes of the worker, where the document is found that kills them
    even alone (`children.py`): those before it may have leaked the memory that it lacked. Where reading died, a child reads
    ahead and finds all records that kill their reader (`ahead.py`). A document that exceeded a time limit, which nobody
    else's doing can use up, is left out next time and counted as failed.
    """
    in_stage = 0 <= death.stage < len(task.work.labels)
    anywhere = death.number == NOTHING and death.batch
    watched = replace(task, careful=task.careful or in_stage or anywhere, ahead=task.ahead or not in_stage)
    if watched != task and (death.number != NOTHING or anywhere):
        exact = not death.batch and death.rule in ("cpu_time", "wall_time")
        return _without(watched, death) if exact else watched
    if death.number == NOTHING or (in_stage and death.batch):
        return None
    if death.batch and death.number not in task.doubts:
        return replace(task, doubts=(*task.doubts, death.number))
    if death.rule == "memory" and death.number not in task.suspects:
        return replace(task, suspects=(*task.suspects, death.number))
    return _without(task, death)


def _without(task: ShardTask, death: Death) -> ShardTask | None:
    names = task.work.labels
    stage = names[death.stage] if 0 <= death.stage < len(names) else READ
    before = [number for number, *_ in task.skips if number == death.number]
    if len(before) > (stage == READ):
        return None
    return replace(task, skips=(*task.skips, (death.number, stage, death.rule, death.detail)))
