"""Stages of other packages: the broken are named and left out, and none takes the place of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

GOOD = '''
from dataclasses import dataclass
from typing import ClassVar

from pipeline.stage import DocumentStage


@dataclass(frozen=True, kw_only=True)
class Stage(DocumentStage):
    """Keeps all."""

    name: ClassVar[str] = "{name}"

    def judge(self, document):
        return None
'''
NO_DATACLASS = GOOD.replace("@dataclass(frozen=True, kw_only=True)\n", "").replace("class Stage", "class Stage_")
PACKAGES = {
    "good": ("good", GOOD),
    "raises": ("raises", "raise RuntimeError('\\x1b[31mno model here')"),
    "leaves": ("leaves", "print('hello from a plug-in')\nimport os\nos.write(1, b'and from C')\nraise SystemExit(3)"),
    "broken-syntax": ("broken_syntax", "def ("),
    "no-stage": ("no_stage", "Stage = 3"),
    "other-name": ("other_name", GOOD.replace("{name}", "yet_another")),
    "imitation": ("c4", GOOD),
    "twin-one": ("twin", GOOD),
    "twin-two": ("twin", GOOD),
}


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    """What `tokenmill stages --json` says where all of these packages are installed."""
    site = tmp_path_factory.mktemp("site")
    for package, (stage, source) in PACKAGES.items():
        module = package.replace("-", "_") + "_module"
        (site / f"{module}.py").write_text(source.replace("{name}", stage))
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[tokenmill.stages]\n{stage} = {module}:Stage\n")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "tokenmill", "stages", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return {stage["name"]: stage for stage in json.loads(done.stdout)}, done.stderr


def test_a_good_stage_of_another_package_is_listed_and_the_broken_are_not(listed):
    stages, _ = listed
    assert "good" in stages
    assert not {"raises", "leaves", "broken_syntax", "no_stage", "other_name", "twin"} & set(stages)


def test_one_that_calls_itself_like_ours_is_refused_and_named(listed):
    stages, said = listed
    assert stages["c4"]["source"] == "stages.quality.c4:C4"
    assert "left out: stage 'c4' of package imitation: it is called like one of tokenmill's own" in said


@pytest.mark.parametrize("package", ["raises", "leaves", "broken-syntax", "no-stage", "other-name", "twin-one"])
def test_each_that_is_left_out_is_named_in_one_line_with_its_cause(listed, package):
    line = next(line for line in listed[1].splitlines() if package.split("-")[0] in line and "left out" in line)
    assert {"raises": "RuntimeError: \\x1b[31mno model here", "leaves": "SystemExit: 3"}.get(package, "") in line


def test_what_a_plug_in_prints_when_it_is_loaded_is_no_output_of_ours(listed):
    assert "hello from a plug-in" in listed[1]
    assert "and from C" in listed[1]
