"""Near-duplicates: found by MinHash and banding, verified by exact Jaccard similarity, removed one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from pipeline.corpus import Corpus, Observations, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.decisions import DropPositions
from pipeline.documents import Batch, text_array
from pipeline.stage import StageFault
from pipeline.storage import Folder
from stages.dedup.buckets import bands_array
from stages.dedup.duplicates import write_notes
from stages.dedup.minhash import banded_signatures, permutations, signatures
from stages.dedup.same_text import ids_of, key_columns
from stages.dedup.search import Search, remove_alike
from stages.text.fold_table import fold_table, unicode_version
from stages.text.units import utf8_of


@dataclass(frozen=True, kw_only=True)
class MinHashDedup(CorpusStage):
    """Drop a document whose shingles resemble those of one that is kept (Broder 1997).

    Shingles are runs of `ngram` words, or of characters in Chinese, Japanese, Korean, Thai, Lao, Khmer and
    Burmese; case, punctuation, accents, normal form and white space make no difference. A document of fewer words is one
    shingle; one of no words at all is never a duplicate. Documents that agree in a band of their MinHash
    signatures are candidates, a pair of similarity s with probability ``1 - (1 - s**rows)**bands``. Going by id
    (then position), a candidate is dropped if the exact Jaccard similarity of its shingle set with that of a
    document kept so far reaches `threshold`, else it is kept.
    """

    name: ClassVar[str] = "minhash_dedup"
    published: ClassVar[str] = "Broder 1997; bands and rows of FineWeb, arXiv:2406.17557"
    shares_load: ClassVar[bool] = True
    version: ClassVar[int] = 2
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

    def resources(self) -> Mapping[str, str]:
        """The version of Unicode."""
        return unicode_version()

    def load(self) -> None:
        """Build the table of characters and load the kernels."""
        self.observe(Batch.of(["the first document"]))

    def observation_identity(self) -> dict[str, Any]:
        """All parameters but the threshold, which only `decide` looks at."""
        identity = self.identity()
        return {**identity, "parameters": {k: v for k, v in identity["parameters"].items() if k != "threshold"}}

    def observe(self, batch: Batch) -> pa.Table:
        """Return position, id, number of shingles, digest and band hashes of every document that has words."""
        data, offsets = utf8_of(batch.data.column("text"))
        found = banded_signatures(data, offsets, self.ngram, *self._permutations, fold_table(), self.bands)
        hashes, shingles, digests = found
        rows = np.flatnonzero(shingles)
        return pa.table(
            {
                "position": batch.positions[rows].astype(np.int64),
                "id": ids_of(batch).take(pa.array(rows)),
                "shingles": shingles[rows],
                **key_columns(digests[rows]),
                "bands": bands_array(hashes[:, rows]),
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
        """Find texts that repeat, then buckets, compare what shares one, and drop what resembles a kept document."""
        search = Search("near_duplicate", self.ngram, self.bands, self.threshold, observations, corpus, work)
        drops, unsure = remove_alike(search, tasks)
        write_notes(work, self._decision_notes(unsure))
        return DropPositions.of(self.counted_as, drops, work)

    def _decision_notes(self, unsure: int) -> list[str]:
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
