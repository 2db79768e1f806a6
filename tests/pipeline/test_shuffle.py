"""Rows scattered by destination and read back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpus import Observations, Shards
from pipeline.documents import POSITION_BITS
from pipeline.shuffle import Ranges, Shuffle, by_range, clear, parts_of, pieces_of
from pipeline.storage import Folder


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), max_size=8), min_size=1, max_size=4))
def test_every_row_reaches_its_destination_once_and_in_order(tmp_path_factory, writers):
    shuffle = Shuffle(Folder(str(tmp_path_factory.mktemp("shuffle"))), 5)
    for number, destinations in enumerate(writers):
        names = [f"{number}-{n}" for n in range(len(destinations))]
        rows = pa.table({"text": pa.array(names, pa.large_string())})
        assert shuffle.write(number, rows, np.array(destinations, np.int64)) == len(destinations)
    for partition in range(5):
        expected = [f"{w}-{n}" for w, ds in enumerate(writers) for n, d in enumerate(ds) if d == partition]
        assert shuffle.read(partition, len(writers), rows.schema)["text"].to_pylist() == expected


def test_a_writer_leaves_one_file_whatever_the_number_of_destinations(tmp_path):
    shuffle = Shuffle(Folder(str(tmp_path)), 500)
    shuffle.write(0, pa.table({"n": np.arange(1000)}), np.arange(1000) % 500)
    assert len(list(tmp_path.iterdir())) == 1
    assert shuffle.read(7, 1)["n"].to_pylist() == [7, 507]


def test_pieces_of_a_writer_are_read_one_after_the_other(tmp_path):
    shuffle = Shuffle(Folder(str(tmp_path)), 1)
    for writer, piece, value in ((0, 0, "a"), (0, 1, "b"), (2, 0, "c")):
        shuffle.write(writer, pa.table({"v": [value]}), np.zeros(1, np.int64), piece)
    assert shuffle.read(0, [2, 0, 1])["v"].to_pylist() == ["a", "b", "c"]


def test_nobody_wrote_is_no_rows(tmp_path):
    schema = pa.schema([("n", pa.int64())])
    assert Shuffle(Folder(str(tmp_path)), 1).read(0, 0, schema).num_rows == 0


def test_clearing_deletes_all_files_below(tmp_path):
    Shuffle(Folder(str(tmp_path)) / "a/b", 1).write(0, pa.table({"n": [1]}), np.zeros(1, np.int64))
    assert clear(Folder(str(tmp_path))) == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.integers(1, 9))
def test_ranges_of_keys_are_in_the_order_of_the_keys(keys, partitions):
    found = by_range(np.array(sorted(keys), np.uint64), partitions)
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() < partitions


def test_positions_are_numbered_by_the_range_of_their_shard():
    ranges = Ranges((0, 2, 5))
    shards = np.array([0, 1, 2, 4, 5, 9])
    assert ranges.number((shards << POSITION_BITS) | 7).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_small_corpus_is_cut_for_several_workers_and_a_tiny_one_is_not(tmp_path):
    def parts(shards: int, rows: int, limit: int) -> int:
        listed = Shards.write(Folder(str(tmp_path)), [f"s{n}" for n in range(shards)], [rows] * shards)
        return len(parts_of(Observations(Folder(str(tmp_path)), listed), limit))

    assert parts(100, 10, 10**6) == 1
    assert parts(100, 1000, 10**6) == 4
    assert parts(100, 1000, 10_000) == 10
    assert [pieces_of(rows, 10**6) for rows in (0, 10, 10**5, 10**6, 10**7)] == [1, 1, 2, 4, 10]
