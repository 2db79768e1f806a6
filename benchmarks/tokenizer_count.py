"""Token counts at five vocabulary sizes, and ids at one: ours against `tokenizers` (five encodings) and `tiktoken` (one, plus the table).

    python benchmarks/tokenizer_count.py FOLDER [--megabytes 100] [--peer-megabytes 20]

FOLDER holds Parquet files with a column `text` (`tokenizer_text.py` makes them). Everything on one core. The peers may
be given the first part of the text only; their times are per megabyte then. All counts are compared. Rates are by CPU
time, so that other work on the machine disturbs little; wall time is printed too.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import tempfile

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizer_common import SIZES, clock, load, texts_in
from tokenizers import Tokenizer

from pipeline.storage import Folder
from tokenizer.counting.counter import Counter
from tokenizer.counting.encoder import Encoder
from tokenizer.ladder.files import tiktoken_settings, write_ladder
from tokenizer.ladder.ladder import Ladder
from tokenizer.pretokens.counts import PretokenTable
from tokenizer.pretokens.merging import ordered
from tokenizer.pretokens.patterns import pattern_of
from tokenizer.texts import Texts
from tokenizer.training.options import TrainOptions
from tokenizer.training.train import train_from_counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--peer-megabytes", type=float, default=20)
    parser.add_argument("--pattern", default="cl100k")
    options = parser.parse_args()
    array = texts_in(options.folder, options.megabytes)
    texts = Texts.of(array)
    megabytes = texts.nbytes / 1e6
    ladder = _ladder(texts, options.pattern)
    print(f"{len(texts):,} documents, {megabytes:.1f} MB; sizes {ladder.vocab_sizes}; {load()}")

    Counter(ladder).count(["compiled before the clock starts"])
    with clock() as made:
        counter = Counter(ladder)
    with clock() as cold:
        counts = counter.count(texts)
    with clock() as warm:
        counter.count(texts)
    print(f"ours: tables {made.cpu:.2f} s; cold cache {megabytes / cold.cpu:.1f} MB/s (wall {cold.wall:.2f} s), "
          f"warm {megabytes / warm.cpu:.1f} MB/s")  # fmt: skip

    Encoder(ladder).encode(["compiled before the clock starts"])
    encoder = Encoder(ladder)
    with clock() as encoding:
        ids, _ = encoder.encode(texts)
    with clock() as again:
        encoder.encode(texts)
    print(f"ids at {SIZES[-1]}: cold {megabytes / encoding.cpu:.1f} MB/s, warm {megabytes / again.cpu:.1f} MB/s; "
          f"as many as counted: {len(ids) == counts[:, -1].sum()}")  # fmt: skip

    some = int(np.searchsorted(np.cumsum(np.diff(texts.offsets)), options.peer_megabytes * 1e6)) + 1
    strings = array[:some].to_pylist()
    part = sum(len(s.encode()) for s in strings) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        write_ladder(ladder, Folder(folder))
        theirs, cpu = _tokenizers(folder, ladder, strings)
        print(
            f"tokenizers, {len(SIZES)} encode_batch_fast: {part / cpu:.2f} MB/s; ours is {megabytes / cold.cpu / (part / cpu):.0f} times as fast"
        )
        print(f"  counts equal: {bool((theirs == counts[: len(strings)]).all())}")
        by_table, cpu = _tiktoken(folder, ladder, strings)
        print(
            f"tiktoken, one encoding and the table: {part / cpu:.1f} MB/s; ours is {megabytes / cold.cpu / (part / cpu):.1f} times as fast"
        )
        print(f"  counts equal: {bool((by_table == counts[: len(strings)]).all())}")
    print(load())


def _ladder(texts: Texts, pattern: str) -> Ladder:
    table = PretokenTable()
    table.add_texts(texts, pattern_of(pattern))
    return train_from_counts(ordered(table.to_table()), TrainOptions(vocab_sizes=SIZES, pattern=pattern))


def _tokenizers(folder: str, ladder: Ladder, strings: list[str]) -> tuple[np.ndarray, float]:
    tokenizers = [Tokenizer.from_file(f"{folder}/{size}/tokenizer.json") for size in ladder.vocab_sizes]
    with clock() as took:
        columns = [[len(e) for e in t.encode_batch_fast(strings, add_special_tokens=False)] for t in tokenizers]
    return np.array(columns).T, took.cpu


def _tiktoken(folder: str, ladder: Ladder, strings: list[str]) -> tuple[np.ndarray, float]:
    size = ladder.vocab_sizes[-1]
    ranks = load_tiktoken_bpe(f"{folder}/{size}/tokens.tiktoken")
    settings = tiktoken_settings(ladder, size)
    encoding = tiktoken.Encoding(
        settings["name"], pat_str=settings["pat_str"], mergeable_ranks=ranks, special_tokens={}
    )
    table = np.concatenate([np.ones((ladder.offset, len(ladder.vocab_sizes)), np.uint32), ladder.decomposition])
    with clock() as took:
        rows = [table[encoding.encode_ordinary(text)].sum(axis=0) for text in strings]
    return np.array(rows), took.cpu


if __name__ == "__main__":
    main()
