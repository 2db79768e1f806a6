"""A reader that dies of records: a fork reads ahead, and the worker reads every record that does not kill, once."""

import bz2
import gzip
import io
import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.documents import INPUT_FIELDS, Batch
from pipeline.guard import NOTHING, Board, guard
from pipeline.readers import Fault, InputFile, Mark, delimited, jsonl, plan_splits, warc
from pipeline.readers.parquet import ParquetReader
from pipeline.storage import Folder
from pipeline.tally import READ
from pipeline.worker import ahead
from pipeline.worker.ahead import Killers, looked_ahead
from pipeline.worker.children import Care
from pipeline.worker.read import read_task
from pipeline.worker.task import PassWork, ShardTask
from tests.pipeline.readers.made import http, warc_record

BAD = {3, 70, 71, 160, 299}
CHANCE = random.Random(15)
TEXTS = [f"{n} {CHANCE.randbytes(1000).hex()}" + " BAD" * (n in BAD) for n in range(300)]
LINES = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TEXTS)
TABLE = pa.table({"text": TEXTS})


def records() -> list[bytes]:
    return [warc_record("response", http(f"<p>{text}</p>".encode()), number=n) for n, text in enumerate(TEXTS)]


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, row_group_size=128)
    return sink.getvalue()


def arrow() -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=100)
    return sink.getvalue()


FILES = {
    "a.jsonl": lambda: LINES,
    "a.jsonl.gz": lambda: gzip.compress(LINES),
    "a.jsonl.bz2": lambda: bz2.compress(LINES),
    "a.csv": lambda: b"text\n" + b"".join(text.encode() + b"\n" for text in TEXTS),
    "a.parquet": parquet,
    "a.arrow": arrow,
    "a.warc.gz": lambda: b"".join(map(gzip.compress, records())),
    "a.warc": lambda: b"".join(records()),
}


@pytest.fixture
def watched():
    """This process as a worker under a supervisor's eye."""
    board = Board(1)
    guard.watch(board.fileno(), 0.0)
    yield
    guard.idle()
    guard.map = None
    board.close()


@pytest.fixture
def deadly(monkeypatch):
    """Readers that die of whatever holds BAD."""

    def dying(ours):
        def dies(*given):
            if "BAD" in str(given):
                os._exit(3)
            return ours(*given)

        return dies

    monkeypatch.setattr(jsonl, "document", dying(jsonl.document))
    monkeypatch.setattr(delimited, "document", dying(delimited.document))
    monkeypatch.setattr(warc, "parse_response", dying(warc.parse_response))
    columns = ParquetReader._columns
    monkeypatch.setattr(
        ParquetReader, "_columns", lambda self, data: dying(lambda _: columns(self, data))(data.to_pylist())
    )


def task(path, batch_bytes=20_000) -> ShardTask:
    schema = pa.schema(INPUT_FIELDS)
    (split,) = plan_splits(InputFile(str(path), str(path).rsplit("/", 1)[-1]), 1 << 40)
    work = PassWork((), (), schema, schema, None, True, None, batch_bytes, 1 << 20, 1, 4_000_000_000, 0, 0.2)
    return ShardTask(work, "part", 0, split, ahead=True)


def texts_and_faults(items):
    rows = [row for item in items if isinstance(item, Batch) for row in item.data.to_pylist()]
    got = [row["text"] if row["text"] is not None else row["raw"].decode()[3:-4] for row in rows]
    return got, [item for item in items if isinstance(item, Fault)]


@pytest.mark.parametrize("name", FILES)
def test_each_record_that_kills_fails_and_every_other_is_read_once(tmp_path, watched, deadly, name):
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    got, faults = texts_and_faults(list(read_task(task(path))))
    assert got == [text for n, text in enumerate(TEXTS) if n not in BAD]
    assert [(fault.number, fault.rule) for fault in faults] == [(n, "crash") for n in sorted(BAD)]


def test_a_file_in_an_object_store_is_read_from_a_copy_that_is_gone_afterwards(
    tmp_path, watched, deadly, s3, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Folder(s3).put("a.jsonl.gz", FILES["a.jsonl.gz"]())
    got, faults = texts_and_faults(list(read_task(task(f"{s3}/a.jsonl.gz"))))
    assert (len(got), [fault.number for fault in faults]) == (295, sorted(BAD))
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_was_only_the_last_of_many_that_leak_is_read(watched):
    def leaking():
        for number in range(50):
            guard.working_on(number)
            if os.getpid() != ours and number >= begun[0] + 20:
                os._exit(3)
            begun[1:] = [number]
            yield Mark(number)

    ours, begun = os.getpid(), [0, 0]
    killers = Killers()
    found = []
    for item in looked_ahead(leaking(), killers, Care(4_000_000_000)):
        begun[0] = item.number
        found.append(item.number)
    assert found == list(range(50))
    assert not killers.skip


def test_reading_that_dies_of_nothing_that_is_read_is_left_to_the_supervisor(watched, monkeypatch):
    monkeypatch.setattr(ahead, "in_child", lambda work, care: ahead.Fate(NOTHING, True, "crash", "gone"))
    assert [mark.number for mark in looked_ahead(iter([Mark(1), Mark(2)]), Killers(), Care(1))] == [1, 2]


def test_where_leaving_a_record_out_does_not_help_reading_stops_there():
    killers = Killers.of([(5, "crash", "gone"), (7, "crash", "gone"), (5, "crash", "again")], [])
    assert (set(killers.skip), killers.stops) == ({5, 7}, {5})
    assert killers.blame(ahead.Fate(7, False, "crash", "gone"))
    assert killers.stops == {5, 7}
    assert not killers.blame(ahead.Fate(7, False, "crash", "gone"))


def test_records_that_a_worker_died_of_before_are_known_to_the_child(tmp_path, watched, deadly, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES)
    forks = []
    in_child = ahead.in_child
    monkeypatch.setattr(ahead, "in_child", lambda *given: forks.append(1) or in_child(*given))
    given = task(path)
    known = tuple((n, READ, "crash", "gone") for n in sorted(BAD))
    given = ShardTask(given.work, "part", 0, given.split, skips=known, ahead=True)
    got, faults = texts_and_faults(list(read_task(given)))
    assert (len(got), len(faults), len(forks)) == (295, 5, 1)
