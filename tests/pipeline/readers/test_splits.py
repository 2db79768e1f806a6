import gzip
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers import records
from tests.pipeline.readers.made import page, read, response, warc_record, write_jsonl, write_warc


@pytest.fixture(autouse=True)
def _short_lead(monkeypatch):
    """Let walks begin inside the small files of these tests, not always at their start."""
    monkeypatch.setattr(records, "LEAD", 3000)


def damaged(data: bytes, wounds: list[tuple[str, float, int]]) -> bytes:
    """Return `data` with each wound: bytes overwritten, deleted or put in at a place given as a share of the length."""
    for kind, where, size in wounds:
        at = int(where * len(data))
        noise = random.Random(size).randbytes(size)
        data = data[:at] + (b"" if kind == "delete" else noise) + data[at + (0 if kind == "insert" else size) :]
    return data


WOUNDS = st.lists(
    st.tuples(st.sampled_from(["overwrite", "delete", "insert"]), st.floats(0.02, 1), st.integers(1, 3000)), max_size=3
)
SPLITS = st.integers(200, 20_000)


def same_for_all_splits(path, split):
    whole = read(path)
    assert read(path, split=split).facts() == whole.facts()
    return whole


@settings(max_examples=40, deadline=None)
@given(split=SPLITS, wounds=WOUNDS, plain=st.booleans(), spanning=st.booleans())
def test_the_splits_of_a_warc_give_together_what_one_gives(tmp_path_factory, split, wounds, plain, spanning):
    pieces = [warc_record("warcinfo", b"software: x"), *(response(n, 20 + 40 * (n % 7)) for n in range(30))]
    path = tmp_path_factory.mktemp("law") / ("a.warc" if plain else "a.warc.gz")
    if spanning and not plain:
        data = pieces[0] + b"".join(pieces[1:])
        cuts = [0, len(pieces[0]), *range(len(pieces[0]) + 1500, len(data), 1500), len(data)]
        path.write_bytes(b"".join(gzip.compress(data[a:b], mtime=0) for a, b in itertools.pairwise(cuts)))
    else:
        write_warc(path, pieces)
    path.write_bytes(damaged(path.read_bytes(), wounds))
    same_for_all_splits(path, split)


@settings(max_examples=30, deadline=None)
@given(split=SPLITS, wounds=WOUNDS, packed=st.booleans())
def test_the_splits_of_json_lines_give_together_what_one_gives(tmp_path_factory, split, wounds, packed):
    path = tmp_path_factory.mktemp("law") / ("a.jsonl.gz" if packed else "a.jsonl")
    write_jsonl(path, [{"text": f"text {n} " * (n % 13), "n": n} for n in range(100)])
    path.write_bytes(damaged(path.read_bytes(), wounds))
    same_for_all_splits(path, split)


@settings(max_examples=40, deadline=None)
@given(wounds=WOUNDS, plain=st.booleans())
def test_damage_never_costs_a_record_it_does_not_touch(tmp_path_factory, wounds, plain):
    """Every record whose bytes are still there whole, behind its member's start, is read."""
    pieces = [response(n, 50) for n in range(20)]
    path = write_warc(tmp_path_factory.mktemp("law") / ("a.warc" if plain else "a.warc.gz"), pieces)
    stored = pieces if plain else [gzip.compress(p, mtime=0) for p in pieces]
    data = damaged(path.read_bytes(), wounds)
    path.write_bytes(data)
    found = {row["raw"] for row in read(path).rows}
    for number, piece in enumerate(stored):
        # a plain record whose predecessor's length now leads into it is the predecessor's loss, told apart by its mark
        if piece in data and (not plain or b"\r\n\r\n" + piece in data or data.startswith(piece)):
            assert page(number, 50) in found


def test_a_gzip_file_stored_inside_a_record_is_not_taken_for_records(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LEAD", 1 << 20)
    inner = b"".join(gzip.compress(response(100 + n, 50), mtime=0) for n in range(40))
    outer = [response(1), warc_record("response", inner, number=2, Content_Type="application/gzip"), response(3)]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(gzip.compress(r, compresslevel=0, mtime=0) for r in outer))
    whole = same_for_all_splits(path, 1000)
    assert [row["raw"] for row in whole.rows] == [page(1), page(3)]
    assert whole.ignored == {"not a page: application/gzip": 1}
    assert read(path, split=1000).ignored == whole.ignored


def test_split_boundaries_on_record_starts_lose_and_repeat_nothing(tmp_path):
    pieces = [response(n) for n in range(6)]
    path = write_warc(tmp_path / "a.warc", pieces)
    for split in {len(pieces[0]), len(pieces[0]) - 1, len(pieces[0]) + 1}:
        assert [row["raw"] for row in read(path, split=split).rows] == [page(n) for n in range(6)]
    lines = write_jsonl(tmp_path / "a.jsonl", [{"text": "abc"}] * 10)
    for split in range(1, 30):
        assert len(read(lines, split=split).rows) == 10


@pytest.mark.parametrize("name", ["a.warc.gz", "a.jsonl"])
def test_reading_ends_where_it_kills_the_reader_twice_and_says_so(tmp_path, name):
    if name == "a.jsonl":
        path = write_jsonl(tmp_path / name, [{"text": f"text {n}"} for n in range(6)])
    else:
        path = write_warc(tmp_path / name, [response(n) for n in range(6)])
    found = read(path, skip={2: ("cpu_time", "over 30 s of CPU time")}, stops={2})
    assert found.numbers == [0, 1, 2]
    (fault,) = found.faults
    assert fault.rule == "cpu_time"
    assert "not read" in fault.detail
