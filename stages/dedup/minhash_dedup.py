"""Near-duplicates: found by MinHash and banding, verified by exact Jaccard similarity, removed one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus import Corpus, Observations, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.documents import Batch, text_array
from pipeline.stage import StageFault
from pipeline.storage import Folder
from stages.dedup.duplicates import PAIRS, duplicate_drops, ids_of, parts_for, write_notes
from stages.dedup.lsh import Candidates, candidates, shared_buckets
from stages.dedup.minhash import banded_signatures, permutations, signatures
from stages.dedup.verify import Group, SetsTask, cut, pack, verify_group, write_sets
from stages.text.shingles import fold_table, utf8_of

PART_ROWS = 4_000_000
"""Documents of one band grouped in one task, about 250 MB."""

TASK_SHINGLES = 8_000_000
"""Shingles of the documents in one task, about 60 MB of text and as much of hashes."""


@dataclass(frozen=True, kw_only=True)
class MinHashDedup(CorpusStage):
    """Drop a document whose shingles resemble those of one that is kept (Broder 1997).

    Shingles are runs of `ngram` words, or of characters in Chinese, Japanese, Korean, Thai, Lao, Khmer and
    Burmese; case, punctuation, accents and white space make no difference. A document of fewer words is one
    shingle; one of no words at all is never a duplicate. Documents that agree in a band of their MinHash
    signatures are candidates, a pair of similarity s with probability ``1 - (1 - s**rows)**bands``. Going by id
    (then position), a candidate is dropped if the exact Jaccard similarity of its shingle set with that of a
    document kept so far reaches `threshold`, else it is kept.
    """

    name: ClassVar[str] = "minhash_dedup"
    published: ClassVar[str] = "Broder 1997; bands and rows of FineWeb, arXiv:2406.17557"
    ngram: int = 5
    """Words in a shingle."""
    bands: int = 14
    """Bands of the signature; more find more pairs of low similarity, and cost as much more."""
    rows: int = 8
    """Hash values in a band; more pass over pairs of low similarity."""
    threshold: float = 0.8
    """Jaccard similarity, exact, from which on the later document is dropped."""
    seed: int = 1
    """Seed of the permutations, as in datasketch."""

    def check(self) -> None:
        """Raise `StageFault` for values out of range."""
        for key in ("ngram", "bands", "rows"):
            if getattr(self, key) < 1:
                raise StageFault(key, f"must be at least 1; got {getattr(self, key)}")
        if self.bands * self.rows > 4096:
            raise StageFault(
                "bands", f"bands * rows = {self.bands * self.rows} hash values a document; at most 4096 work"
            )
        if not 0 < self.threshold <= 1:
            raise StageFault("threshold", f"must be above 0 and at most 1; got {self.threshold}")
        if not 0 <= self.seed < 1 << 32:
            raise StageFault("seed", f"must be from 0 to 4294967295; got {self.seed}")

    def observation_identity(self) -> dict[str, Any]:
        """All parameters but the threshold, which only `decide` looks at."""
        identity = self.identity()
        return {**identity, "parameters": {k: v for k, v in identity["parameters"].items() if k != "threshold"}}

    def observe(self, batch: Batch) -> pa.Table:
        """Return position, id, number of shingles and the hash of each band of every document that has words."""
        data, offsets = utf8_of(batch.data.column("text"))
        hashes, shingles = banded_signatures(data, offsets, self.ngram, *self._permutations, fold_table(), self.bands)
        rows = np.flatnonzero(shingles)
        return pa.table(
            {
                "position": batch.positions[rows].astype(np.int64),
                "id": ids_of(batch).take(pa.array(rows)),
                "shingles": shingles[rows],
                **{_band(number): hashes[number][rows] for number in range(self.bands)},
            }
        )

    def signatures(self, texts: pa.Array | list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return (uint32 of shape (texts, bands * rows), int64: shingles of each text, repeats counted)."""
        data, offsets = utf8_of(text_array(texts) if isinstance(texts, list) else texts)
        return signatures(data, offsets, self.ngram, *self._permutations, fold_table())

    @property
    def _permutations(self) -> tuple[np.ndarray, np.ndarray]:
        return permutations(self.bands * self.rows, self.seed)

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> DropPositions:
        """Find candidates band by band, verify them group by group, and drop what resembles a kept document."""
        parts = parts_for(observations, PART_ROWS)
        bands = [(observations, _band(band), part, parts) for band in range(self.bands) for part in range(parts)]
        found = candidates(tasks.map("bands", shared_buckets, bands), observations)
        sets = _kept_sets(found, corpus, tasks, work, self.ngram)
        groups = _groups(found, sets, work, self.threshold)
        verdicts = pa.concat_tables([PAIRS.empty_table(), *tasks.map("verify", verify_group, groups)])
        for name in sets.names:
            work.delete(name)
        pairs = verdicts.filter(pc.is_valid(verdicts["kept"]))
        write_notes(work, self.notes(verdicts.num_rows - pairs.num_rows))
        return DropPositions.write(self.label, duplicate_drops("near_duplicate", pairs, corpus, self.threshold), work)

    def notes(self, unsure: int) -> list[str]:
        """Return what the user should hear.

        Args:
            unsure: documents kept that were not compared with all kept ones of their buckets.
        """
        notes = []
        chance = 1 - (1 - self.threshold**self.rows) ** self.bands
        if chance < 0.5:
            notes.append(
                f"{self.bands} bands of {self.rows} rows find only {chance:.0%} of pairs as similar as threshold = "
                f"{self.threshold:g}; fewer rows or more bands find more"
            )
        if unsure:
            notes.append(
                f"{unsure} documents stay that were in a bucket of so many look-alikes below the threshold that they were "
                "not compared with all of it; pages made from a template, most likely"
            )
        return notes


