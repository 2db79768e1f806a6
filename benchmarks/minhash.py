"""Recall and precision of near-duplicate removal on real near-duplicates, and the speed of signatures beside two peers.

    python benchmarks/minhash.py [--peer-bytes 1000000]

Recall: same-page pairs of an installation guide (4 architectures, 9 languages), by exact Jaccard similarity of their
5-gram sets computed in plain Python; how many share a band, against 1 - (1 - s**rows)**bands. Precision: every document
that the stage removes, its similarity with the one kept computed anew. Speed: text in, signature out, on one core.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import datasketch
import numpy as np
import pyarrow as pa
import xxhash
from real_texts import data_folder, documents, guide_pages, newswire

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipeline.corpus import Corpus, LocalTasks, Observations, Shards  # noqa: E402
from pipeline.documents import Batch  # noqa: E402
from pipeline.storage import Folder  # noqa: E402
from stages.decontamination.passages import fold_texts  # noqa: E402
from stages.dedup.minhash import band_hashes  # noqa: E402
from stages.dedup.minhash_dedup import MinHashDedup  # noqa: E402

STAGE = MinHashDedup()
SEEDS = 10


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-bytes", type=int, default=1_000_000, help="text given to the slow peers")
    given = parser.parse_args()
    pages = guide_pages()
    print(f"installation guide: {len(pages)} pages, {size_of(pages.values()) / 1e6:.1f} MB of text")
    recall(pages)
    removal("installation guide", pages, [])
    for size in (100, 1000):
        removal(f"newswire {size}", *newswire(size))
    speed(pages, given.peer_bytes)


def shingles(texts: Sequence[str]) -> list[set[str]]:
    """Return each text's set of 5-grams, built in Python from its folded units."""
    folded = fold_texts(texts, STAGE.ngram)
    found = []
    for number in range(len(texts)):
        units = folded.content(number).decode().split(" ")
        found.append({" ".join(units[i : i + STAGE.ngram]) for i in range(max(1, len(units) - STAGE.ngram + 1))})
    return found


def jaccard(a: set[str], b: set[str]) -> float:
    """Return the similarity of two sets."""
    return len(a & b) / len(a | b)


def recall(pages: Mapping[str, str]) -> None:
    """Print recall of the bands by bin of true similarity, and how near the published similarity is."""
    names = list(pages)
    row_of = {name: row for row, name in enumerate(names)}
    sets = shingles(list(pages.values()))
    pairs = [(row_of[a], row_of[b], published) for a, b, published in same_page_pairs()]
    similarity = np.array([jaccard(sets[a], sets[b]) for a, b, _ in pairs])
    chance = 1 - (1 - similarity**STAGE.rows) ** STAGE.bands
    shared = np.zeros((SEEDS, len(pairs)), bool)
    texts = pa.array(pages.values(), pa.large_string())
    for seed in range(SEEDS):
        hashes = band_hashes(replace(STAGE, seed=seed).signatures(texts)[0], STAGE.bands)
        shared[seed] = [bool((hashes[:, a] == hashes[:, b]).any()) for a, b, _ in pairs]
    print(f"\nrecall of {STAGE.bands} bands x {STAGE.rows} rows, {STAGE.ngram}-grams, mean of {SEEDS} seeds")
    print(f"{'similarity':>12}{'pairs':>8}{'found':>8}{'expected':>10}")
    for low in range(10):
        inside = np.minimum((similarity * 10).astype(int), 9) == low
        print(
            f"{low / 10:>8.1f}-{(low + 1) / 10:.1f}{inside.sum():>8}{shared[:, inside].mean():>8.3f}{chance[inside].mean():>10.3f}"
        )
    gaps = np.abs(similarity - [published for _, _, published in pairs])
    print(
        f"similarity by our units against the published: median gap {np.median(gaps):.4f}, 95 % below {np.quantile(gaps, 0.95):.4f}"
    )


def same_page_pairs() -> list[tuple[str, str, float]]:
    """Return the guide's pairs (page, page, published similarity)."""
    with open(data_folder() / "neardup" / "installation-guide-pairs.tsv", newline="") as file:
        return [
            (*(f"{row[arch]}/{row['lang']}/{row['page']}" for arch in ("arch_a", "arch_b")), float(row["jaccard5"]))  # type: ignore[misc]
            for row in csv.DictReader(file, delimiter="\t")
        ]


