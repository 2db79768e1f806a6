"""Documents that give away items of an evaluation set are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pipeline.documents import Batch, Document
from pipeline.errors import InputError
from pipeline.guard import guard
from pipeline.stage import Drop, MapStage, Outcome, Removal, StageFault, Verdict
from pipeline.storage import digest_file
from stages.decontamination.evaluation_sets import read_items, set_name
from stages.decontamination.index_file import index_for
from stages.decontamination.ngram_index import NgramIndex, build_index
from stages.decontamination.passages import SetCounts
from stages.text.fold_table import fold_table, unicode_version
from stages.text.units import utf8_of, utf8_of_text


@dataclass(frozen=True, kw_only=True)
class Decontaminate(MapStage):
    """Drop documents that hold an evaluation item's text, found by word n-grams (13 as in GPT-3, arXiv:2005.14165).

    Every text of an item is a passage; so is what follows each label of a prompt ("Question: ..."), and so are all
    texts of an item together where each alone is shorter than an n-gram. A document is contaminated when it holds
    at least `min_share` of a passage's n-grams, or a passage of fewer than `ngram` but at least `min_words` words
    as a whole. Case, punctuation, accents, normal form, white space and line breaks make no difference, so a page that wraps
    its lines elsewhere is found too (what a rule by paragraphs loses: marin issue 6852). N-grams without a letter
    or with fewer than four different words count nowhere, nor do those that more than `max_items` passages of a
    set share: templates and boilerplate (marin issue 7126). Hits are compared word by word, so that no
    document falls to a hash collision.
    """

    name: ClassVar[str] = "decontaminate"
    published: ClassVar[str] = (
        "n-gram overlap, GPT-3 arXiv:2005.14165 app. C; share of an item as in Marin and allenai/decon"
    )
    only_drops: ClassVar[bool] = True
    path_fields: ClassVar[tuple[str, ...]] = ("evals",)
    version: ClassVar[int] = 2
    evals: tuple[str, ...] = ()
    """Evaluation sets: .jsonl, .json, .csv, .tsv, .parquet or .arrow, also as .gz, .zst, .bz2 or .xz. An item a line or row."""
    fields: tuple[str, ...] = ()
    """Keys whose texts are indexed; a dot leads into a nested one. Empty: every text of an item."""
    ngram: int = 13
    """Words in an n-gram; characters in scripts without spaces."""
    min_share: float = 0.5
    """Share of a passage's n-grams from which on a document is dropped."""
    min_words: int = 8
    """A passage of fewer words is not looked for (a character of a script without spaces counts half a word)."""
    max_items: int = 10
    """An n-gram, or a whole text, of more different items of one set than this is a template and is passed over."""

    def check(self) -> None:
        """Raise `StageFault` for values out of range, and for files that are missing, unreadable or without text."""
        if self.ngram < 1:
            raise StageFault("ngram", f"must be at least 1; got {self.ngram}")
        if not 0 < self.min_share <= 1:
            raise StageFault("min_share", f"must be above 0 and at most 1; got {self.min_share}")
        for key in ("min_words", "max_items"):
            if getattr(self, key) < 1:
                raise StageFault(key, f"must be at least 1; got {getattr(self, key)}")
        if not self.evals:
            raise StageFault("evals", 'names no evaluation set; give paths such as ["evals/*.jsonl"]')
        try:
            sets = self.index.sets
        except InputError as error:
            raise StageFault("evals", str(error)) from error
        for path, counts in zip(self.evals, sets, strict=True):
            self._check_set(path, counts)

    def _check_set(self, path: str, counts: SetCounts) -> None:
        if counts.texts == 0 and self.fields:
            raise StageFault("fields", f"none of {', '.join(self.fields)} is a key with text in {path}")
        if counts.texts == 0:
            raise StageFault("evals", f"{path} holds no text: no item, or items without a text value")
        if counts.found == 0:
            raise StageFault(
                "evals",
                f"{path}: none of its {counts.items:,} items can be looked for, {counts.short:,} are too short (min_words = "
                f"{self.min_words}) and the others all alike (max_items = {self.max_items}); give another file or `fields`",
            )

    def notes(self) -> list[str]:
        """Return, for each evaluation set, how many items it has, are looked for, and are too short for that."""
        return [
            f"{counts.name}: {counts.items:,} items found, {counts.found:,} of them looked for, {counts.short:,} too short"
            for counts in self.index.sets
        ]

    def resources(self) -> Mapping[str, str]:
        """The SHA-256 of every evaluation set, and the version of Unicode."""
        sets = {f"{number}:{set_name(path)}": _digest(path) for number, path in enumerate(self.evals)}
        return {**sets, **unicode_version()}

    def load(self) -> None:
        """Map the index into memory, or build it."""
        fold_table()
        _ = self.index

    @property
    def index(self) -> NgramIndex:
        """The index of the evaluation sets, built once for all processes (see `stages.decontamination.index_file`)."""
        return _index(self.evals, self.fields, self.ngram, self.min_words, self.max_items)

    def apply(self, batch: Batch) -> Outcome:
        """Drop the contaminated documents of `batch`: one kernel call finds the few that need a closer look."""
        if len(batch) == 0:
            return Outcome(batch)
        index = self.index
        guard.working_on(int(batch.numbers[0]), batch=True)
        rows, hits, places = index.scan(*utf8_of(batch.data.column("text")))
        kept, removed = np.ones(len(batch), bool), []
        for row in np.unique(rows).tolist():
            mine = rows == row
            drop = self._verdict(hits[mine], places[mine])
            if drop is not None:
                kept[row] = False
                removed.append(Removal(row, drop.rule, "document", drop.value, drop.threshold, drop.detail))
        return Outcome(batch if not removed else batch.select(np.flatnonzero(kept).tolist()), removed)

    def judge(self, document: Document) -> Verdict:
        """Return Drop where `document` is contaminated: the share of the passage it holds most of, and where from."""
        data = utf8_of_text(document.text)
        _, hits, places = self.index.scan(data, np.array([0, len(data)], np.int64))
        return self._verdict(hits, places)

    def _verdict(self, hits: np.ndarray, places: np.ndarray) -> Drop | None:
        """Return what the hits in one document come to."""
        if len(hits) == 0:
            return None
        index = self.index
        whole = -1 - hits[hits < 0]
        grams = np.unique(hits[hits >= 0])
        owners = [index.owners[index.owners_from[g] : index.owners_from[g + 1]] for g in grams.tolist()]
        numbers, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *owners]), return_counts=True)
        shares = np.concatenate([counts / index.sizes[numbers], np.ones(len(whole))])
        numbers = np.concatenate([numbers, whole])
        best = int(np.lexsort((numbers, -shares))[0])
        share, passage = float(shares[best]), int(numbers[best])
        if share < self.min_share:
            return None
        found = index.passages[passage]
        return Drop(
            "contaminated",
            share,
            self.min_share,
            f"{found.set}, item {found.item}, {found.field}: {self._first(hits, places, passage)}",
        )

    def _first(self, hits: np.ndarray, places: np.ndarray, passage: int) -> str:
        """Return the first n-gram of `passage` that the document holds, or the whole of a short passage."""
        index = self.index
        if index.sizes[passage] == 0:
            start, end = index.short_at[passage]
        else:
            order = np.argsort(places, kind="stable")
            mine = (
                int(g) for g in hits[order]
                if g >= 0 and passage in index.owners[index.owners_from[g] : index.owners_from[g + 1]]
            )  # fmt: skip
            start, end = index.gram_at[next(mine)]
        return index.text[start:end].tobytes().decode()


@lru_cache(maxsize=2)
def _index(evals: tuple[str, ...], fields: tuple[str, ...], ngram: int, min_words: int, max_items: int) -> NgramIndex:
    def build() -> NgramIndex:
        sets = ((set_name(path), read_items(path, fields)) for path in evals)
        return build_index(sets, ngram, min_words, max_items)

    files = [[set_name(path), _digest(path)] for path in evals]
    parameters = [list(fields), ngram, min_words, max_items]
    return index_for({"files": files, "parameters": parameters, **unicode_version()}, build)


@lru_cache(maxsize=256)
def _digest(path: str) -> str:
    return digest_file(path)
