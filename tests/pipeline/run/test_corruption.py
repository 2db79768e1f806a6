"""A file of a run folder that was torn, emptied, lost or exchanged: it is made again, or named with what to do."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import UserError
from pipeline.executors.here import run_here
from tests.pipeline.run.test_around import untimed
from tests.pipeline.run.test_run import corpus, run
from tests.pipeline.run.toy import Counts, Needs, Shorts, Shout, Unique

STAGES = (Shorts(), Unique(), Counts())
FILES = {
    "manifest": "manifest.json",
    "summary": "summary.json",
    "inputs": "inputs.json",
    "recipe": "recipe.toml",
    "corpus": "data/part-00000.parquet",
    "tally": "01-*/tally/*-0000.json",
    "ledger": "01-*/ledger/*.parquet",
    "shard": "01-*/part-*.parquet",
    "list of shards": "01-*/shards-*.parquet",
    "time of a pass": "01-*/seconds.json",
    "rows": "02-*/rows/*.parquet",
    "observation": "01-*/observed-unique-*/part-*.parquet",
    "record of an observation": "01-*/observed-unique-*/seen/*.json",
    "decision": "01-*/observed-unique-*/decision-*/decision.json",
    "cost of a decision": "01-*/observed-unique-*/decision-*/cost.json",
    "index of drops": "01-*/observed-unique-*/decision-*/drops.json",
    "drops": "01-*/observed-unique-*/decision-*/drop-*.parquet",
}
HARMS = ("torn", "empty", "missing", "foreign", "a folder", "a link to itself")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run, and what a longer recipe makes of it where nobody has touched it."""
    place = tmp_path_factory.mktemp("whole")
    folder = corpus(place / "in", files=2)
    run(folder, place / "out", STAGES, executor=run_here)
    shutil.copytree(place / "out", place / "longer")
    run(folder, place / "longer", (*STAGES, Shout()), executor=run_here)
    return place, untimed(place / "longer")


def harm(path, kind):
    data = path.read_bytes()
    if kind == "torn":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "foreign" and path.suffix == ".parquet":
        pq.write_table(pa.table({"somebody": ["else's"] * 3}), path)
    elif kind == "a list":
        path.write_text("[1, 2]")
    elif kind == "foreign":
        path.write_text('{"somebody": ["else\'s"]}')
    else:
        path.unlink()
        if kind == "a folder":
            path.mkdir()
        elif kind.startswith("a link"):
            path.symlink_to(path if kind == "a link to itself" else path.with_name("nowhere"))


def again(place, out):
    """Run the longer recipe; return what the one line says where it does not end well."""
    try:
        run(place / "in", out, (*STAGES, Shout()), executor=run_here)
    except UserError as error:
        return str(error)
    return ""


def remedied(said, path):
    """Do what `said` tells a person to do about `path`."""
    named = path.parent if f"delete {path.parent} and" in said else path
    shutil.rmtree(named) if named.is_dir() and not named.is_symlink() else named.unlink()


@pytest.mark.parametrize("kind", HARMS)
@pytest.mark.parametrize("name", FILES)
def test_a_harmed_file_is_made_again_or_named_in_one_line_that_says_what_helps(whole, tmp_path, name, kind):
    place, expected = whole
    out = tmp_path / "out"
    shutil.copytree(place / "out", out)
    mended(place, out, sorted(out.glob(FILES[name]))[0], kind, expected)


def mended(place, out, path, kind, expected):
    """Do a harm of `kind` to `path`, run, do what the one line says, and check that nothing is left of it."""
    harm(path, kind)
    if said := again(place, out):
        assert path.name in said
        assert "\n" not in said
        remedied(said, path)
        assert again(place, out) == ""
    apart = (str(path.relative_to(out)), "tasks.log")  # whose harm need not be mended, and what tells of every attempt
    got = untimed(out)
    assert {n: d for n, d in got.items() if n not in apart} == {n: d for n, d in expected.items() if n not in apart}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A first run that has ended before its end, behind its first pass; see `whole`."""
    place = tmp_path_factory.mktemp("begun")
    folder, model = corpus(place / "in", files=2), place / "model"
    stages = (*STAGES, Needs(file=str(model)))
    with pytest.raises(UserError):
        run(folder, place / "out", stages, executor=run_here)
    assert not (place / "out/manifest.json").exists()
    model.write_text("!")
    shutil.copytree(place / "out", place / "longer")
    run(folder, place / "longer", (*STAGES, Shout()), executor=run_here)
    return place, untimed(place / "longer")


STATE = ("unfinished.json", "inputs.json", "status.json", "tasks.log", "01-*/tally/*-0000.json")


@pytest.mark.parametrize("kind", ["torn", "missing", "a list", "a folder", "a link to nothing"])
@pytest.mark.parametrize("name", STATE)
def test_a_first_run_that_was_stopped_goes_on_whatever_became_of_its_state(begun, tmp_path, name, kind):
    place, expected = begun
    out = tmp_path / "out"
    shutil.copytree(place / "out", out)
    mended(place, out, sorted(out.glob(name))[0], kind, expected)


def test_a_folder_that_holds_more_than_passes_is_nobodys_first_run(begun, tmp_path):
    place, _ = begun
    out = tmp_path / "out"
    shutil.copytree(place / "out", out)
    (out / "unfinished.json").unlink()
    (out / "thesis.txt").write_text("mine")
    assert "is not empty" in again(place, out)
    assert (out / "thesis.txt").read_text() == "mine"
