"""The executor without processes gives what the local one gives."""

import inspect
import os

import pytest

from pipeline.errors import UserError
from pipeline.executors import contract, here
from pipeline.executors.here import run_here
from pipeline.executors.local import run_local


def work(kind):
    if kind == "raise":
        raise ValueError("wrong")
    if kind == "environment":
        raise OSError(28, "No space left on device")
    return kind


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(here, "PAUSE_SECONDS", 0)


@pytest.mark.parametrize("kind", ["fine", "raise", "environment"])
def test_both_executors_give_the_same_result(kind):
    (one,), (other,) = (list(run([work], kind)) for run in (_here, _local))
    assert (one.key, one.status, one.value, one.attempts, one.environment) == (
        other.key,
        other.status,
        other.value,
        other.attempts,
        other.environment,
    )
    assert type(one.error) is type(other.error)
    assert str(one.error) == str(other.error)
    assert isinstance(one.error, UserError) == (kind == "environment")


def _here(functions, kind):
    return run_here(functions[0], [(1, kind)])


def _local(functions, kind):
    return run_local(functions[0], [(1, kind)], workers=1)


def test_every_executor_has_the_signature_of_the_contract():
    wanted = list(inspect.signature(contract.Executor.__call__).parameters)[1:]
    for run in (run_here, run_local):
        assert list(inspect.signature(run).parameters) == wanted


def test_tasks_run_in_this_process_in_order_and_only_when_asked_for():
    taken = []
    running = run_here(lambda n: (n, os.getpid()), ((n, taken.append(n) or n) for n in range(9)))
    assert next(running).value == (0, os.getpid())
    assert next(running).key == 1
    assert taken == [0, 1]


def test_an_interrupt_ends_the_run_not_the_task():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(run_here(interrupted, [(0, 0)]))
