"""Parquet files that claim more than they hold, expand without end, or end the process that opens them."""

import contextlib
import random
import re

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.readers import InputFile, ReadOptions, carried_fields, footers, parquet, plan_splits, read_split
from pipeline.readers.footers import Footer, read_footer
from tests.pipeline.readers.made import read

CUT = re.compile("is no readable Parquet file")


def write(path, rows=10, **more):
    table = pa.table({"text": [f"text {n}" for n in range(rows)], **more})
    pq.write_table(table, path, row_group_size=4)
    return path


def signed(number: int) -> bytes:
    """Return a Thrift compact integer: zigzag, then seven bits a byte."""
    number = number * 2 if number >= 0 else -number * 2 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def claiming(path, rows: int):
    """Write a file of one row group of 3 rows whose footer says that it has `rows`."""
    pq.write_table(pa.table({"text": ["a", "b", "c"]}), path, write_statistics=False, store_schema=False)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    start, footer = len(data) - 8 - size, data[-8 - size : -8]
    said = b"\x16" + signed(3)  # field 3 of a row group, behind a long: number of rows
    at = footer.rindex(said)
    footer = footer[:at] + b"\x16" + signed(rows) + footer[at + len(said) :]
    path.write_bytes(data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).row_group(0).num_rows == rows
    return path


@pytest.mark.parametrize("rows", [-5, -(1 << 60)])
def test_a_row_group_of_a_negative_number_of_rows_is_one_fault(tmp_path, rows):
    found = read(claiming(tmp_path / "a.parquet", rows))
    assert [(fault.rule, str(rows) in fault.detail) for fault in found.faults] == [("damaged_row_group", True)]


def test_rows_that_a_file_promises_and_does_not_give_are_counted_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "MOST_MISSING", 100)
    found = read(claiming(tmp_path / "a.parquet", 10**12))
    assert len(found.rows) <= 3
    assert len(found.faults) == 100
    assert {fault.rule for fault in found.faults} == {"damaged_row_group"}
    assert "more rows that it claims" in found.faults[-1].detail
    assert [fault.number for fault in found.faults] == list(range(len(found.rows), len(found.rows) + 100))


def test_a_column_that_expands_as_no_text_does_is_read_row_by_row(tmp_path):
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 2000
    found = read(path, batch=2_000_000)
    assert len(found.rows) == 300
    assert max(batch.data.nbytes for batch in found.batches) < 4_000_000


def test_a_row_group_that_expands_without_end_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "MOST_EXPANDED", 10_000_000)
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 50, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False)
    found = read(path)
    assert 5 < len(found.rows) < 15
    assert len(found.rows) + len(found.faults) == 50
    assert "expands" in found.faults[0].detail


def test_a_row_that_kills_its_reader_costs_the_rest_of_its_row_group_alone(tmp_path):
    skip = {5: ("memory", "worker over its memory")}
    found = read(write(tmp_path / "a.parquet"), doubts={4}, skip=skip, stops={5})
    assert [row["text"] for row in found.rows] == [f"text {n}" for n in (0, 1, 2, 3, 4, 8, 9)]
    assert [(fault.number, fault.rule) for fault in found.faults] == [
        (5, "memory"),
        (6, "damaged_row_group"),
        (7, "damaged_row_group"),
    ]
    assert "while row 5 was read" in found.faults[0].detail


def test_a_row_that_kills_whoever_makes_a_document_of_it_costs_itself_alone(tmp_path):
    found = read(write(tmp_path / "a.parquet"), doubts={4}, skip={5: ("memory", "worker over its memory")})
    assert [row["text"] for row in found.rows] == [f"text {n}" for n in (0, 1, 2, 3, 4, 6, 7, 8, 9)]
    assert [(fault.number, fault.rule) for fault in found.faults] == [(5, "memory")]


