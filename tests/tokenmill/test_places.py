"""Where a run's tasks run."""

import re
import sys

import pytest

from pipeline.errors import RecipeError, UserError
from pipeline.executors import node_check
from tokenmill.places import executors


def test_without_ray_installed_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'tokenmill\[ray\]'"), executors("ray"):
        pass


def test_an_address_without_ray_and_an_executor_that_is_none_are_refused():
    with pytest.raises(UserError, match="add --executor ray"), executors("local", "auto"):
        pass
    with pytest.raises(RecipeError, match="must be local or ray"), executors("slurm"):
        pass


def wanted(folder, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "sign").write_bytes(b"1")
    digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
    sound = {"versions": node_check.about(["pyarrow"]), "files": [], "modules": ["json"], "environ": {}}
    return {**sound, "folder": str(folder), "sign": ("sign", digest), **changes}


def test_a_machine_that_has_what_is_needed_has_no_faults_and_nothing_is_left_behind(tmp_path):
    assert node_check.faults(wanted(tmp_path / "run")) == []
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["sign"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"versions": {"tokenmill": "9 (abc)"}}, "tokenmill is .* there and 9 .abc. here; install the same"),
        ({"versions": {"Python": "2.7"}}, "Python is .* there and 2.7 here"),
        ({"versions": {"nonesuch": "1"}}, "nonesuch is not installed"),
        ({"modules": ["nonesuch"]}, "module nonesuch cannot be imported"),
        ({"files": [("/none", 1)]}, "cannot read /none .No such file"),
        ({"sign": ("sign", "0")}, "is another file there"),
        ({"sign": ("none", "0")}, "is missing.*put the run folder on a file system that all share"),
    ],
)
def test_what_a_machine_lacks_is_a_line(tmp_path, changes, said):
    (line,) = node_check.faults(wanted(tmp_path / "run", **changes))
    assert re.search(said, line), line
