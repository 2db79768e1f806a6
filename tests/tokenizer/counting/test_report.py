import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.storage import Folder
from tokenizer.counting.report import (
    QUANTILES,
    costs,
    embedding_share,
    quantiles,
    report_rows,
    share_over,
    training_flop,
    write_report,
)
from tokenizer.counting.totals import Totals, token_columns


def table(**columns) -> pa.Table:
    return pa.table(columns)


ROWS = table(
    id=["1", "2", "3", "4"],
    source=["web", "web", "books", None],
    language=["en", "de", "en", "de"],
    bytes=[100, 60, 300, 40],
    characters=[100, 50, 300, 40],
    words=[20, 10, 60, 8],
    tokens_300=[40, 30, 110, 20],
    tokens_600=[25, 20, 75, 10],
)


def rows_of(*tables: pa.Table) -> list[dict]:
    totals = Totals()
    for counted in tables:
        totals.add(counted)
    return report_rows(totals, token_columns(tables[0]))


@pytest.fixture
def report() -> list[dict]:
    return rows_of(ROWS)


def row_of(report: list[dict], size: str, group: str, name: str) -> dict:
    return next(r for r in report if (r["tokenizer"], r["group"], r["name"]) == (size, group, name))


def test_a_cell_that_a_spreadsheet_would_take_for_a_formula_begins_with_an_apostrophe(tmp_path):
    rows = [
        {"source": '=HYPERLINK("http://x")', "tokens": -3},
        {"source": "\t@SUM(1)", "tokens": 1},
        {"source": "web-1"},
    ]
    write_report(rows, Folder(str(tmp_path)))
    lines = (tmp_path / "tokens.csv").read_text().splitlines()
    assert lines == ["source,tokens", '"\'=HYPERLINK(""http://x"")",-3', "'\\t@SUM(1),1", "web-1,"]


def test_totals_and_ratios_are_told_for_everything(report):
    row = row_of(report, "600", "all", "all")
    assert (row["documents"], row["tokens"], row["bytes"]) == (4, 130, 500)
    assert row["bytes_per_token"] == 500 / 130
    assert row["characters_per_token"] == 490 / 130
    assert row["tokens_per_word"] == 130 / 98


def test_groups_add_up_and_an_absent_source_is_called_unknown(report):
    for group in ("source", "language"):
        names = [r for r in report if r["group"] == group and r["tokenizer"] == "300"]
        assert sum(r["tokens"] for r in names) == 200
    assert row_of(report, "300", "source", "unknown")["tokens"] == 20


def test_the_premium_compares_with_english_by_length(report):
    row = row_of(report, "300", "language", "de")
    assert row["premium_per_character"] == pytest.approx((50 / 90) / (150 / 400))
    assert row["premium_per_byte"] == pytest.approx((50 / 100) / (150 / 400))
    assert row_of(report, "300", "language", "en")["premium_per_character"] == 1.0


def test_without_english_there_is_no_premium():
    report = rows_of(ROWS.filter(pa.array([False, True, False, True])))
    assert row_of(report, "300", "language", "de")["premium_per_character"] is None


def test_the_order_and_cut_of_tables_change_nothing(report):
    pieces = [ROWS.slice(start, 1) for start in (2, 0, 3, 1)]
    assert rows_of(*pieces, ROWS.slice(0, 0)) == report


def test_no_tables_and_empty_tables_give_no_rows_or_zeros():
    assert report_rows(Totals(), []) == []
    rows = rows_of(ROWS.slice(0, 0))
    assert [(r["group"], r["documents"], r["tokens"], r["bytes_per_token"], r["quantiles"]) for r in rows] == [
        ("all", 0, 0, None, {})
    ] * 2


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_a_quantile_is_the_least_length_that_so_many_documents_do_not_exceed(lengths):
    values, counts = np.unique(lengths, return_counts=True)
    found = quantiles(values, counts)
    for q in QUANTILES:
        expected = next(n for n in sorted(lengths) if sum(x <= n for x in lengths) >= q * len(lengths) - 1e-9)
        assert found[f"{q:g}"] == expected


def test_the_share_over_a_context_counts_longer_documents_alone():
    assert share_over(np.array([2048, 2049]), np.array([3, 1]), (2048,)) == {"2048": 0.25}


def test_embeddings_of_llama3_8b_are_13_percent_of_it():
    # 128,256 x 4,096 twice, of 8.03e9 parameters (the published checkpoint)
    assert embedding_share(128_256, 4096, 8_030_261_248 - 2 * 128_256 * 4096) == pytest.approx(0.1308, abs=1e-4)
    assert embedding_share(1000, 10, 10_000, tied=True) == 0.5


def test_the_cost_of_a_corpus_counts_the_head_and_not_the_look_up():
    assert training_flop(1e9, 32_000, 1000, 1e8) == 6 * 1e9 * (1e8 + 3.2e7)


def test_sizes_that_cost_almost_the_least_are_flat():
    rows = costs({8192: 1200, 32_768: 1000, 65_536: 990, 262_144: 985}, hidden=100, other_parameters=1e9)
    assert [row.vocab_size for row in rows if row.flat] == [32_768, 65_536]
    assert min(row.over_least for row in rows) == 0.0
    assert rows[0].over_least == pytest.approx(1200 * (1e9 + 819_200) / (990 * (1e9 + 6_553_600)) - 1)


def test_the_report_is_written_as_json_csv_and_parquet(report, tmp_path):
    write_report(report, Folder(str(tmp_path)))
    rows = json.loads((tmp_path / "tokens.json").read_text("utf-8"))
    assert rows == json.loads(json.dumps(report))
    with (tmp_path / "tokens.csv").open() as file:
        lines = list(csv.DictReader(file))
    columns = pq.read_table(tmp_path / "tokens.parquet").to_pydict()
    assert [int(line["tokens"]) for line in lines] == columns["tokens"] == [row["tokens"] for row in rows]
    assert columns["quantiles_0.5"] == [row["quantiles"]["0.5"] for row in rows]


def test_numbers_beyond_32_bits_are_summed_exactly():
    one = table(id=["a"], source=["s"], language=["en"], bytes=[2**40], characters=[2**40], words=[1], tokens_9=[2**35])
    report = rows_of(one, one, one)
    assert row_of(report, "9", "all", "all")["tokens"] == 3 * 2**35
