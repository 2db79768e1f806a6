"""One training for every vocabulary size: pretokens counted shard by shard, merged into a ladder of tokenizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.corpus import Corpus, Observations, Tasks
from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch
from pipeline.errors import UserError
from pipeline.stage import MapStage, StageFault
from pipeline.storage import Folder
from tokenizer.counting.usage import unused_tokens
from tokenizer.ladder.files import write_ladder
from tokenizer.ladder.roles import DEFAULT_SPECIAL_TOKENS
from tokenizer.pretokens.counts import PretokenTable, add_batch
from tokenizer.pretokens.merging import load_counts, merge_parts, ordered, summed
from tokenizer.pretokens.patterns import pattern_of
from tokenizer.training.options import DEFAULT_PATTERN, TrainOptions
from tokenizer.training.train import train_from_counts

LADDER_FOLDER = "tokenizer"
"""Folder below the decision where the ladder and its files lie."""

PART_ROWS, MOST_PARTS = 1 << 16, 1 << 12
"""Documents whose counts one task adds up at least, and how many such tasks there are at most."""


@dataclass(frozen=True, kw_only=True)
class TrainTokenizers(CorpusStage):
    """Train byte-level BPE tokenizers of several vocabulary sizes on the corpus, each a prefix of the next.

    Every shard yields its distinct pretokens with 64-bit counts; the counts add up, and one training at the
    largest size gives all. Merges and ids are those of the trainer of `tokenizers`. No document is changed.
    """

    name: ClassVar[str] = "train_tokenizers"
    shares_load: ClassVar[bool] = True
    published: ClassVar[str] = (
        "byte-pair encoding: Sennrich et al. 2016, arXiv:1508.07909; byte-level: GPT-2, Radford et al. 2019"
    )
    decides: ClassVar[type[MapStage] | None] = None
    sums: ClassVar[bool] = True
    gives: ClassVar[str] = "ladder"
    libraries: ClassVar[tuple[str, ...]] = ("regex",)

    vocab_sizes: tuple[int, ...] = (8192, 32768, 65536, 131072)
    """Vocabulary sizes, ascending; special tokens and the 256 bytes included."""
    pattern: str = DEFAULT_PATTERN
    """How text is cut into pretokens: gpt2, cl100k (GPT-4), o200k (GPT-4o), llama3, or a regular expression."""
    special_tokens: tuple[str, ...] = DEFAULT_SPECIAL_TOKENS
    """Names of special tokens, in the order of their ids, which begin at 0."""
    special_tokens_in_text: bool = False
    """Let the name of a special token in a text become the token, in tokenizer.json. Counts never do."""
    min_frequency: int = 0
    """Pairs that occur less often are not joined."""
    max_token_length: int = 0
    """Longest token in bytes, as the trainer of tokenizers has it; 0: no limit."""
    min_pretoken_count: int = 1
    """Pretokens that occur less often are left out of the training, which bounds its memory; 1: none."""
    sample: float = 1.0
    """Share of the documents to train on, chosen by a hash of their ids; 1: all."""
    eos_token: str = ""
    """The special token that ends a text for transformers; empty: the one with a name that is usual for it, if any."""
    bos_token: str = ""
    """The special token that begins a text for transformers; as eos_token."""
    pad_token: str = ""
    """The special token that fills up for transformers; as eos_token, and the end token where there is none."""
    unk_token: str = ""
    """The special token that stands for what is unknown for transformers, which nothing is; as eos_token."""
    pad_to_multiple: int = 0
    """Fill vocabularies up with reserved tokens to a multiple of this; 0: not."""
    memory_mb: int = 256
    """Memory of one task that adds up counts, in MB; what does not fit goes to disk. The result does not depend on it."""

    def check(self) -> None:
        try:
            self.options().check()
        except UserError as error:
            key, _, problem = str(error).partition(": ")
            raise StageFault(key, problem) from error
        if self.memory_mb < 1:
            raise StageFault("memory_mb", f"{self.memory_mb} is less than 1")

    def options(self) -> TrainOptions:
        """Return the options of the training."""
        return TrainOptions(
            vocab_sizes=self.vocab_sizes,
            pattern=self.pattern,
            special_tokens=self.special_tokens,
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length or None,
            min_pretoken_count=self.min_pretoken_count,
            sample=self.sample,
            pad_to_multiple=self.pad_to_multiple,
            special_tokens_in_text=self.special_tokens_in_text,
            eos_token=self.eos_token,
            bos_token=self.bos_token,
            pad_token=self.pad_token,
            unk_token=self.unk_token,
        )

    def observation_identity(self) -> dict[str, Any]:
        """What is counted depends on pattern and sample alone: other sizes are trained from the same counts."""
        observed = {"pattern": pattern_of(self.pattern).regex, "sample": self.sample}
        return {**self.identity(), "parameters": observed}

    def load(self) -> None:
        """Compile the pattern and load the kernels that count its pretokens."""
        self.observe(Batch.of(["a"]))

    def observe(self, batch: Batch) -> pa.Table:
        """Return pretoken and count of each distinct pretoken of the batch."""
        table = PretokenTable()
        add_batch(table, batch, pattern_of(self.pattern), self.sample)
        return table.to_table()

    def combine(self, tables: list[pa.Table]) -> pa.Table:
        """Return the sum, in an order that depends on the pretokens alone."""
        return ordered(summed(tables))

    def decide(self, observations: Observations, corpus: Corpus, tasks: Tasks, work: Folder) -> None:
        """Add the counts up, train, and write ``tokenizer/``: the ladder, the files of each size, what is unused.

        Sizes that the corpus cannot give are left out, and ``notes.json`` says so.
        """
        folder = work / LADDER_FOLDER
        parts = observations.parts(max(PART_ROWS, -(-observations.rows // MOST_PARTS)))
        merge_parts(parts, folder, tasks, self.min_pretoken_count, self.memory_mb << 20)
        ladder = train_from_counts(lambda: load_counts(folder), self.options())
        write_ladder(ladder, folder, self.options().files())
        folder.put_json("unused.json", unused_tokens(ladder, load_counts(folder)))
        if ladder.shortfall:
            work.put_json("notes.json", [ladder.shortfall])
