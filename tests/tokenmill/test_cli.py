"""The command line as a person meets it, in processes of its own."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENTENCES = (
    "The miller and the farmers have grain that they bring to the mill. It is with the river that the wheel turns. "
)


def tokenmill(*arguments, env=None, cwd=None):
    command = [sys.executable, "-m", "tokenmill", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **(env or {})}, timeout=300
    )


@pytest.fixture
def corpus(tmp_path):
    lines = [
        {"id": f"doc{n}", "text": f"{SENTENCES}Number {n} of them is here. {'and so on ' * (n % 5)}"} for n in range(60)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def recipe(folder, text="", paths='["docs.jsonl"]'):
    path = folder / "recipe.toml"
    path.write_text(f'name = "small"\n[input]\npaths = {paths}\n{textwrap.dedent(text)}')
    return path


FULL = """
[[stage]]
use = "language"
keep = ["en"]
[[stage]]
use = "exact_dedup"
[tokenizer]
vocab_sizes = [280, 320]
[plan]
model = "llama3-8b"
gpu = "h100-sxm"
gpus = 64
mfu = [0.3, 0.5]
"""


def test_a_run_writes_what_the_recipe_promises(corpus):
    done = tokenmill("run", recipe(corpus, FULL), "--out", corpus / "out", "--workers", "2")
    assert done.returncode == 0, done.stderr
    out = corpus / "out"
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["read"], summary["balanced"]) == (60, True)
    budget = json.loads((out / "token_budget.json").read_text())
    assert [row["vocab_size"] for row in budget["tokenizers"]] == [280, 320]
    assert budget["corpus"]["documents"] == summary["kept"]
    counts = pa.concat_tables([pq.read_table(f) for f in sorted((out / "token_counts").glob("*.parquet"))])
    for row in budget["tokenizers"]:
        assert sum(counts[f"tokens_{row['vocab_size']}"].to_pylist()) == row["tokens"]
        assert (out / row["path"]).exists()
    assert json.loads((out / "plan.json").read_text())
    page = (out / "report.html").read_text()
    assert "every document is accounted for" in page
    for section in (
        "Tokens by vocabulary size",
        "fertility",
        "Tokens by source",
        "Tokens by language",
        "never used",
        "Plan",
    ):
        assert section in page
    assert "read 60 = kept" in done.stdout


def test_what_the_recipe_no_longer_makes_does_not_stay_behind(corpus):
    assert tokenmill("run", recipe(corpus, FULL), "--out", corpus / "out").returncode == 0
    shorter = FULL[: FULL.index("[tokenizer]")]
    assert tokenmill("run", recipe(corpus, shorter), "--out", corpus / "out").returncode == 0
    for name in ("tokenizer", "token_counts", "token_report", "token_budget.json", "plan.json"):
        assert [f for f in (corpus / "out").glob(f"{name}*/**/*") if f.is_file()] == []
        assert not (corpus / "out" / name).is_file()
    assert "vocabulary" not in tokenmill("report", corpus / "out").stdout


def test_the_summary_can_be_had_as_json(corpus):
    done = tokenmill("run", recipe(corpus, FULL), "--out", corpus / "out", "--json")
    assert json.loads(done.stdout)["read"] == 60


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[[stage]]\nuse = "no_such_stage"', "stages[0].use"),
        ('[[stage]]\nuse = "language"\nkeep = ["klingon"]', "stages[0].keep"),
        ('[[stage]]\nuse = "minhash_dedup"\nthreshold = "x"', "stages[0].threshold"),
        ("[tokenizer]\nvocab_sizes = [4096, 1024]", "tokenizer.vocab_sizes"),
        ("[tokenizer]\nvocab_sizes = [1024]\n[plan]\nmodel = 'llama9'\ngpu = 'h100-sxm'\ngpus = 8", "plan"),
        ("[tokenizer]\nvocab_sizes = [1024]\n[plan]\nmodel = 'llama3-8b'\ngpu = 'h1000'\ngpus = 8", "plan"),
        ("[limits]\nbatch_bytes = 0", "limits.batch_bytes"),
    ],
)
def test_a_fault_in_the_recipe_is_one_line_with_its_place_and_exit_code_2(corpus, text, place):
    done = tokenmill("run", recipe(corpus, text), "--out", corpus / "out", "--dry-run")
    assert done.returncode == 2
    assert place in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (corpus / "out").exists()


def test_an_input_that_matches_nothing_is_one_line_and_exit_code_2(corpus):
    done = tokenmill("run", recipe(corpus, paths='["nothing/*.warc.gz"]'))
    assert (done.returncode, "nothing/*.warc.gz" in done.stderr) == (2, True)


def test_a_dry_run_reads_every_schema_and_writes_nothing(corpus):
    pq.write_table(pa.table({"id": ["1"], "body": ["x"]}), corpus / "other.parquet")
    done = tokenmill(
        "run", recipe(corpus, FULL, paths='["docs.jsonl", "other.parquet"]'), "--out", corpus / "out", "--dry-run"
    )
    assert done.returncode == 2
    assert "other.parquet" in done.stderr
    assert "body" in done.stderr
    assert not (corpus / "out").exists()


def test_a_dry_run_shows_passes_and_columns(corpus):
    done = tokenmill("run", recipe(corpus, FULL), "--out", corpus / "out", "--dry-run", "--json")
    described = json.loads(done.stdout)
    assert described["columns_out"]["language"] == "large_string"
    observed = [step["observes"] for step in described["passes"]]
    assert observed == [["exact_dedup"], ["train_tokenizers"], ["token_counts"], []]
    assert {step["state"] for step in described["passes"]} == {"to do"}


def test_a_dry_run_tells_what_a_change_would_redo_and_what_it_cost(corpus):
    made = recipe(corpus, FULL)
    tokenmill("run", made, "--out", corpus / "out")
    before = sorted(str(f) for f in (corpus / "out").rglob("*"))
    done = tokenmill("run", made, "--out", corpus / "out", "--dry-run", "--json")
    assert {step["state"] for step in json.loads(done.stdout)["passes"]} == {"stands"}
    changed = tokenmill("run", made, "--out", corpus / "out", "--dry-run", "--json", "--set", "language.min_score=0.1")
    passes = json.loads(changed.stdout)["passes"]
    assert passes[0]["state"] == "to do"
    assert passes[0]["cpu_seconds_last_time"] > 0
    assert sorted(str(f) for f in (corpus / "out").rglob("*")) == before


def test_inspect_shows_what_was_measured(corpus):
    with (corpus / "docs.jsonl").open("a") as file:
        file.write(
            json.dumps(
                {"id": "italian", "text": "Il vecchio mulino sul fiume macina il grano dei contadini della valle. " * 5}
            )
            + "\n"
        )
    tokenmill("run", recipe(corpus, FULL), "--out", corpus / "out")
    overview = tokenmill("inspect", corpus / "out")
    assert "language" in overview.stdout
    rows = tokenmill("inspect", corpus / "out", "--stage", "language", "--json").stdout.splitlines()
    assert [json.loads(row)["id"] for row in rows] == ["italian"]


def test_inspect_of_no_run_is_exit_code_2(tmp_path):
    done = tokenmill("inspect", tmp_path)
    assert (done.returncode, "holds no run" in done.stderr) == (2, True)


def test_stages_are_listed_and_shown_from_the_code():
    listed = json.loads(tokenmill("stages", "--json").stdout)
    assert {"extract", "language", "c4", "minhash_dedup", "mix"} <= {stage["name"] for stage in listed}
    shown = tokenmill("stages", "minhash_dedup").stdout
    assert "bands: int = 14" in shown


OUTSIDE = '''
from dataclasses import dataclass
from typing import ClassVar

from pipeline.stage import DocumentStage, Drop


@dataclass(frozen=True, kw_only=True)
class NoNumber(DocumentStage):
    """Drop documents that name the number of our house."""

    name: ClassVar[str] = "no_number"
    number: int = 7
    """The number."""

    def judge(self, document):
        count = document.text.count(f"Number {self.number} ")
        return Drop("names_number", count, 0) if count else None
'''


def test_a_stage_of_another_package_works_in_a_recipe(corpus):
    site = corpus / "site"
    info = site / "no_number-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "no_number.py").write_text(OUTSIDE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: no-number\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tokenmill.stages]\nno_number = no_number:NoNumber\n")
    path = recipe(corpus, '[[stage]]\nuse = "no_number"\nnumber = 12')
    done = tokenmill("run", path, "--out", corpus / "out", "--json", env={"PYTHONPATH": str(site)})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dropped"] == {"no_number": {"names_number": 1}}


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("may not mount a small file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_ends_with_one_line_and_the_run_goes_on_when_there_is_room(corpus, small_disk):
    path = recipe(corpus, FULL)
    full = tokenmill("run", path, "--out", small_disk / "out", "--workers", "2")
    assert full.returncode == 2
    assert "free space" in full.stderr
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert tokenmill("run", path, "--out", small_disk / "out").returncode == 0
    tokenmill("run", path, "--out", corpus / "whole")
    for file in sorted((corpus / "whole/data").glob("*.parquet")):
        assert (small_disk / "out/data" / file.name).read_bytes() == file.read_bytes()


def test_the_report_page_tells_the_formula_of_every_number_of_the_plan(corpus):
    tokenmill("run", recipe(corpus, FULL), "--out", corpus / "out")
    page = (corpus / "out/report.html").read_text()
    explained = json.loads((corpus / "out/plan.json").read_text())["explain"]
    assert len(explained) > 20
    assert all(f"<td>{name}</td>" in page for name in explained)
    assert tokenmill("report", corpus / "out").returncode == 0
    assert (corpus / "out/report.html").read_text() == page
