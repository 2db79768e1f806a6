"""Folders on this machine: what is left when a writer ends in the middle."""

import os
import pathlib
import stat
import subprocess
import sys
import threading
import time

import pytest

from pipeline.errors import StorageError
from pipeline.storage import Folder, local

HALF = """
import sys, time
from pipeline.storage import Folder
with Folder(sys.argv[1]).writing("f") as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path):
    return Folder(str(tmp_path / "store"))


@pytest.fixture
def writer(folder):
    """Start a process that is in the middle of writing file ``f``."""
    process = subprocess.Popen([sys.executable, "-c", HALF, folder.url], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "written\n"
    yield process
    process.kill()
    process.wait()


def files(folder):
    return sorted(path.name for path in folder.path().iterdir())


def test_a_file_half_written_is_not_shown(folder, writer):
    assert len(files(folder)) == 1
    assert folder.names() == []
    assert not folder.exists("f")


def test_what_a_killed_writer_has_left_is_removed_by_the_next_write_of_the_file(folder, writer):
    writer.kill()
    writer.wait()
    folder.put("f", b"whole")
    assert files(folder) == ["f"]
    assert folder.get("f") == b"whole"


def test_what_killed_writers_have_left_is_swept(folder, writer):
    folder.put("g", b"")
    assert folder.sweep() == [], "its writer lives"
    writer.kill()
    writer.wait()
    assert folder.sweep() == ["f#0"]
    assert files(folder) == ["g"]


def test_two_writers_of_a_file_do_not_mix(folder, writer):
    folder.put("f", b"second")
    assert folder.get("f") == b"second"
    assert folder.names() == ["f"]
    assert len(files(folder)) == 2, "the other goes on"


def test_a_file_that_many_write_is_whole_at_every_moment(folder):
    contents = [bytes([65 + n]) * 5000 for n in range(4)]
    folder.put("f", contents[0])
    stop = threading.Event()

    def write(content):
        while not stop.is_set():
            folder.put("f", content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 0.7
    seen = {folder.get("f") for _ in iter(lambda: time.monotonic() < until, False)}
    stop.set()
    for thread in threads:
        thread.join()
    assert seen <= set(contents)
    assert len(seen) > 1
    assert files(folder) == ["f"]


FULL = """
import resource, sys
from pipeline.storage import Folder
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    Folder(sys.argv[1]).put("f", bytes(5000))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_write_that_finds_no_room_leaves_what_was_there(folder):
    folder.put("f", b"old")
    said = subprocess.run([sys.executable, "-c", FULL, folder.url], capture_output=True, text=True).stdout
    assert said.startswith(f"StorageError cannot write {folder.url}/f (File too large); free space")
    assert files(folder) == ["f"]
    assert folder.get("f") == b"old"


def test_data_is_on_the_disk_before_its_name_and_the_name_before_the_next_file(folder, monkeypatch):
    happened = []
    monkeypatch.setattr(local, "FSYNC", True)
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def told(*given, real=real, name=name):
            kind = "folder" if name == "fsync" and stat.S_ISDIR(os.fstat(given[0]).st_mode) else "file"
            happened.append(f"{name} {kind}")
            return real(*given)

        monkeypatch.setattr(local.os, name, told)
    folder.put("a/f", b"data")
    assert happened[-3:] == ["fsync file", "replace file", "fsync folder"]
    assert happened[:-3].count("fsync folder") == 2, "the folders that were made"


def test_a_change_of_a_copy_does_not_reach_the_original(folder):
    (folder / "a").put("f", b"original")
    (folder / "b").copy(folder / "a", "f")
    with open(folder.path("b/f"), "r+b") as file:
        file.write(b"CHANGED!")
    assert (folder / "a").get("f") == b"original"


def test_a_large_copy_is_complete(folder):
    content = os.urandom(5_000_000)
    folder.put("f", content)
    folder.copy(folder, "f", "g")
    assert folder.get("g") == content


def test_of_a_link_to_another_folder_only_the_link_is_removed(folder, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "f").write_bytes(b"")
    folder.put("f", b"")
    folder.path("link").symlink_to(tmp_path / "theirs")
    folder.remove_tree("link")
    assert (tmp_path / "theirs" / "f").exists()
    assert files(folder) == ["f"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_read_is_not_taken_for_an_empty_one(folder):
    folder.put("a/f", b"")
    folder.path("a").chmod(0)
    with pytest.raises(StorageError):
        folder.names()
    with pytest.raises(StorageError):
        folder.exists("a/f")


def test_a_name_too_long_for_the_file_system_is_said(folder):
    with pytest.raises(StorageError, match="File name too long"):
        folder.put("x" * 300, b"")
    with pytest.raises(StorageError, match="File name too long"):
        folder.exists("x" * 300)


@pytest.fixture
def synced(monkeypatch):
    """The names of files and folders, in the order in which they are synced."""
    happened = []
    real = os.fsync

    def told(descriptor):
        happened.append(pathlib.Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        real(descriptor)

    monkeypatch.setattr(local, "FSYNC", True)
    monkeypatch.setattr(local.os, "fsync", told)
    return happened


@pytest.mark.skipif(not pathlib.Path("/proc/self/fd").is_dir(), reason="names of open files are asked of Linux")
def test_what_is_written_together_is_synced_together_each_file_and_folder_once(folder, synced):
    (folder / "one").put("before", b"x")
    synced.clear()
    with local.synced_together():
        for name in ("a", "b", "b"):
            (folder / "one").put(name, b"data")
        (folder / "one").put("scratch", b"x")
        (folder / "one").delete("scratch")
        assert synced == []
    assert synced == ["a", "b", "one"]
    folder.put("one/after", b"x")
    assert synced[3:] == ["after#0", "one"]


@pytest.mark.skipif(not pathlib.Path("/proc/self/fd").is_dir(), reason="names of open files are asked of Linux")
def test_what_is_nice_to_know_is_left_to_the_system(folder, synced):
    with local.unsynced():
        folder.put("status.json", b"{}")
    assert synced == []
    assert folder.get("status.json") == b"{}"