def test_a_file_that_kills_whoever_opens_it_is_one_fault_and_not_opened(tmp_path):
    path = write(tmp_path / "a.parquet")
    (split,) = plan_splits(InputFile(str(path), "a"), 1 << 40)
    schema = pa.schema([("id", pa.large_string()), ("text", pa.large_string())])
    path.unlink()
    options = ReadOptions(schema, 1000, {0: ("crash", "process killed by SIGABRT")}, 1000, stops={0})
    (fault,) = read_split(split, options)
    assert (fault.rule, fault.number) == ("crash", 0)
    assert "not read" in fault.detail


def wounded(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with a few bytes of its footer changed."""
    size = int.from_bytes(data[-8:-4], "little")
    wounds = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        wounds[chance.randrange(len(data) - 8 - size, len(data) - 8)] = chance.randrange(256)
    return bytes(wounds)


def test_footers_damaged_anywhere_are_read_or_refused_with_the_name_of_the_file(tmp_path):
    chance = random.Random(15)
    path = tmp_path / "a.parquet"
    whole = write(path, id=[str(n) for n in range(10)]).read_bytes()
    refused = 0
    for number in range(150):
        path.write_bytes(wounded(whole, chance))
        file = InputFile(str(path), f"crawl/{number}.parquet")
        with contextlib.suppress(InputError):
            carried_fields(file)
            plan_splits(file, 1000)
            continue
        refused += 1
    assert 10 < refused < 150


class Killer(InputFile):
    """A file on whose footer the process ends that reads it."""

    def __reduce__(self):
        return _die, ()


def _die():
    import os

    os.abort()


@pytest.fixture
def child(monkeypatch):
    """Return a reader of footers of its own."""
    made = footers._Child()
    monkeypatch.setattr(footers, "_child", made)
    yield made
    made.end()


@pytest.mark.parametrize("forks", [False, True])
def test_a_footer_that_ends_its_reader_costs_nobody_else_his(tmp_path, monkeypatch, child, forks):
    monkeypatch.setattr(footers, "_may_fork", lambda: forks)
    good, bad = InputFile(str(write(tmp_path / "a.parquet")), "a.parquet"), Killer("gone", "crawl/b.parquet")
    assert footers.footer_of(good).schema.names == ["text"]
    assert isinstance(child._process, footers._Fork) == forks
    with pytest.raises(InputError, match=r"crawl/b\.parquet .* signal 6"):
        footers.footer_of(bad)
    assert footers.footer_of(InputFile(good.path, "other")).groups == read_footer(good).groups


def test_a_fork_that_reads_footers_holds_nothing_of_its_parent_open_and_ends_with_it(tmp_path, monkeypatch, child):
    monkeypatch.setattr(footers, "_may_fork", lambda: True)
    with open(tmp_path / "held", "w") as held:
        footers.footer_of(InputFile(str(write(tmp_path / "a.parquet")), "a.parquet"))
        process = psutil.Process(child._process._pid)
        assert held.name not in {file.path for file in process.open_files()}
    assert child.end() == 0
    assert child._process is None


def test_a_footer_says_what_reading_it_here_would(tmp_path):
    file = InputFile(str(write(tmp_path / "a.parquet")), "a.parquet")
    footer = read_footer(file)
    assert isinstance(footer, Footer)
    assert len(footer.groups) == 3
    assert isinstance(read_footer(InputFile(str(tmp_path / "none"), "none")), InputError)


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_what_an_arrow_file_says_of_itself_is_read_by_a_child_too(tmp_path, monkeypatch, kind):
    def here(*_):
        raise AssertionError("opened in the process that drives the run")

    table = pa.table({"text": ["a"], "n": [1]})
    with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr("pipeline.readers.footers.open_arrow", here)
    file = InputFile(str(tmp_path / "a.arrow"), "a.arrow")
    assert carried_fields(file).names == ["n"]
    assert plan_splits(file, 1000)[0].format == kind
    (tmp_path / "a.arrow").write_bytes((tmp_path / "a.arrow").read_bytes()[:40])
    with pytest.raises(InputError, match="no readable Arrow file"):
        carried_fields(file)
