"""All that a recipe names lies in a bucket, and so does the run: the commands say what they say of a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pipeline.recipe import load_recipe
from pipeline.run.folder import spare_folders
from pipeline.run.plan import loads_of, plan_run
from pipeline.storage import Folder
from tests.servers import endpoint
from tokenizer.files import files_named
from tokenizer.training.of_files import train_ladder

RECIPE = """
name = "away"
[input]
paths = ["{s3}/in/*.jsonl"]
[[stage]]
use = "url_filter"
domain_lists = ["{s3}/lists/hosts.txt"]
[[stage]]
use = "bad_words"
lists = ["{s3}/lists/en.txt"]
[[stage]]
use = "python"
file = "{s3}/code/rule.py"
function = "rule"
[[stage]]
use = "exact_dedup"
[[stage]]
use = "token_counts"
ladder = "{s3}/ladder/ladder.json"
[tokens]
tokenizer = "{s3}/ladder/300"
"""


@pytest.fixture(scope="module")
def away(s3_port, tmp_path_factory):
    """Return the bucket folder of a run whose recipe names nothing on this machine, the recipe, and what the run said."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in endpoint(s3_port).items():
            patch.setenv(name, value)
        patch.setenv("TOKENMILL_CACHE", str(tmp_path_factory.mktemp("cache")))
        place, folder = Folder("s3://tests/in-bucket"), tmp_path_factory.mktemp("away")
        hosts = ("good.example", "bad.example")
        rows = [
            {"url": f"https://{hosts[n % 2]}/{n}", "text": f"A text of the river number {n % 30}"} for n in range(80)
        ]
        rows += [
            {"url": "https://good.example/x", "text": "a zzzz word"},
            {"url": "https://good.example/y", "text": "short"},
        ]
        (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        train_ladder([folder / "texts.jsonl"], [270, 300], out=folder / "ladder")
        for file in (folder / "ladder").rglob("*"):
            if file.is_file():
                place.put(str(file.relative_to(folder)), file.read_bytes())
        place.put("in/texts.jsonl", (folder / "texts.jsonl").read_bytes())
        place.put("lists/hosts.txt", b"bad.example\n")
        place.put("lists/en.txt", b"zzzz\n")
        place.put("code/rule.py", b"def rule(document):\n    return len(document.text) > 8\n")
        recipe = folder / "recipe.toml"
        recipe.write_text(RECIPE.format(s3=place.url))
        yield place, str(recipe), tokenmill("run", str(recipe), "--out", f"{place.url}/run", "--workers", "1", "--json")


def tokenmill(*arguments: str) -> str:
    command = [sys.executable, "-m", "tokenmill", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_ends_all_of_whose_files_lie_in_a_bucket(away):
    place, _, said = away
    summary = json.loads(said)
    assert (summary["read"], summary["kept"]) == (82, 15)  # half of the hosts, two rules, and the even ones of 30 texts
    assert set(summary["dropped"]) == {"url_filter", "bad_words", "python", "exact_dedup"}
    run = place / "run"
    assert run.get_json("tokens/manifest.json")["documents"] == 15
    assert "done: read 82, kept 15" in run.get("run.log").decode()


def test_what_lies_in_a_bucket_is_loaded_by_each_worker(away):
    stages = plan_run(load_recipe(away[1])).recipe.stages
    assert any(stage.shares_load for stage in stages)
    assert len(loads_of(stages)) == 1  # threads that speak to an object store do not live on in a fork


def test_clean_frees_passes_of_earlier_forms_in_a_bucket(away):
    place, recipe, _ = away
    run = place / "run"
    tokenmill("run", recipe, "--out", run.url, "--workers", "1", "-q", "--set", "bad_words.most=5")
    spare = spare_folders(run)
    assert spare
    assert all(folder.bytes > 0 for folder in spare)
    before = run.names("data")
    assert f"in {len(spare)} folders" in tokenmill("clean", run.url)
    assert spare_folders(run) == []
    assert run.names("data") == before
    assert not [name for folder in spare for name in run.names(folder.name)]


def test_a_folder_in_a_bucket_means_the_files_below_it(away):
    place = away[0]
    assert files_named(f"{place.url}/lists") == [f"{place.url}/lists/en.txt", f"{place.url}/lists/hosts.txt"]
    assert files_named(f"{place.url}/lists/en.txt") == [f"{place.url}/lists/en.txt"]


def test_tokens_are_counted_and_written_from_a_run_in_a_bucket(away, tmp_path):
    run = away[0] / "run"
    counted = tokenmill("tokenizer", "count", f"{run.url}/data", "--tokenizer", f"{away[0].url}/ladder", "--json")
    assert {row["documents"] for row in json.loads(counted)["rows"] if row["group"] == "all"} == {
        run.get_json("summary.json")["kept"]
    }
    arguments = ("--tokenizer", f"{away[0].url}/ladder/300", "--out", f"{away[0].url}/shards", "--json")
    manifest = json.loads(tokenmill("tokens", run.url, *arguments))
    assert manifest["documents"] == run.get_json("summary.json")["kept"]
    batch = ("--global-batch", "2", "--seq", "16", "--step", "0", "--json")
    assert json.loads(tokenmill("batch", f"{away[0].url}/shards", *batch))
