"""The steps of a near-duplicate search, each a round of tasks; between rounds the deciding process holds counts.

texts         observations are read, once; digests of texts are shuffled                    (`stages.dedup.buckets`)
same text     documents whose folded text repeats another's leave the search                (`stages.dedup.same_text`)
bands         band hashes of the others, shuffled by hash
buckets       documents that share a hash are told so
leaders       of buckets too large for one task: who leads them                             (`stages.dedup.leaders`)
members       these, shuffled by hash once more, with id and size
tiles         what is compared with what, in blocks that fit memory                         (`stages.dedup.tiles`)
sets          shingle sets from the texts, shuffled to the blocks                           (`stages.dedup.verify`)
compare       exact similarity of every pair
remove        who is kept, by parts of the corpus in rounds                                 (`stages.dedup.removal`)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.corpus import Corpus, LocalTasks, Observations, ObservedPart, Tasks
from pipeline.shuffle import SMALL, Ranges, Shuffle, clear, parts_of, pieces_of
from pipeline.storage import Folder
from stages.dedup.buckets import (
    MakeTiles,
    ScatterBands,
    ScatterMembers,
    SendTexts,
    ShareBuckets,
    block_file,
    make_tiles,
    scatter_bands,
    scatter_members,
    send_texts,
    share_buckets,
)
from stages.dedup.leaders import SendLeaders, find_leaders
from stages.dedup.memberships import part_file
from stages.dedup.removal import Pairs, remove
from stages.dedup.same_text import Repeats
from stages.dedup.verify import Compare, SendSets, compare, send_sets

REPRESENTATIVES = 128
"""In a bucket of more documents each is compared with the first so many: they are pages of a template, most likely, and
comparing all with all would take the square of their number."""

PART_ROWS = 250_000
"""Documents of one task, about 50 MB of observations and as much again of hashes on their way."""

GIANT = 100_000
"""A bucket of more documents is not held in one task, but in slices by parts of the corpus."""
BAND_ROWS = 3_000_000
"""Band hashes of one task, 48 MB."""

MEMBER_ROWS = 500_000
"""Memberships in shared buckets of one task, about 60 MB with their ids."""

TASK_SHINGLES = 8_000_000
"""Shingles whose sets are compared in one task, 64 MB."""

SENT_SHINGLES = 4_000_000
"""Shingles whose sets one task holds on their way; more are sent one after the other."""


@dataclass(frozen=True)
class Search:
    """What is searched, and with what."""

    rule: str
    ngram: int
    bands: int
    threshold: float
    observations: Observations
    corpus: Corpus
    work: Folder

    @property
    def between(self) -> Folder:
        """Folder of the files between steps."""
        return self.work / "between"

    @property
    def skipped(self) -> Folder:
        """Folder of the documents that are not looked for in all of their buckets."""
        return self.between / "skipped"


def remove_alike(search: Search, tasks: Tasks) -> tuple[list[dict[str, Any] | None], int]:
    """Carry out the search; return what `stages.dedup.removal.remove` does."""
    if search.observations.rows > SMALL:
        return _remove_alike(search, tasks)
    (found,) = tasks.map("search", _remove_alone, [search])
    return found["drops"], found["unsure"]


def _remove_alone(search: Search) -> dict[str, Any]:
    drops, unsure = _remove_alike(search, LocalTasks())
    return {"drops": drops, "unsure": unsure}


def _remove_alike(search: Search, tasks: Tasks) -> tuple[list[dict[str, Any] | None], int]:
    parts = parts_of(search.observations, PART_ROWS)
    if not parts:
        return [], 0
    repeats = Repeats.planned(parts, search.observations.rows, search.between / "same")
    pairs = _alike(search, parts, _members(search, parts, repeats, tasks), repeats, tasks)
    found = remove(pairs, search.rule, search.threshold, tasks, search.between, search.work)
    tasks.map("clear", clear, [search.between])
    return found


def _members(search: Search, parts: list[ObservedPart], repeats: Repeats, tasks: Tasks) -> Shuffle:
    """Shuffle digests and band hashes, and then the documents that share one of these with another."""
    writers, ranges = len(parts), Ranges.of(parts)
    held = search.between / "held"
    texts = [SendTexts(part, number, repeats, held) for number, part in enumerate(parts)]
    tasks.map("texts", send_texts, texts)
    repeats.group(tasks)
    bands = Shuffle(search.between / "bands", pieces_of(search.observations.rows * search.bands, BAND_ROWS))
    sends = [ScatterBands(number, repeats, held, bands) for number in range(writers)]
    tasks.map("bands", scatter_bands, sends)
    shared = Shuffle(search.between / "shared", writers)
    shares = [ShareBuckets(number, writers, bands, shared, ranges, GIANT) for number in range(bands.partitions)]
    counted = tasks.map("buckets", share_buckets, shares)
    memberships = sum(rows for rows, _ in counted)
    bands.delete(writers)
    leaders = None
    if any(giant for _, giant in counted):
        asks = [
            SendLeaders(
                number,
                bands.partitions,
                shared,
                held,
                REPRESENTATIVES,
                GIANT,
                REPRESENTATIVES,
                search.between / "merged",
            )
            for number in range(writers)
        ]
        leaders = find_leaders(tasks, asks, search.between / "leaders")
    members = Shuffle(search.between / "members", pieces_of(memberships, MEMBER_ROWS))
    joins = [
        ScatterMembers(number, bands.partitions, shared, held, search.skipped, members, REPRESENTATIVES, leaders)
        for number in range(writers)
    ]
    tasks.map("members", scatter_members, joins)
    shared.delete(bands.partitions)
    for number in range(writers):
        held.delete(part_file(number))
    return members


def _alike(search: Search, parts: list[ObservedPart], members: Shuffle, repeats: Repeats, tasks: Tasks) -> Pairs:
    """Cut buckets into tiles, bring each block of them the shingle sets it needs, and compare."""
    writers, ranges = len(parts), Ranges.of(parts)
    blocks, asked = search.between / "blocks", Shuffle(search.between / "asked", writers)
    cuts = [
        MakeTiles(number, writers, members, blocks, asked, ranges, REPRESENTATIVES, TASK_SHINGLES)
        for number in range(members.partitions)
    ]
    counts = tasks.map("tiles", make_tiles, cuts)
    members.delete(writers)
    first_block, total = np.cumsum([0, *counts[:-1]]), sum(counts)
    sets = Shuffle(search.between / "sets", total)
    sends = [
        SendSets(number, members.partitions, asked, first_block, search.corpus, search.ngram, sets, SENT_SHINGLES)
        for number in range(writers)
    ]
    pieces = tuple(tasks.map("sets", send_sets, sends))
    asked.delete(members.partitions)
    edges, interest = Shuffle(search.between / "edges", writers), Shuffle(search.between / "interest", writers)
    compares = [
        Compare(
            int(first_block[partition]) + block,
            partition,
            block,
            blocks,
            sets,
            pieces,
            search.threshold,
            edges,
            interest,
            ranges,
        )
        for partition, count in enumerate(counts)
        for block in range(count)
    ]
    tasks.map("compare", compare, compares)
    sets.delete(pieces)
    for partition in range(members.partitions):
        blocks.delete(block_file(partition))
    return Pairs(edges, interest, total, repeats, search.skipped, ranges)
