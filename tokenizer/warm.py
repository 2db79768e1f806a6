"""Compile every kernel once, so that the first run need not: ``python -m tokenizer.warm``.

Compiled code is cached beside the sources, or in the user's cache where those cannot be written.
"""

from __future__ import annotations

import pathlib
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.storage import Folder
from tokenizer.batches.folder import open_shards
from tokenizer.batches.look import Looker
from tokenizer.batches.samplers import Megatron
from tokenizer.batches.steps import Schedule
from tokenizer.batches.token_facts import bytes_of_tokens, token_facts
from tokenizer.batches.training import Training
from tokenizer.counting.counter import count_tokens
from tokenizer.counting.encoder import Encoder, encode
from tokenizer.counting.measures import measure
from tokenizer.counting.usage import unused_tokens
from tokenizer.pretokens.merging import load_counts
from tokenizer.shards.make import make_shards
from tokenizer.shards.model import TOKENIZER_FILE, open_model
from tokenizer.shards.options import ShardOptions
from tokenizer.texts import Texts
from tokenizer.training import merge_kernel
from tokenizer.training.of_files import train_ladder
from tokenizer.training.trainer import Trainer


def warm_up() -> None:
    """Train, count, encode and look at a batch on a few words."""
    texts = ["to warm up is to be warm", "x" * 1000, " ".join(f"{n:x}" for n in range(3000))]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "texts.parquet"
        pq.write_table(pa.table({"text": texts}), path)
        for pattern in ("cl100k", r"\S+|\s"):
            ladder = train_ladder([path], [257, 262], pattern=pattern, out=pathlib.Path(folder) / "ladder")
            count_tokens(texts, ladder)
            encode(texts[0], ladder)
            Encoder(ladder, cached=64).encode_sizes(texts)
        counts = load_counts(Folder(f"{folder}/ladder"))
        unused_tokens(ladder, counts)
        _train_without_room(counts)
        _shards_and_batches(path, pathlib.Path(folder))
    measure(Texts.of(texts))


def _train_without_room(counts: pa.Table) -> None:
    """Train with no room to spare, as a training of many pretokens comes to."""
    trainer = Trainer(counts, 8)
    trainer.pool = trainer.pool[: trainer.state[merge_kernel.POOL]].copy()
    trainer.run()


def _shards_and_batches(path: pathlib.Path, folder: pathlib.Path) -> None:
    """Make shards of a file and look at a step of them."""
    options = ShardOptions(open_model(str(folder / "ladder/262")), shuffle=1, held_out=0.01)
    make_shards([path], options, Folder(str(folder / "shards")), workers=1)
    shards = open_shards([Folder(str(folder / "shards"))])[0]
    training = Training(Megatron(shards.parts, 4, seed=1, weights=(1.0,)), Schedule(1))
    facts = token_facts(bytes_of_tokens(shards.folder.get(TOKENIZER_FILE)))
    Looker(training, facts).look(0, 1, windows=2)


if __name__ == "__main__":
    warm_up()
