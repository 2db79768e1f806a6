import itertools
from collections import Counter

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpus import LocalTasks, Observations, Shards
from pipeline.storage import Folder
from tokenizer.counting import totals
from tokenizer.counting.totals import Totals, sum_parts

Row = tuple[str | None, str | None, int, int]
rows = st.lists(
    st.tuples(
        st.sampled_from(["web", "books", None]),
        st.sampled_from(["en", "de", None]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    max_size=40,
)


def table_of(counted: list[Row]) -> pa.Table:
    column = lambda k, kind: pa.array([row[k] for row in counted], kind)  # noqa: E731
    number = column(2, pa.int64())
    return pa.table(
        {"source": column(0, pa.large_string()), "language": column(1, pa.large_string()), "bytes": number,
         "characters": number, "words": number, "tokens_300": number, "tokens_600": column(3, pa.int64())}
    )  # fmt: skip


def totals_of(counted: list[Row]) -> Totals:
    whole = Totals()
    whole.add(table_of(counted))
    return whole


@settings(deadline=None)
@given(rows)
def test_totals_are_sums_and_histograms_of_each_group(counted):
    found = totals_of(counted)
    by_name = [
        ("all", lambda row: "all"),
        ("source", lambda r: r[0] or "unknown"),
        ("language", lambda r: r[1] or "unknown"),
    ]
    for group, name_of in by_name:
        names = {name_of(row) for row in counted}
        assert [name for name, sums in found.sums(group).items() if sums] == sorted(names)
        for name in names:
            mine = [row for row in counted if name_of(row) == name]
            sums = found.sums(group)[name]
            assert (sums["documents"], sums["bytes"]) == (len(mine), sum(row[2] for row in mine))
            assert sums["tokens_600"] == sum(row[3] for row in mine)
            lengths, documents = (array.tolist() for array in found.lengths(group, name, "tokens_600"))
            assert dict(zip(lengths, documents, strict=True)) == Counter(row[3] for row in mine)
            assert lengths == sorted(lengths)


@settings(max_examples=30, deadline=None)
@given(counted=rows, cuts=st.lists(st.integers(0, 40), max_size=6))
def test_any_shards_and_any_tree_give_the_same_totals(tmp_path_factory, counted, cuts):
    folder = Folder(str(tmp_path_factory.mktemp("totals")))
    pieces = [counted[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), 40])]
    for number, piece in enumerate(pieces):
        folder.put_table(f"part-{number}.parquet", table_of(piece))
    listed = Shards.write(folder, [f"part-{n}" for n in range(len(pieces))], [10] * len(pieces))
    before, totals.FAN_IN = totals.FAN_IN, 2
    try:
        found = sum_parts(
            Observations(folder, listed).parts(10), ["tokens_300", "tokens_600"], folder / "work", LocalTasks()
        )
    finally:
        totals.FAN_IN = before
    assert found.table().equals(totals_of(counted).table())
    assert (folder / "work").names() == ["totals.parquet"]


def test_many_small_tables_are_added_up_a_few_times_only(monkeypatch):
    made = []
    totals_of_tables = totals._totals_of
    monkeypatch.setattr(totals, "_totals_of", lambda table: made.append(table.num_rows) or totals_of_tables(table))
    monkeypatch.setattr(totals, "_TOGETHER", 100)
    whole = Totals()
    for number in range(1000):
        whole.add(table_of([("web", "en", number, number)]))
    assert whole.sums("all")["all"]["documents"] == 1000
    assert len(made) == 10


def test_sources_that_an_input_invents_are_counted_in_bounded_number(monkeypatch):
    monkeypatch.setattr(totals, "MOST_NAMES", 3)
    size = [50, 10, 40, 30, 20]
    table = pa.table(
        {
            "source": ["a", "b", "c", "d", "e"],
            "language": ["en"] * 5,
            "bytes": size,
            "characters": size,
            "words": size,
            "tokens_8": [5, 1, 4, 3, 1],
        }
    )
    found = Totals()
    found.add(table)
    sums = found.sums("source")
    assert {name: amounts["bytes"] for name, amounts in sums.items()} == {"a": 50, "c": 40, "d": 30, "other": 30}
    assert [values.tolist() for values in found.lengths("source", "other", "tokens_8")] == [[1], [2]]
    assert found.table().num_rows > sum(map(len, sums.values()))
