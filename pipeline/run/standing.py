"""The corpus between two passes: where each shard stands, and what corpus stages have seen of it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pipeline.corpus import Observations, Shards
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.run.commits import Brief
from pipeline.storage import Folder
from pipeline.worker.task import Stand


@dataclass
class Standing:
    """The corpus as a pass leaves it: where each shard's texts are, and which of its rows are left.

    Attributes:
        folder: of the pass that last changed it.
        texts: where the texts stand.
        rows: by shard, the folder of the pass that last took rows out; None where all are left.
        briefs: by shard, what was committed last.
    """

    folder: str
    texts: Folder
    names: list[str]
    rows: list[Folder | None]
    briefs: list[Brief]
    schema: pa.Schema
    shards: Shards

    @property
    def kept(self) -> int:
        """Documents left."""
        return sum(brief.kept for brief in self.briefs)

    def stand(self, number: int) -> Stand:
        """Return where shard `number` stands."""
        brief = self.briefs[number]
        return Stand(self.texts, self.rows[number], brief.outcome, brief.rows)


@dataclass
class Looked:
    """One corpus stage's observation of a corpus.

    Attributes:
        digest: stands for all that was observed.
        failed: the documents that could not be observed, as drops to come, and their folder; None where there are none.
    """

    label: str
    stage: CorpusStage
    observations: Observations
    digest: str
    failed: tuple[DropPositions, Folder] | None = None
