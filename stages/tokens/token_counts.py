"""Tokens of every document at every vocabulary size, and the budget that they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
import pyarrow as pa

from pipeline.corpus import Corpus, Observations, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch
from pipeline.errors import EnvironmentFault
from pipeline.stage import MapStage, StageFault
from pipeline.storage import Folder, digest_file
from stages.tokens.train_tokenizers import LADDER_FOLDER, MOST_PARTS, PART_ROWS
from tokenizer.counting.budget import CorpusSums, GroupTokens, Missing, SizeTokens, TokenBudget
from tokenizer.counting.counter import Counter
from tokenizer.counting.measures import measure
from tokenizer.counting.report import costs, report_rows, write_report
from tokenizer.counting.totals import PREFIX, SUMS, Totals, sum_parts
from tokenizer.ladder.ladder import LADDER_FILE, Ladder
from tokenizer.texts import Texts


@dataclass(frozen=True, kw_only=True)
class TokenCounts(CorpusStage):
    """Count the tokens of every document at every size of a ladder, exactly, from one encoding.

    A table says of each token of the largest vocabulary how many tokens it is at each smaller size. The totals
    by size, source and language are the token budget. No document is changed.
    """

    name: ClassVar[str] = "token_counts"
    shares_load: ClassVar[bool] = True
    published: ClassVar[str] = (
        "exact counts by decomposition of tokens; premium after Petrov et al. 2023, arXiv:2305.15425"
    )
    decides: ClassVar[type[MapStage] | None] = None
    sums: ClassVar[bool] = True  # the table of counts is published: it names the documents that are left, no others
    libraries: ClassVar[tuple[str, ...]] = ("regex",)
    path_fields: ClassVar[tuple[str, ...]] = ("ladder",)

    ladder: tuple[str, ...] = ()
    """The ladder.json of a ladder trained before; empty: the ladder that train_tokenizers has trained before."""
    hidden: int = 0
    """Width of a model, to tell what each vocabulary size costs it; 0: not told."""
    other_parameters: float = 0.0
    """Parameters of that model outside its embeddings."""
    tied: bool = False
    """Whether input and output embedding of that model are one."""
    flat: float = 0.01
    """Sizes that cost at most this share more than the cheapest are called flat."""

    def check(self) -> None:
        if len(self.ladder) > 1:
            raise StageFault("ladder", f"names {len(self.ladder)} files; one ladder.json is wanted")
        if self.ladder and not self.ladder[0].endswith(LADDER_FILE):
            raise StageFault("ladder", f"{self.ladder[0]} is no {LADDER_FILE}")
        if (self.hidden > 0) != (self.other_parameters > 0):
            raise StageFault("hidden", "give hidden and other_parameters together")

    @property
    def takes(self) -> tuple[str, ...]:
        """The ladder that a stage before has trained, unless the recipe names one."""
        return () if self.ladder else ("ladder",)

    def resources(self) -> dict[str, str]:
        return {"ladder": digest_file(self.ladder[0])} if self.ladder else {}

    def load(self) -> None:
        """Load a ladder that the recipe names; one trained in the run is loaded with the first batch that brings it."""
        measure(Texts.of([""]))
        if self.ladder:
            _counter(self._ladder_folder({}).url)

    def observe(self, batch: Batch) -> pa.Table:
        """Return id, source, language, bytes, characters, words, and tokens at each size, a row a document."""
        texts = Texts.of(batch.data.column("text"))
        columns: dict[str, Any] = {
            name: pa.array(batch.column(name), pa.large_string()) for name in ("id", "source", "language")
        }
        measured = measure(texts)
        columns.update({name: measured[:, k] for k, name in enumerate(SUMS[1:])})
        counter = _counter(self._ladder_folder(batch.inputs).url)
        tokens = counter.count(texts)
        columns.update({f"{PREFIX}{size}": tokens[:, k] for k, size in enumerate(counter.ladder.vocab_sizes)})
        return pa.table(columns)

    def _ladder_folder(self, inputs: Mapping[str, Folder]) -> Folder:
        """Where the ladder lies: as the recipe says, else in the decision that gives one."""
        if self.ladder:
            return Folder(self.ladder[0].removesuffix(f"/{LADDER_FILE}"))
        if "ladder" not in inputs:
            raise EnvironmentFault(
                "token_counts: no tokenizer to count by; put train_tokenizers before it, or name a ladder.json (ladder)"
            )
        return inputs["ladder"] / LADDER_FOLDER

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> None:
        """Write ``token_budget.json``, and ``report/`` with one row per size and source or language."""
        ladder = Ladder.load(self._ladder_folder(observations.inputs))
        parts = observations.parts(max(PART_ROWS, -(-observations.rows // MOST_PARTS)))
        columns = [f"{PREFIX}{size}" for size in ladder.vocab_sizes]
        totals = sum_parts(parts, columns, work, tasks)
        rows = report_rows(totals, columns)
        budget = self.budget(ladder, totals, rows)
        budget.save(work)
        write_report(rows, work / "report")
        if budget.costs is not None:
            write_report(map(msgspec.to_builtins, budget.costs), work / "report", "costs")

    def budget(self, ladder: Ladder, totals: Totals, rows: list[dict[str, Any]]) -> TokenBudget:
        """Return the token budget, but for the recipe's name."""
        whole = totals.sums("all")["all"]
        sizes = [self._size(size, rows) for size in ladder.vocab_sizes]
        missing = cost = None
        if ladder.shortfall:
            training = ladder.training
            missing = Missing(training["vocab_sizes_missing"], training["vocabulary_reached"], ladder.shortfall)
        if self.hidden:
            tokens = {row.vocab_size: row.tokens for row in sizes}
            cost = costs(tokens, self.hidden, self.other_parameters, tied=self.tied, within=self.flat)
        corpus = CorpusSums(**{key: whole.get(key, 0) for key in SUMS})
        return TokenBudget(corpus=corpus, tokenizers=sizes, missing=missing, costs=cost)

    def _size(self, size: int, rows: list[dict[str, Any]]) -> SizeTokens:
        mine = [row for row in rows if row["tokenizer"] == str(size)]
        whole = next(row for row in mine if row["group"] == "all")
        place = self.ladder[0].removesuffix(LADDER_FILE) if self.ladder else f"{LADDER_FOLDER}/"
        ratios = ("bytes_per_token", "characters_per_token", "tokens_per_word")
        return SizeTokens(
            vocab_size=size,
            path=f"{place}{size}/tokenizer.json",
            tokens=whole["tokens"],
            by_source=_groups(mine, "source"),
            by_language=_groups(mine, "language"),
            quantiles=whole["quantiles"],
            share_over=whole["share_over"],
            **{ratio: whole[ratio] or 0.0 for ratio in ratios},
        )


def _groups(rows: list[dict[str, Any]], group: str) -> dict[str, GroupTokens]:
    keys = GroupTokens.__struct_fields__
    return {row["name"]: GroupTokens(**{key: row[key] for key in keys}) for row in rows if row["group"] == group}


@lru_cache(maxsize=1)
def _counter(folder: str) -> Counter:
    return Counter(Ladder.load(Folder(folder)))
