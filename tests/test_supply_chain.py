"""What is installed is what was tried: versions pinned, of what builds us too, and each file of the run-time set by its hash."""

from __future__ import annotations

import pathlib
import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(text: str) -> dict[str, set[str]]:
    """Return the versions that each line pins, by name; several for several platforms or Pythons."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if match := re.match(r"([A-Za-z0-9_.-]+)==([^\s;\\]+)", line):
            found.setdefault(canonicalize_name(match[1]), set()).add(match[2])
    return found


CONSTRAINED = pins((ROOT / "constraints.txt").read_text())
HASHED = pins((ROOT / "requirements.txt").read_text())


def test_every_package_of_the_run_time_set_has_hashes_and_the_version_that_was_tried():
    entries = re.split(r"\n(?=[A-Za-z0-9])", (ROOT / "requirements.txt").read_text())
    entries = [entry for entry in entries if "==" in entry and not entry.startswith("#")]
    assert len(entries) > 50
    assert [entry.split()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    different = {name: versions for name, versions in HASHED.items() if CONSTRAINED.get(name, versions) != versions}
    assert different == {}


def test_every_dependency_of_ours_is_in_the_run_time_set():
    wanted = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
    assert wanted - set(HASHED) == set()


def test_what_builds_the_project_is_pinned():
    for line in PROJECT["build-system"]["requires"]:
        (specifier,) = Requirement(line).specifier
        assert specifier.operator == "=="
        assert CONSTRAINED[canonicalize_name(Requirement(line).name)] == {specifier.version}
