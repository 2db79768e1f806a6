"""The local executor: what it gives back when tasks raise, die, hang or eat memory."""

import functools
import gzip
import importlib
import os
import pathlib
import pickle
import signal
import sys
import threading
import time

import cloudpickle
import pytest

from pipeline.errors import EnvironmentFault, StorageError, UserError
from pipeline.executors.contract import OUTSIDE_ATTEMPTS, WorkerDied, WorkerLimits
from pipeline.executors.forks import start_fork_server
from pipeline.executors.local import kept_workers, run_local
from pipeline.guard import guard


def work(task):
    kind, value = task
    guard.working_on(value)
    if kind == "raise":
        raise ValueError(f"task {value} is wrong")
    if kind == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "exit":
        os._exit(3)
    if kind == "hang":
        while True:
            pass
    if kind == "sleep":
        time.sleep(60)
    if kind == "silent death":
        guard.idle()
        os._exit(9)
    return value * 2


def mend(task, death):
    return ("mended", death.number) if death.number >= 0 else None


def results(tasks, workers=2, revise=mend, **limits):
    found = run_local(work, enumerate(tasks), workers=workers, limits=WorkerLimits(**limits), revise=revise)
    return {result.key: result for result in found}


def test_every_task_is_done_once():
    found = results([("fine", n) for n in range(50)])
    assert {key: result.value for key, result in found.items()} == {n: 2 * n for n in range(50)}
    assert {result.attempts for result in found.values()} == {1}


def test_an_exception_is_given_back_with_its_message():
    found = results([("raise", 4), ("fine", 1)])
    assert found[0].status == "failed"
    assert isinstance(found[0].error, ValueError)
    assert "task 4 is wrong" in str(found[0].error)
    assert found[1].value == 2


@pytest.mark.parametrize(
    ("kind", "rule", "says"),
    [
        ("die", "crash", "SIGSEGV"),
        ("exit", "crash", "exit code 3"),
        ("hang", "cpu_time", "0.3 s"),
        ("sleep", "wall_time", "0.5 s"),
    ],
)
def test_the_cause_of_a_death_is_known_and_the_other_tasks_go_on(kind, rule, says):
    deaths = []

    def note(task, death):
        deaths.append(death)
        return mend(task, death)

    found = results(
        [("fine", 1), (kind, 7), ("fine", 2)], revise=note, cpu_seconds=0.3, wall_seconds=0.5 if kind == "sleep" else 60
    )
    assert [found[n].value for n in range(3)] == [2, 14, 4]
    assert found[1].attempts == 2
    ((number, cause, detail),) = [(d.number, d.rule, d.detail) for d in deaths]
    assert (number, cause) == (7, rule)
    assert says in detail


def test_a_task_whose_workers_keep_dying_for_no_known_document_is_given_up():
    found = results([("silent death", 1), ("fine", 3)])
    assert isinstance(found[0].error, WorkerDied)
    assert found[0].attempts == 3
    assert found[1].value == 6


def test_tasks_are_taken_only_as_workers_become_free():
    taken = []

    def tasks():
        for n in range(100):
            taken.append(n)
            yield n, ("fine", n)

    running = run_local(work, tasks(), workers=2)
    next(running)
    assert len(taken) < 20
    running.close()


def test_a_task_says_how_much_cpu_time_it_took_also_where_attempts_died():
    found = {
        r.key: r
        for r in run_local(
            burn, [(0, ("fine", 0.2)), (1, ("hang", 0.2))], workers=1, revise=calm, limits=WorkerLimits(cpu_seconds=0.5)
        )
    }
    assert 0.2 <= found[0].cpu_seconds < 0.4
    assert 0.4 <= found[1].cpu_seconds < 1.0


def burn(task):
    kind, seconds = task
    guard.working_on(1)
    until = time.process_time() + seconds
    while kind == "hang" or time.process_time() < until:
        pass
    return None


def calm(task, death):
    return ("fine", task[1])


def flaky(path):
    """Fails as a full disk does until it has been tried three times."""
    with open(path, "a") as file:
        file.write("x")
    tried = pathlib.Path(path).stat().st_size
    if tried < 3:
        raise OSError(28, "No space left on device")
    return tried


def test_a_task_that_the_environment_fails_is_tried_again(tmp_path):
    (result,) = run_local(flaky, [(0, str(tmp_path / "tries"))], workers=1)
    assert (result.status, result.value, result.attempts) == ("done", 3, 3)