def removal(name: str, texts: Mapping[str, str], planted: Sequence[tuple[str, str]]) -> None:
    """Print what the stage removes of `texts`, how right that is, and which planted pairs it leaves."""
    ids = list(texts)
    shard = pa.table(
        {"id": pa.array(ids, pa.large_string()), "text": pa.array(list(texts.values()), pa.large_string())}
    )
    with tempfile.TemporaryDirectory() as folder:
        root, observed, work = (Folder(f"{folder}/{part}") for part in ("documents", "observed", "work"))
        root.put_table("part-00000.parquet", shard)
        batch = Batch(shard.combine_chunks().to_batches()[0], folder=work)
        started = time.process_time()
        observed.put_table("part-00000.parquet", STAGE.observe(batch))
        seen = time.process_time()
        shards = Shards.write(root, ["part-00000"], [shard.num_rows])
        decision = STAGE.decide(Observations(observed, shards), Corpus(root, shards), LocalTasks(), work)
        removed = decision.apply(batch).removed
        decided = time.process_time()
    sets = dict(zip(ids, shingles(list(texts.values())), strict=True))
    gone = {ids[removal.row]: removal.partner_id for removal in removed}
    values = [jaccard(sets[id], sets[kept]) for id, kept in gone.items()]
    right = sum(value >= STAGE.threshold for value in values)
    wrong_value = sum(abs(value - removal.value) > 1e-12 for value, removal in zip(values, removed, strict=True))
    chained = sum(kept in gone for kept in gone.values())
    print(
        f"\n{name}: {len(ids)} documents, {len(gone)} removed; observed in {seen - started:.2f} s, decided in {decided - seen:.2f} s"
    )
    print(
        f"precision {right}/{len(values)}, similarities other than exact {wrong_value}, removed for a removed one {chained}"
    )
    if planted:
        found = sum(a in gone or b in gone for a, b in planted)
        print(f"planted pairs found {found}/{len(planted)}; removed beside them {len(gone) - found}")


def size_of(texts) -> int:
    """Return the bytes of `texts` as UTF-8."""
    return sum(len(text.encode()) for text in texts)


def speed(pages: Mapping[str, str], peer_bytes: int) -> None:
    """Print MB of text a second, text in and signature out, one core, best of three."""
    texts = [*documents().values(), *pages.values()]
    few, size = [], 0
    for text in texts:
        few.append(text)
        size += len(text.encode())
        if size >= peer_bytes:
            break
    arrow = pa.array(texts, pa.large_string())
    print(f"\nsignatures of {STAGE.bands * STAGE.rows} values, one core, best of three")
    ours = timed("tokenmill", size_of(texts), lambda: STAGE.signatures(arrow))
    timed("datasketch 2 (affine32, xxh32, bulk)", size_of(few), lambda: by_datasketch(few), ours)
    timed("datatrove 0.10 (spaCy words, sha1)", size_of(few), datatrove(few), ours)


def timed(name: str, size: int, work: Callable[[], object], ours: float | None = None) -> float:
    """Print the speed of `work` on `size` bytes and return it in MB/s."""
    work()
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    speed = size / best / 1e6
    print(f"  {name:<42}{speed:>8.2f} MB/s" + (f"   tokenmill is {ours / speed:.0f} times as fast" if ours else ""))
    return speed


def by_datasketch(texts: Sequence[str]) -> None:
    """Sign `texts` with datasketch as its documentation advises: shingles in Python, one update_batch a text."""
    for text in texts:
        words = text.lower().split()
        minhash = datasketch.MinHash(STAGE.bands * STAGE.rows, scheme="affine32", hashfunc=xxhash.xxh32_intdigest)
        minhash.update_batch([" ".join(words[i : i + 5]).encode() for i in range(max(1, len(words) - 4))])


def datatrove(texts: Sequence[str]) -> Callable[[], None]:
    """Return what signs `texts` with datatrove's first MinHash step."""
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
    from datatrove.utils.hashing import HashConfig

    # sha1 as FineWeb: datatrove 0.10.1 hands texts to xxhash, which from 4 on takes bytes only
    config = MinhashConfig(
        num_buckets=STAGE.bands, hashes_per_bucket=STAGE.rows, hash_config=HashConfig(hash_fc="sha1")
    )
    step = MinhashDedupSignature(tempfile.mkdtemp(), config)

    def sign() -> None:
        for text in texts:
            found = step.get_shingles(text)
            if found.size:
                step.get_signature(found)

    return sign


if __name__ == "__main__":
    main()
