"""Compiles every Numba kernel once, by a run over a handful of sentences: ``python -m tokenmill.kernels``.

Compiled kernels are kept on disk beside their sources. Without this the first run of an installation compiles them,
each worker for itself, which takes longer than a small run.
"""

from __future__ import annotations

import io
import json
import time

from pipeline.readers.encodings import decode
from pipeline.readers.labels import MULTIBYTE
from pipeline.readers.lines import values
from pipeline.recipe import build_recipe
from pipeline.run.drive import execute
from pipeline.run.folder import local_folder
from pipeline.storage import temporary_folder
from tokenizer.warm import warm_up
from tokenmill.tables import assemble

SENTENCES = [
    f"On day {n} the miller weighed sack {n * 7} of grain, and the farmers had it with them to the river. "
    for n in range(30)
]
UNSPACED = "川のほとりの古い水車は春から秋まで村の麦を挽いている。" * 8
ITEM = "Which of the two mills by the lake ground the finest flour in the year of the long frost, and for whom?"
STAGES = [
    {"use": "extract"},
    {"use": "language", "min_score": 0.0},
    {"use": "gopher_quality", "mode": "annotate"},
    {"use": "gopher_quality", "mode": "annotate", "words": "spacy"},
    {"use": "gopher_repetition", "mode": "annotate", "words": "spacy"},
    {"use": "gopher_repetition", "mode": "annotate", "variant": "dolma"},
    {"use": "c4", "mode": "annotate", "words": "spacy"},
    {"use": "c4", "mode": "annotate", "words": "spacy", "split_paragraph": False},
    {"use": "c4", "mode": "annotate", "split_paragraph": False},
    {"use": "gopher_repetition", "top_n_grams": [[2, 1.0], [3, 1.0]], "dup_n_grams": [[5, 1.0], [10, 1.0]]},
    {"use": "c4", "min_num_sentences": 1},
    {
        "use": "fineweb",
        "short_line_thr": 1.0,
        "char_duplicates_ratio": 1.0,
        "new_line_ratio": 1.0,
        "line_punct_thr": 0.0,
    },
    {"use": "exact_dedup"},
    {"use": "minhash_dedup"},
    {"use": "decontaminate", "evals": ["item.jsonl"]},
    {"use": "mix", "fractions": {"default": 1.0}},
]


def compile_kernels() -> float:
    """Run all stages on a few texts in one worker and return the seconds it took."""
    started = time.perf_counter()
    with temporary_folder() as folder:
        texts = ["".join(SENTENCES), "".join(SENTENCES[:29]), "".join(SENTENCES[5:20]) + ITEM, UNSPACED]
        (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
        (folder / "item.jsonl").write_text(
            json.dumps({"question": "Which of the two mills by the lake ground the finest flour?"}) + "\n"
        )
        table = {"input": {"paths": ["texts.jsonl"]}, "stage": STAGES, "tokenizer": {"vocab_sizes": [270, 280]}}
        execute(assemble(build_recipe(table, folder)), local_folder(folder / "run"), workers=1)
    for encoding in MULTIBYTE:
        decode(b"<p>", encoding)
    list(values(io.BytesIO(b"[{}]"), "", 10))
    warm_up()  # what a run does not use: encoding to ids
    return time.perf_counter() - started


if __name__ == "__main__":
    print(f"kernels compiled in {compile_kernels():.0f} s")
