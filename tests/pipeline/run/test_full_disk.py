"""A disk that fills up at any write: one clear line, and with space again the same bytes."""

from __future__ import annotations

import os
import subprocess

import pytest

from pipeline.errors import UserError
from tests.pipeline.run.test_around import untimed
from tests.pipeline.run.test_run import corpus, run
from tests.pipeline.run.toy import Shorts, Shout, Unique

STAGES = (Shout(), Unique(), Shorts(minimum=11))
KB = 1024


def mounted(place, size: int) -> bool:
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own; gone after the test."""
    if os.name != "posix" or os.geteuid() != 0 or not mounted(tmp_path / "disk", 4 * KB):
        pytest.skip("mounting a small file system is not allowed here")
    yield tmp_path / "disk"
    subprocess.run(["umount", "-l", str(tmp_path / "disk")], check=True)


def resize(place, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True, capture_output=True)


def test_a_disk_full_at_any_write_costs_nothing_once_there_is_space(tmp_path, disk):
    folder = corpus(tmp_path / "in", files=2)
    run(folder, tmp_path / "whole", STAGES)
    whole = untimed(tmp_path / "whole")
    lines = []
    for size in (4, 12, 24, 40, 56, 72, 88, 104, 120, 136):
        resize(disk, size * KB)
        try:
            run(folder, disk / "run", STAGES, workers=1)
        except UserError as error:
            lines.append(str(error))
    assert len(lines) >= 4
    assert all("No space left" in line and "\n" not in line for line in lines), lines
    resize(disk, 4000 * KB)
    run(folder, disk / "run", STAGES, workers=1)
    assert untimed(disk / "run") == whole
    assert not [f for f in (disk / "run").rglob("*") if "#" in f.name]
