"""Compile every kernel once, so that the first run need not: ``python -m tokenizer.warm``.

Compiled code is cached beside the sources, or in the user's cache where those cannot be written.
"""

from __future__ import annotations

import pathlib
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.storage import Folder
from tokenizer.counting.counter import count_tokens
from tokenizer.counting.encoder import encode
from tokenizer.counting.measures import measure
from tokenizer.counting.usage import unused_tokens
from tokenizer.pretokens.merging import load_counts
from tokenizer.texts import Texts
from tokenizer.training.of_files import train_ladder


def warm_up() -> None:
    """Train and count on a few words."""
    texts = ["to warm up is to be warm", "x" * 1000]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "texts.parquet"
        pq.write_table(pa.table({"text": texts}), path)
        for pattern in ("cl100k", r"\S+|\s"):
            ladder = train_ladder([path], [257, 262], pattern=pattern, out=pathlib.Path(folder) / "ladder")
            count_tokens(texts, ladder)
            encode(texts[0], ladder)
        unused_tokens(ladder, load_counts(Folder(f"{folder}/ladder")))
    measure(Texts.of(texts))


if __name__ == "__main__":
    warm_up()
