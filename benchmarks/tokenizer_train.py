"""Training a 128k ladder: ours against one training by `tokenizers`, two cores, each in a process of its own.

    python benchmarks/tokenizer_train.py FOLDER [--megabytes 300] [--vocab-size 131072] [--without-peer]

FOLDER holds Parquet files with a column `text` (`tokenizer_text.py` makes them). Both read the same files, from
Parquet to merges. Prints wall and CPU seconds, peak memory of the whole process, and whether the merges are the same.
With `--without-peer` it measures the memory of ours only, for more text than the peer can take.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from tokenizer_common import in_child, load, texts_in

WORKERS = 2


def ours(path: str, vocab_size: int, out: str) -> tuple[str, dict[str, object]]:
    """Train the ladder; return a digest of its merges, and facts."""
    from tokenizer import train_ladder

    sizes = [size for size in (8192, 32768, 65536, 100352) if size < vocab_size] + [vocab_size]
    ladder = train_ladder([path], sizes, pattern="cl100k", out=out, special_tokens=(), workers=WORKERS)
    from tokenizer.ladder.files import merge_names

    return _digest(merge_names(ladder, vocab_size)), dict(ladder.training)


def theirs(path: str, vocab_size: int) -> str:
    """Train one tokenizer with `tokenizers`; return a digest of its merges."""
    os.environ["RAYON_NUM_THREADS"] = str(WORKERS)
    import json

    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from tokenizer.pretokens.patterns import pattern_of

    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(pattern_of("cl100k").regex), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    batches = (batch.column("text").to_pylist() for batch in pq.ParquetFile(path).iter_batches(500, columns=["text"]))
    tokenizer.train_from_iterator(batches, trainer)
    return _digest([tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]])


def _digest(merges: list[tuple[str, str]]) -> str:
    return hashlib.sha256(repr(merges).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=300)
    parser.add_argument("--vocab-size", type=int, default=131072)
    parser.add_argument("--without-peer", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/text.parquet"
        texts = texts_in(options.folder, options.megabytes)
        print(f"{len(texts):,} documents, {texts.nbytes / 1e6:.0f} MB; {load()}")
        pq.write_table(pa.table({"text": texts}), path, row_group_size=2000)
        del texts
        in_child(ours, path, 1000, f"{folder}/compiled")  # kernels are compiled and cached on disk once
        (mine, facts), wall, cpu, memory = in_child(ours, path, options.vocab_size, f"{folder}/ladder")
        print(
            f"ours: {wall:.1f} s wall, {cpu:.1f} s CPU, {memory:.0f} MiB peak; {facts['pretokens']:,} distinct pretokens"
        )
        if not options.without_peer:
            peer, peer_wall, peer_cpu, peer_memory = in_child(theirs, path, options.vocab_size)
            print(f"tokenizers: {peer_wall:.1f} s wall, {peer_cpu:.1f} s CPU, {peer_memory:.0f} MiB peak")
            print(
                f"ours is {peer_wall / wall:.1f} times as fast (CPU {peer_cpu / cpu:.1f}); same merges: {peer == mine}"
            )
        print(load())


if __name__ == "__main__":
    main()
