"""Counts and ids at four sizes, from one encoding, and ids at one, of sentences in 75 languages against `encode_batch_fast` of `tokenizers`, one core.

    python benchmarks/tokenizer_languages.py [--pattern cl100k] [--peer-share 0.1]

Each sentence is new, so that caches of pretokens are of little use. The ladder is trained on the same sentences. The peer
is given every n-th sentence. All counts and ids of those are compared. Rates are by CPU time, medians of three.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
from real_texts import sentences_by_language
from tokenizer_common import clock, load
from tokenizers import Tokenizer

from pipeline.storage import Folder
from tokenizer.counting.counter import Counter
from tokenizer.counting.encoder import Encoder
from tokenizer.ladder.files import write_ladder
from tokenizer.pretokens.counts import PretokenTable
from tokenizer.pretokens.merging import ordered
from tokenizer.pretokens.patterns import pattern_of
from tokenizer.texts import Texts
from tokenizer.training.options import TrainOptions
from tokenizer.training.train import train_from_counts

SIZES = (8192, 32768, 65536, 131072)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pattern", default="cl100k")
    parser.add_argument("--peer-share", type=float, default=0.1)
    options = parser.parse_args()
    strings = [line for lines in sentences_by_language().values() for line in lines]
    strings = [strings[k] for k in np.random.default_rng(0).permutation(len(strings))]
    texts = Texts.of(strings)
    megabytes = texts.nbytes / 1e6
    table = PretokenTable()
    table.add_texts(texts, pattern_of(options.pattern))
    counts = ordered(table.to_table())
    ladder = train_from_counts(counts, TrainOptions(vocab_sizes=SIZES, pattern=options.pattern))
    print(f"{len(strings):,} sentences, {megabytes:.1f} MB, {counts.num_rows:,} distinct pretokens; {load()}")
    some = strings[:: max(1, round(1 / options.peer_share))]
    part = sum(len(s.encode()) for s in some) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        write_ladder(ladder, Folder(folder))
        peers = [Tokenizer.from_file(f"{folder}/{size}/tokenizer.json") for size in ladder.vocab_sizes]
    Counter(ladder).count(some[:10])
    Encoder(ladder).encode(some[:10])
    rates: dict[str, list[float]] = {
        "counts": [],
        "ids": [],
        "ids at four sizes": [],
        "four encode_batch_fast": [],
        "encode_batch_fast": [],
    }
    for _ in range(3):
        counter, encoder = Counter(ladder), Encoder(ladder)
        with clock() as took:
            counted = counter.count(texts)
        rates["counts"].append(megabytes / took.cpu)
        with clock() as took:
            ids, bounds = encoder.encode(texts)
        rates["ids"].append(megabytes / took.cpu)
        encoder = Encoder(ladder)
        with clock() as took:
            at_sizes = encoder.encode_sizes(texts)
        rates["ids at four sizes"].append(megabytes / took.cpu)
        theirs, total = [], 0.0
        for peer in peers:
            with clock() as took:
                theirs.append(peer.encode_batch_fast(some, add_special_tokens=False))
            total += took.cpu
        rates["encode_batch_fast"].append(part / took.cpu)
        rates["four encode_batch_fast"].append(part / total)
    step = max(1, round(1 / options.peer_share))
    same = counted[::step] == np.array([[len(e) for e in column] for column in theirs]).T
    assert (at_sizes[-1][0] == ids).all()
    assert (at_sizes[-1][1] == bounds).all()
    same_ids = all(
        encoding.ids == ids[bounds[k * step] : bounds[k * step + 1]].tolist()
        for (ids, bounds), column in zip(at_sizes, theirs, strict=True)
        for k, encoding in enumerate(column)
    )
    median = {name: statistics.median(values) for name, values in rates.items()}
    for name, value in median.items():
        print(f"{name:24s} {value:7.2f} MB/s")
    print(
        f"counts at four sizes: {median['counts'] / median['four encode_batch_fast']:.1f} times, equal: {bool(same.all())}"
    )
    print(
        f"ids at four sizes, one encoding: {median['ids at four sizes'] / median['four encode_batch_fast']:.1f} times, "
        f"equal: {same_ids}"
    )
    print(f"ids at {SIZES[-1]:,}: {median['ids'] / median['encode_batch_fast']:.1f} times; {load()}")


if __name__ == "__main__":
    main()
