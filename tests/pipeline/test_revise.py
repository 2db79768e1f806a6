"""What is tried after a worker died while it read."""

import pyarrow as pa

from pipeline.executors.contract import Death
from pipeline.tally import READ
from pipeline.worker.task import PassWork, ShardTask, revise

EMPTY = pa.schema([])
WORK = PassWork((), (), EMPTY, EMPTY, None, True, None, 1, 1, 1, 1, 0, 0.2)


def after(*deaths: Death) -> ShardTask | None:
    task: ShardTask | None = ShardTask(WORK, "part", 0)
    for death in deaths:
        assert task is not None
        task = revise(task, death)
    return task


def dead(number: int, *, batch: bool = False, rule: str = "cpu_time") -> Death:
    return Death(number, -1, -1, batch, rule, "over 30 s")


def test_a_reader_that_died_has_a_child_that_reads_ahead():
    task = after(dead(3, rule="crash"))
    assert task is not None
    assert task.ahead
    assert not task.careful
    assert not task.skips


def test_a_batch_that_kills_its_reader_all_the_same_is_read_one_by_one():
    task = after(dead(3, batch=True), dead(3, batch=True))
    assert task is not None
    assert task.doubts == (3,)
    assert not task.skips


def test_a_record_that_kills_its_reader_is_left_out():
    task = after(dead(3))
    assert task is not None
    assert task.skips == ((3, READ, "cpu_time", "over 30 s"),)


def test_where_leaving_a_record_out_does_not_help_reading_ends_there():
    task = after(dead(3), dead(3))
    assert task is not None
    assert [number for number, *_ in task.skips] == [3, 3]


def test_a_reader_that_dies_once_more_is_no_records_fault():
    assert after(dead(3), dead(3), dead(3)) is None
