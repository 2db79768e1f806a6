"""An installation that its user cannot write to, as of an administrator's or in a container: no traceback, and not slow twice."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
started = time.process_time()
import numpy as np
from pipeline.hashing import mix64
mix64(np.uint64(3))
stats = mix64.stats
print(json.dumps({"hits": sum(stats.cache_hits.values()), "path": str(stats.cache_path)}))
"""


@pytest.fixture
def read_only(tmp_path):
    """A copy of the packages on a file system that nobody can write to, with one compiled kernel; returns the command
    that runs the program above there."""
    place = tmp_path / "installed"
    for package in ("pipeline", "stages", "tokenizer"):
        (place / package).mkdir(parents=True)
        (place / package / "__init__.py").write_bytes((ROOT / package / "__init__.py").read_bytes())
    for name in ("compiled.py", "hashing.py"):
        shutil.copyfile(ROOT / "pipeline" / name, place / "pipeline" / name)
    inner = f'mount --bind {place} {place} && mount -o remount,ro,bind {place} && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", inner, "sh", sys.executable, "-c", PROGRAM, str(place)]
    if subprocess.run([*command[:5], "true"], capture_output=True).returncode:
        pytest.skip("may not mount here")
    return place, command


def seen(command, **environment):
    plain = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
    done = subprocess.run(command, capture_output=True, text=True, env={**plain, **environment}, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kernels_go_to_the_users_cache_and_are_there_the_second_time(read_only, tmp_path):
    _, command = read_only
    home = {"HOME": str(tmp_path / "home")}
    first, second = seen(command, **home), seen(command, **home)
    assert first["path"].startswith(str(tmp_path / "home/.cache/tokenmill/kernels-"))
    assert (first["hits"], second["hits"]) == (0, 1)


def test_kernels_that_were_compiled_with_the_installation_are_used(read_only, tmp_path):
    place, command = read_only
    seen(command[6:])  # the administrator's, who can write
    assert list(place.rglob("__pycache__/*.nbi"))
    assert seen(command, HOME=str(tmp_path / "home"))["hits"] == 1


def test_a_user_without_a_home_has_a_folder_among_the_temporary_ones_that_is_nobody_elses(read_only, tmp_path):
    _, command = read_only
    place = {"HOME": "/proc/no/such", "TMPDIR": str(tmp_path)}
    folder = pathlib.Path(seen(command, **place)["path"]).parent
    assert folder.parent == tmp_path / f"tokenmill-kernels-{os.getuid()}-0"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # what somebody else could have put there is never run
    assert seen(command, **place)["path"].startswith(str(tmp_path / f"tokenmill-kernels-{os.getuid()}-1"))
