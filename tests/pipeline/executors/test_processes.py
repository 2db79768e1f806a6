"""Processes of the local executor: what they import, what ends them, and that nothing is left of them."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.pipeline.executors.programs import left, parts, session, start, wait_for

ENDLESS = """
import pathlib, sys
from pipeline.executors.local import run_local

def work(sign):
    pathlib.Path(sign).touch()
    while True:
        sum(range(1000))

list(run_local(work, [(n, f"{sys.argv[1]}{n}") for n in range(2)], workers=2))
"""

SEES = """
import json, sys
from pipeline.executors.local import run_local

def sees(_):
    import colorsys, json, locale, os, time
    import numpy, pipeline
    return {
        "files": [m.__file__ for m in (colorsys, json, numpy, pipeline)],
        "zone": time.tzname[0],
        "encoding": locale.getpreferredencoding(),
        "sort": sorted("äzA", key=locale.strxfrm),
    }

(result,) = run_local(sees, [(0, None)], workers=1)
if result.error:
    raise result.error
print(json.dumps(result.value))
"""


@pytest.fixture
def program(tmp_path):
    """Write a program into a folder of its own and return its path."""

    def write(source, name="program.py"):
        path = tmp_path / "place" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        return path

    return write


def output(process, code=0):
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert left(process.pid) == []
    return out, err


def test_workers_import_what_is_installed_and_nothing_around_the_run_changes_what_they_see(program, tmp_path):
    plain = json.loads(output(start(program(SEES)))[0])
    for name in ("pipeline", "stages", "tokenizer", "numpy", "json", "pickle", "selectors"):
        decoy = tmp_path / "decoys" / name
        decoy.mkdir(parents=True)
        (decoy / "__init__.py").write_text("raise SystemExit('a decoy was imported')")
    program("raise SystemExit('a decoy was imported')", "colorsys.py")
    (tmp_path / "startup.py").write_text("raise SystemExit('imported at startup')")
    around = {
        "PYTHONSTARTUP": str(tmp_path / "startup.py"),
        "PYTHONHASHSEED": "7",
        "HOME": str(tmp_path),
        "TZ": "Asia/Tokyo",
        "LC_ALL": "tr_TR.ISO-8859-9",
    }
    odd = start(program(SEES), cwd=tmp_path / "decoys", env={**os.environ, **around})
    assert json.loads(output(odd)[0]) == plain


def test_a_function_of_a_script_without_a_main_guard_of_a_module_beside_it_and_of_standard_input_runs(program):
    program(
        "FACTOR = 3\nclass Box:\n    def __init__(self, n): self.n = n\ndef triple(box): return Box(FACTOR * box.n)",
        "beside.py",
    )
    script = program(
        "from pipeline.executors.local import run_local\nimport beside\n"
        "print([r.value.n for r in run_local(beside.triple, [(0, beside.Box(2))], workers=1, preload=['beside'])])\n"
        "print([r.value for r in run_local(lambda x: x + 1, [(0, 2)], workers=1, preload=['__main__'])])\n"
    )
    assert output(start(script))[0].split("\n")[:2] == ["[6]", "[3]"]
    piped = subprocess.run(
        [sys.executable], input=script.read_text(), cwd=script.parent, capture_output=True, text=True
    )
    assert piped.stdout.split("\n")[:2] == ["[6]", "[3]"], piped.stderr


def test_what_workers_print_is_no_output_of_the_program(program):
    script = program(
        "import os\nfrom pipeline.executors.local import run_local\n"
        "def work(_):\n    print('printed')\n    os.write(1, b'written')\n"
        "list(run_local(work, [(0, 0)], workers=1))\nprint('result')\n"
    )
    out, err = output(start(script))
    assert out == "result\n"
    assert "printed" in err
    assert "written" in err


COUNTS = """
import sys
from pipeline.executors.local import run_local
found = run_local(abs, [(n, -n) for n in range(int(sys.argv[1]))], workers=int(sys.argv[1]))
open("answer", "w").write(str(sum(r.value for r in found)))
"""


@pytest.mark.parametrize("kind", ["closed streams", "optimised", "empty environment", "long temporary folder"])
def test_an_odd_machine_is_no_hindrance(program, tmp_path, kind):
    script = program(COUNTS)
    command, environment = [sys.executable, str(script), "5"], dict(os.environ)
    if kind == "closed streams":
        command = ["/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *command]
    if kind == "optimised":
        command[1:1] = ["-OO"]
    if kind == "empty environment":
        environment = {}
    if kind == "long temporary folder":
        folder = tmp_path.joinpath(*["x" * 100] * 5)
        folder.mkdir(parents=True)
        environment["TMPDIR"] = str(folder)
    subprocess.run(command, cwd=script.parent, env=environment, check=True, timeout=60)
    assert (script.parent / "answer").read_text() == "10"


def test_five_hundred_workers_are_many_but_work(program):
    script = program(COUNTS)
    assert output(start(script, 500))[0] == ""
    assert (script.parent / "answer").read_text() == str(sum(range(500)))


def test_more_workers_than_the_system_allows_are_one_clear_error(program):
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))\n" + COUNTS
    _, err = output(start(program(limited), 500), code=1)
    assert "of 500 workers can be started here (Too many open files)" in err.splitlines()[-1]


@pytest.mark.parametrize("whom", ["program", "group"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_of_a_program_that_is_ended(program, tmp_path, whom, kind):
    (tmp_path / "temporary").mkdir()
    process = start(program(ENDLESS), "sign", env={**os.environ, "TMPDIR": str(tmp_path / "temporary")})
    wait_for(tmp_path / "place" / "sign0")
    wait_for(tmp_path / "place" / "sign1")
    assert len(session(process.pid)) == 4
    (os.killpg if whom == "group" else os.kill)(process.pid, kind)
    process.communicate(timeout=10)
    assert left(process.pid) == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_program_that_is_ended_while_it_starts(program, kind):
    script = program(ENDLESS)
    for wait in (0.12, 0.18, 0.24, 0.3):
        process = start(script, "sign")
        time.sleep(wait)
        os.killpg(process.pid, kind)
        _, err = process.communicate(timeout=10)
        assert left(process.pid) == []
        assert "fork_server" not in err


def test_a_worker_inside_c_code_dies_with_a_fork_server_that_was_started_from_a_thread(program, tmp_path):
    run = 'list(run_local(work, [(n, f"{sys.argv[1]}{n}") for n in range(2)], workers=2))'
    thread = ENDLESS.replace(run, f"import threading\nthreading.Thread(target=lambda: {run}).start()")
    process = start(program(thread), "sign")
    wait_for(tmp_path / "place" / "sign1")
    process.kill()
    process.communicate(timeout=10)
    assert left(process.pid) == []


STEADY = """
import pathlib, sys, time
from pipeline.executors.local import run_local
from pipeline.guard import guard

