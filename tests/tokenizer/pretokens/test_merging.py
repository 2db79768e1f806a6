import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpus import LocalTasks, Observations, Shards
from pipeline.storage import Folder
from tests.tokenizer.oracles import as_dict
from tokenizer.pretokens import merging
from tokenizer.pretokens.counts import SCHEMA
from tokenizer.pretokens.merging import (
    RunWriter,
    digest_of_counts,
    load_counts,
    merge_parts,
    merge_runs,
    ordered,
    summed,
)


def table_of(counts: dict[bytes, int]) -> pa.Table:
    return pa.table({"pretoken": list(counts), "count": list(counts.values())}, SCHEMA)


def merged(tables: list[pa.Table], folder: Folder, floor: int = 1) -> pa.Table:
    """Return the sum of tables of distinct pretokens, each a run."""
    writer = RunWriter(folder, "run")
    for table in tables:
        writer.write(table)
    merge_runs(writer.runs, folder, LocalTasks(), floor)
    return load_counts(folder)


some_counts = st.dictionaries(st.binary(min_size=1, max_size=20), st.integers(1, 10**12), max_size=30)


@settings(max_examples=30, deadline=None)
@given(runs=st.lists(some_counts, max_size=5), floor=st.sampled_from([1, 2, 10**6]))
def test_counts_of_runs_add_up_and_the_floor_is_that_of_the_sum(tmp_path_factory, runs, floor):
    found = merged([table_of(run) for run in runs], Folder(str(tmp_path_factory.mktemp("runs"))), floor)
    total = sum((Counter(run) for run in runs), Counter())
    assert as_dict(found) == {pretoken: count for pretoken, count in total.items() if count >= floor}


def shards(number: int) -> list[pa.Table]:
    rng = random.Random(5)
    words = [bytes(rng.choices(b"abcdef", k=rng.randrange(1, 25))) for _ in range(3000)]
    return [table_of(Counter(rng.choices(words, k=800))) for _ in range(number)]


def observed(tables: list[pa.Table], folder: Folder) -> Observations:
    for number, table in enumerate(tables):
        folder.put_table(f"part-{number}.parquet", table)
    return Observations(folder, Shards.write(folder, [f"part-{n}" for n in range(len(tables))], [10] * len(tables)))


@pytest.mark.parametrize(("fan_in", "task_rows"), [(64, 1 << 21), (2, 500), (3, 1)])
def test_the_files_depend_neither_on_shards_nor_on_order_memory_or_the_shape_of_the_tree(
    tmp_path, monkeypatch, fan_in, task_rows
):
    tables, one, two = shards(12), Folder(str(tmp_path / "one")), Folder(str(tmp_path / "two"))
    monkeypatch.setattr(merging, "FILE_ROWS", 1000)
    merge_parts(observed([summed(tables)], one / "seen").parts(10), one / "work", LocalTasks(), 2)
    monkeypatch.setattr(merging, "FAN_IN", fan_in)
    monkeypatch.setattr(merging, "TASK_ROWS", task_rows)
    parts = observed(tables[::-1], two / "seen").parts(30)
    assert len(parts) == 4
    merge_parts(parts, two / "work", LocalTasks(), 2, memory_bytes=200_000)
    assert len((one / "work").names()) > 2
    assert (one / "work").names() == (two / "work").names()
    assert [place.name for place in (tmp_path / "two/work").iterdir()] == ["pretokens"]  # nothing in between is left
    assert all((one / "work").get(name) == (two / "work").get(name) for name in (one / "work").names())
    assert load_counts(one / "work").equals(load_counts(two / "work"))


def test_a_task_adds_up_a_bounded_number_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "FAN_IN", 4)
    monkeypatch.setattr(merging, "TASK_ROWS", 400)
    seen = []

    class Watched(LocalTasks):
        def map(self, name, function, items):
            if function is merging.sum_range:
                seen.extend((sum(run.rows(a, b) for run in runs), b - a) for runs, a, b, *_ in items)
            return super().map(name, function, items)

    folder = Folder(str(tmp_path))
    writer = RunWriter(folder, "run")
    for table in shards(20):
        writer.write(table)
    merge_runs(writer.runs, folder, Watched(), 1)
    assert len(seen) > 20
    assert all(rows <= 400 or width == 1 for rows, width in seen)


def test_combining_in_any_grouping_gives_the_same_bytes():
    parts = shards(4)
    pairs = [ordered(summed(parts[:2])), ordered(summed(parts[2:]))]
    assert ordered(summed(pairs)).equals(ordered(summed(parts)))


def test_no_counts_are_an_empty_table(tmp_path):
    assert merged([], Folder(str(tmp_path))).num_rows == 0
    assert load_counts(Folder(str(tmp_path / "nothing"))).schema == SCHEMA
    assert ordered(summed([])).schema == SCHEMA


@pytest.mark.parametrize("change", [{b"a": 2, b"b": 1}, {b"a": 1}, {b"ab": 1}])
def test_the_fingerprint_tells_other_counts(change):
    assert digest_of_counts(table_of({b"a": 1, b"b": 1})) != digest_of_counts(table_of(change))


def test_the_fingerprint_does_not_depend_on_chunks():
    table = shards(1)[0]
    chunked = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    assert digest_of_counts(chunked) == digest_of_counts(table)
    assert np.unique([len(c) for c in chunked.column("count").chunks]).size > 1