def _band(number: int) -> str:
    return f"b{number}"


@dataclass(frozen=True)
class _SetFiles:
    """Where each candidate's shingle set lies: the file's number, and start and length there in hashes."""

    names: tuple[str, ...]
    file: np.ndarray
    start: np.ndarray
    count: np.ndarray


def _kept_sets(found: Candidates, corpus: Corpus, tasks: Tasks, work: Folder, ngram: int) -> _SetFiles:
    """Work out the shingle sets of all candidates; every shard's documents are read once."""
    order = np.argsort(found.positions)
    runs = list(cut(found.positions[order], found.shingles[order], TASK_SHINGLES))
    names = tuple(f"sets/{number:06d}.u64" for number in range(len(runs)))
    jobs = [SetsTask(corpus, run, ngram, work, name) for run, name in zip(runs, names, strict=True)]
    counts = [np.asarray(table["count"]) for table in tasks.map("sets", write_sets, jobs)]
    file, start, count = (np.zeros(len(order), np.int64) for _ in range(3))
    if runs:
        file[order] = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        start[order] = np.concatenate([np.cumsum(c) - c for c in counts])
        count[order] = np.concatenate(counts)
    return _SetFiles(names, file, start, count)


def _groups(found: Candidates, sets: _SetFiles, work: Folder, threshold: float) -> list[Group]:
    """Return the candidates as tasks: whole connected components, as many to a task as fit."""
    order = np.argsort(found.groups, kind="stable")  # inside a component the order of keeping stays
    sizes = np.bincount(found.groups, weights=sets.count).astype(np.int64)
    ends = np.cumsum(np.bincount(found.groups)) if len(order) else np.zeros(0, np.int64)
    memberships = np.searchsorted(found.members, np.arange(len(found.positions) + 1))
    groups = []
    for first, last in pack(sizes.tolist(), TASK_SHINGLES):
        documents = order[(ends[first - 1] if first else 0) : ends[last - 1]]
        buckets = [found.buckets[memberships[d] : memberships[d + 1]] for d in documents.tolist()]
        files, file = np.unique(sets.file[documents], return_inverse=True)
        groups.append(
            Group(
                work=work,
                files=tuple(sets.names[number] for number in files.tolist()),
                positions=found.positions[documents],
                file=file,
                start=sets.start[documents],
                count=sets.count[documents],
                bounds=np.concatenate([[0], np.cumsum([len(b) for b in buckets])]).astype(np.int64),
                buckets=np.concatenate(buckets),
                threshold=threshold,
            )
        )
    return groups