def work(number):
    for document in range(5):
        guard.working_on(1000 * number + document)
        time.sleep(0.01)
    return number

for result in run_local(work, [(n, n) for n in range(int(sys.argv[1]))], workers=2):
    assert result.status == "done", result
    with open("done", "a") as file:
        file.write(f"{result.value}\\n")
"""


def done(program):
    return sorted(map(int, (program.parent / "done").read_text().split()))


def test_a_run_goes_on_when_its_fork_server_and_workers_are_killed(program):
    script = program(STEADY)
    process = start(script, 30)
    for _ in range(3):
        time.sleep(0.1)
        wait_for(script.parent / "done")
        server, _ = parts(process.pid)
        if server is not None:
            server.kill()
        for worker in parts(process.pid)[1][:1]:
            worker.kill()
    output(process)
    assert done(script) == list(range(30))


def test_thirty_random_signals_change_nothing_and_leave_nothing(program):
    script, chance = program(STEADY), random.Random(7)
    process = start(script, 80)
    wait_for(script.parent / "done")
    for _ in range(30):
        time.sleep(chance.random() * 0.1)
        strike(process.pid, chance)
    output(process)
    assert done(script) == list(range(80))


def strike(leader, chance):
    """Send a signal that the run is to survive to a random process of it."""
    server, workers = parts(leader)
    kind = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSTOP])
    whom = chance.choice([*workers, server, "program"])
    if whom == "program":
        kind, pid = signal.SIGSTOP, leader
    else:
        pid = whom.pid if whom is not None else leader
        kind = signal.SIGSTOP if whom is None else kind
    try:
        os.kill(pid, kind)
        if kind == signal.SIGSTOP:
            time.sleep(0.05)
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


WAITS = """
import pathlib, time
from pipeline.executors.contract import WorkerLimits
from pipeline.executors.local import run_local
from pipeline.guard import guard

def work(_):
    guard.working_on(1)
    pathlib.Path("begun").touch()
    time.sleep(1.2)
    return 1

(result,) = run_local(work, [(0, 0)], workers=1, limits=WorkerLimits(wall_seconds=0.8))
print(result.status, result.attempts)
"""


def test_time_in_which_the_supervisor_was_stopped_is_no_time_of_a_document(program):
    script = program(WAITS)
    process = start(script)
    wait_for(script.parent / "begun")
    os.kill(process.pid, signal.SIGSTOP)
    threading.Timer(0.8, os.kill, (process.pid, signal.SIGCONT)).start()
    assert output(process)[0] == "done 1\n"


def test_a_module_that_kills_the_process_that_imports_it_is_named(program, tmp_path):
    source = (
        "from pipeline.executors.local import run_local\nlist(run_local(abs, [(0, 1)], workers=1, preload=['deadly']))"
    )
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "deadly.py").write_text("import os\nos.abort()")
    process = start(program(source), env={**os.environ, "PYTHONPATH": str(installed)})
    _, err = output(process, code=1)
    assert "workers cannot start" in err
    assert "importing deadly" in err
