"""The command line where streams are closed, the environment is empty, signals come early, or nobody is left to hear."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from pipeline.storage.temporary import temporary_folder
from tests.pipeline.executors.programs import left


@pytest.fixture
def recipe(tmp_path):
    lines = [json.dumps({"id": str(n), "text": f"a text {n % 40}"}) for n in range(60)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    (tmp_path / "recipe.toml").write_text('[input]\npaths = ["in.jsonl"]\n[[stage]]\nuse = "exact_dedup"\n')
    return tmp_path / "recipe.toml"


def command(recipe, *more):
    return [sys.executable, "-m", "tokenmill", "run", str(recipe), "--out", str(recipe.parent / "out"), *more]


def kept(recipe):
    return json.loads((recipe.parent / "out/summary.json").read_text())["kept"]


def test_a_run_whose_streams_are_closed_writes_what_it_always_writes_and_nothing_into_its_files(recipe):
    closed = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command(recipe)]
    subprocess.run(closed, check=True, timeout=120)
    assert kept(recipe) == 40


def test_a_run_without_asserts_docstrings_environment_and_with_a_long_temporary_folder_works(recipe):
    folder = recipe.parent.joinpath(*["x" * 100] * 4)
    folder.mkdir(parents=True)
    stripped = [sys.executable, "-OO", *command(recipe)[1:]]
    done = subprocess.run(stripped, env={"TMPDIR": str(folder)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert kept(recipe) == 40


def test_workers_beyond_reason_are_one_line(recipe):
    done = subprocess.run(command(recipe, "--workers", "1000000000"), capture_output=True, text=True, timeout=120)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "beyond reason" in done.stderr


@pytest.mark.parametrize("seconds", [0.3, 1.2])
def test_an_interrupt_in_the_first_moments_ends_at_once_without_a_traceback(recipe, seconds):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    run = subprocess.Popen(command(recipe), **options)
    time.sleep(seconds)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=20)
    assert run.returncode in (130, 0), said
    assert "Traceback" not in said
    assert left(run.pid) == []


def test_a_run_that_is_to_outlive_its_terminal_does(recipe):
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}  # as nohup does
    run = subprocess.Popen(command(recipe), stderr=subprocess.PIPE, text=True, **ignoring)
    while run.poll() is None:
        run.send_signal(signal.SIGHUP)
        time.sleep(0.3)
    assert run.returncode == 0, run.communicate()[1]
    assert kept(recipe) == 40


def test_a_temporary_folder_of_a_dead_process_is_cleaned_up_by_the_next_and_one_of_a_living_stays(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    program = "import os\nfrom pipeline.storage import temporary_folder\nwith temporary_folder() as f: print(f, flush=True); os._exit(1)"
    dead = pathlib.Path(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    with temporary_folder() as living:
        for folder in (dead, living):
            os.utime(folder, (1, 1))
        with temporary_folder() as another:
            assert (dead.exists(), living.exists(), another.exists()) == (False, True, True)
    assert not living.exists()