def faulty(name):
    if name == "import":
        import a_module_that_nobody_has  # noqa: F401
    if name == "memory":
        raise MemoryError("no more")
    if name == "storage":
        raise StorageError("cannot write x; free space")
    if name == "gzip":
        raise gzip.BadGzipFile("not a gzip member")
    raise UnicodeError(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [("import", "a_module_that_nobody_has"), ("memory", "MemoryError: no more"), ("storage", "cannot write x")],
)
def test_a_fault_of_the_environment_that_stays_is_one_clear_line(name, says):
    (result,) = run_local(faulty, [(0, name)], workers=1)
    assert (result.status, result.environment, result.attempts) == ("failed", True, 3)
    assert isinstance(result.error, UserError)
    assert says in str(result.error)
    assert "\n" not in str(result.error)


@pytest.mark.parametrize("name", ["gzip", "unicode"])
def test_a_fault_of_the_task_is_not_tried_again(name):
    (result,) = run_local(faulty, [(0, name)], workers=1)
    assert (result.status, result.environment, result.attempts) == ("failed", False, 1)


def leave(kind):
    raise {"exit": SystemExit(3), "interrupt": KeyboardInterrupt(), "generator": GeneratorExit()}[kind]


@pytest.mark.parametrize("kind", ["exit", "interrupt", "generator"])
def test_what_leaves_a_program_elsewhere_fails_only_the_task(kind):
    (result,) = run_local(leave, [(0, kind)], workers=1)
    assert (result.status, result.attempts) == ("failed", 1)


def killed_from_outside(task):
    """Somebody kills this process while document 7 is in work, as often as `task` says."""
    path, times = task
    guard.working_on(7)
    with open(path, "a") as file:
        file.write("x")
    if pathlib.Path(path).stat().st_size <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return pathlib.Path(path).stat().st_size


def test_the_first_kill_from_outside_blames_no_document(tmp_path):
    deaths = []
    tasks = [(0, (str(tmp_path / "tries"), 1))]
    (result,) = run_local(killed_from_outside, tasks, workers=1, revise=lambda task, death: deaths.append(death))
    assert (result.value, deaths) == (2, [])


def test_a_document_in_work_at_two_kills_from_outside_is_blamed(tmp_path):
    deaths = []

    def blame(task, death):
        deaths.append(death)
        return (str(tmp_path / "other"), 0)

    (result,) = run_local(killed_from_outside, [(0, (str(tmp_path / "tries"), 99))], workers=1, revise=blame)
    assert result.status == "done"
    ((number, outside, detail),) = [(d.number, d.outside, d.detail) for d in deaths]
    assert (number, outside) == (7, True)
    assert "SIGKILL" in detail


def test_a_task_whose_worker_is_always_killed_from_outside_is_lost_in_the_end():
    (result,) = run_local(always_killed, [(0, None)], workers=1)
    assert (result.status, result.environment, result.attempts) == ("lost", True, OUTSIDE_ATTEMPTS)
    assert "SIGKILL" in str(result.error)


def always_killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_without_documents_has_a_limit_of_its_own():
    limits = WorkerLimits(task_seconds=0.3)
    found = {r.key: r for r in run_local(time.sleep, [(0, 60), (1, 0)], workers=2, limits=limits)}
    assert (found[0].status, found[0].attempts) == ("lost", 3)
    assert "no answer in 0.3 s" in str(found[0].error)
    assert found[1].status == "done"


def test_a_preload_module_that_cannot_be_imported_is_named():
    with pytest.raises(EnvironmentFault, match=r"module no_such_module cannot be imported \(ModuleNotFoundError"):
        list(run_local(abs, [(0, -1)], workers=1, preload=["json", "no_such_module"]))


def test_a_later_run_may_need_other_modules():
    assert [r.value for r in run_local(loaded, [(0, "colorsys")], workers=1)] == [False]
    assert [r.value for r in run_local(loaded, [(0, "colorsys")], workers=1, preload=["colorsys"])] == [True]


def loaded(name):
    return name in sys.modules


def test_workers_of_two_runs_at_once_do_not_mix():
    first = run_local(work, [(n, ("fine", n)) for n in range(20)], workers=2)
    begun = [next(first)]
    second = list(run_local(work, [(n, ("fine", n + 100)) for n in range(20)], workers=2))
    assert sorted(r.value for r in [*begun, *first]) == [2 * n for n in range(20)]
    assert sorted(r.value for r in second) == [2 * n + 200 for n in range(20)]


