"""Many small files are read in few pieces, and nothing but speed tells it."""

import pathlib

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers import InputFile, Split
from pipeline.run import bundles, execute, local_folder, plan_run, read_ledger
from pipeline.run.bundles import MANY, MOST_BYTES, SMALL_BYTES, bundled
from tests.pipeline.run.toy import Costly, Shorts, Unique, recipe, write_jsonl


def split(name: str, size: int) -> Split:
    return Split(InputFile(f"/{name}", name), "jsonl", 0, size, size=size)


def splits(number: int, size: int = 10_000) -> list[Split]:
    return [split(f"{n:06d}.jsonl", size) for n in range(number)]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 2 * SMALL_BYTES), min_size=MANY, max_size=3 * MANY))
def test_every_piece_is_read_once_and_in_its_order(sizes):
    pieces = [split(f"{n:06d}", size) for n, size in enumerate(sizes)]
    found = bundled(pieces)
    assert [(p.file.name, p.start, p.end) for b in found for p in b.pieces] == [(p.file.name, 0, p.end) for p in pieces]
    assert sum(b.size for b in found) == sum(sizes)
    assert all(b.size <= MOST_BYTES for b in found if b.more)


def test_fewer_small_files_stay_alone():
    assert bundled(splits(MANY - 1)) == splits(MANY - 1)
    assert len(bundled(splits(MANY))) < MANY / 10


def test_large_files_and_files_of_several_pieces_stay_alone():
    large = [split("large", SMALL_BYTES + 1)]
    cut = [Split(InputFile("/cut", "cut"), "jsonl", at, at + 10, size=10) for at in (0, 10)]
    found = bundled([*splits(MANY), *large, *cut, *splits(MANY)])
    alone = [b.file.name for b in found if not b.more]
    assert [name for name in alone if name in ("large", "cut")] == ["large", "cut", "cut"]


@pytest.mark.parametrize("at", [0, 1500, 2999])
def test_a_file_more_changes_few_bundles(at):
    before = bundled(splits(3000))
    after = bundled([*splits(3000)[:at], split(f"{at:06d}-new.jsonl", 10_000), *splits(3000)[at:]])
    assert len(set(after) - set(before)) <= 3


def corpus(folder: pathlib.Path, files: int) -> pathlib.Path:
    folder.mkdir()
    for number in range(files):
        write_jsonl(folder / f"{number:03d}.jsonl", [f"file {number} text {n % 3}" for n in range(4)] + ["x"])
    return folder


def rows(out: pathlib.Path) -> list[tuple[str, str, int]]:
    tables = [
        pq.read_table(path, columns=["id", "file", "offset"]) for path in sorted((out / "data").glob("*.parquet"))
    ]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def told(summary) -> dict:
    """Return what a summary says of documents."""
    counts = {key: value for key, value in summary.as_dict().items() if "seconds" not in key and key != "passes"}
    counts["stages"] = [(s.stage, s.documents_in, s.documents_out) for s in summary.stages]
    return counts


def test_documents_and_ledger_are_those_of_files_read_alone(tmp_path, monkeypatch):
    folder = corpus(tmp_path / "in", 12)
    (folder / "004.jsonl").write_text('{"text": "whole"}\n{"text": \n{"text": "KILL"}\n')
    (folder / "005.jsonl").write_text("")
    stages = (Shorts(), Unique())
    alone = execute(plan_run(recipe(folder, stages)), local_folder(tmp_path / "alone"), workers=2)
    monkeypatch.setattr(bundles, "MANY", 2)
    plan = plan_run(recipe(folder, stages))
    assert len(plan.splits) == 1
    together = execute(plan, local_folder(tmp_path / "together"), workers=2)
    assert rows(tmp_path / "together") == rows(tmp_path / "alone")
    assert told(together.summary) == told(alone.summary)
    lines = [[row for table in read_ledger(f.out) for row in table.to_pylist()] for f in (alone, together)]
    left = [sorted((row["id"], row["rule"], row["kind"], row["source"]) for row in rows) for rows in lines]
    assert left[0] == left[1]
    bad = next(row for row in lines[1] if row["rule"] == "bad_json")
    assert bad["detail"].startswith("004.jsonl@")


def test_a_bundle_goes_on_in_the_file_it_had_come_to(tmp_path, monkeypatch):
    """Shards end within a bundle, and those that stand are not made again after one of them is lost."""
    monkeypatch.setattr(bundles, "MANY", 2)
    folder, log = corpus(tmp_path / "in", 12), tmp_path / "log"
    stages = (Costly(log=str(log)),)
    execute(plan_run(recipe(folder, stages, shard_bytes=200)), local_folder(tmp_path / "whole"), workers=1)
    execute(plan_run(recipe(folder, stages, shard_bytes=200)), local_folder(tmp_path / "out"), workers=1)
    shards = sorted((tmp_path / "out").glob("01-*/tally/*.json"))
    assert len(shards) > 3
    for shard in shards[-2:]:  # the last may be empty: the one before it was full with the last document
        shard.unlink()
    (tmp_path / "out" / "summary.json").unlink()
    log.write_text("")
    execute(plan_run(recipe(folder, stages, shard_bytes=200)), local_folder(tmp_path / "out"), workers=1)
    again = log.read_text().splitlines()
    assert 0 < len(again) <= 40
    assert "file 0 text 0" not in again
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")


def test_a_changed_small_file_makes_its_own_bundle_again(tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "MANY", 2)
    monkeypatch.setattr(bundles, "LEAST_BYTES", 300)
    folder, log = corpus(tmp_path / "in", 40), tmp_path / "log"
    stages = (Costly(log=str(log)),)
    execute(plan_run(recipe(folder, stages)), local_folder(tmp_path / "out"), workers=1)
    log.write_text("")
    write_jsonl(folder / "020.jsonl", ["file 20 has changed"])
    plan = plan_run(recipe(folder, stages))
    execute(plan, local_folder(tmp_path / "out"), workers=1)
    (mine,) = [b for b in plan.splits if any(p.file.name == "020.jsonl" for p in b.pieces)]
    assert 1 < len(mine.pieces) < 40
    assert len(log.read_text().splitlines()) == 5 * (len(mine.pieces) - 1) + 1
