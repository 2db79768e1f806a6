"""Buckets and connected components."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpus import Observations, Shards
from pipeline.storage import Folder
from stages.dedup.lsh import candidates, connected, shared_buckets


def observed(folder, shards) -> Observations:
    root = Folder(str(folder))
    for number, rows in enumerate(shards):
        positions, ids, hashes = zip(*rows, strict=True) if rows else ((), (), ())
        columns = {
            "position": pa.array(positions, pa.int64()),
            "id": pa.array(ids, pa.large_string()),
            "shingles": pa.array([10] * len(rows), pa.int64()),
            "b0": pa.array(hashes, pa.uint64()),
        }
        root.put_table(f"part-{number}.parquet", pa.table(columns))
    names, sizes = [f"part-{n}" for n in range(len(shards))], [100] * len(shards)
    return Observations(root, Shards.write(root, names, sizes))


def test_documents_alone_in_their_bucket_are_no_candidates(tmp_path):
    observations = observed(tmp_path, [[(0, "a", 7), (1, "b", 8)], [(0, "c", 7)]])
    table = shared_buckets((observations, "b0", 0, 1))
    assert table["position"].to_pylist() == [0, 1 << 32]
    assert len(set(table["bucket"].to_pylist())) == 1


def test_parts_of_a_band_hold_every_bucket_once(tmp_path):
    big = [n << 32 for n in range(1, 50)] + [2**64 - 1]
    observations = observed(
        tmp_path, [[(n, str(n), key) for n, key in enumerate(big)], [(n, "x", k) for n, k in enumerate(big)]]
    )
    whole = shared_buckets((observations, "b0", 0, 1))
    split = [shared_buckets((observations, "b0", p, 3)) for p in range(3)]
    assert all(table.num_rows for table in split)
    assert sorted(p for t in split for p in t["position"].to_pylist()) == sorted(whole["position"].to_pylist())


def test_candidates_are_ranked_by_id_then_position(tmp_path):
    observations = observed(tmp_path, [[(0, "b", 7), (1, "a", 7)], [(0, "a", 7)], []])
    found = candidates([shared_buckets((observations, "b0", 0, 1))], observations)
    assert found.positions.tolist() == [1, 1 << 32, 0]
    assert found.members.tolist() == [0, 1, 2]
    assert found.groups.tolist() == [0, 0, 0]


def test_a_corpus_without_candidates_has_none(tmp_path):
    found = candidates([shared_buckets((observed(tmp_path, [[], []]), "b0", 0, 1))], observed(tmp_path, [[], []]))
    assert len(found.positions) == len(found.members) == len(found.groups) == 0


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 8)), max_size=20))
def test_components_are_those_of_the_plain_rule(documents, pairs):
    pairs = sorted({(d % documents, b) for d, b in pairs})
    found = connected(
        np.array([d for d, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64), documents, 9
    )
    sets = {d: {d} for d in range(documents)}
    for d, b in pairs:
        for e, c in pairs:
            if b == c and sets[d] is not sets[e]:
                merged = sets[d] | sets[e]
                for member in merged:
                    sets[member] = merged
    for d in range(documents):
        assert {e for e in range(documents) if found[e] == found[d]} == sets[d]
