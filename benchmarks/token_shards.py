"""Making token shards of real text against `encode_batch_fast` of `tokenizers`, one core; ids equal; memory as inputs grow.

    python benchmarks/token_shards.py [--vocab-size 32768] [--copies 1,4]

Text is that of ``../shared/data``: web pages, crawl documents, papers, an installation guide in many languages. The peer encodes every
eighth document. ``make_shards`` reads Parquet, encodes, and writes payload, index and table of documents, all in one process;
its rate is by CPU time of everything it does. For memory, the same text is given several times over, in as many files.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import tempfile

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from real_texts import documents, guide_pages, web_pages
from tokenizer_common import clock, in_child, load
from tokenizers import Tokenizer

from pipeline.storage import Folder
from tokenizer.shards.make import make_shards
from tokenizer.shards.model import open_model
from tokenizer.shards.options import ShardOptions
from tokenizer.texts import Texts
from tokenizer.training.of_files import train_ladder


def shards_of(files: list[str], tokenizer: str, out: str, shuffle: int | None) -> int:
    """Make shards in this process and return their tokens."""
    options = ShardOptions(open_model(tokenizer), shuffle=shuffle)
    return make_shards(files, options, Folder(out), workers=1).manifest.tokens


def tokens_and_peak(*arguments) -> tuple[int, float]:  # type: ignore[no-untyped-def]
    """Return the tokens of `shards_of`, and the most memory that this process had, in MiB."""
    tokens = shards_of(*arguments)
    status = pathlib.Path("/proc/self/status").read_text()
    return tokens, int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--copies", default="1,4")
    options = parser.parse_args()
    rows = {**documents(), **web_pages(), **guide_pages()}
    order = np.random.default_rng(0).permutation(len(rows))
    strings = [list(rows.values())[k] for k in order]
    texts = Texts.of(strings)
    megabytes = texts.nbytes / 1e6
    with tempfile.TemporaryDirectory() as place:
        file = f"{place}/text.parquet"
        pq.write_table(pa.table({"text": strings}), file, row_group_size=500)
        train_ladder([file], [options.vocab_size], out=f"{place}/ladder")
        path = f"{place}/ladder/{options.vocab_size}/tokenizer.json"
        model, peer = open_model(path), Tokenizer.from_file(path)
        some = strings[::8]
        part = sum(len(s.encode()) for s in some) / 1e6
        print(f"{len(strings):,} documents, {megabytes:.1f} MB, vocabulary {options.vocab_size:,}; {load()}")
        model.encoder()(Texts.of(some[:20]))
        shards_of([file], path, f"{place}/warm", None)
        ours, whole, theirs = [], [], []
        for turn in range(3):
            encode = _fresh(model)
            with clock() as took:
                ids, bounds = encode(texts)
            ours.append(megabytes / took.cpu)
            _forget()
            with clock() as took:
                shards_of([file], path, f"{place}/out-{turn}", None)
            whole.append(megabytes / took.cpu)
            with clock() as took:
                encoded = peer.encode_batch_fast(some, add_special_tokens=False)
            theirs.append(part / took.cpu)
        equal = all(e.ids == ids[bounds[8 * k] : bounds[8 * k + 1]].tolist() for k, e in enumerate(encoded))
        base = statistics.median(theirs)
        print(f"encode_batch_fast {base:.2f} MB/s; ids equal: {equal}")
        print(f"ids, cold cache   {statistics.median(ours):.1f} MB/s, {statistics.median(ours) / base:.1f} times")
        print(
            f"shards, all of it {statistics.median(whole):.1f} MB/s, {statistics.median(whole) / base:.1f} times; {load()}"
        )
        for copies in map(int, options.copies.split(",")):
            for shuffle in (None, 1):
                files = [f"{place}/copy-{k}.parquet" for k in range(copies)]
                for copy in files:
                    if not pathlib.Path(copy).exists():
                        os.link(file, copy)
                (tokens, peak), *_ = in_child(
                    tokens_and_peak, files, path, f"{place}/memory-{copies}-{shuffle}", shuffle
                )
                print(f"{copies} times the text, shuffle {shuffle}: {tokens:,} tokens, peak {peak:.0f} MiB")


def _fresh(model):  # type: ignore[no-untyped-def]
    _forget()
    return model.encoder()


def _forget() -> None:
    """Forget the encoder that this process has, and with it the cache of pretokens."""
    from tokenizer.shards import model

    model._encoder.cache_clear()


if __name__ == "__main__":
    main()