def test_an_argument_that_cannot_be_sent_fails_its_own_task_and_no_other():
    tasks = [*enumerate([threading.Lock()] * 5), (5, -1)]
    found = {result.key: result for result in run_local(abs, tasks, workers=2)}
    assert [found[n].status for n in range(6)] == ["failed"] * 5 + ["done"]
    assert "cannot pickle" in str(found[0].error)


def test_an_answer_that_cannot_be_sent_or_read_is_an_error_that_says_so():
    def odd(kind):
        if kind == "answer":
            return threading.Lock()
        raise Picky(1, 2)

    found = {result.key: result for result in run_local(odd, [(n, n) for n in ("answer", "error")], workers=1)}
    assert "cannot pickle" in str(found["answer"].error)
    assert "Picky: 1 and 2" in str(found["error"].error)


class Picky(Exception):
    """An error that pickle writes but cannot read."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def test_the_supervisor_sleeps_while_a_job_to_try_again_waits_for_a_busy_worker(tmp_path):
    def sleepy(number):
        if number == 0 and not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            raise OSError("once")
        time.sleep(0.02 if number == 0 else 1)

    cpu = time.process_time()
    assert [r.status for r in run_local(sleepy, [(0, 0), (1, 1)], workers=1)] == ["done", "done"]
    assert time.process_time() - cpu < 0.5


def test_arguments_and_answers_may_be_large():
    (result,) = run_local(len, [(0, bytes(30_000_000))], workers=1)
    assert result.value == 30_000_000
    (result,) = run_local(bytes, [(0, 30_000_000)], workers=1)
    assert len(result.value) == 30_000_000


def test_the_cpu_limit_of_a_document_holds_over_all_stages():
    deaths = []

    def note(task, death):
        deaths.append(death)
        return ()

    (result,) = run_local(stages, [(0, (1, 2, 3))], workers=1, revise=note, limits=WorkerLimits(cpu_seconds=0.5))
    assert result.status == "done"
    ((number, stage, rule),) = [(d.number, d.stage, d.rule) for d in deaths]
    assert (number, rule) == (3, "cpu_time")
    assert stage == 2, "0.2 s in each of three stages, of which each alone is under the limit"


def stages(numbers):
    """Three stages, in each of which document 3 takes 0.2 s and the others 0.02 s."""
    guard.begin_batch(numbers)
    for stage in range(3):
        guard.stage = stage
        for number in numbers:
            guard.working_on(number)
            until = time.process_time() + (0.2 if number == 3 else 0.02)
            while time.process_time() < until:
                pass


def test_a_function_that_travels_whole_finds_the_guard_of_its_worker():
    assert pickle.loads(cloudpickle.dumps(guard)) is guard


def imports(name):
    """Return a load that a fork server can be seen to have made: it imports a module that nothing else here does."""
    return functools.partial(importlib.import_module, name)


def test_loads_are_made_before_the_first_task():
    ran = run_local(loaded, [(n, "sched") for n in range(3)], workers=3, loads=[imports("sched")])
    assert [r.value for r in ran] == [True] * 3


def test_what_a_load_raises_is_left_to_the_task_that_needs_it():
    loads = [functools.partial(int, "no number"), functools.partial(sys.exit, 1), imports("tabnanny")]
    assert [r.value for r in run_local(loaded, [(0, "tabnanny")], workers=1, loads=loads)] == [True]


def process(_):
    return os.getpid()


def test_workers_that_are_kept_serve_one_round_after_the_other():
    with kept_workers(1) as run:
        assert len({r.value for _ in range(3) for r in run(process, [(0, 0)])}) == 1


def test_workers_that_are_kept_make_room_for_others_where_a_round_needs_more_than_they_were_born_with():
    with kept_workers(1) as run:
        first = [r.value for r in run(process, [(0, 0)])]
        assert list(run(loaded, [], loads=[imports("rlcompleter")])) == []
        assert [r.value for r in run(process, [(0, 0)])] == first
        assert [r.value for r in run(loaded, [(0, "pyclbr")], loads=[imports("pyclbr")])] == [True]
        assert [r.value for r in run(process, [(0, 0)], loads=[imports("pyclbr")])] != first


def test_the_fork_server_gets_ready_ahead_of_need_and_answers_meanwhile(tmp_path):
    slow, made = functools.partial(time.sleep, 0.05), functools.partial(os.mkdir, tmp_path / "made")
    start_fork_server(["json"], [slow] * 100 + [made])
    assert [r.value for r in run_local(abs, [(0, -1)], workers=1)] == [1]
    assert not (tmp_path / "made").exists()
    until = time.monotonic() + 60
    while not (tmp_path / "made").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "made").exists()
