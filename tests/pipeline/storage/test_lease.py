"""Who holds a run folder, and for how long after their death."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from pipeline.errors import StorageError, UserError
from pipeline.storage import Folder, lease, leases

HOLDER = """
import sys, time
from pipeline.storage import Folder, lease
with lease(Folder(sys.argv[1])) as held:
    print("held", flush=True)
    for line in sys.stdin:
        held.check()
        print("still held", flush=True)
"""


@pytest.fixture(params=["local", "s3"])
def folder(request, tmp_path):
    return Folder(str(tmp_path / "run") if request.param == "local" else request.getfixturevalue("s3"))


@pytest.fixture
def holder():
    """Start a process that holds a folder."""
    processes = []

    def start(folder, seconds=60):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, folder.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TOKENMILL_LEASE_SECONDS": str(seconds)},
        )
        processes.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_folder_is_held_by_one_and_free_afterwards(folder):
    with lease(folder) as held:
        with pytest.raises(UserError, match="another run is writing to"), lease(folder):
            pass
        held.check()
    with lease(folder):
        pass


def test_a_lease_is_no_file_of_the_folder(folder):
    with lease(folder):
        assert folder.names() == []
        folder.put("f", b"")
    assert folder.names() == ["f"]
    if folder.path() is not None:
        assert os.listdir(folder.path()) == ["f"]


def test_on_this_machine_the_folder_of_a_killed_run_is_free_at_once(tmp_path, holder):
    folder = Folder(str(tmp_path / "run"))
    process = holder(folder)
    with pytest.raises(UserError), lease(folder):
        pass
    process.kill()
    process.wait()
    with lease(folder):
        pass


def test_in_an_object_store_the_folder_of_a_killed_run_is_refused_with_the_time_left_and_then_free(
    s3, holder, monkeypatch
):
    monkeypatch.setattr(leases, "LEASE_SECONDS", 2.0)
    folder = Folder(s3)
    process = holder(folder, 2)
    process.kill()
    process.wait()
    with pytest.raises(UserError, match=rf"process {process.pid} on .* is free in [123] s"), lease(folder):
        pass
    time.sleep(3)
    with lease(folder) as held:
        held.check()


def test_in_an_object_store_a_lease_is_kept_by_signs_of_life(s3, holder, monkeypatch):
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    folder = Folder(s3)
    process = holder(folder, 1)
    time.sleep(2.5)
    with pytest.raises(UserError), lease(folder):
        pass
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "still held\n"


def test_who_was_stopped_for_too_long_learns_that_the_folder_is_another_s(s3, holder, monkeypatch):
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    folder = Folder(s3)
    process = holder(folder, 1)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.1)
    with lease(folder) as ours:
        process.send_signal(signal.SIGCONT)
        time.sleep(0.6)
        _, err = process.communicate("\n")
        assert re.search(f"StorageError: .* is no longer ours .another run has taken it: process {os.getpid()}", err)
        ours.check()
        with pytest.raises(UserError), lease(folder):
            pass


def test_a_place_where_no_folder_can_be_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="choose another --out"), lease(Folder(str(tmp_path / "file" / "run"))):
        pass
