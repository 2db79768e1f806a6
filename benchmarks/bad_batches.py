"""Bad stretches planted among real documents: is the first suspect of the steps that read them one of what was planted?

    python benchmarks/bad_batches.py [--plantings 20] [--first 0] [--batch 8] [--seq 512]

Texts are those of ``../shared/data`` (real web pages, crawl documents, papers, newswire), in the order of a shuffle, without
languages. Planted in turn, at a random place: one document with a run of base64; documents of sentences of one language;
one page many times under several addresses; documents with their words shuffled. Each about 20 kB. The steps that read
the planted stretch are looked at as a person would who only knows their numbers.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import pathlib
import random
import tempfile
import time
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
from real_texts import documents, newswire, sentences_by_language, web_pages

from pipeline.storage import Folder
from tokenizer.batches.folder import open_shards
from tokenizer.batches.look import Looker
from tokenizer.batches.samplers import Sequential
from tokenizer.batches.steps import Schedule
from tokenizer.batches.suspects import suspects_of
from tokenizer.batches.token_facts import bytes_of_tokens, token_facts
from tokenizer.batches.training import Training
from tokenizer.shards.make import make_shards
from tokenizer.shards.model import open_model
from tokenizer.shards.options import ShardOptions
from tokenizer.training.of_files import train_ladder

KINDS = ("base64", "one language", "one page", "shuffled words")
SIZE = 20_000
WORKERS = 2


def corpus() -> list[tuple[str, str]]:
    """Return (id, text) of real documents, in a shuffled order."""
    rows = [*web_pages().items(), *documents().items(), *newswire(1000)[0].items()]
    rows = [(name, text[:60_000]) for name, text in rows if len(text) > 300]
    random.Random(1).shuffle(rows)
    return rows


def planted(kind: str, rows: list[tuple[str, str]], draw: random.Random) -> list[str]:
    """Return texts of about `SIZE` bytes that are bad as `kind` says."""
    some = [text for _, text in draw.sample(rows, 200)]
    if kind == "base64":
        head = some[0][:1000]
        return [head + "\n" + base64.b64encode(draw.randbytes(SIZE * 3 // 4)).decode()]
    if kind == "one language":
        sentences = draw.choice([lines for _, lines in sorted(sentences_by_language().items())])
        draw.shuffle(sentences)
        texts = ["\n".join(sentences[k : k + 20]) for k in range(0, len(sentences), 20)]
        return _up_to(texts)
    if kind == "one page":
        page = next(text for text in some if 1000 < len(text.encode()) < 4000)
        return [page] * (SIZE // len(page.encode()))
    texts = []
    for text in some:
        words = text.split()
        if len(words) > 100:
            draw.shuffle(words)
            texts.append(" ".join(words))
    return _up_to(texts)


def _up_to(texts: list[str]) -> list[str]:
    sizes = itertools.accumulate(len(text.encode()) for text in texts)
    return [text for text, size in zip(texts, sizes, strict=True) if size < SIZE * 1.3] or texts[:1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plantings", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first planting")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=512)
    options = parser.parse_args()
    rows = corpus()
    print(f"{len(rows):,} documents, {sum(len(text.encode()) for _, text in rows) / 1e6:.1f} MB")
    found, named = Counter(), Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        pq.write_table(pa.table({"text": [text for _, text in rows]}), folder / "train.parquet")
        train_ladder([folder / "train.parquet"], [16384], out=folder / "ladder", workers=WORKERS)
        model = open_model(str(folder / "ladder/16384"))
        facts = token_facts(bytes_of_tokens(pathlib.Path(model.path).read_bytes()))
        for number in range(options.first, options.first + options.plantings):
            kind, draw = KINDS[number % len(KINDS)], random.Random(number)
            bad = planted(kind, rows, draw)
            at = draw.randrange(len(rows))
            ids = [f"planted {k}" for k in range(len(bad))]
            mixed = [*rows[:at], *zip(ids, bad, strict=True), *rows[at:]]
            table = {"id": [name for name, _ in mixed], "text": [text for _, text in mixed]}
            pq.write_table(pa.table(table), folder / "mixed.parquet")
            made = folder / f"shards-{number}"
            make_shards(
                [folder / "mixed.parquet"], ShardOptions(model, eod="<|endoftext|>"), Folder(str(made)), workers=1
            )
            start = time.process_time()
            first, reason, place_of = look(made, facts, at, len(bad), options)
            found[kind] += first.startswith("planted")
            named[reason] += 1
            print(
                f"{number:2d} {kind:15s} first suspect {first!r} ({reason}); first planted is number {place_of} "
                f"({time.process_time() - start:.1f} s)",
                flush=True,
            )
    print(
        f"first suspect is planted: {sum(found.values())} of {options.plantings} {dict(found)}; reasons {dict(named)}"
    )


def look(made: pathlib.Path, facts, at: int, number: int, options) -> tuple[str, str, int]:  # type: ignore[no-untyped-def]
    """Return id and reason of the first suspect of the steps that read documents `at` to ``at + number``, and the place
    of the first planted one."""
    parts = open_shards([Folder(str(made))])[0].parts
    training = Training(Sequential(parts, options.seq), Schedule(options.batch))
    ends, per_step = parts[0].ends, options.batch * options.seq
    begin = int(ends[at - 1]) if at else 0
    first, last = begin // per_step, -(-int(ends[at + number - 1]) // per_step)
    last = min(last, training.schedule.steps_in(training.sampler.samples))
    looker = Looker(training, facts)
    window, findings = looker.look(*training.samples(first, last))
    suspects = suspects_of(looker, window, findings)
    names = [parts[0].rows(pa.array([s.document]).to_numpy(), ["id"])["id"][0].as_py() for s in suspects]
    place = next((k for k, name in enumerate(names, 1) if name.startswith("planted")), 0)
    return names[0], suspects[0].reason, place


if __name__ == "__main__":
    main()
